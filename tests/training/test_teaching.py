"""Finished models that answer inputs which no pair has."""

import csv
import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from helpers.samples import random_parameters  # noqa: E402
from pic_uie import typed_yaml, weights  # noqa: E402
from pic_uie.cli.main import main  # noqa: E402
from pic_uie.errors import ConfigError, WeightsError  # noqa: E402
from pic_uie.model import ModelConfig, PicUie  # noqa: E402
from pic_uie.synthetic import render_pair  # noqa: E402
from pic_uie.training.augmentation import make_batch  # noqa: E402
from pic_uie.training.config import Augmentation, Optimization, Recipe, Teaching  # noqa: E402
from pic_uie.training.loop import start, train  # noqa: E402
from pic_uie.training.pairs import Pairs  # noqa: E402
from pic_uie.training.teaching import Teachers  # noqa: E402

SIZE = 176


@pytest.fixture(scope="module")
def pairs():
    scenes = [render_pair(SIZE, SIZE, seed) for seed in range(8)]
    inputs, targets = (np.stack([getattr(scene, name) for scene in scenes]) for name in ("input", "reference"))
    return Pairs(tuple(map(str, range(8))), inputs, targets, inputs[..., 0].copy())


@pytest.fixture(scope="module")
def teachers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("teachers")
    paths = []
    for seed, config in enumerate([ModelConfig(thumbnail=64), ModelConfig(thumbnail=64, width=8)]):
        model = PicUie(config)
        parameters = random_parameters(seed, config)
        model.load_state_dict({name: torch.tensor(array) for name, array in parameters.items()})
        model.save(folder / f"{seed}.safetensors")
        paths.append(str(folder / f"{seed}.safetensors"))
    return tuple(paths)


def recipe_with(teachers, share=0.5, **changes):
    model = ModelConfig(thumbnail=64)
    return Recipe(model=model, size=SIZE, teaching=Teaching(share=share, teachers=teachers), **changes)


def test_the_asked_share_is_left_to_the_teachers_and_differs_from_every_pair(pairs, teachers):
    recipe = recipe_with(teachers, 0.25)
    plain = Recipe(size=SIZE)
    batches = [make_batch(pairs, range(8), recipe, epoch) for epoch in range(40)]
    assert 0.17 < np.mean([len(batch.unanswered) / 8 for batch in batches]) < 0.33
    means = make_batch(pairs, range(8), plain, 0).inputs.mean(dim=(2, 3))  # turning does not change them
    for batch in batches[:10]:
        distances = torch.cdist(batch.inputs.mean(dim=(2, 3)), means).amin(dim=1)
        for place in range(8):
            assert (distances[place] > 1e-5) == (place in batch.unanswered)
    assert make_batch(pairs, range(8), plain, 0).unanswered == []


def test_unanswered_inputs_depend_on_seed_epoch_and_index_alone(pairs, teachers):
    recipe = recipe_with(teachers, 1.0)
    whole = make_batch(pairs, [0, 1, 2, 3], recipe, 5)
    part = make_batch(pairs, [2, 3], recipe, 5)
    assert torch.equal(whole.inputs[2:], part.inputs)
    assert not torch.equal(make_batch(pairs, [2, 3], recipe, 6).inputs, part.inputs)


def test_the_answer_is_the_mean_of_the_pictures_and_other_targets_stay(pairs, teachers):
    batch = make_batch(pairs, range(8), recipe_with(teachers), 0)
    assert 0 < len(batch.unanswered) < 8
    answered = Teachers(teachers)(batch)
    models = [PicUie.load(path) for path in teachers]
    with torch.no_grad():
        mean = sum(model(batch.inputs)[0] for model in models) / 2
    for place in range(8):
        expected = mean[place] if place in batch.unanswered else batch.targets[place]
        assert torch.allclose(answered.targets[place], expected, atol=1e-5)
    assert torch.equal(answered.inputs, batch.inputs)


def test_untouched_pictures_are_never_left_to_the_teachers(pairs, teachers):
    recipe = recipe_with(teachers, augmentation=Augmentation(untouched=1.0))
    batch = make_batch(pairs, range(8), recipe, 0)
    for place in set(range(8)) - set(batch.unanswered):
        assert torch.equal(batch.inputs[place], batch.targets[place])


def test_a_student_comes_nearer_to_its_teachers(pairs, teachers, tmp_path):
    optimization = Optimization(epochs=6, batch=4, learning_rate=3e-3, ema=0.5)
    recipe = recipe_with(teachers, 1.0, optimization=optimization)
    unseen = make_batch(pairs, range(8), recipe, 99)
    answers = Teachers(teachers)(unseen).targets

    def distance(model):
        with torch.no_grad():
            return float((model(unseen.inputs)[0] - answers).abs().mean())

    before = distance(start(recipe).model)
    assert distance(train(recipe, pairs, None, tmp_path)) < 0.8 * before


def test_a_run_can_start_from_weights(teachers):
    state = start(recipe_with(teachers, start=teachers[0]))
    expected = PicUie.load(teachers[0]).state_dict()
    for model in (state.model, state.average):
        assert all(torch.equal(value, expected[name]) for name, value in model.state_dict().items())
    with pytest.raises(ConfigError, match="another model"):
        start(recipe_with(teachers, start=teachers[1]))


def test_the_result_is_nearer_to_the_start_by_the_share_and_the_run_is_the_same(pairs, teachers, tmp_path):
    optimization = Optimization(epochs=2, batch=4, learning_rate=1e-2, ema=0.0)
    results = {}
    for share in (0.0, 0.25):
        folder = tmp_path / str(share)
        folder.mkdir()
        recipe = recipe_with(teachers, start=teachers[0], start_share=share, optimization=optimization)
        results[share] = train(recipe, pairs, None, folder).state_dict()
        assert all(torch.equal(v, results[share][k]) for k, v in load(folder / "last.safetensors").items())
    begun = load(teachers[0])
    assert max(float((value - begun[name]).abs().max()) for name, value in results[0.0].items()) > 1e-2
    for name, value in results[0.0].items():
        assert torch.allclose(results[0.25][name], 0.75 * value + 0.25 * begun[name], atol=1e-6)
    assert losses(tmp_path / "0.0") == losses(tmp_path / "0.25")
    with pytest.raises(ConfigError, match="start_share"):
        Recipe(start_share=0.5)


def load(path):
    return PicUie.load(path).state_dict()


def losses(folder):
    with (folder / "metrics.csv").open() as file:
        return [row["loss_total"] for row in csv.DictReader(file)]


def test_share_and_teachers_belong_together_and_missing_files_are_named(pairs, tmp_path):
    with pytest.raises(ConfigError, match="belong together"):
        typed_yaml.from_mapping(Recipe, {"teaching": {"share": 0.5}})
    with pytest.raises(ConfigError, match="belong together"):
        typed_yaml.from_mapping(Recipe, {"teaching": {"teachers": ["a"]}})
    with pytest.raises(WeightsError, match="nowhere"):
        train(recipe_with(("nowhere.safetensors",), optimization=Optimization(batch=4)), pairs, None, tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_command_writes_down_which_weights_taught(teachers, tmp_path):
    assert main(["synth", "--count", "4", "--size", f"{SIZE}x{SIZE}", "-o", str(tmp_path / "data"), "-q"]) == 0
    overrides = ["model.thumbnail=64", f"size={SIZE}", "loss.depth=0", "optimization.epochs=1", "optimization.batch=2"]
    overrides += ["teaching.share=0.5", f"teaching.teachers=[{', '.join(teachers)}]", f"start={teachers[0]}"]
    data = ["--data", str(tmp_path / "data"), "--threads", "1"]
    assert main(["train", *overrides, *data, "-o", str(tmp_path / "run")]) == 0
    versions = json.loads((tmp_path / "run" / "versions.json").read_text())
    for path in teachers:
        assert versions[f"weights in {path}"] == weights.load(path).sha256
