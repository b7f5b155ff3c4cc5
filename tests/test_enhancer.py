"""The native engine against the float64 reference and the PyTorch model, over sizes and depths."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from helpers.engines import BEST, ENHANCERS, EXACT, MAXIMUM, WEIGHTS, exact, make_weights, pixels
from helpers.samples import EXTREMES, extreme_corrections, random_corrections
from pic_uie import Enhancer, reference
from pic_uie.config import ModelConfig

WIDE = 65_537


def colours(image):
    """The picture as the reference sees it, (H, W, 3) float64."""
    colors = image[..., :3].astype(np.float64) / MAXIMUM[image.dtype.type]
    return np.broadcast_to(colors, (*image.shape[:2], 3))


def expected(image, theta, parameters=EXACT, strength=1.0):
    """What the reference makes of the picture, in the picture's depth and channels."""
    before = colours(image)
    rgb = reference.execute(before, reference.exact(theta), parameters).result
    if image.shape[2] == 1:
        rgb, before = (rgb @ [0.299, 0.587, 0.114])[..., None], before[..., :1]
    rgb = before + strength * (rgb - before)
    if image.dtype != np.float32:
        rgb = np.floor(rgb * MAXIMUM[image.dtype.type] + 0.5)
    return rgb


def check(image, ours, wanted):
    assert ours.dtype == image.dtype
    assert ours.shape == image.shape
    difference = np.abs(ours[..., :3].astype(np.float64) - wanted)
    if image.dtype == np.uint8:
        assert difference.max() <= 1
        assert np.sum(difference > 0) <= max(2, 0.001 * difference.size)
    elif image.dtype == np.uint16:
        assert difference.max() <= 4
    else:
        assert difference.max() <= 2e-5
    if image.shape[2] == 4:
        np.testing.assert_array_equal(ours[..., 3], image[..., 3])


@pytest.mark.parametrize("isa", ENHANCERS)
@pytest.mark.parametrize("size", [(1, 1), (1, 19), (19, 1), (2, 2), (97, 131), (3, 700), (131, 641), (257, 64)])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
def test_executor_agrees_with_the_reference(isa, size, dtype):
    image, theta = pixels(1, *size, dtype), random_corrections(1)
    check(image, ENHANCERS[isa].execute(image, theta), expected(image, theta))


@pytest.mark.parametrize("isa", ENHANCERS)
@pytest.mark.parametrize("name", EXTREMES)
@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_executor_agrees_for_extreme_theta(isa, name, dtype):
    image, theta = pixels(2, 61, 89, dtype), extreme_corrections(name)
    check(image, ENHANCERS[isa].execute(image, theta), expected(image, theta))


@settings(max_examples=60, deadline=None)
@given(
    height=st.integers(1, 150),
    width=st.integers(1, 150),
    dtype=st.sampled_from([np.uint8, np.uint16, np.float32]),
    channels=st.sampled_from([1, 3, 4]),
    field_size=st.integers(1, 40),
    grid=st.integers(2, 14),
    tones=st.integers(2, 50),
    strength=st.sampled_from([1.0, 0.618, 0.127]),  # no products with levels that end in exactly .5
    threads=st.integers(1, 5),
    seed=st.integers(0, 10_000),
)
def test_executor_over_sizes_of_everything(
    height, width, dtype, channels, field_size, grid, tones, strength, threads, seed
):
    image = pixels(seed, height, width, dtype, channels)
    theta = random_corrections(seed, field_size, grid, tones)
    ours = BEST.execute(image, theta, strength=strength, threads=threads)
    check(image, ours, expected(image, theta, strength=strength))


@pytest.mark.parametrize("size", [(1, WIDE), (WIDE, 1)])
def test_very_long_pictures(size):
    image, theta = pixels(3, *size), random_corrections(3)
    check(image, BEST.execute(image, theta), expected(image, theta))


@pytest.mark.parametrize("isa", ENHANCERS)
@pytest.mark.parametrize("size", [(64, 64), (40, 300), (301, 257)])
def test_predictor_agrees_with_the_reference(isa, size):
    image = pixels(4, *size)
    check_theta(ENHANCERS[isa].predict(image), reference.predict(colours(image), EXACT))


@settings(max_examples=8, deadline=None)
@given(
    width=st.integers(1, 40),
    thumbnail=st.sampled_from([16, 64, 136]),
    lut_grid=st.integers(2, 11),
    dtype=st.sampled_from([np.uint8, np.uint16, np.float32]),
)
@example(width=33, thumbnail=384, lut_grid=5, dtype=np.uint8)
def test_predictor_over_configurations(width, thumbnail, lut_grid, dtype):
    given_weights = make_weights(5, ModelConfig(width=width, thumbnail=thumbnail, lut_grid=lut_grid))
    image = pixels(5, 90, 120, dtype)
    ours = Enhancer(given_weights, threads=2).predict(image)
    check_theta(ours, reference.predict(colours(image), exact(given_weights.parameters), thumbnail, lut_grid))


def check_theta(ours, wanted):
    for name, array in wanted.items():
        np.testing.assert_allclose(getattr(ours, name), array, rtol=1e-5, atol=1e-5 * np.abs(array).max(), err_msg=name)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_whole_engine_agrees_with_pytorch(dtype):
    torch = pytest.importorskip("torch")
    from pic_uie.model import PicUie

    image = pixels(6, 270, 480, dtype)
    batch = torch.tensor(colours(image).transpose(2, 0, 1).astype(np.float32))[None]
    with torch.no_grad():
        wanted = PicUie.from_weights(WEIGHTS)(batch)[0][0].numpy().transpose(1, 2, 0).astype(np.float64)
    if dtype == np.uint8:
        wanted = np.floor(wanted * 255 + 0.5)
    check(image, BEST.enhance(image), wanted)


def test_one_color_and_black_and_white_pictures():
    theta = random_corrections(12)
    for value in (0.0, 0.3, 1.0):
        image = np.full((50, 60, 3), value, np.float32)
        check(image, BEST.execute(image, theta), expected(image, theta))
