import numpy as np
import pytest

from pic_uie.evaluation.metrics.niqe import asymmetric_gaussian, half_size


def test_halving_agrees_with_an_antialiased_bicubic_away_from_the_border():
    torch = pytest.importorskip("torch")
    plane = np.random.default_rng(0).uniform(0, 255, (96, 128))
    tensor = torch.from_numpy(plane)[None, None]
    expected = torch.nn.functional.interpolate(tensor, scale_factor=0.5, mode="bicubic", antialias=True)
    np.testing.assert_allclose(half_size(plane)[2:-2, 2:-2], expected[0, 0].numpy()[2:-2, 2:-2], atol=1e-9)


def test_halving_keeps_a_flat_plane_flat_up_to_the_border():
    np.testing.assert_allclose(half_size(np.full((20, 30), 80.0)), 80.0, atol=1e-9)


def test_the_fit_finds_the_shape_that_samples_were_drawn_from():
    random = np.random.default_rng(2)
    normal, laplace = random.normal(size=(1, 400, 400)), random.laplace(size=(1, 400, 400))
    shape, left, right = asymmetric_gaussian(np.concatenate([normal, laplace]))
    assert shape == pytest.approx([2.0, 1.0], abs=0.05)
    assert left == pytest.approx(right, rel=0.02)
    assert left[0] == pytest.approx(np.sqrt(2), rel=0.02)  # a Gaussian of deviation 1 has scale √2


def test_the_fit_sees_asymmetry():
    values = np.random.default_rng(4).normal(size=(1, 300, 300))
    _, left, right = asymmetric_gaussian(np.where(values < 0, 3 * values, values))
    assert float(left[0] / right[0]) == pytest.approx(3.0, rel=0.03)


def test_a_flat_block_has_no_features():
    shape, *_ = asymmetric_gaussian(np.zeros((1, 8, 8)))
    assert np.isnan(shape).all()
