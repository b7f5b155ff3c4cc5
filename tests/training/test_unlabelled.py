"""Real pictures without a reference: what the teachers make of them, and which of them a step sees."""

import json
import shutil

import numpy as np
import pytest
from PIL import Image

torch = pytest.importorskip("torch")
from helpers.samples import random_parameters  # noqa: E402
from pic_uie import weights  # noqa: E402
from pic_uie.cli.main import main  # noqa: E402
from pic_uie.errors import ConfigError, DataError  # noqa: E402
from pic_uie.model import ModelConfig, PicUie  # noqa: E402
from pic_uie.synthetic import render_pair  # noqa: E402
from pic_uie.training.answering import answer  # noqa: E402
from pic_uie.training.augmentation import make_batch  # noqa: E402
from pic_uie.training.config import Optimization, Recipe, Teaching  # noqa: E402
from pic_uie.training.loop import ingredients, train  # noqa: E402
from pic_uie.training.pairs import Pairs  # noqa: E402
from pic_uie.training.unlabelled import Answered, Unlabelled, draw_odds, load_unlabelled  # noqa: E402

SIZE = 176
COUNT = 5


@pytest.fixture(scope="module")
def teachers(tmp_path_factory):
    """Three models, one of another width."""
    folder = tmp_path_factory.mktemp("teachers")
    configs = [ModelConfig(thumbnail=64), ModelConfig(thumbnail=64, width=8), ModelConfig(thumbnail=64)]
    for seed, config in enumerate(configs):
        model = PicUie(config)
        model.load_state_dict({name: torch.tensor(a) for name, a in random_parameters(seed, config).items()})
        model.save(folder / f"{seed}.safetensors")
    return tuple(str(folder / f"{seed}.safetensors") for seed in range(3))


@pytest.fixture
def folder(tmp_path):
    """Pictures of other scenes than those of the data set, larger than the training pictures."""
    (tmp_path / "seas").mkdir()
    for seed in range(COUNT):
        Image.fromarray(render_pair(200, 240, 100 + seed).input).save(tmp_path / "seas" / f"sea-{seed}.png")
    return tmp_path / "seas"


@pytest.fixture(scope="module")
def pairs():
    scenes = [render_pair(SIZE, SIZE, seed) for seed in range(8)]
    inputs, targets = (np.stack([getattr(scene, name) for scene in scenes]) for name in ("input", "reference"))
    return Pairs(tuple(map(str, range(8))), inputs, targets, inputs[..., 0].copy())


def recipe_with(teachers, **changes):
    return Recipe(model=ModelConfig(thumbnail=64), size=SIZE, teaching=Teaching(teachers=teachers, **changes))


def marked(disagreement=None):
    """Pictures that say which they are and how they were turned, with an answer of their own."""
    y, x = np.mgrid[0:SIZE, 0:SIZE].astype(np.uint8)
    inputs = np.stack([np.stack([x, y, np.full_like(x, 40 * i)], axis=-1) for i in range(COUNT)])
    answers = 255 - inputs
    given = np.ones(COUNT) if disagreement is None else np.asarray(disagreement)
    return Answered(Unlabelled(tuple(map(str, range(COUNT))), inputs), answers, given)


def test_pictures_are_read_in_order_and_resized(folder):
    unlabelled = load_unlabelled(folder, SIZE)
    assert unlabelled.stems == tuple(f"sea-{seed}" for seed in range(COUNT))
    picture = Image.open(folder / "sea-3.png").resize((SIZE, SIZE), Image.Resampling.BICUBIC)
    assert np.array_equal(unlabelled.inputs[3], np.asarray(picture))


def test_the_answer_is_the_mean_over_teachers_and_eight_views(folder, teachers):
    unlabelled = load_unlabelled(folder, SIZE)
    answered = answer(unlabelled, teachers)
    models = [PicUie.load(path) for path in teachers]
    picture = torch.from_numpy(unlabelled.inputs[1].transpose(2, 0, 1)[None]).float() / 255.0
    of_teachers = []
    for model in models:
        views = []
        for turns in range(4):
            for axes in ([], [3]):
                with torch.no_grad():
                    view = model(picture.rot90(turns, (2, 3)).flip(axes))[0]
                views.append(view.flip(axes).rot90(-turns, (2, 3)))
        of_teachers.append(sum(views) / 8)
    mean = sum(of_teachers) / 3
    expected = 255.0 * mean[0].permute(1, 2, 0).numpy()
    assert np.abs(answered.answers[1] - expected).max() <= 0.51  # rounded to 8 bits
    deviation = np.sqrt(np.mean([float((picture - mean).square().mean()) for picture in of_teachers]))
    assert answered.disagreement[1] == pytest.approx(deviation, rel=1e-4)
    assert answer(unlabelled, teachers[:1]).disagreement == pytest.approx(np.zeros(COUNT), abs=1e-12)


def test_answers_are_kept_by_content_of_pictures_and_teachers(folder, teachers, tmp_path, monkeypatch):
    unlabelled, cache = load_unlabelled(folder, SIZE), tmp_path / "cache"
    first = answer(unlabelled, teachers, cache)
    seen = []
    monkeypatch.setattr("pic_uie.training.answering.Teachers", lambda paths: seen.append(paths) or fail())

    def fail():
        raise AssertionError("asked again")

    again = answer(unlabelled, teachers, cache)
    assert np.array_equal(again.answers, first.answers)
    assert np.array_equal(again.disagreement, first.disagreement)
    changed = unlabelled.inputs.copy()
    changed[0, 0, 0, 0] ^= 1
    for pictures, asked in [(Unlabelled(unlabelled.stems, changed), teachers), (unlabelled, teachers[:2])]:
        with pytest.raises(AssertionError, match="asked again"):
            answer(pictures, asked, cache)


def test_odds_follow_the_formula_and_one_teacher_agrees_with_itself():
    disagreement = np.array([0.01, 0.02, 0.04])
    expected = 1.0 / (1.0 + (2.0 * disagreement / 0.02) ** 2)
    assert draw_odds(disagreement, 2.0) == pytest.approx(expected / expected.sum())
    assert draw_odds(disagreement, 0.0) == pytest.approx(np.full(3, 1 / 3))
    assert draw_odds(np.zeros(3), 2.0) == pytest.approx(np.full(3, 1 / 3))


def test_the_asked_share_is_real_with_its_answer_turned_along(pairs, teachers):
    real, recipe = marked(), recipe_with(teachers, share=0.8, real=0.75)
    batches = [make_batch(pairs, range(8), recipe, epoch, real) for epoch in range(40)]
    kinds = {"real": 0, "unanswered": 0, "pair": 0}
    corners = set()
    for batch in batches:
        for place in range(8):
            if torch.allclose(batch.inputs[place] + batch.targets[place], torch.ones(1), atol=1e-5):
                kinds["real"] += 1
                assert place not in batch.unanswered
                assert not batch.depths[place].any()
                near = (255 * batch.inputs[place, :2, :2, 0]).round().int().flatten().tolist()
                corners.add(tuple(near))
            else:
                kinds["unanswered" if place in batch.unanswered else "pair"] += 1
    assert 0.5 < kinds["real"] / 320 < 0.7  # 0.6 asked for
    assert 0.13 < kinds["unanswered"] / 320 < 0.27
    assert len(corners) == 8


def test_pictures_on_which_teachers_disagree_are_drawn_less_often(pairs, teachers):
    real = marked([0.1, 0.1, 0.1, 0.1, 1.0])
    recipe = recipe_with(teachers, share=1.0, real=1.0, agreement=1.0)
    drawn = [
        round(float(255 * picture[2, 0, 0]) / 40)
        for epoch in range(60)
        for picture in make_batch(pairs, range(8), recipe, epoch, real).inputs
    ]
    counts = np.bincount(drawn, minlength=COUNT) / len(drawn)
    assert counts[:4].min() > 0.18
    assert counts[4] < 0.02


def test_real_pictures_depend_on_seed_epoch_and_index_alone(pairs, teachers):
    real, recipe = marked(), recipe_with(teachers, share=1.0, real=1.0)
    whole, part = (make_batch(pairs, indices, recipe, 5, real) for indices in ([0, 1, 2, 3], [2, 3]))
    assert torch.equal(whole.inputs[2:], part.inputs)
    assert torch.equal(whole.targets[2:], part.targets)


def test_recipe_and_pictures_belong_together(pairs, teachers, tmp_path):
    with pytest.raises(ConfigError, match=r"teaching\.share"):
        Teaching(real=0.5)
    with pytest.raises(ConfigError, match=r"teaching\.real"):
        Teaching(share=0.5, teachers=teachers, real=1.5)
    optimization = Optimization(epochs=1, batch=4)
    for teaching, real in [(Teaching(share=0.5, teachers=teachers, real=0.5), None), (Teaching(), marked())]:
        with pytest.raises(ConfigError, match="belong together"):
            train(Recipe(size=SIZE, optimization=optimization, teaching=teaching), pairs, None, tmp_path, real=real)
    assert not list(tmp_path.iterdir())


def test_the_state_knows_the_pictures_by_content(pairs, teachers):
    recipe = recipe_with(teachers, share=0.5, real=0.5)
    before = ingredients(recipe, pairs, None, marked())
    real = marked()
    real.pictures.inputs[2, 5, 5, 1] ^= 1
    assert before["unlabelled pictures"] != ingredients(recipe, pairs, None, real)["unlabelled pictures"]


def command(dataset, folder, output, teachers, epochs, *more):
    overrides = ["model.thumbnail=64", f"size={SIZE}", f"optimization.epochs={epochs}", "optimization.batch=5"]
    overrides += ["teaching.share=0.8", "teaching.real=0.5", "teaching.agreement=1"]
    overrides += [f"teaching.teachers=[{', '.join(teachers)}]"]
    return [
        "train",
        *overrides,
        "--data",
        str(dataset),
        "--unlabelled",
        str(folder),
        "--threads",
        "1",
        "-o",
        str(output),
        *more,
    ]


def test_a_run_resumes_to_the_same_bytes_and_notices_other_pictures(
    dataset, folder, teachers, tmp_path, monkeypatch, capsys
):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert main(command(dataset, folder, whole, teachers, 2)) == 0
    assert "5 unlabelled pictures" in capsys.readouterr().err

    class StoppedError(Exception):
        pass

    def stop(done, steps):
        if done == 3:  # within the second epoch
            raise StoppedError

    with monkeypatch.context() as patch:
        patch.setattr(
            "pic_uie.cli.training_progress.TrainingProgress.step", lambda self, done, steps: stop(done, steps)
        )
        with pytest.raises(StoppedError):
            main(command(dataset, folder, parts, teachers, 2))
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(folder, elsewhere)  # the same pictures in another folder are the same pictures
    assert main(command(dataset, elsewhere, parts, teachers, 2, "--resume")) == 0
    for name in ("last.safetensors", "state.safetensors"):
        assert (whole / name).read_bytes() == (parts / name).read_bytes()
    facts = json.loads((parts / "versions.json").read_text())
    assert len(facts["unlabelled pictures"]) == 64
    assert facts[f"weights in {teachers[1]}"] == weights.load(teachers[1]).sha256
    (elsewhere / "sea-0.png").unlink()
    assert main(command(dataset, elsewhere, parts, teachers, 2, "--resume")) == 2
    assert "unlabelled pictures" in capsys.readouterr().err


def test_the_command_says_what_is_missing(dataset, folder, teachers, tmp_path, capsys):
    asked = command(dataset, folder, tmp_path / "run", teachers, 1)
    without = [word for word in asked if word not in ("--unlabelled", str(folder))]
    assert main(without) == 2
    assert "--unlabelled DIR" in capsys.readouterr().err
    assert main([word for word in asked if not word.startswith("teaching.real")]) == 2
    assert "teaching.real" in capsys.readouterr().err
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(DataError, match="no pictures"):
        load_unlabelled(empty, SIZE)
    with pytest.raises(DataError, match="cannot read the folder"):
        load_unlabelled(tmp_path / "nowhere", SIZE)
