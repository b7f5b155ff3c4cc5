"""What a training step sees: geometry, light, severity, and the pictures that should stay as they are."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from pic_uie.errors import ConfigError  # noqa: E402
from pic_uie.training.augmentation import epoch_order, make_batch  # noqa: E402
from pic_uie.training.config import Augmentation, Recipe, UntouchedKinds  # noqa: E402
from pic_uie.training.pairs import Pairs  # noqa: E402


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


def test_severity_moves_the_input_along_the_line_to_its_target():
    pairs = coordinates(size=64)
    pairs.targets[:] = 128
    plain = make_batch(pairs, range(6), Recipe(), 1)
    moved = make_batch(pairs, range(6), Recipe(augmentation=Augmentation(severity=0.5)), 1)
    assert torch.equal(moved.targets, plain.targets)
    inside = (moved.inputs > 0.0) & (moved.inputs < 1.0)
    for index in range(6):
        offset = plain.inputs[index] - plain.targets[index]
        severity = ((moved.inputs[index] - moved.targets[index]) / offset)[inside[index] & (offset.abs() > 0.02)]
        assert severity.std() < 1e-4
        assert 0.5 <= severity.mean() <= 1.5


def smooth(count=6, size=64):
    """Pairs whose inputs and targets are one soft ramp: any grain is added."""
    ramp = np.linspace(60, 180, size).astype(np.uint8)
    inputs = np.broadcast_to(ramp[None, None, :, None], (count, size, size, 3)).copy()
    return Pairs(tuple(map(str, range(count))), inputs, inputs.copy(), inputs[..., 0].copy())


def test_noise_is_on_the_input_alone_and_never_stronger_than_asked():
    recipe = Recipe(augmentation=Augmentation(noise=8.0))
    batches = [make_batch(smooth(), range(6), recipe, epoch) for epoch in range(10)]
    plain = make_batch(smooth(), range(6), Recipe(), 0)
    assert torch.equal(batches[0].targets, plain.targets)
    noise = torch.cat([255.0 * (batch.inputs - batch.targets) for batch in batches]).std(dim=(1, 2, 3))
    assert noise.max() < 8.3
    assert noise.max() > 6.0
    assert noise.min() < 2.0


def test_the_asked_share_of_inputs_goes_through_jpeg_and_no_target():
    pairs = smooth()
    pairs.inputs[:, ::3, ::3] = 255  # something to blur
    recipe = Recipe(augmentation=Augmentation(jpeg=0.5))
    plain = [make_batch(pairs, range(6), Recipe(), epoch) for epoch in range(30)]
    batches = [make_batch(pairs, range(6), recipe, epoch) for epoch in range(30)]
    assert all(torch.equal(batch.targets, other.targets) for batch, other in zip(batches, plain, strict=True))
    errors = torch.cat([(b.inputs - p.inputs).abs().amax(dim=(1, 2, 3)) for b, p in zip(batches, plain, strict=True)])
    assert 0.4 < (errors > 0).float().mean() < 0.6
    assert errors.max() < 0.8  # still the same picture


def test_kinds_choose_which_pictures_stay():
    def pictures(**kinds):
        none = dict.fromkeys(("good", "land", "dark", "plain", "grey", "sheet"), 0.0)
        augmentation = Augmentation(untouched=1.0, kinds=UntouchedKinds(**(none | kinds)))
        recipe = Recipe(augmentation=augmentation)
        return torch.cat([make_batch(coordinates(size=64), range(6), recipe, epoch).inputs for epoch in range(20)])

    grey = pictures(grey=1.0)
    assert (grey.mean(dim=(2, 3)).amax(dim=1) - grey.mean(dim=(2, 3)).amin(dim=1)).max() < 0.03
    assert 0.4 < (grey.mean(dim=(1, 2, 3)) > 0.7).float().mean() < 0.9  # sheets, and some of the others
    assert (grey == 1.0).all(dim=3).all(dim=2).all(dim=1).sum() >= 5  # nothing but white
    sheets = pictures(sheet=1.0).mean(dim=(1, 2, 3))
    assert ((sheets < 0.03) | (sheets > 0.8)).all()
    assert 0.1 < (sheets < 0.03).float().mean() < 0.4
    assert pictures(dark=2.0).mean(dim=(1, 2, 3)).max() < 0.35
    assert pictures(good=1.0).std(dim=(2, 3)).amax(dim=1).min() > 0.05
    with pytest.raises(ConfigError, match="kinds"):
        UntouchedKinds(0.0, 0.0, 0.0, 0.0, 0.0)
    with pytest.raises(ConfigError, match="kinds"):
        UntouchedKinds(land=-0.1)


def test_untouched_pictures_are_their_own_target_in_8_bits_and_of_every_kind():
    pairs = coordinates(size=64)
    recipe = Recipe(augmentation=Augmentation(untouched=1.0, exposure=1.0, severity=1.0))
    pictures = torch.cat([make_batch(pairs, range(6), recipe, epoch).inputs for epoch in range(20)])
    targets = torch.cat([make_batch(pairs, range(6), recipe, epoch).targets for epoch in range(20)])
    assert torch.equal(pictures, targets)
    assert pictures.min() >= 0.0
    assert pictures.max() <= 1.0
    assert torch.allclose(pictures * 255.0, (pictures * 255.0).round(), atol=1e-4)
    assert (pictures.mean(dim=(1, 2, 3)) < 0.1).sum() >= 5  # dark
    assert (pictures.std(dim=(2, 3)).amax(dim=1) < 0.02).sum() >= 5  # of one colour


def test_untouched_pictures_keep_the_depth_of_their_scene_and_plain_ones_have_none():
    pairs = coordinates(size=64)
    pairs.depths[:] += 1
    recipe = Recipe(augmentation=Augmentation(untouched=1.0))
    batches = [make_batch(pairs, range(6), recipe, epoch) for epoch in range(20)]
    has_depth = torch.cat([batch.depths.std(dim=(1, 2, 3)) > 0 for batch in batches])
    varies_down = torch.cat([batch.inputs.std(dim=2).amax(dim=(1, 2)) > 0.05 for batch in batches])  # plain ones do not
    assert 0.55 < has_depth.float().mean() < 0.85
    assert varies_down.any()
    assert not (varies_down & ~has_depth).any()


def test_only_the_asked_share_of_pairs_is_untouched():
    pairs = coordinates(size=64)
    pairs.targets[:] = 128
    recipe = Recipe(augmentation=Augmentation(untouched=0.25))
    batches = [make_batch(pairs, range(6), recipe, epoch) for epoch in range(50)]
    kept = [torch.equal(*pair) for batch in batches for pair in zip(batch.inputs, batch.targets, strict=True)]
    assert 0.15 < np.mean(kept) < 0.35


@pytest.mark.parametrize("target", ["shuffled", "noise"])
def test_depth_controls_break_the_alignment(target):
    pairs = coordinates()
    pairs.depths[:] = np.arange(6, dtype=np.uint8)[:, None, None]
    batch = make_batch(pairs, range(6), Recipe(depth_target=target), 0)
    own = torch.arange(6).view(6, 1, 1, 1) / 255.0
    assert all(not torch.allclose(batch.depths[i], own[i]) for i in range(6))
