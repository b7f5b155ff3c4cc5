"""Training as a user runs it: every variant, killed and resumed, on two processes, with bad input."""

import csv
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from pic_uie import typed_yaml, weights  # noqa: E402
from pic_uie.cli.main import main  # noqa: E402
from pic_uie.config import ModelConfig  # noqa: E402
from pic_uie.errors import ConfigError, DivergedError, EnvironmentMissingError, WeightsError  # noqa: E402
from pic_uie.model import PicUie  # noqa: E402
from pic_uie.training.augmentation import make_batch  # noqa: E402
from pic_uie.training.checkpoint import load_state, save_state  # noqa: E402
from pic_uie.training.config import Optimization, Recipe  # noqa: E402
from pic_uie.training.loop import start, train  # noqa: E402
from pic_uie.training.pairs import find_stems, load_pairs  # noqa: E402
from pic_uie.training.run_folder import ingredients  # noqa: E402
from pic_uie.training.step import take_step  # noqa: E402
from pic_uie.training.validation import validate  # noqa: E402

VARIANTS = sorted(os.listdir(os.path.join(os.path.dirname(__file__), "../../configs/variants")))
SHORT = ["size=176", "optimization.epochs=4", "optimization.batch=4", "model.thumbnail=64", "validate_every=2"]


@pytest.fixture(scope="module")
def pairs(dataset):
    return load_pairs(dataset, find_stems(dataset)[:4], 176, with_depth=True)


def command(dataset, output, *extra):
    return ["train", *SHORT, "--data", str(dataset), "-o", str(output), "--threads", "1", *extra]


def rows(folder):
    with (folder / "metrics.csv").open() as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_takes_steps_and_learns(root, pairs, name):
    overrides = ["size=176", "optimization.learning_rate=1e-3", "optimization.batch=2"]
    recipe = typed_yaml.load(Recipe, root / "configs" / "variants" / name, overrides)
    state = start(recipe)
    before = [parameter.detach().clone() for parameter in state.model.parameters()]
    batch = make_batch(pairs, [0, 1], recipe, 0)
    losses = [take_step(state.lesson, state, batch, recipe)["total"].item() for _ in range(3)]
    assert np.isfinite(losses).all()
    assert losses[-1] < losses[0]
    assert any(not torch.equal(a, b) for a, b in zip(before, state.model.parameters(), strict=True))


def test_a_run_leaves_everything_it_promises(dataset, tmp_path, capsys):
    held_out = tmp_path / "held-out.txt"
    held_out.write_text("08\n09\n")
    assert (
        main(command(dataset, tmp_path / "run", "--validation", str(held_out), "--cache", str(tmp_path / "cache"))) == 0
    )
    folder = tmp_path / "run"
    names = {path.name for path in folder.iterdir()}
    assert names == {
        "config.yaml",
        "versions.json",
        "metrics.csv",
        "last.safetensors",
        "best.safetensors",
        "state.safetensors",
        "samples",
    }
    assert [row["epoch"] for row in rows(folder)] == ["1.0", "2.0", "3.0", "4.0"]
    assert [bool(row["psnr"]) for row in rows(folder)] == [False, True, False, True]
    assert typed_yaml.load(Recipe, folder / "config.yaml").size == 176
    assert weights.load(folder / "last.safetensors").config.thumbnail == 64
    assert len(list((folder / "samples").iterdir())) == 2
    assert "8 pairs, 2 held out" in capsys.readouterr().err


def test_killed_at_any_moment_and_resumed_is_the_same_run(dataset, tmp_path):
    assert main(command(dataset, tmp_path / "whole")) == 0
    executable = [sys.executable, "-m", "pic_uie"]
    broken = tmp_path / "broken"
    rng = np.random.default_rng(int(time.time()))
    for _ in range(3):
        process = subprocess.Popen([*executable, *command(dataset, broken, "--resume")], stderr=subprocess.DEVNULL)
        state = broken / "state.safetensors"
        deadline = time.monotonic() + 60
        while not state.exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(rng.uniform(0.0, 0.5))
        process.send_signal(signal.SIGKILL)
        process.wait()
    subprocess.run([*executable, *command(dataset, broken, "--resume")], check=True, stderr=subprocess.DEVNULL)
    for name in ("state.safetensors", "last.safetensors"):
        assert (broken / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name
    for ours, theirs in zip(rows(broken), rows(tmp_path / "whole"), strict=True):
        assert {k: v for k, v in ours.items() if k != "seconds"} == {k: v for k, v in theirs.items() if k != "seconds"}


def test_two_processes_give_the_losses_of_one(dataset, tmp_path):
    assert main(command(dataset, tmp_path / "one")) == 0
    arguments = command(dataset, tmp_path / "two")
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "-m", "pic_uie"]
    result = subprocess.run([*torchrun, *arguments], capture_output=True, text=True, timeout=240)
    assert result.returncode == 0, result.stderr
    for ours, theirs in zip(rows(tmp_path / "two"), rows(tmp_path / "one"), strict=True):
        for name in ours:
            if name.startswith("loss"):
                assert float(ours[name]) == pytest.approx(float(theirs[name]), abs=1e-5), name


def test_bad_input_is_reported_and_spoils_nothing(dataset, tmp_path, capsys):
    run = tmp_path / "run"
    assert main(command(dataset, run)) == 0
    before = {path.name: path.read_bytes() for path in run.iterdir() if path.is_file()}
    empty = tmp_path / "empty.txt"
    empty.write_text("")
    cases = [
        (command(dataset, run), 2, "not empty: add --resume"),
        (command(dataset, run, "--resume", "seed=9"), 2, "seed: 0 there, 9 here"),
        (command(dataset, run, "--resume", "sede=9"), 2, "did you mean 'seed'"),
        (command(dataset, run, "--resume", "teaching.teachers=[a"), 2, "is not a value that YAML can read"),
        (command(dataset, run, "--resume", "loss.depth=.nan"), 2, "loss.depth must be >= 0 and finite"),
        (command(dataset, run, "--resume", "model.output=rgb_residual", "model.width=8"), 2, "leave it out"),
        (command(dataset, tmp_path / "b", "optimization.batch=64"), 1, "10 pairs do not fill one batch of 64"),
        (command(dataset, tmp_path / "c", "--list", str(empty)), 1, "names no picture"),
        (command(tmp_path, tmp_path / "d"), 1, "is not a folder"),
        (command(dataset, empty), 2, "is a file"),
    ]
    for arguments, code, message in cases:
        assert main(arguments) == code
        assert message in capsys.readouterr().err
    assert before == {path.name: path.read_bytes() for path in run.iterdir() if path.is_file()}


def test_tensorboard_is_optional_and_missed_politely(dataset, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)  # as if it were not installed
    assert main(command(dataset, tmp_path / "run", "--tensorboard")) == 4
    assert "pip install 'pic-uie[tensorboard]'" in capsys.readouterr().err
    written = []

    class Writer:
        def __init__(self, folder):
            assert folder == str(tmp_path / "run")

        def add_scalar(self, *values):
            written.append(values)

        def close(self):
            written.append("closed")

    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", SimpleNamespace(SummaryWriter=Writer))
    assert main(command(dataset, tmp_path / "run", "--tensorboard", "--resume")) == 0
    assert [values[2] for values in written[:-1] if values[0] == "loss_total"] == [1, 2, 3, 4]
    assert written[-1] == "closed"


def test_full_disk_while_saving_keeps_the_last_state(tmp_path, pairs, monkeypatch):
    recipe = Recipe(size=176, optimization=Optimization(epochs=2, batch=4))
    train(Recipe(size=176, optimization=Optimization(epochs=2, batch=4)), pairs, None, tmp_path)
    before = (tmp_path / "state.safetensors").read_bytes()
    state = start(recipe)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(EnvironmentMissingError, match="the disk is full"):
        save_state(tmp_path / "state.safetensors", state, recipe, {})
    assert (tmp_path / "state.safetensors").read_bytes() == before


def test_a_run_that_diverges_says_so_and_keeps_its_state(tmp_path, pairs, monkeypatch):
    recipe = Recipe(size=176, optimization=Optimization(epochs=2, batch=4))
    monkeypatch.setattr("pic_uie.training.loop.learning_rate", lambda settings, epoch: 1e-3 if epoch == 0 else 1e30)
    with pytest.raises(DivergedError, match=r"not finite in epoch 2: lower optimization\.learning_rate"):
        train(replace(recipe, optimization=Optimization(epochs=6, batch=1)), pairs, None, tmp_path)
    state = start(recipe)
    recipe = replace(recipe, optimization=Optimization(epochs=6, batch=1))
    load_state(tmp_path / "state.safetensors", state, recipe, ingredients(recipe, pairs, None))
    assert state.epoch == 1
    assert all(torch.isfinite(parameter).all() for parameter in state.model.parameters())


def test_damaged_or_foreign_states_are_refused(tmp_path, pairs):
    recipe = Recipe(size=176, optimization=Optimization(epochs=1, batch=4))
    train(recipe, pairs, None, tmp_path)
    path = tmp_path / "state.safetensors"
    data = path.read_bytes()
    with pytest.raises(ConfigError, match=r"optimization\.epochs: 1 there, 700 here"):
        load_state(path, start(Recipe(size=176)), Recipe(size=176, optimization=Optimization(batch=4)), {})
    for changed in (data[:-1] + bytes([data[-1] ^ 1]), data.replace(b'\\"step\\": ', b'\\"step\\": 1')):
        path.write_bytes(changed)
        with pytest.raises(WeightsError, match=r"is damaged: its contents|cannot read the training state"):
            load_state(path, start(recipe), recipe, {})
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(WeightsError, match="cannot read the training state"):
        load_state(path, start(recipe), recipe, {})
    with pytest.raises(WeightsError, match="not a training state"):
        load_state(tmp_path / "last.safetensors", start(recipe), recipe, {})


def test_a_run_goes_on_with_what_it_began_with_or_not_at_all(dataset, tmp_path, capsys):
    held_out, others = tmp_path / "held-out.txt", tmp_path / "others.txt"
    held_out.write_text("08\n09\n")
    others.write_text("00\n01\n")
    teacher = tmp_path / "teacher.safetensors"
    PicUie(ModelConfig(thumbnail=64)).save(teacher)
    taught = ["teaching.share=0.5", f"teaching.teachers=[{teacher}]", "optimization.epochs=1"]
    run = command(dataset, tmp_path / "run", *taught, "--resume")
    assert main([*run, "--validation", str(held_out)]) == 0
    state = (tmp_path / "run/state.safetensors").read_bytes()
    assert main([*run, "--validation", str(held_out)]) == 0
    capsys.readouterr()
    for extra, words in ([], "pictures to train on"), (["--validation", str(others)], "other pictures to measure on"):
        assert main([*run, *extra]) == 2
        assert words in capsys.readouterr().err
    PicUie(ModelConfig(thumbnail=64)).save(teacher)
    assert main([*run, "--validation", str(held_out)]) == 2
    assert f"other weights in {teacher}" in capsys.readouterr().err
    assert (tmp_path / "run/state.safetensors").read_bytes() == state


@pytest.mark.parametrize("kind", ["inputs", "targets", "depths"])
def test_other_pictures_under_the_same_names_are_other_ingredients(pairs, kind):
    changed = getattr(pairs, kind).copy()
    changed[-1, -1, -1] ^= 1
    other = replace(pairs, **{kind: changed})
    assert ingredients(Recipe(), other, None) != ingredients(Recipe(), pairs, None)
    assert ingredients(Recipe(), pairs, other) != ingredients(Recipe(), pairs, pairs)


def test_states_of_other_versions_and_incomplete_ones_are_reported(tmp_path, pairs):
    recipe = Recipe(size=176, optimization=Optimization(epochs=1, batch=4))
    train(recipe, pairs, None, tmp_path)
    path = tmp_path / "state.safetensors"
    data = path.read_bytes()
    path.write_bytes(data.replace(b"pic-uie-training-4", b"pic-uie-training-1"))
    with pytest.raises(ConfigError, match="another version of pic-uie: train to another folder"):
        load_state(path, start(recipe), recipe, ingredients(recipe, pairs, None))
    path.write_bytes(data.replace(b"ingredients", b"ingredientz"))
    with pytest.raises(WeightsError, match="or a damaged one"):
        load_state(path, start(recipe), recipe, ingredients(recipe, pairs, None))


def test_names_that_are_no_text_are_ingredients_too(pairs):
    odd = replace(pairs, stems=(os.fsdecode(b"a\xff"), *pairs.stems[1:]))
    assert ingredients(Recipe(), odd, None) != ingredients(Recipe(), pairs, None) == ingredients(Recipe(), pairs, None)


def test_the_state_goes_to_the_device_of_the_model(tmp_path, pairs):
    recipe = Recipe(size=176, optimization=Optimization(epochs=1, batch=4))
    train(recipe, pairs, None, tmp_path)
    state = start(recipe, "meta")  # a device without memory, on every machine
    load_state(tmp_path / "state.safetensors", state, recipe, ingredients(recipe, pairs, None))
    for parameter in state.model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    state.optimizer.step()


def test_training_on_synthetic_water_helps(tmp_path):
    """`pic-uie synth` then `pic-uie train`: validation PSNR must rise by several dB."""
    data, held_out = tmp_path / "data", tmp_path / "held-out.txt"
    assert main(["synth", "--count", "40", "--size", "176x176", "-o", str(data), "-q"]) == 0
    stems = sorted(path.stem for path in (data / "input").iterdir())
    held_out.write_text("\n".join(stems[-8:]))
    settings = ["size=176", "optimization.epochs=30", "optimization.batch=8", "optimization.learning_rate=3e-3"]
    settings += ["optimization.ema_warmup=true", "optimization.ema=0.98", "validate_every=15", "model.thumbnail=128"]
    arguments = ["train", *settings, "--data", str(data), "--validation", str(held_out), "-o", str(tmp_path / "run")]
    assert main(arguments) == 0
    held_out = load_pairs(data, stems[-8:], 176, with_depth=False)
    untrained = validate(start(Recipe(size=176)).model, held_out).psnr
    trained = validate(PicUie.load(tmp_path / "run" / "best.safetensors"), held_out).psnr
    assert trained > untrained + 3.0
