"""`pic-uie enhance`: report, progress, metadata, memory and start-up."""

import json
import os
import pty
import subprocess
import sys

import numpy as np
import pytest

from helpers.command import PIC_UIE, enhance, make, noise
from helpers.pictures import camera_exif, opened, reef, saved
from pic_uie import Enhancer, images, weights
from pic_uie.cli import exit_codes
from pic_uie.cli.main import main


def test_the_report_has_a_line_per_file(here):
    make(here / "a.png")
    make(here / "b.png")
    make(here / "b_enhanced.png")
    (here / "c.jpg").write_text("x")
    assert enhance("a.png", "b.png", "c.jpg", "--report", "run.jsonl", "-q") == exit_codes.FAILED
    lines = {line["input"]: line for line in map(json.loads, (here / "run.jsonl").read_text().splitlines())}
    assert {name: line["status"] for name, line in lines.items()} == {
        "a.png": "done",
        "b.png": "skipped",
        "c.jpg": "failed",
    }
    done = lines["a.png"]
    assert (done["output"], done["width"], done["height"]) == ("a_enhanced.png", 64, 48)
    assert done["bytes_in"] == os.path.getsize("a.png")
    assert done["bytes_out"] == os.path.getsize("a_enhanced.png")
    assert set(done["milliseconds"]) == {"read", "decode", "enhance", "encode", "write"}
    assert lines["c.jpg"]["error"].startswith("a text file")


def test_a_report_over_a_picture_is_refused(here):
    make(here / "a.png")
    for name in ("a.png", "a_enhanced.png", "other.jpg"):
        assert enhance("a.png", "--report", name) == exit_codes.USAGE
    assert images.read(here / "a.png").format == "png"


def test_a_report_never_replaces_another_file(here, capsys):
    source = make(here / "a.png").read_bytes()
    (here / "link.jsonl").symlink_to("a.png")
    os.link(here / "a.png", here / "hard.jsonl")
    (here / "list.txt").write_text("a.png\n")
    for arguments in (
        ["a.png", "--report", "link.jsonl"],
        ["a.png", "--report", "hard.jsonl"],
        ["a.png", "-o", "-", "--report", "a.png"],
        ["a.png", "-o", "-", "--report", "hard.jsonl"],
        ["@list.txt", "--report", "list.txt"],
    ):
        assert enhance(*arguments) == exit_codes.USAGE
    assert (here / "a.png").read_bytes() == source
    assert (here / "list.txt").read_text() == "a.png\n"
    assert enhance("a.png", "--weights", weights.DEFAULT_PATH, "--report", weights.DEFAULT_PATH) == exit_codes.USAGE
    assert "is not a report" in capsys.readouterr().err
    assert enhance("a.png", "--report", "run.jsonl") == 0
    assert enhance("a.png", "--overwrite", "--report", "run.jsonl") == 0  # a report of an earlier run is replaced
    assert len((here / "run.jsonl").read_text().splitlines()) == 1


def test_quiet_says_errors_only(here, capsys):
    make(here / "a.png")
    assert enhance("a.png", "-q") == 0
    assert capsys.readouterr().err == ""
    assert enhance("missing.png", "-q") == exit_codes.FAILED
    assert "no such file" in capsys.readouterr().err


@pytest.mark.parametrize("options", [[], ["-q"], ["-v"]])
def test_what_is_not_kept_is_reported_always_in_one_line_a_file(here, capsys, options):
    for number in range(12):
        make(here / f"{number}.jpg", "JPEG", **({"exif": b"Exif\0\0garbage"} if number < 5 else {}))
    assert enhance(".", "-o", "out", *options) == 0
    errors = capsys.readouterr().err
    assert errors.count("->") == (12 if options == ["-v"] else 5)
    assert errors.count("EXIF is damaged") == 5


def test_a_terminal_gets_a_bar_with_rate_and_time_left(here):
    for number in range(3):
        make(here / f"{number}.png")
    parent, child = pty.openpty()
    command = [*PIC_UIE, "enhance", ".", "-o", "out", "--weights", str(weights.DEFAULT_PATH)]
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "100"}
    process = subprocess.Popen(command, cwd=here, stderr=child, stdout=subprocess.PIPE, env=environment)
    os.close(child)
    seen = b""
    while chunk := _read(parent):
        seen += chunk
    assert process.wait() == 0
    os.close(parent)
    assert b"enhancing" in seen
    assert b"3/3" in seen
    assert b"/s" in seen
    assert b"3 enhanced" in seen


def _read(descriptor):
    try:
        return os.read(descriptor, 4096)
    except OSError:  # the other end is closed
        return b""


def test_metadata_is_kept_and_stripped_on_demand(here):
    make(here / "a.jpg", "JPEG", exif=b"Exif\0\0" + camera_exif(orientation=6), quality=88, dpi=(240, 240))
    assert enhance("a.jpg", "-q") == 0
    kept = opened((here / "a_enhanced.jpg").read_bytes())
    assert kept.size == (48, 64)
    assert kept.getexif()[0x0112] == 1
    assert kept.getexif().get_ifd(0x8825)[1] == "N"
    assert kept.quantization == opened((here / "a.jpg").read_bytes()).quantization
    assert enhance("a.jpg", "-q", "--strip-metadata", "--overwrite", "--quality", 70) == 0
    stripped = opened((here / "a_enhanced.jpg").read_bytes())
    assert not stripped.getexif()
    assert stripped.size == (48, 64)
    assert stripped.quantization == opened(saved(reef(), "JPEG", quality=70)).quantization


def test_sixteen_bit_tiff_stays_sixteen_bit(here):
    images.write(images.Picture(reef(dtype=np.uint16), bits=16), here / "a.tif")
    assert enhance("a.tif", "-q") == 0
    result = images.read(here / "a_enhanced.tif")
    assert result.bits == 16
    assert np.array_equal(result.pixels, Enhancer(weights.DEFAULT_PATH).enhance(reef(dtype=np.uint16)))


def test_the_light_path_is_light_and_stays_off_the_network(here):
    make(here / "a.png")
    script = (
        "import sys; calls = []; sys.addaudithook(lambda name, _: calls.append(name) if 'socket.' in name else None); "
        "from pic_uie.cli.main import main; code = main(sys.argv[1:]); "
        "print(sorted({'torch', 'matplotlib', 'cv2', 'scipy', 'yaml'} & set(sys.modules)), code, calls)"
    )
    command = [sys.executable, "-c", script, "enhance", "a.png", "-q", "--weights", str(weights.DEFAULT_PATH)]
    done = subprocess.run(command, cwd=here, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] 0 []"
    lean = "import sys, pic_uie; print(sorted({'pyvips', 'PIL', 'torch', 'rich'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", lean], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_memory_stays_flat_over_many_pictures(here):
    """Peak memory of 300 pictures is that of 30, give or take the noise of an allocator."""
    make(here / "a.jpg", "JPEG", pixels=noise(400, 600))
    script = (
        "import sys, resource; from pic_uie.cli.main import main; main(sys.argv[1:]); "
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    peaks = []
    for count in (30, 300):
        folder = here / f"in{count}"
        folder.mkdir()
        for number in range(count):
            (folder / f"{number}.jpg").hardlink_to(here / "a.jpg")
        command = [sys.executable, "-c", script, "enhance", folder, "-o", f"out{count}", "-q"]
        command += ["--weights", str(weights.DEFAULT_PATH)]
        done = subprocess.run(command, cwd=here, capture_output=True, text=True, check=True)
        peaks.append(int(done.stdout))
        assert len(list((here / f"out{count}").iterdir())) == count
    assert peaks[1] < peaks[0] + 20_000  # KB


def test_help_is_short_and_complete(capsys):
    with pytest.raises(SystemExit):
        main(["enhance", "--help"])
    text = capsys.readouterr().out
    for option in (
        "--strength",
        "--recursive",
        "--overwrite",
        "--jobs",
        "--threads",
        "--suffix",
        "--format",
        "--quality",
    ):
        assert option in text
