"""The PyTorch model against the float64 reference."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.samples import EXTREMES, extreme_corrections, picture, random_corrections, random_parameters
from pic_uie import reference

torch = pytest.importorskip("torch")
from pic_uie.config import ModelConfig  # noqa: E402
from pic_uie.model import PicUie, Theta  # noqa: E402

TOLERANCE = 1e-5
SIZES = [(1, 1), (1, 7), (7, 1), (31, 33), (255, 257), (480, 640)]


def model_with(parameters, config=None):
    model = PicUie(config)
    model.load_state_dict({name: torch.tensor(array) for name, array in parameters.items()})
    return model.eval()


def enhanced_by_reference(image, theta, exact):
    return reference.execute(image.transpose(1, 2, 0), theta, exact).result.transpose(2, 0, 1)


def executor_difference(image, corrections, parameters):
    with torch.no_grad():
        ours = (
            model_with(parameters).executor(torch.tensor(image)[None], Theta.from_corrections(corrections))[0].numpy()
        )
    exact = {name: array.astype(np.float64) for name, array in parameters.items()}
    return np.abs(ours - enhanced_by_reference(image, reference.exact(corrections), exact)).max()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("seed", [0, 1])
def test_executor_with_random_theta(size, seed):
    assert executor_difference(picture(seed, *size), random_corrections(seed), random_parameters(seed)) < TOLERANCE


@pytest.mark.parametrize("size", SIZES[:5])
@pytest.mark.parametrize("name", EXTREMES)
def test_executor_with_extreme_theta(size, name):
    assert executor_difference(picture(5, *size), extreme_corrections(name), random_parameters(5)) < TOLERANCE


@settings(max_examples=30, deadline=None)
@given(
    height=st.integers(1, 70),
    width=st.integers(1, 70),
    field_size=st.integers(1, 40),
    grid=st.integers(2, 12),
    tones=st.integers(2, 50),
    seed=st.integers(0, 10_000),
)
def test_executor_over_sizes_of_everything(height, width, field_size, grid, tones, seed):
    corrections = random_corrections(seed, field_size, grid, tones)
    assert executor_difference(picture(seed, height, width), corrections, random_parameters(seed)) < TOLERANCE


@pytest.mark.parametrize("size", SIZES)
def test_whole_model_with_random_weights(size):
    image, parameters = picture(3, *size), random_parameters(3)
    exact = {name: array.astype(np.float64) for name, array in parameters.items()}
    with torch.no_grad():
        enhanced, theta = model_with(parameters)(torch.tensor(image)[None])
    expected = reference.predict(image.transpose(1, 2, 0), exact)
    for name, value in expected.items():
        ours = getattr(theta, name)[0].numpy()
        assert np.allclose(ours.reshape(np.shape(value)), value, rtol=1e-4, atol=TOLERANCE), name
    assert np.abs(enhanced[0].numpy() - enhanced_by_reference(image, expected, exact)).max() < 5 * TOLERANCE


def test_whole_model_in_double_is_exact():
    image, parameters = picture(4, 90, 70), random_parameters(4)
    exact = {name: array.astype(np.float64) for name, array in parameters.items()}
    with torch.no_grad():
        enhanced, _ = model_with(parameters).double()(torch.tensor(image, dtype=torch.float64)[None])
    theta = reference.predict(image.transpose(1, 2, 0), exact)
    assert np.abs(enhanced[0].numpy() - enhanced_by_reference(image, theta, exact)).max() < 1e-10


@pytest.mark.parametrize("thumbnail", [128, 384])
def test_other_thumbnails(thumbnail):
    config = ModelConfig(thumbnail=thumbnail, lut_grid=5)
    parameters = random_parameters(8, config)
    exact = {name: array.astype(np.float64) for name, array in parameters.items()}
    image = picture(8, 100, 60)
    with torch.no_grad():
        enhanced, _ = model_with(parameters, config).double()(torch.tensor(image, dtype=torch.float64)[None])
    theta = reference.predict(image.transpose(1, 2, 0), exact, thumbnail, grid=5)
    assert np.abs(enhanced[0].numpy() - enhanced_by_reference(image, theta, exact)).max() < 1e-10


def table_of(model):
    """The table that the heads make of features and a descriptor of zeros: what their biases say."""
    width, size = model.config.width, model.config.descriptor_size
    return model.predictor.heads(torch.zeros(1, width, 2, 2).double(), torch.zeros(1, size).double()).lut


def test_chroma_curves_and_affine_tables_are_what_they_stand_for():
    from pic_uie.model.executor import apply_chroma

    q = torch.tensor(np.random.default_rng(0).uniform(-0.5, 0.5, (1, 2, 20, 20)))
    model = PicUie(ModelConfig(chroma="affine")).double()
    raw = torch.tensor([[0.1, -0.2, 0.3, -0.1, 0.05, -0.04]], dtype=torch.float64)
    with torch.no_grad():
        model.predictor.heads["chroma"].bias.copy_(raw[0])
        table = table_of(model)
    slope, offset = np.array([[1.1, -0.2], [0.3, 0.9]]), np.array([0.025, -0.02])  # the table is in units of 0.5
    expected = np.einsum("ij,bjhw->bihw", slope, q.numpy()) + offset[:, None, None]
    assert np.abs(apply_chroma(q, table).numpy() - expected).max() < 1e-7

    model = PicUie(ModelConfig(chroma="curves")).double()
    raw = torch.tensor(np.random.default_rng(1).normal(size=(1, 32)))
    with torch.no_grad():
        model.predictor.heads["chroma"].bias.copy_(raw[0])
        table = table_of(model)
    for channel in range(2):
        increments = np.logaddexp(0.0, raw[0, 16 * channel : 16 * channel + 16].numpy()) + 1e-3
        samples = np.concatenate([[0.0], np.cumsum(increments) / np.sum(increments)]) - 0.5
        expected = np.interp(q[0, channel].numpy(), np.linspace(-0.5, 0.5, 17), samples)
        assert np.abs(apply_chroma(q, table)[0, channel].numpy() - expected).max() < 1e-7
