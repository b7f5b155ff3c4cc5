"""Independent packages, ranges, symmetry, response to growing distortion, and what is refused."""

import math

import cv2
import numpy as np
import pytest
from skimage.measure import shannon_entropy
from skimage.metrics import mean_squared_error, peak_signal_noise_ratio, structural_similarity

from helpers.metric_vectors import PICTURES, A, B, C, D, E, F
from pic_uie.errors import ConfigError
from pic_uie.evaluation.metrics import (
    METRICS,
    choose,
    ciede2000,
    entropy,
    lpips,
    mse,
    niqe,
    pcqi,
    psnr,
    ssim,
    uciqe,
    uiqm,
)

FULL_REFERENCE = (psnr, ssim, mse, pcqi, ciede2000)
NO_REFERENCE = (uiqm, uciqe, entropy)
PAIRS = [(E, C), (B, C), (D, F), (A, B)]


@pytest.mark.parametrize(("pred", "ref"), PAIRS)
def test_mse_and_psnr_agree_with_scikit_image(pred, ref):
    assert mse(pred, ref) == pytest.approx(mean_squared_error(ref / 255, pred / 255), rel=1e-12)
    assert psnr(pred, ref) == pytest.approx(peak_signal_noise_ratio(ref, pred), rel=1e-12)


@pytest.mark.parametrize(("pred", "ref"), PAIRS)
def test_ssim_agrees_with_pytorch_msssim(pred, ref):
    torch = pytest.importorskip("torch")
    msssim = pytest.importorskip("pytorch_msssim")
    x, y = (torch.from_numpy(picture).permute(2, 0, 1)[None].double() / 255 for picture in (pred, ref))
    assert ssim(pred, ref) == pytest.approx(float(msssim.ssim(x, y, data_range=1.0)), abs=1e-5)  # its window is float32


@pytest.mark.parametrize(("pred", "ref"), PAIRS)
def test_ssim_agrees_with_scikit_image_in_the_valid_region(pred, ref):
    options = {"gaussian_weights": True, "sigma": 1.5, "use_sample_covariance": False, "data_range": 1.0}
    _, full = structural_similarity(ref / 255, pred / 255, channel_axis=2, full=True, **options)
    assert ssim(pred, ref) == pytest.approx(full[5:-5, 5:-5].mean(), abs=1e-9)


@pytest.mark.parametrize("name", PICTURES)
def test_entropy_agrees_with_scikit_image(name):
    picture = PICTURES[name]
    assert entropy(picture) == pytest.approx(shannon_entropy(cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY)), abs=1e-12)
    channels = [shannon_entropy(picture[..., channel]) for channel in range(3)]
    assert entropy(picture, per_channel=True) == pytest.approx(np.mean(channels), abs=1e-12)


@pytest.mark.parametrize("metric", [psnr, ssim, mse, ciede2000])
@pytest.mark.parametrize(("pred", "ref"), PAIRS)
def test_distances_are_symmetric(metric, pred, ref):
    assert metric(pred, ref) == pytest.approx(metric(ref, pred), rel=1e-12)


def test_pcqi_is_not_symmetric():
    assert pcqi(E, C) < 1 < pcqi(C, E)


def test_equal_pictures():
    assert psnr(C, C) == math.inf
    assert ssim(C, C) == pytest.approx(1.0, abs=1e-12)
    assert pcqi(C, C) == pytest.approx(1.0, abs=1e-12)
    assert mse(C, C) == ciede2000(C, C) == 0.0


def test_extremes():
    black, white = np.zeros_like(C), np.full_like(C, 255)
    assert mse(black, white) == 1.0
    assert psnr(black, white) == 0.0
    assert ciede2000(black, white) == pytest.approx(100.0, abs=0.01)
    assert 0.0 <= ssim(black, white) < 1e-3
    assert entropy(black) == 0.0


def distorted(strength):
    """C with more and more noise; the same noise, so that only its strength grows."""
    noise = np.random.default_rng(1).normal(size=C.shape)
    return np.clip(np.rint(C + strength * noise), 0, 255).astype(np.uint8)


def is_monotonic(values, falling):
    steps = np.diff(values)
    return bool(np.all(steps < 0) if falling else np.all(steps > 0))


@pytest.mark.parametrize(("metric", "falling"), [(psnr, True), (ssim, True), (mse, False), (ciede2000, False)])
def test_response_to_growing_noise(metric, falling):
    assert is_monotonic([metric(distorted(strength), C) for strength in (2, 5, 10, 20, 40)], falling)


def test_lpips_responds_to_growing_noise(assets):
    values = [lpips(distorted(strength), C, assets) for strength in (5, 10, 20, 40)]
    assert is_monotonic(values, falling=False)
    assert lpips(C, C, assets) == 0.0


def test_pcqi_and_uiqm_respond_to_fading_contrast():
    faded = [np.rint(127 + (C - 127.0) * share).astype(np.uint8) for share in (1.0, 0.7, 0.4, 0.2)]
    assert is_monotonic([pcqi(picture, C) for picture in faded], falling=True)
    for metric in NO_REFERENCE:
        if metric is not uiqm:  # UIConM is a ratio of logarithms: not monotonic in contrast
            assert is_monotonic([metric(picture) for picture in faded], falling=True)


def test_niqe_responds_to_growing_noise_on_a_photograph(data, assets):
    photograph = cv2.imread(str(sorted((data / "native" / "target").iterdir())[0]))[..., ::-1]
    noise = np.random.default_rng(0).normal(size=photograph.shape)
    noisy = [np.clip(photograph + strength * noise, 0, 255).astype(np.uint8) for strength in (0, 15, 30, 60)]
    assert is_monotonic([niqe(picture, assets) for picture in noisy], falling=False)


@pytest.mark.parametrize("metric", NO_REFERENCE)
@pytest.mark.parametrize("level", [0, 77, 255])
def test_flat_pictures_have_finite_values(metric, level):
    assert math.isfinite(metric(np.full((64, 64, 3), level, np.uint8)))


def test_niqe_says_that_a_flat_picture_has_none(assets):
    with pytest.raises(ValueError, match="texture"):
        niqe(np.full((256, 256, 3), 90, np.uint8), assets)


@pytest.mark.parametrize("metric", FULL_REFERENCE)
def test_strided_views_give_the_same(metric):
    assert metric(E[::2, ::-1], C[::2, ::-1]) == metric(E[::2, ::-1].copy(), C[::2, ::-1].copy())


@pytest.mark.parametrize("metric", NO_REFERENCE)
def test_strided_views_give_the_same_without_reference(metric):
    assert metric(E[::2, ::-1]) == metric(E[::2, ::-1].copy())


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.full((64, 64, 3), np.nan, np.float32), "float32"),
        (np.zeros((64, 64), np.uint8), r"\(64, 64\)"),
        (np.zeros((64, 64, 4), np.uint8), r"\(64, 64, 4\)"),
        (np.zeros((0, 0, 3), np.uint8), "at least"),
        ([[1, 2], [3, 4]], "list"),
    ],
)
def test_what_is_no_picture_is_refused_with_what_was_seen(bad, message):
    good = np.zeros((64, 64, 3), np.uint8)
    for metric in (*FULL_REFERENCE, lpips):
        with pytest.raises(ValueError, match=message):
            metric(bad, good)
        with pytest.raises(ValueError, match=message):
            metric(good, bad)
    for metric in (*NO_REFERENCE, niqe):
        with pytest.raises(ValueError, match=message):
            metric(bad)


def test_two_sizes_are_refused():
    for metric in (*FULL_REFERENCE, lpips):
        with pytest.raises(ValueError, match="40x50 and the reference 50x40"):
            metric(np.zeros((50, 40, 3), np.uint8), np.zeros((40, 50, 3), np.uint8))


@pytest.mark.parametrize(("metric", "smallest"), [(ssim, 11), (pcqi, 11), (lpips, 31)])
def test_too_small_for_the_window(metric, smallest):
    tiny = np.zeros((smallest - 1, 64, 3), np.uint8)
    with pytest.raises(ValueError, match=f"{smallest}x{smallest}"):
        metric(tiny, tiny)


def test_choose_keeps_the_order_and_names_the_nearest():
    assert list(choose(["uiqm", "psnr"])) == ["uiqm", "psnr"]
    assert list(choose(METRICS)) == list(METRICS)
    with pytest.raises(ConfigError, match="'psnr'"):
        choose(["psrn"])
    with pytest.raises(ConfigError, match="no metric"):
        choose([])
