"""`pic-uie enhance` as people type it: where results go, and pipes."""

import json
import os
import shlex
import shutil
import subprocess
import sys

import numpy as np
import pytest

from helpers.command import PIC_UIE, enhance, make, tree
from helpers.pictures import opened, reef, saved
from pic_uie import Enhancer, __version__, images, weights
from pic_uie.cli import exit_codes
from pic_uie.files import PART_SUFFIX


def test_one_jpeg_lands_beside_its_source(here, capsys):
    make(here / "reef.jpg", "JPEG")
    before = (here / "reef.jpg").read_bytes()
    assert enhance("reef.jpg") == exit_codes.OK
    assert tree(here) == ["reef.jpg", "reef_enhanced.jpg"]
    assert (here / "reef.jpg").read_bytes() == before
    captured = capsys.readouterr()
    assert captured.out == ""  # messages on stderr, data on stdout
    assert "reef.jpg -> reef_enhanced.jpg" in captured.err
    assert "1 enhanced" in captured.err


def test_the_result_is_the_engine_s_and_names_it(here):
    make(here / "a.png")
    assert enhance("a.png", "--strength", "0.5", "-q") == 0
    result = opened((here / "a_enhanced.png").read_bytes())
    engine = Enhancer(weights.DEFAULT_PATH)
    assert np.array_equal(np.asarray(result), engine.enhance(reef(), strength=0.5))
    assert result.getexif()[0x0131] == f"pic-uie {__version__} (weights {engine.weights.short_hash})"


def test_other_weights_by_name(here, capsys):
    make(here / "a.png")
    assert enhance("a.png", "--weights", "bright", "-q") == 0
    result = opened((here / "a_enhanced.png").read_bytes())
    engine = Enhancer("bright")
    assert np.array_equal(np.asarray(result), engine.enhance(reef()))
    assert engine.weights.short_hash in result.getexif()[0x0131]
    for word, remedy in (("vivid", "allowed: bright"), ("Bright", "did you mean 'bright'?"), ("", "allowed: bright")):
        with pytest.raises(SystemExit, match=str(exit_codes.USAGE)):  # before it is seen that nothing is left to do
            enhance("a.png", "--weights", word)
        assert f"no weights {word!r}: give a file, or a name ({remedy})" in capsys.readouterr().err


def test_a_file_beside_the_name_needs_its_folder(here):
    make(here / "a.png")
    (here / "bright").write_bytes(weights.DEFAULT_PATH.read_bytes())
    for word, expected in (("./bright", weights.DEFAULT_PATH), ("bright", "bright")):
        assert enhance("a.png", "--weights", word, "--overwrite", "-q") == 0
        result = opened((here / "a_enhanced.png").read_bytes())
        assert np.array_equal(np.asarray(result), Enhancer(expected).enhance(reef()))
        assert Enhancer(word).weights.sha256 == weights.load(expected).sha256


def test_a_folder_is_mirrored_with_names_kept(here):
    for name in ("in/a.png", "in/day 1/ü 海.png", "in/day 1/x/c.png"):
        make(here / name)
    (here / "in" / "notes.txt").write_text("x")
    assert enhance("in", "-o", "out/", "--recursive", "-q") == 0
    assert tree(here / "out") == ["a.png", "day 1/x/c.png", "day 1/ü 海.png"]
    assert enhance("in", "-o", "flat", "-q") == 0
    assert tree(here / "flat") == ["a.png"]


def test_globs_lists_and_several_files(here):
    for name in ("my dive/a 1.png", "my dive/a 2.png", "my dive/b.png"):
        make(here / name)
    assert enhance("my dive/a*.png", "-o", "globbed", "-q") == 0
    assert tree(here / "globbed") == ["a 1.png", "a 2.png"]
    (here / "list.txt").write_text("my dive/b.png\n")
    assert enhance("@list.txt", "-o", "listed/", "-q") == 0
    assert tree(here / "listed") == ["my dive/b.png"]
    assert enhance("my dive/b.png", "my dive/a 1.png", "-o", "two", "-q") == 0
    assert tree(here / "two") == ["a 1.png", "b.png"]


def test_one_output_file_decides_the_format(here):
    make(here / "a.png")
    assert enhance("a.png", "-o", "b.jpg", "-q") == 0
    assert images.read(here / "b.jpg").format == "jpeg"


def test_a_format_for_all(here):
    make(here / "a.png")
    make(here / "b.tif", "TIFF")
    assert enhance("a.png", "b.tif", "--format", "webp", "-q") == 0
    assert tree(here) == ["a.png", "a_enhanced.webp", "b.tif", "b_enhanced.webp"]
    assert images.read(here / "b_enhanced.webp").format == "webp"


def test_content_decides_not_the_suffix(here):
    make(here / "really-a-png.jpg", "PNG")
    assert enhance("really-a-png.jpg", "-q") == 0
    assert images.read(here / "really-a-png_enhanced.jpg").format == "png"


def test_collisions_are_refused_before_any_work(here, capsys):
    make(here / "x/a.png")
    make(here / "y/a.png")
    assert enhance("x/a.png", "y/a.png", "-o", "out") == exit_codes.USAGE
    assert "x/a.png and y/a.png would both be written to out/a.png; nothing was done" in capsys.readouterr().err
    assert not (here / "out").exists()


def test_a_source_is_never_overwritten(here, capsys):
    make(here / "a.png")
    before = (here / "a.png").read_bytes()
    for options in (["-o", "a.png"], ["-o", "."], ["-o", "./"]):
        assert enhance("a.png", "--overwrite", *options) == exit_codes.USAGE
        assert "A source is never overwritten" in capsys.readouterr().err
    assert (here / "a.png").read_bytes() == before


def test_existing_results_are_skipped_unless_overwrite(here, capsys):
    make(here / "a.png")
    make(here / "b.png")
    precious = make(here / "a_enhanced.png", pixels=reef(seed=7)).read_bytes()
    assert enhance("a.png", "b.png") == 0
    assert (here / "a_enhanced.png").read_bytes() == precious
    assert "1 enhanced, 1 skipped because the result exists (--overwrite replaces it)" in capsys.readouterr().err
    assert enhance("a.png", "b.png", "--overwrite", "-q") == 0
    assert (here / "a_enhanced.png").read_bytes() != precious


def test_running_twice_on_a_folder_does_not_enhance_results(here, capsys):
    make(here / "a.png")
    assert enhance(".", "-q") == 0
    assert enhance(".") == 0
    assert tree(here) == ["a.png", "a_enhanced.png"]
    assert "ignored 1 file: results of an earlier run" in capsys.readouterr().err


def test_results_inside_the_source_folder_are_not_sources(here):
    make(here / "a.png")
    for _ in range(2):
        assert enhance(".", "-r", "-o", "out", "-q") == 0
    assert tree(here) == ["a.png", "out/a.png"]


def test_left_overs_of_a_killed_run_are_cleared(here):
    make(here / "a.png")
    (here / f".0123-99-0{PART_SUFFIX}").write_bytes(b"half")
    assert enhance("a.png", "-q") == 0
    assert tree(here) == ["a.png", "a_enhanced.png"]


def test_dry_run_prints_and_does_nothing(here, capsys):
    make(here / "a.png")
    make(here / "b.png")
    make(here / "b_enhanced.png")
    assert enhance("a.png", "b.png", "--dry-run") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["a.png -> a_enhanced.png", "b.png -> b_enhanced.png (exists, would be skipped)"]
    assert tree(here) == ["a.png", "b.png", "b_enhanced.png"]


def pipe(here, *arguments, data=b""):
    options = ["--weights", str(weights.DEFAULT_PATH)]
    return subprocess.run(
        [*PIC_UIE, "enhance", *arguments, *options], cwd=here, input=data, capture_output=True, check=False
    )


def test_stdin_to_stdout(here):
    source = saved(reef(), "JPEG", quality=90)
    done = pipe(here, "-", "-o", "-", data=source)
    assert done.returncode == 0
    assert opened(done.stdout).size == (64, 48)
    assert done.stderr == b""
    assert tree(here) == []


def test_stdin_to_a_file_and_a_file_to_stdout(here):
    assert pipe(here, "-", "-o", "b.webp", data=saved(reef(), "PNG")).returncode == 0
    assert images.read(here / "b.webp").format == "webp"
    done = pipe(here, "b.webp", "-o", "-", "--format", "png")
    assert images.read(done.stdout).format == "png"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-"], b"has no name"),
        (["-", "a.png", "-o", "-"], b"one picture"),
        (["-", "-o", "out/"], b"has no name"),
        (["-", "-o", "notes.txt", "--overwrite"], b"does not end like a picture"),
    ],
)
def test_stdin_misused(here, arguments, words):
    done = pipe(here, *arguments, data=b"x")
    assert done.returncode == exit_codes.USAGE
    assert words in done.stderr


def shell(here, arguments):
    command = f"{shlex.join(PIC_UIE)} enhance --weights {shlex.quote(str(weights.DEFAULT_PATH))} {arguments}"
    return subprocess.run(command, shell=True, cwd=here, capture_output=True, check=False)  # noqa: S602


def test_standard_input_is_a_source_too(here):
    source = make(here / "a.png").read_bytes()
    os.link(here / "a.png", here / "b.png")
    for arguments in ("- -o a.png --overwrite < a.png", "- -o b.png --overwrite < a.png", "a.png -o a.png --overwrite"):
        done = shell(here, arguments)
        assert (done.returncode, b"never overwritten" in done.stderr) == (exit_codes.USAGE, True)
    assert (here / "a.png").read_bytes() == (here / "b.png").read_bytes() == source


@pytest.mark.parametrize("words", ["- -o w.png", "a.png -o w.png"])
def test_weights_are_no_place_for_a_result(here, words):
    make(here / "a.png")
    shutil.copy(weights.DEFAULT_PATH, here / "w.png")
    done = shell(here, f"{words} --weights w.png --overwrite < a.png")
    assert (done.returncode, b"never overwritten" in done.stderr) == (exit_codes.USAGE, True)
    assert (here / "w.png").read_bytes() == weights.DEFAULT_PATH.read_bytes()


@pytest.mark.parametrize("limit", [268_435_456, 10**20])
def test_standard_input_takes_no_more_memory_than_the_picture(here, limit):
    script = (
        "import resource, sys\nfrom pic_uie.cli.main import main\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2_000_000_000,) * 2)\nsys.exit(main())"
    )
    options = ["--weights", str(weights.DEFAULT_PATH), "--max-pixels", str(limit)]
    command = [sys.executable, "-c", script, "enhance", "-", "-o", "-", *options]
    done = subprocess.run(command, input=saved(reef(), "PNG"), capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_closed_standard_input(here):
    done = shell(here, "- -o b.png --report run.jsonl <&-")
    assert done.returncode == exit_codes.FAILED
    assert done.stderr == b"pic-uie: standard input is closed\n"
    assert json.loads((here / "run.jsonl").read_text())["status"] == "failed"


def test_closed_standard_output(here):
    make(here / "a.png")
    done = shell(here, "a.png -o - >&-")
    assert (done.returncode, b"which is closed" in done.stderr) == (exit_codes.USAGE, True)


def test_an_unexpected_error_in_a_pipe_is_printed_and_reported(here, capsys, monkeypatch):
    make(here / "a.png")
    monkeypatch.setattr(Enhancer, "enhance_with_look", lambda *_, **__: 1 / 0)
    assert enhance("a.png", "-o", "-", "--report", "run.jsonl") == exit_codes.FAILED
    assert "internal error, please report it: ZeroDivisionError" in capsys.readouterr().err
    assert json.loads((here / "run.jsonl").read_text())["status"] == "failed"


def test_bad_stdin_gives_no_output(here):
    done = pipe(here, "-", "-o", "-", data=b"no picture")
    assert (done.returncode, done.stdout) == (exit_codes.FAILED, b"")
    assert done.stderr.startswith(b"pic-uie: a text file, not a picture")
