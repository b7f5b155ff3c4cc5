"""Settling: what must not change comes back to itself, pictures keep what they became."""

import copy

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from pic_uie.errors import ConfigError  # noqa: E402
from pic_uie.model import ModelConfig, PicUie  # noqa: E402
from pic_uie.synthetic import render_pair  # noqa: E402
from pic_uie.training import loop  # noqa: E402
from pic_uie.training.config import LossWeights, Optimization, Recipe, Settling, SettlingKinds  # noqa: E402
from pic_uie.training.pairs import Pairs  # noqa: E402
from pic_uie.training.settling import settle  # noqa: E402

SIZE = 176
GREYS = SettlingKinds(sheet=0, grey=1)
SHORT = Settling(steps=40, learning_rate=2e-3, weight=1.0, samples=24)


@pytest.fixture(scope="module")
def pairs():
    scenes = [render_pair(SIZE, SIZE, seed) for seed in range(12)]
    inputs, targets = (np.stack([getattr(scene, name) for scene in scenes]) for name in ("input", "reference"))
    return Pairs(tuple(map(str, range(12))), inputs, targets, None)


@pytest.fixture(scope="module")
def unsettled(root):
    return root / "configs" / "teachers" / "keeping.safetensors"


@pytest.fixture(scope="module")
def model(unsettled):
    return PicUie.load(unsettled)


@pytest.fixture(scope="module")
def settled(model, pairs):
    return settle(model, pairs.inputs, pairs.targets, SHORT, seed=0)


def levels(model, pixels):
    rgb = torch.from_numpy(pixels).permute(0, 3, 1, 2).float() / 255
    with torch.no_grad():
        return model(rgb)[0].permute(0, 2, 3, 1).numpy() * 255


def test_a_white_sheet_is_whiter_and_pictures_are_as_they_were(model, settled, pairs):
    white = np.full((1, SIZE, SIZE, 3), 255, np.uint8)
    before, after = (np.abs(levels(one, white) - 255).mean() for one in (model, settled))
    assert before > 20
    assert after < before / 2
    moved = np.sqrt(np.mean((levels(settled, pairs.inputs) - levels(model, pairs.inputs)) ** 2))
    changed = np.sqrt(np.mean((levels(model, pairs.inputs) - pairs.inputs) ** 2))
    assert moved < changed / 5


def test_only_the_linear_end_moves_and_the_model_stays(model, settled, unsettled):
    moved = {name for name, tensor in settled.state_dict().items() if not torch.equal(tensor, model.state_dict()[name])}
    assert moved
    heads = tuple(f"predictor.heads.{head}." for head in ("tone", "chroma", "affine", "covariance"))
    assert all(name.startswith(("predictor.statistics.", *heads)) for name in moved)
    again = PicUie.load(unsettled)
    assert all(torch.equal(tensor, again.state_dict()[name]) for name, tensor in model.state_dict().items())


def test_the_same_seed_gives_the_same_bits(model, pairs):
    few = Settling(steps=3, samples=8, kinds=GREYS)
    one, same, other = (settle(model, pairs.inputs, pairs.targets, few, seed).state_dict() for seed in (0, 0, 1))
    assert all(torch.equal(tensor, same[name]) for name, tensor in one.items())
    assert not all(torch.equal(tensor, other[name]) for name, tensor in one.items())


@pytest.mark.parametrize("changes", [{"statistics": "concatenated"}, {"statistics": "none"}, {"calibration": False}])
def test_variants_settle_too(pairs, changes):
    model = PicUie(ModelConfig(thumbnail=64, **changes))
    before = copy.deepcopy(model.state_dict())
    after = settle(model, pairs.inputs, pairs.targets, Settling(steps=2, samples=4, kinds=GREYS), seed=0)
    assert all(torch.isfinite(tensor).all() for tensor in after.state_dict().values())
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())


def test_a_run_ends_settled_and_resumed_is_the_same_run(pairs, tmp_path, monkeypatch):
    optimization = Optimization(epochs=2, batch=4, warmup=0)
    depthless = {"loss": LossWeights(depth=0.0), "model": ModelConfig(thumbnail=64), "size": SIZE}
    plain = Recipe(optimization=optimization, **depthless)
    recipe = Recipe(optimization=optimization, settling=Settling(steps=3, samples=4, kinds=GREYS), **depthless)
    folders = [tmp_path / name for name in ("plain", "whole", "cut")]
    for folder in folders:
        folder.mkdir()
    bare, whole = (loop.train(one, pairs, None, folder) for one, folder in zip((plain, recipe), folders, strict=False))
    body, tone = "predictor.body.0.conv.weight", "predictor.heads.tone.bias"
    assert torch.equal(bare.state_dict()[body], whole.state_dict()[body])
    assert not torch.equal(bare.state_dict()[tone], whole.state_dict()[tone])

    with monkeypatch.context() as patch:
        patch.setattr(loop, "settle", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            loop.train(recipe, pairs, None, folders[2])
    loop.train(recipe, pairs, None, folders[2])
    expected = (folders[1] / "last.safetensors").read_bytes()
    assert (folders[2] / "last.safetensors").read_bytes() == expected
    finished = loop.train(recipe, pairs, None, folders[2])  # nothing is left to do
    assert all(torch.equal(tensor, whole.state_dict()[name]) for name, tensor in finished.state_dict().items())
    assert (folders[2] / "last.safetensors").read_bytes() == expected


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Settling(steps=-1), "settling.steps"),
        (lambda: Settling(learning_rate=0.0), "settling.learning_rate"),
        (lambda: Settling(weight=float("nan")), "settling.weight"),
        (lambda: Settling(samples=0), "settling.samples"),
        (lambda: Recipe(model=ModelConfig(output="rgb"), settling=Settling(steps=1)), "heads of corrections"),
        (lambda: Recipe(method="nu2net", settling=Settling(steps=1)), "heads of corrections"),
    ],
)
def test_impossible_settings_are_refused(make, message):
    with pytest.raises(ConfigError, match=message):
        make()
