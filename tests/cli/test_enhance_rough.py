"""`pic-uie enhance` in rough surroundings: full streams, deep trees, odd names, signals, two runs at once."""

import json
import os
import signal
import subprocess
import sys
import time
from importlib.metadata import entry_points

import numpy as np
import pytest
import safetensors.numpy

from helpers.command import PIC_UIE, enhance, exit_code, make, tree
from helpers.pictures import reef, saved
from pic_uie import images, weights
from pic_uie.cli import exit_codes
from pic_uie.files import PART_SUFFIX


def with_weights(*arguments):
    return [*PIC_UIE, "enhance", *map(str, arguments), "--weights", str(weights.DEFAULT_PATH)]


def test_a_pipe_named_like_a_part_does_not_hold_up_the_run(here):
    make(here / "a.png")
    (here / "out").mkdir()
    os.mkfifo(here / "out" / f".x{PART_SUFFIX}")
    done = subprocess.run(with_weights("a.png", "-o", "out/", "-q"), cwd=here, timeout=30, check=False)
    assert done.returncode == 0
    assert (here / "out/a.png").is_file()


@pytest.mark.parametrize("pattern", ["in*/../../x/*.png", "*/../*.png", "**/../../**/*.png"])
def test_a_pattern_that_leads_out_of_the_tree_is_refused(here, pattern, capsys):
    make(here / "work/in1/a.png")
    make(here / "x/b.png")
    make(here / "work/c.png")
    before = tree(here)
    os.chdir(here / "work")
    assert enhance(pattern, "-o", "out") == exit_codes.USAGE
    assert "has .. after a wildcard" in capsys.readouterr().err
    assert tree(here) == before


def test_dots_in_front_of_the_wildcard_are_fine(here):
    make(here / "x/b.png")
    (here / "work").mkdir()
    os.chdir(here / "work")
    assert enhance("../x/*.png", "-o", "out", "-q") == 0
    assert tree(here / "work") == ["out/b.png"]


@pytest.mark.parametrize("extra", [[], ["-v"], ["missing.png"]])
def test_a_full_standard_error_ends_nothing(here, extra):
    for number in range(3):
        make(here / f"{number}.png")
    command = with_weights("0.png", "1.png", "2.png", *extra, "-o", "out")
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, cwd=here, stderr=full, check=False)
    assert done.returncode == (exit_codes.FAILED if "missing.png" in extra else 0)
    assert len(tree(here / "out")) == 3


def test_a_usage_error_with_a_full_standard_error(here):
    with open("/dev/full", "w") as full:
        assert subprocess.run([*PIC_UIE, "enhance"], stderr=full, check=False).returncode == exit_codes.USAGE
        done = subprocess.run([*PIC_UIE, "enhance", ""], stderr=full, check=False)
    assert done.returncode == exit_codes.USAGE


def test_folders_a_thousand_levels_deep(here, capsys):
    top = os.getcwd()
    for _ in range(1100):
        os.mkdir("d")
        os.chdir("d")
    (here / "a.png").write_bytes(saved(reef(), "PNG"))
    os.link(here / "a.png", "a.png")
    os.chdir(top)
    assert enhance("d", "-r", "-o", "out", "-q") == 0
    names = [name for _, _, files in walk("out") for name in files]
    assert names == ["a.png"]
    assert enhance("**/*.png", "-o", "other") == exit_codes.USAGE
    assert "leads too deep; name the folder, with --recursive" in capsys.readouterr().err
    subprocess.run(["rm", "-rf", here / "d", here / "out"], check=True)  # pytest cannot remove what is so deep


def walk(folder):
    """`os.walk` without its limit."""
    todo = [folder]
    while todo:
        base = todo.pop()
        entries = list(os.scandir(base))
        todo += [entry.path for entry in entries if entry.is_dir()]
        yield base, [], [entry.name for entry in entries if entry.is_file()]


def test_ctrl_c_at_any_moment_of_the_start_is_silent(here):
    """The signal comes a little after our first line: nothing else of ours is loaded yet, or some, or all of it.

    Before our handler is there the signal itself ends the process: a shell calls that 130 as well.
    """
    make(here / "a.png")
    script = (
        "import os, signal, sys, threading; from pic_uie.__main__ import start; "
        "threading.Timer(float(sys.argv[1]), os.kill, (os.getpid(), signal.SIGINT)).start(); "
        "sys.argv[1:2] = []; start()"
    )
    codes = set()
    for milliseconds in (1, 8, 15, 30, 60, 90, 120, 160, 200, 250):
        command = [sys.executable, "-c", script, str(milliseconds / 1000), "enhance", "a.png", "-o", "out/", "-q"]
        command += ["--overwrite", "--weights", str(weights.DEFAULT_PATH)]
        done = subprocess.run(command, cwd=here, capture_output=True, timeout=60, check=False)
        if b"Traceback" in done.stderr and b"pic_uie" not in done.stderr:
            continue  # on a busy machine it came before our first line
        assert b"Traceback" not in done.stderr, milliseconds
        assert done.returncode in (0, exit_codes.INTERRUPTED, -signal.SIGINT), milliseconds
        codes.add(done.returncode)
    assert exit_codes.INTERRUPTED in codes


def test_ctrl_c_while_the_first_modules_are_imported_is_silent(here):
    script = (
        "import os, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # ignored in what a shell runs in the background
        "class Hook:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'pic_uie.cli':\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Hook())\n"
        "from pic_uie.__main__ import start\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, b"")


@pytest.mark.parametrize("source", [0o600, 0o640])
def test_results_and_sidecars_are_as_private_as_their_source(here, source):
    make(here / "a.png").chmod(source)
    (here / "a.xmp").write_text("<x/>")
    (here / "a.xmp").chmod(source)
    assert enhance("a.png", "-o", "out/", "-q") == 0
    for name in ("out/a.png", "out/a.xmp"):
        assert (here / name).stat().st_mode & 0o777 == source


def test_two_runs_with_one_report(here):
    data = [saved(reef(600, 800, seed=seed), "PNG") for seed in range(3)]
    (here / "in").mkdir()
    for number in range(40):
        (here / f"in/{number}.png").write_bytes(data[number % 3])
    first = subprocess.Popen(with_weights("in", "-o", "one", "--report", "run.jsonl", "-q"), cwd=here)
    deadline = time.monotonic() + 30
    while not (here / "run.jsonl").exists() and time.monotonic() < deadline:
        time.sleep(0.005)
    second = subprocess.run(
        with_weights("in", "-o", "two", "--report", "run.jsonl"), cwd=here, capture_output=True, check=False
    )
    still_running = first.poll() is None
    assert first.wait() == 0
    if not still_running:
        pytest.skip("the first run was over before the second one began")
    assert second.returncode == exit_codes.USAGE
    assert b"is being written by another run; choose another name" in second.stderr
    assert len([json.loads(line) for line in (here / "run.jsonl").read_text().splitlines()]) == 40


@pytest.mark.parametrize("content", [b"", bytes(900), saved(reef(), "JPEG")[:60]])
def test_a_broken_result_is_made_again(here, content, capsys):
    make(here / "a.jpg", "JPEG")
    (here / "a_enhanced.jpg").write_bytes(content)
    assert enhance("a.jpg", "-v", "--report", "run.jsonl") == 0
    assert images.read(here / "a_enhanced.jpg").pixels.size
    assert "an unfinished result was in its place" in capsys.readouterr().err


def test_a_file_that_is_no_picture_is_kept(here, capsys):
    make(here / "a.jpg", "JPEG")
    (here / "a_enhanced.jpg").write_text("my notes")
    assert enhance("a.jpg") == exit_codes.FAILED
    assert "a_enhanced.jpg exists and is not a picture; --overwrite replaces it" in capsys.readouterr().err
    assert (here / "a_enhanced.jpg").read_text() == "my notes"


@pytest.mark.parametrize("source", ["/dev/zero", "long", "endless"])
def test_lists_without_end(here, source, capsys, monkeypatch):
    monkeypatch.setattr("pic_uie.batch.sources._LIST_LINES", 1000)
    (here / "long").write_bytes(b"x" * 40_000)
    (here / "endless").write_bytes(b"a.png\n" * 1001)
    assert enhance(f"@{source}") == exit_codes.USAGE
    errors = capsys.readouterr().err
    assert "has more than" in errors


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("a: &a [x]\nb: &b [*a, *a]\nc: [*b, *b]\n", "aliases (*name) are not read"),
        ("[" * 51 + "]" * 51, "more than 50 levels"),
        ("epochs: 0x" + "f" * 5000, "a number of more than 100 digits"),
        ("epochs: " + "9" * 5000, "a number of more than 100 digits"),
        ("x" * (2 << 20), "larger than 1 MB"),
    ],
)
def test_configurations_without_measure(here, content, words, capsys):
    (here / "c.yaml").write_text(content)
    started = time.monotonic()
    assert exit_code(["model", "summary", "--config", "c.yaml"]) == exit_codes.USAGE
    assert time.monotonic() - started < 5
    errors = capsys.readouterr().err
    assert words in errors
    assert len(errors) < 500


@pytest.mark.parametrize("header", ["[" * 100_000, f'{{"format": {"9" * 5000}}}', f'{{"a": "{"x" * (2 << 20)}"}}'])
def test_headers_of_weights_without_measure(here, header, capsys):
    (here / "w.safetensors").write_bytes(safetensors.numpy.save({"a": np.zeros(1, np.float32)}, {"pic-uie": header}))
    make(here / "a.png")
    assert enhance("a.png", "--weights", "w.safetensors") == exit_codes.FAILED
    assert "not PIC-UIE weights" in capsys.readouterr().err


def test_a_forgotten_verb(here, capsys):
    make(here / "my reef.jpg")
    for words, advice in (
        (["my reef.jpg", "-o", "out"], "pic-uie enhance 'my reef.jpg' -o out"),
        (["*.jpg"], "pic-uie enhance '*.jpg'"),
        (["dive/"], "pic-uie enhance dive/"),
    ):
        assert exit_code(words) == exit_codes.USAGE
        assert f"to enhance pictures, run: {advice}" in capsys.readouterr().err
    assert exit_code(["enhanse"]) == exit_codes.USAGE
    assert "invalid choice" in capsys.readouterr().err


def test_the_installed_command_is_the_one_that_is_tested(here):
    (command,) = (entry for entry in entry_points(group="console_scripts") if entry.name == "pic-uie")
    assert command.value == "pic_uie.__main__:start"
