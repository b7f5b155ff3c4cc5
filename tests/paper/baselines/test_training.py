"""Every system in the one training loop: the command line as a user runs it."""

import csv

import pytest

torch = pytest.importorskip("torch")

from safetensors.torch import load_file  # noqa: E402

from helpers.systems import SmallSsUie  # noqa: E402
from helpers.water import write_pairs  # noqa: E402
from pic_uie import typed_yaml  # noqa: E402
from pic_uie.cli.main import main  # noqa: E402
from pic_uie.paper.baselines import BASELINES, load  # noqa: E402
from pic_uie.paper.baselines.lesson import BaselineLesson  # noqa: E402
from pic_uie.training.augmentation import make_batch  # noqa: E402
from pic_uie.training.config import Recipe  # noqa: E402
from pic_uie.training.loop import start  # noqa: E402
from pic_uie.training.pairs import find_stems, load_pairs  # noqa: E402
from pic_uie.training.step import take_step  # noqa: E402

SHORT = ["size=32", "optimization.epochs=4", "optimization.batch=2", "validate_every=2"]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    folder = write_pairs(tmp_path_factory.mktemp("water"), 5, 64, 64)
    (folder / "held-out.txt").write_text("04\n")
    return folder


def command(root, dataset, output, name, *extra):
    words = ["train", "--config", str(root / "configs" / "baselines" / f"{name}.yaml"), "--data", str(dataset)]
    held_out = str(dataset / "held-out.txt")
    return [*words, "--validation", held_out, "-o", str(output), "--threads", "1", *SHORT, *extra]


def test_every_system_has_a_recipe(root):
    files = {path.stem for path in (root / "configs" / "baselines").glob("*.yaml")}
    assert files == set(BASELINES)
    for name in files:
        assert typed_yaml.load(Recipe, root / "configs" / "baselines" / f"{name}.yaml").method == name


@pytest.mark.parametrize("name", BASELINES)
def test_every_system_takes_steps_and_learns(root, dataset, name, monkeypatch):
    if name == "ss-uie":
        monkeypatch.setitem(BASELINES, name, SmallSsUie)
    size = BASELINES[name].fixed or (64 if name == "dtiuie" else 32)  # statistics of one value are none
    overrides = [f"size={size}", "optimization.learning_rate=5e-4", "optimization.batch=1"]
    recipe = typed_yaml.load(Recipe, root / "configs" / "baselines" / f"{name}.yaml", overrides)
    pairs = load_pairs(dataset, find_stems(dataset)[:1], size, with_depth=False)
    state = start(recipe, "cpu", BaselineLesson)
    batch = make_batch(pairs, [0], recipe, 0)
    losses = []
    while len(losses) < 8 and not (losses and min(losses) < losses[0]):
        torch.manual_seed(0)  # the same noise and dropout in every step
        losses.append(take_step(state.lesson, state, batch, recipe)["total"].item())
    assert min(losses) < losses[0]


@pytest.mark.parametrize("name", ["lu2net", "funie-gan", "shallow-uwnet", "puie-net"])
def test_a_killed_run_goes_on_to_the_same_bits(root, dataset, tmp_path, name, monkeypatch):
    """Batch statistics, dropout, noise and the discriminator are all part of the state, or seeded by place."""
    assert main(command(root, dataset, tmp_path / "whole", name)) == 0
    from pic_uie.training import loop

    calls = 0
    finish = loop.RunFolder.finish_epoch

    def killed(self, state, result, row):
        nonlocal calls
        calls += 1
        if calls == 3:
            raise KeyboardInterrupt
        finish(self, state, result, row)

    monkeypatch.setattr(loop.RunFolder, "finish_epoch", killed)
    assert main(command(root, dataset, tmp_path / "cut", name)) == 130
    monkeypatch.undo()
    assert main(command(root, dataset, tmp_path / "cut", name, "--resume")) == 0
    for file in ("last.safetensors", "state.safetensors"):
        whole, cut = load_file(tmp_path / "whole" / file), load_file(tmp_path / "cut" / file)
        assert whole.keys() == cut.keys()
        for key in whole:
            assert torch.equal(whole[key], cut[key]), (file, key)


def test_a_run_leaves_weights_of_its_system_and_says_what_it_did_without(root, dataset, tmp_path, capsys):
    assert main(command(root, dataset, tmp_path / "run", "nu2net")) == 0
    assert "without its perceptual term, which needs VGG-19" in capsys.readouterr().err
    assert load(tmp_path / "run" / "best.safetensors")[0].name == "nu2net"
    with (tmp_path / "run" / "metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [bool(row["psnr"]) for row in rows] == [False, True, False, True]
    assert rows[0]["loss_l1"] == rows[0]["loss_total"]


def test_vgg_is_a_term_and_an_ingredient(root, dataset, tmp_path, capsys):
    from safetensors.torch import save_file

    from pic_uie.paper.baselines.perceptual import Perceptual

    vgg = tmp_path / "vgg.safetensors"
    save_file({f"features.{k}": v for k, v in Perceptual(16, {8: 1.0}).features.state_dict().items()}, vgg)
    run = [root, dataset, tmp_path / "run", "lu2net", f"vgg={vgg}"]
    assert main(command(*run)) == 0
    with (tmp_path / "run" / "metrics.csv").open() as file:
        assert float(next(csv.DictReader(file))["loss_vgg"]) > 0.0
    save_file({f"features.{k}": v + 1 for k, v in Perceptual(16, {8: 1.0}).features.state_dict().items()}, vgg)
    assert main([*command(*run), "--resume"]) == 2
    assert "weights of VGG" in capsys.readouterr().err


def test_a_run_can_start_from_weights_of_the_same_system_only(root, dataset, tmp_path, capsys):
    from pic_uie.paper.baselines.lu2net import Lu2Net

    Lu2Net().save(tmp_path / "start.safetensors")
    start_here = f"start={tmp_path / 'start.safetensors'}"
    assert main(command(root, dataset, tmp_path / "a", "lu2net", start_here)) == 0
    assert main(command(root, dataset, tmp_path / "b", "nu2net", start_here)) == 1
    assert "holds weights of lu2net, not of nu2net" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["method=nu2nt"], "did you mean 'nu2net'"),
        (["method=wf-diff"], "WF-Diff has no architecture"),
        (["method=ss-uie"], "size = 176: SS-UIE takes pictures of 256x256 only"),
        (["method=nu2net", "loss.l1=2"], "belong to pic-uie"),
        (["vgg=x"], "has no perceptual term"),
        (["method=dm-underwater", "vgg=x"], "has no perceptual term"),
    ],
)
def test_bad_recipes_are_refused_with_the_remedy(dataset, tmp_path, capsys, words, message):
    arguments = [
        "train",
        "--data",
        str(dataset),
        "-o",
        str(tmp_path / "run"),
        "size=176",
        "optimization.batch=1",
        *words,
    ]
    assert main(arguments) == 2
    assert message in capsys.readouterr().err
