"""Killed at random moments, many times: no partial output, and the next run gives the tree of an undisturbed one."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from helpers.pictures import camera_exif, mild_weights, reef, saved
from pic_uie import images
from pic_uie.files import PART_SUFFIX

PIC_UIE = [sys.executable, "-m", "pic_uie"]
KILLS = int(os.environ.get("PIC_UIE_KILLS", "20"))  # set it to hundreds for a long run
PICTURES = 40


@pytest.fixture(scope="module")
def dive(tmp_path_factory):
    """Pictures, weights, and the result of an undisturbed run."""
    root = tmp_path_factory.mktemp("dive")
    mild_weights(root / "w.safetensors")
    for number in range(PICTURES):
        folder = root / "in" / f"day {number % 3}"
        folder.mkdir(parents=True, exist_ok=True)
        name = ("JPEG", "PNG", "TIFF", "WEBP")[number % 4]
        exif = {} if name == "TIFF" else {"exif": b"Exif\0\0" + camera_exif(1 + number % 8)}
        pixels = reef(200 + 10 * (number % 7), 240, seed=number)
        (folder / f"{number}.{name.lower()}").write_bytes(saved(pixels, name, **exif))
    assert finish(root, "undisturbed") == 0
    assert len(contents(root / "undisturbed")) == PICTURES
    return root


def start(root, out):
    arguments = ["enhance", "in", "-r", "-o", out, "--weights", "w.safetensors", "-q"]
    return subprocess.Popen([*PIC_UIE, *arguments], cwd=root, stderr=subprocess.DEVNULL)


def finish(root, out):
    return start(root, out).wait(60)


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def finished(folder):
    """How many results are there while somebody is writing."""
    return sum(not name.endswith(PART_SUFFIX) for _, _, names in os.walk(folder) for name in names)


def check_no_partial_output(folder, expected):
    for name, data in contents(folder).items():
        if not name.endswith(PART_SUFFIX):
            assert data == expected[name], name


def test_kill_9_at_random_moments(dive):
    expected = contents(dive / "undisturbed")
    rng = random.Random(8)  # noqa: S311
    out, killed_halfway, rounds = 0, 0, 0
    while rounds < KILLS:
        folder = dive / f"killed {out}"
        process = start(dive, folder.name)
        deadline = time.monotonic() + 20
        wanted = finished(folder) + rng.randrange(0, 8)
        while time.monotonic() < deadline and process.poll() is None:
            if finished(folder) > wanted:
                break
            time.sleep(0.002)
        time.sleep(rng.random() * 0.01)
        process.kill()
        code = process.wait()
        rounds += 1
        killed_halfway += code == -signal.SIGKILL
        check_no_partial_output(folder, expected) if folder.exists() else None
        if code == 0 or rounds == KILLS:
            assert finish(dive, folder.name) == 0
            assert contents(folder) == expected
            out += 1
    assert killed_halfway > KILLS // 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_politely(dive, number):
    expected = contents(dive / "undisturbed")
    for attempt in range(5):  # a run may be over before the signal comes
        folder = dive / f"interrupted {int(number)} {attempt}"
        process = start(dive, folder.name)
        while process.poll() is None and finished(folder) <= 5:
            time.sleep(0.002)
        process.send_signal(number)
        if code := process.wait(30):
            break
    assert code == 130
    left = contents(folder)
    assert 0 < len(left) < PICTURES
    assert not any(name.endswith(PART_SUFFIX) for name in left)
    check_no_partial_output(folder, expected)
    assert finish(dive, folder.name) == 0
    assert contents(folder) == expected


def test_the_number_of_jobs_and_threads_changes_no_byte(dive):
    base = [*PIC_UIE, "enhance", "in", "-r", "--weights", "w.safetensors", "-q"]
    for jobs, threads in ((1, 1), (1, 2), (3, 2)):
        options = ["-o", f"j{jobs}t{threads}", "--jobs", str(jobs), "--threads", str(threads)]
        subprocess.run([*base, *options], cwd=dive, check=True)
        assert contents(dive / f"j{jobs}t{threads}") == contents(dive / "undisturbed")


def test_two_runs_at_once_do_not_harm_each_other(dive):
    runs = [start(dive, "shared") for _ in range(2)]
    assert {run.wait(60) for run in runs} <= {0, 1}  # a file that the other one was faster with may be reported
    assert contents(dive / "shared") == contents(dive / "undisturbed")


def test_results_are_pictures(dive):
    for path in (dive / "undisturbed").rglob("*.*"):
        assert images.read(path).pixels.size
        assert os.path.getsize(path) > 1000
