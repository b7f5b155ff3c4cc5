"""Each term of the objective against NumPy, and the schedule that follows it."""

import numpy as np
import pytest

from helpers.samples import picture

torch = pytest.importorskip("torch")
from pic_uie.config import ModelConfig  # noqa: E402
from pic_uie.model import PicUie  # noqa: E402
from pic_uie.training import losses  # noqa: E402
from pic_uie.training.config import LossWeights, Optimization  # noqa: E402
from pic_uie.training.step import learning_rate  # noqa: E402


def test_depth_correlation_is_pearson():
    rng = np.random.default_rng(0)
    t, depth = rng.uniform(0.05, 1.0, (2, 1, 8, 8)), rng.random((2, 1, 8, 8))
    ours = losses.depth_correlation(torch.tensor(t), torch.tensor(depth)).numpy()
    expected = [np.corrcoef(-np.log(t[i].ravel()), depth[i].ravel())[0, 1] for i in range(2)]
    assert np.allclose(ours, expected, atol=1e-4)
    assert losses.depth_loss(torch.tensor(t), -torch.tensor(t).log()).item() == pytest.approx(0.0, abs=1e-4)


def test_depth_loss_of_flat_fields_has_a_finite_gradient():
    t = torch.full((1, 1, 8, 8), 0.5, requires_grad=True)
    losses.depth_loss(t, torch.rand(1, 1, 8, 8)).backward()
    assert torch.isfinite(t.grad).all()


def test_table_terms_against_numpy():
    lut = np.random.default_rng(1).normal(size=(3, 2, 9, 9))
    smooth = np.mean(np.diff(lut, axis=-1) ** 2) + np.mean(np.diff(lut, axis=-2) ** 2)
    falls = np.mean(np.maximum(-np.diff(lut[:, 0], axis=-1), 0)) + np.mean(np.maximum(-np.diff(lut[:, 1], axis=-2), 0))
    assert losses.lut_smoothness(torch.tensor(lut)).item() == pytest.approx(smooth)
    assert losses.lut_monotonicity(torch.tensor(lut)).item() == pytest.approx(falls)


def test_objective_is_the_weighted_sum_and_terms_switch_off():
    msssim = pytest.importorskip("pytorch_msssim")
    x, y = (torch.tensor(picture(seed, 176, 176))[None] for seed in (0, 1))
    depth = torch.rand(1, 1, 176, 176)
    with torch.no_grad():
        enhanced, theta = PicUie()(x)
        terms = losses.objective(enhanced, y, theta, depth, LossWeights(), ModelConfig())
        expected = (
            (enhanced - y).abs().mean()
            + 0.3 * (enhanced[:, 0] - y[:, 0]).abs().mean()
            + 0.6 * (1 - msssim.ssim(enhanced, y, data_range=1.0))
            + 0.4 * (1 - msssim.ms_ssim(enhanced, y, data_range=1.0))
            + 0.1 * losses.depth_loss(theta.t, depth)
            + 0.05 * losses.lut_smoothness(theta.lut)
            + 1.0 * losses.lut_monotonicity(theta.lut)
        )
        assert terms["total"].item() == pytest.approx(expected.item(), abs=2e-6)
        without = losses.objective(
            enhanced, y, theta, depth, LossWeights(ssim=0, ms_ssim=0, depth=0, red=0), ModelConfig()
        )
    assert without.keys() == {"l1", "lut_smoothness", "lut_monotonicity", "total"}


def test_learning_rate_falls_along_a_cosine():
    settings = Optimization(epochs=700)
    assert learning_rate(settings, 0) == 3e-4
    assert learning_rate(settings, 350) == pytest.approx(1.5e-4)
    assert 0.0 < learning_rate(settings, 699) < 1e-8
    warm = Optimization(epochs=10, warmup=2, learning_rate=3.0)
    assert [round(learning_rate(warm, epoch), 3) for epoch in range(3)] == [1.0, 2.0, 3.0]
