"""`pic-uie enhance` where something goes wrong: reported, counted, the rest continues; exit codes."""

import json
import os
import shutil
import subprocess

import pytest

from helpers.command import PIC_UIE, enhance, make, noise, tree
from helpers.pictures import reef, saved
from pic_uie import Enhancer, images, weights
from pic_uie.cli import exit_codes
from pic_uie.files import PART_SUFFIX


def test_one_bad_file_does_not_stop_a_run(here, capsys):
    make(here / "a.png")
    (here / "b.jpg").write_text("hello")
    (here / "c.jpg").write_bytes(b"")
    (here / "d.jpg").write_bytes(saved(reef(), "JPEG")[:500])
    make(here / "e.png")
    os.mkfifo(here / "f.jpg")
    (here / "g.jpg").symlink_to(here / "g.jpg")
    (here / "h.jpg").mkdir()
    assert enhance(".", "missing.jpg", "i" * 300 + ".jpg", "-o", "out") == exit_codes.FAILED
    assert tree(here / "out") == ["a.png", "e.png"]
    errors = capsys.readouterr().err
    for words in (
        "b.jpg: a text file, not a picture that can be read (JPEG, PNG, TIFF, WebP, BMP, AVIF, HEIC, GIF, ",
        "c.jpg: an empty file",
        "d.jpg: damaged JPEG",
        "f.jpg: not a regular file",
        "g.jpg: a symbolic link that leads back to itself",
        "missing.jpg: no such file",
        "iiii.jpg: the name is too long",
        "2 enhanced, 7 failed",
    ):
        assert words in errors


@pytest.mark.parametrize("arguments", [["*.jpg"], ["."], ["empty", "--recursive"]])
def test_nothing_matched(here, arguments, capsys):
    (here / "empty").mkdir()
    (here / "notes.txt").write_text("x")
    assert enhance(*arguments) == exit_codes.NOTHING_MATCHED
    assert "no pictures found in" in capsys.readouterr().err


@pytest.mark.parametrize(
    "options",
    [
        ["--strength", "2"],
        ["--strength", "nan"],
        ["--quality", "0"],
        ["--jobs", "0"],
        ["--threads", "300"],
        ["--format", "gif"],
        ["-q", "-v"],
    ],
)
def test_usage_errors(here, options):
    with pytest.raises(SystemExit) as caught:
        enhance("a.png", *options)
    assert caught.value.code == exit_codes.USAGE


@pytest.mark.parametrize("arguments", [[""], ["a.png", ""], ["a.png", "-o", ""]])
def test_an_empty_name_is_no_folder(here, arguments, capsys):
    make(here / "a.png")
    assert enhance(*arguments) == exit_codes.USAGE
    assert "empty" in capsys.readouterr().err
    assert tree(here) == ["a.png"]


def test_a_folder_in_the_place_of_a_result_is_an_error(here, capsys):
    make(here / "a.png")
    (here / "a_enhanced.png").mkdir()
    assert enhance("a.png") == exit_codes.FAILED
    assert "a folder is in its place" in capsys.readouterr().err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_pipe_in_the_place_of_a_result_is_an_error(here, capsys):
    make(here / "a.png")
    os.mkfifo(here / "b.png")
    assert enhance("a.png", "-o", "b.png", "--overwrite") == exit_codes.FAILED
    assert "something else is in its place" in capsys.readouterr().err
    assert (here / "b.png").is_fifo()


def test_a_report_through_a_link_does_not_take_the_place_of_a_result(here, capsys):
    make(here / "a.png")
    (here / "run.jsonl").symlink_to("a_enhanced.png")
    assert enhance("a.png", "--report", "run.jsonl") == exit_codes.USAGE
    assert "is the name of a picture" in capsys.readouterr().err
    assert not (here / "a_enhanced.png").exists()


def test_standard_output_on_a_full_disk(here):
    make(here / "a.png")
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*PIC_UIE, "enhance", "a.png", "--dry-run"], cwd=here, stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert (done.returncode, done.stderr) == (exit_codes.ENVIRONMENT, b"pic-uie: No space left on device\n")


def test_missing_weights_are_an_environment_error(here, capsys, monkeypatch):
    make(here / "a.png")
    monkeypatch.setattr(weights, "DEFAULT_PATH", here / "none.safetensors")
    assert enhance("a.png") == exit_codes.ENVIRONMENT
    assert "weights" in capsys.readouterr().err
    (here / "pickle.pt").write_bytes(b"\x80\x04x")
    assert enhance("a.png", "--weights", "pickle.pt") == exit_codes.FAILED
    assert "pickled checkpoints are never read" in capsys.readouterr().err


def test_a_missing_libvips_is_reported_once(here, capsys, no_libvips):
    make(here / "a.png")
    make(here / "b.png")
    assert enhance("a.png", "b.png") == exit_codes.ENVIRONMENT
    assert capsys.readouterr().err.count("pip install 'pyvips[binary]'") == 1


def test_max_pixels(here, capsys):
    make(here / "a.png")
    assert enhance("a.png", "--max-pixels", 3000) == exit_codes.FAILED
    assert "--max-pixels 3072" in capsys.readouterr().err
    assert enhance("a.png", "--max-pixels", 3072) == 0


def test_a_read_only_folder(here, capsys):
    make(here / "locked/a.png")
    make(here / "b.png")
    (here / "locked").chmod(0o500)
    if os.access(here / "locked", os.W_OK):
        pytest.skip("this user may write everywhere (root)")
    assert enhance("locked/a.png", "b.png") == exit_codes.FAILED
    assert "no permission to write there" in capsys.readouterr().err
    assert (here / "b_enhanced.png").exists()


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 256 KB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount")
    command = [mount or "mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)]
    if mount is None or os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("a small tmpfs cannot be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_fails_what_does_not_fit_and_goes_on(here, small_disk, capsys):
    for number in range(4):
        make(here / f"in/{number}.png", pixels=noise(200, 200, number))  # 120 KB each
    for number in range(10):  # several, since the part of a file that fails may take the room of the one beside it
        make(here / f"in/small{number}.png", pixels=noise(8, 8))
    assert enhance("in", "-o", small_disk, "--jobs", 1) == exit_codes.FAILED
    errors = capsys.readouterr().err
    assert "the disk is full" in errors
    left = tree(small_disk)
    assert any(name.startswith("small") for name in left)
    assert len(left) < 14
    for name in left:
        assert images.read(small_disk / name).pixels.size  # whole, every one of them
    assert not any(name.endswith(PART_SUFFIX) for name in left)


def test_a_disk_that_stays_full_ends_the_run_with_exit_4(here, small_disk, capsys):
    for number in range(30):
        make(here / f"in/{number:02d}.png", pixels=noise(320, 320, number))  # more than the whole disk
    assert enhance("in", "-o", small_disk) == exit_codes.ENVIRONMENT
    errors = capsys.readouterr().err
    assert "the disk is full: 0 enhanced" in errors
    assert "Free some space and run the same command again to continue" in errors
    assert tree(small_disk) == []
    assert errors.count("cannot write") < 20


def test_a_read_only_disk(here, small_disk, capsys):
    make(here / "a.png")
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    assert enhance("a.png", "-o", small_disk / "b.png") == exit_codes.FAILED
    assert "the file system is read-only" in capsys.readouterr().err
    assert enhance("a.png", "-q") == 0


def test_a_folder_of_mutated_files(here, root, monkeypatch):
    monkeypatch.syspath_prepend(str(root / "benchmarks"))
    import fuzz

    files = fuzz.corpus()
    (here / "in").mkdir()
    for number in range(120):
        (here / "in" / f"{number}.jpg").write_bytes(fuzz.mutation(files, number))
    options = ["-q", "--max-pixels", "4000000", "--weights", str(weights.DEFAULT_PATH), "--report", "run.jsonl"]
    done = subprocess.run(
        [*PIC_UIE, "enhance", "in", "-o", "out", *options], cwd=here, capture_output=True, check=False
    )
    assert done.returncode == exit_codes.FAILED
    assert b"Traceback" not in done.stderr
    assert b"internal error" not in done.stderr
    outcomes = [json.loads(line) for line in (here / "run.jsonl").read_text().splitlines()]
    assert len(outcomes) == 120
    written = {outcome["output"] for outcome in outcomes if outcome["status"] == "done"}
    assert {f"out/{name}" for name in tree(here / "out")} == written
    for name in written:
        assert images.read(here / name).pixels.size


def test_a_full_disk_for_the_report_stops_the_run(here, capsys):
    make(here / "a.png")
    assert enhance("a.png", "--report", "/dev/full") == exit_codes.ENVIRONMENT
    assert "cannot write the report /dev/full" in capsys.readouterr().err


def test_the_engine_s_errors_are_reported(here, capsys, monkeypatch):
    make(here / "a.png")

    def fail(self, img, strengths, **options):
        raise ValueError("expected samples in [0, 1]")

    monkeypatch.setattr(Enhancer, "enhance_with_look", fail)
    assert enhance("a.png") == exit_codes.FAILED
    assert "a.png: cannot be enhanced: expected samples in [0, 1]" in capsys.readouterr().err
