"""Each term of the objective against NumPy, and the augmentation that feeds it."""

import numpy as np
import pytest

from samples import picture

torch = pytest.importorskip("torch")
from pic_uie.config import ModelConfig  # noqa: E402
from pic_uie.model import PicUie  # noqa: E402
from pic_uie.training import losses  # noqa: E402
from pic_uie.training.augmentation import epoch_order, make_batch  # noqa: E402
from pic_uie.training.config import Augmentation, LossWeights, Optimization, Recipe  # noqa: E402
from pic_uie.training.loop import learning_rate  # noqa: E402
from pic_uie.training.pairs import Pairs  # noqa: E402


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


def coordinates(count=6, size=32):
    """Pairs whose target and depth tell where each pixel of the input came from."""
    y, x = np.mgrid[0:size, 0:size].astype(np.uint8)
    inputs = np.stack([np.stack([x, y, np.full_like(x, i)], axis=-1) for i in range(count)])
    return Pairs(tuple(map(str, range(count))), inputs, inputs.copy(), inputs[..., 0].copy())


def test_geometry_is_the_same_for_all_three_and_all_eight_occur():
    pairs, recipe = coordinates(), Recipe()
    seen = set()
    for epoch in range(20):
        batch = make_batch(pairs, range(6), recipe, epoch)
        assert torch.equal(batch.inputs, batch.targets)
        assert torch.equal(batch.inputs[:, :1], batch.depths)
        corner = (255 * batch.inputs[:, :2, 0, 0]).round().int().tolist()
        after = (255 * batch.inputs[:, :2, 0, 1]).round().int().tolist()
        seen |= {(*a, *b) for a, b in zip(corner, after, strict=True)}
    assert len(seen) == 8


def test_batches_depend_on_seed_epoch_and_index_alone():
    pairs = coordinates()
    recipe = Recipe(augmentation=Augmentation(crop=0.5, exposure=0.5, cast=0.2))
    whole = make_batch(pairs, [0, 1, 2, 3], recipe, 5)
    part = make_batch(pairs, [2, 3], recipe, 5)
    assert torch.equal(whole.inputs[2:], part.inputs)
    assert not torch.equal(make_batch(pairs, [2, 3], recipe, 6).inputs, part.inputs)
    assert sorted(epoch_order(10, 0, 3)) == list(range(10))
    assert epoch_order(10, 0, 3) == epoch_order(10, 0, 3) != epoch_order(10, 0, 4)


def test_crops_keep_the_pair_aligned_and_relighting_leaves_the_target():
    pairs = coordinates(size=64)
    cropped = make_batch(pairs, range(6), Recipe(augmentation=Augmentation(crop=0.3)), 1)
    assert torch.equal(cropped.inputs, cropped.targets)
    relit = make_batch(pairs, range(6), Recipe(augmentation=Augmentation(exposure=1.0)), 1)
    plain = make_batch(pairs, range(6), Recipe(), 1)
    assert torch.equal(relit.targets, plain.targets)
    assert not torch.equal(relit.inputs, plain.inputs)


@pytest.mark.parametrize("target", ["shuffled", "noise"])
def test_depth_controls_break_the_alignment(target):
    pairs = coordinates()
    pairs.depths[:] = np.arange(6, dtype=np.uint8)[:, None, None]
    batch = make_batch(pairs, range(6), Recipe(depth_target=target), 0)
    own = torch.arange(6).view(6, 1, 1, 1) / 255.0
    assert all(not torch.allclose(batch.depths[i], own[i]) for i in range(6))
