"""No command overwrites what it reads, trips over a closed or narrow stream, or loses an option without a word."""

import hashlib
import io
import json
import os
import shlex
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from helpers.command import PIC_UIE, exit_code, make
from helpers.pictures import mild_weights
from pic_uie import weights
from pic_uie.cli.exit_codes import ENVIRONMENT, NOTHING_MATCHED, OK, USAGE
from pic_uie.cli.main import main

cv2 = pytest.importorskip("cv2", reason="the evaluate extra is not installed")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mild_weights(tmp_path / "w.safetensors")
    monkeypatch.setattr(weights, "DEFAULT_PATH", tmp_path / "w.safetensors")
    for name in ("input/a.png", "input/b.png", "target/a.png", "target/b.png"):
        make(tmp_path / name)
    (tmp_path / "names.csv").write_text("a\nb\n")
    protocol = "{name: mine, title: mine, metrics: [psnr], resize: [native], references: target, names: list}"
    (tmp_path / "mine.yaml").write_text(protocol)
    return tmp_path


def evaluate(*arguments):
    return main(["evaluate", "-q", "--protocol", "mine.yaml", "--data", ".", *arguments])


@pytest.mark.parametrize(
    "words",
    [
        "evaluate -q --protocol mine.yaml --data . --list names.csv -o names",
        "evaluate compare r.json r.json -o r.json",
        "evaluate compare r.json r.json -o input/a.png",
        "evaluate matching input -o input/a.png",
        "bench table r.json -o r.json",
        "bench --sizes 8x8 --weights w.safetensors -o w.safetensors",
        "figure corrections input/a.png --step tone -o input/a.png --overwrite",
        "figure corrections link.png --step tone -o input/a.png --overwrite",
        "figure grid a=input -o input/a.png --overwrite",
        "inspect input/a.png -o input/a.png --overwrite",
        "compare link.png input/b.png -o input/a.png --overwrite",
        "compare input/b.png hard.png -o input/a.png --overwrite",
        "depth input/a.png -o input --model w.safetensors",
    ],
)
def test_nothing_that_is_read_is_overwritten(here, words):
    assert evaluate("--list", "names.csv", "-o", "r") == OK
    (here / "link.png").symlink_to("input/a.png")
    os.link(here / "input/a.png", here / "hard.png")
    before = {path: path.read_bytes() for path in here.rglob("*") if path.is_file()}
    assert exit_code(words.split()) == USAGE
    assert {path: path.read_bytes() for path in here.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("words", ["evaluate -o d.csv compare r.json r.json", "bench -o t.json table r.json"])
def test_options_in_front_of_a_sub_verb_are_refused(here, words, capsys):
    with pytest.raises(SystemExit) as stop:
        main(words.split())
    assert stop.value.code == USAGE
    assert "go after" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        "bench --threads 300",
        "bench --sizes 99999999999x99999999999",
        "bench --sizes ²x3",
        "depth a --threads 999999999 -o d",
    ],
)
def test_absurd_values_are_usage_errors(here, words):
    assert exit_code(words.split()) == USAGE


def test_a_result_needs_a_name(here, capsys):
    assert evaluate("--list", "names.csv", "-o", "/") == USAGE
    assert "is no name for a file" in capsys.readouterr().err


def test_a_list_may_have_the_name_of_the_results_without_their_suffix(here):
    (here / "names").write_text("a\nb\n")
    assert evaluate("--list", "names", "-o", "names") == OK
    assert (here / "names").read_text() == "a\nb\n"
    assert (here / "names.json").is_file()


def test_a_list_that_can_be_read_only_once(here):
    command = f"{shlex.join(PIC_UIE)} evaluate -q --protocol mine.yaml --data . --weights w.safetensors -o r"
    done = subprocess.run(["bash", "-c", f"{command} --list <(cat names.csv)"], capture_output=True, check=False)
    assert done.returncode == OK, done.stderr
    named = json.loads((here / "r.json").read_text())["names"]
    assert named["file_sha256"] == hashlib.sha256((here / "names.csv").read_bytes()).hexdigest()


def test_folders_that_do_not_exist_are_not_taken_for_each_other(here, capsys):
    assert main(["figure", "grid", "x=typo", "-o", "new/fig.png"]) != OK
    assert "lies among the pictures" not in capsys.readouterr().err


def test_an_error_leaves_the_standard_output_of_the_caller_alone(here, capsys, monkeypatch):
    def fail(*_):
        raise OSError(5, "the disk is broken")

    monkeypatch.setattr("pic_uie.cli.model.run", fail)
    monkeypatch.setattr("sys.stdout", io.StringIO())
    assert main(["model", "summary"]) == ENVIRONMENT
    print("still here")
    assert sys.stdout.getvalue() == "still here\n"
    assert "the disk is broken" in capsys.readouterr().err


def test_names_that_are_no_text_can_be_scored(here):
    for folder in ("input", "target"):
        os.rename(here / folder / "b.png", here / folder / os.fsdecode(b"b\xff.png"))
    (here / "mine.yaml").write_text((here / "mine.yaml").read_text().replace("list", "folder"))
    assert evaluate("-o", "r") == OK
    assert os.fsdecode(b"b\xff") in {
        image["name"] for image in json.loads((here / "r.json").read_text())["results"]["native"]["images"]
    }
    assert b"b\xff" in (here / "r.csv").read_bytes()
    assert main(["evaluate", "matching", "input", "-q", "-o", "m.json"]) == OK


@pytest.mark.parametrize("redirection", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams(here, redirection):
    command = " ".join(f"'{word}'" for word in PIC_UIE)
    for verb in ("model summary", "synth --count 1 --size 32x32 -o s"):
        done = subprocess.run(f"{command} {verb} {redirection}", shell=True, capture_output=True, check=False)  # noqa: S602
        assert (done.returncode, b"Traceback" in done.stderr) == (OK, False)


def test_a_narrow_encoding_is_no_reason_to_fail(here):
    environment = os.environ | {"PYTHONIOENCODING": "latin-1:strict"}
    done = subprocess.run([*PIC_UIE, "model", "summary"], capture_output=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (OK, b"")


def test_frames_beside_an_empty_folder_are_found(here, capsys):
    (here / "input/thumbs").mkdir()
    assert main(["evaluate", "matching", "input", "-q"]) == OK
    assert "1 adjacent pairs of 1 sequences" in capsys.readouterr().out
    make(here / "input/thumbs/a.png")
    make(here / "input/thumbs/b.png")
    assert main(["evaluate", "matching", "input", "-q"]) == 1
    assert "frames of its own beside sequences in thumbs" in capsys.readouterr().err
    (here / "empty/inside").mkdir(parents=True)
    assert main(["evaluate", "matching", "empty", "-q"]) == NOTHING_MATCHED


def test_two_protocols_are_named(here, capsys):
    assert evaluate("--list", "names.csv", "-o", "r") == OK
    other = json.loads((here / "r.json").read_text())
    other["protocol"]["name"] = "other"
    (here / "o.json").write_text(json.dumps(other))
    assert main(["evaluate", "compare", "r.json", "o.json"]) == OK
    output = capsys.readouterr().out
    assert "mine against other" in output
    assert "does not make them the same pictures" in output


@pytest.mark.parametrize(
    "change",
    [
        lambda result: result["protocol"].pop("name"),
        lambda result: result.update(protocol=[]),
        lambda result: result["names"].update(sha256=5),
        lambda result: result["results"]["native"]["images"][0].pop("psnr"),
    ],
)
def test_a_damaged_result_is_reported(here, change, capsys):
    assert evaluate("--list", "names.csv", "-o", "r") == OK
    result = json.loads((here / "r.json").read_text())
    change(result)
    (here / "d.json").write_text(json.dumps(result))
    assert main(["evaluate", "compare", "r.json", "d.json"]) == 1
    assert "d.json is a damaged result" in capsys.readouterr().err


@pytest.mark.parametrize(
    "content", ["[" * 100_000, '{"format": "pic-uie-bench-1"}', '{"format": "pic-uie-bench-1", "rows": [{}]}']
)
def test_a_damaged_benchmark_is_reported(here, content, capsys):
    (here / "b.json").write_text(content)
    assert main(["bench", "table", "b.json"]) == 1
    assert main(["figure", "bubbles", "--bench", "b.json", "-o", "f.png"]) == 1
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("content", ["day: 2020-13-45", "[" * 5000, "\xff"])
def test_a_damaged_yaml_is_reported(here, content, capsys):
    (here / "c.yaml").write_text(content, "latin-1")
    assert main(["model", "summary", "--config", "c.yaml"]) == USAGE
    assert "c.yaml is not valid YAML" in capsys.readouterr().err


def test_odd_pictures_and_crops_in_a_grid(here, capsys):
    assert (
        main(["figure", "grid", "a=input", "--crop", "0.99999,0.99999,0.00001,0.00001", "--dpi", "30", "-o", "g.png"])
        == OK
    )
    make(here / "long/a.png", pixels=np.zeros((1, 2000, 3), np.uint8))
    assert main(["figure", "grid", "a=long", "-o", "h.png"]) == 1
    assert "too long to be drawn" in capsys.readouterr().err


def test_a_link_that_leads_to_itself(here, capsys):
    (here / "loop.png").symlink_to("loop.png")
    assert main(["inspect", "loop.png", "-o", "s.png"]) == 1
    assert "a symbolic link that leads back to itself" in capsys.readouterr().err
    assert Image.open(here / "input/a.png").size == (64, 48)
