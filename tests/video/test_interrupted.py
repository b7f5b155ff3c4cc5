"""Killed at any moment and run again, a video ends as the same bytes; nothing half-written has the final name."""

import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from helpers import clips
from helpers.command import enhance
from pic_uie.batch.results import state
from pic_uie.corrections import identity
from pic_uie.errors import VideoError
from pic_uie.video import parts, pipeline
from pic_uie.video.convert import VideoSettings, enhance_video

SEGMENT = 1  # seconds, so that a small clip has many
PROGRAM = """
import os, signal, sys
from pathlib import Path
from pic_uie import Enhancer
from pic_uie.video import pipeline
from pic_uie.video.convert import VideoSettings, enhance_video
pipeline.SEGMENT_SECONDS = 1
source, output, where, left = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
rename = os.replace

def count():  # as if killed from outside, at a place that does not depend on how fast the machine is
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)

def before(*paths):
    count()
    rename(*paths)

def after(*paths):
    rename(*paths)
    count()

os.replace = {"before": before, "after": after}.get(where, rename)
check = count if where == "frame" else lambda: None
enhance_video(source, output, Enhancer(threads=1), VideoSettings(preset="medium"), check=check)
"""


def command(source, output, where="nowhere", number=0):
    return [sys.executable, "-c", PROGRAM, str(source), str(output), where, str(number)]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    kinds = [1] * 90 + [2] * 60 + [3] * 75
    path = tmp_path_factory.mktemp("source") / "dive.mp4"
    options = {"preset": "medium", "g": "40", "bf": "3"}
    return clips.write(path, 225, 160, 96, draw=lambda i: clips.scene(kinds[i], i, 160, 96), options=options)


@pytest.fixture(scope="module")
def undisturbed(source, tmp_path_factory):
    output = tmp_path_factory.mktemp("whole") / "out.mp4"
    subprocess.run(command(source, output), check=True)
    return output.read_bytes()


def test_killed_many_times(source, undisturbed, tmp_path):
    """Between frames, and before and after every file gets its name: notes, segments and the result."""
    output = tmp_path / "out.mp4"
    before = source.read_bytes()
    rng = np.random.default_rng(5)
    places = [("frame", int(number)) for number in rng.integers(1, 60, 4)]
    places += [("before", 1), ("after", 1), ("before", 2), ("after", 2), ("frame", 26)]
    while places or not output.exists():
        killed = subprocess.run(command(source, output, *(places.pop() if places else ("after", 3))), check=False)
        assert killed.returncode in (0, -signal.SIGKILL)
        assert not output.exists() or output.read_bytes() == undisturbed
        if output.exists():
            break
        assert killed.returncode == -signal.SIGKILL
    assert not places
    assert output.read_bytes() == undisturbed
    assert source.read_bytes() == before
    parts.remove_leftovers(output)  # as the command does when it finds the result
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.mp4"]


@pytest.mark.parametrize("where", ["before", "after"])
def test_killed_when_the_result_gets_its_name(source, undisturbed, tmp_path, where):
    output = tmp_path / "out.mp4"
    subprocess.run(command(source, output, "before", 20), check=False)  # the manifest, nine notes and nine segments
    assert len(list(parts.folder_of(output).glob("*.mp4"))) == 9
    assert not output.exists()
    killed = subprocess.run(command(source, output, where, 1), check=False)
    assert killed.returncode == -signal.SIGKILL
    assert output.exists() == (where == "after")
    if where == "before":
        subprocess.run(command(source, output), check=True)
    assert output.read_bytes() == undisturbed


@pytest.mark.parametrize("stop_at", [1, 24, 25, 26, 89, 90, 91, 130, 224])
def test_given_up_at_every_kind_of_place(source, undisturbed, tmp_path, enhancer, monkeypatch, stop_at):
    monkeypatch.setattr(pipeline, "SEGMENT_SECONDS", SEGMENT)
    output = tmp_path / "out.mp4"

    class StopError(Exception):
        pass

    seen = 0

    def check():
        nonlocal seen
        seen += 1
        if seen == stop_at:
            raise StopError

    settings = VideoSettings(preset="medium")
    with pytest.raises(StopError):
        enhance_video(source, output, enhancer, settings, check=check)
    assert not output.exists()
    kept = len(list(parts.folder_of(output).glob("*.mp4"))) if stop_at > 25 else 0
    assert kept == (stop_at - 1) // 25
    first = []
    enhance_video(source, output, enhancer, settings, progress=lambda frames, total, size: first.append(frames))
    assert first[0] == 25 * kept
    assert output.read_bytes() == undisturbed


@pytest.mark.parametrize("suffix", [".mkv", ".webm", ".avi", ".ts", ".mov"])
def test_every_container_ends_as_the_same_bytes(tmp_path, enhancer, monkeypatch, suffix):
    monkeypatch.setattr(pipeline, "SEGMENT_SECONDS", SEGMENT)
    options = {"codec": "libvpx-vp9", "sound": False, "options": {"deadline": "realtime"}} if suffix == ".webm" else {}
    source = clips.write(tmp_path / f"dive{suffix}", times=list(range(60)), time_base=(1, 25), **options)
    results = [tmp_path / f"{name}{suffix}" for name in ("one", "two", "killed")]
    killed = subprocess.run(command(source, results[2], "after", 5), check=False)  # manifest, notes and segments
    assert killed.returncode == -signal.SIGKILL
    assert (parts.folder_of(results[2]) / "000000.mp4").exists()
    for result in results:
        enhance_video(source, result, enhancer, VideoSettings(preset="medium"))
    one, two, continued = (result.read_bytes() for result in results)
    assert one == two == continued


@pytest.mark.parametrize("suffix", [".mp4", ".mov", ".mkv", ".avi", ".ts"])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_a_result_that_is_cut_short_is_made_again(tmp_path, enhancer, suffix, share):
    """As a copy that was broken off leaves it."""
    times = {"times": list(range(40)), "time_base": (1, 25)} if suffix == ".avi" else {}
    output = clips.write(tmp_path / f"out{suffix}", options={"preset": "ultrafast", "crf": "1"}, **times)
    assert state(output) == "whole"
    data = output.read_bytes()
    output.write_bytes(data[: int(len(data) * share) | 1])
    assert state(output) == "unfinished"


def test_an_mp4_that_ends_with_its_index_is_made_again(tmp_path):
    output = clips.write(tmp_path / "out.mp4", frames=5, container={"movflags": "faststart"})
    data = output.read_bytes()
    output.write_bytes(data[: data.index(b"mdat") - 4])
    assert state(output) == "unfinished"
    output.write_bytes(data + b"what a camera put behind the last box")
    assert state(output) == "whole"


def test_the_command_replaces_a_cut_result_and_says_so(tmp_path, capsys):
    source = clips.write(tmp_path / "dive.mp4", frames=5)
    assert enhance(source, "--preset", "ultrafast") == 0
    output = tmp_path / "dive_enhanced.mp4"
    whole = output.read_bytes()
    output.write_bytes(whole[: len(whole) // 2])
    assert enhance(source, "--preset", "ultrafast") == 0
    assert "an unfinished result was in its place" in capsys.readouterr().err
    assert output.read_bytes() == whole
    assert enhance(source, "--preset", "ultrafast") == 0
    assert "1 skipped" in capsys.readouterr().err


def test_a_damaged_segment_or_other_settings_start_anew(source, undisturbed, tmp_path, enhancer, monkeypatch):
    monkeypatch.setattr(pipeline, "SEGMENT_SECONDS", SEGMENT)
    output = tmp_path / "out.mp4"
    folder = parts.folder_of(output)
    folder.mkdir()
    (folder / "manifest.json").write_text("{}")
    (folder / "000000.mp4").write_bytes(b"old")
    (folder / "000000.json").write_text('{"times": [0], "cuts": [], "sums": []}')
    enhance_video(source, output, enhancer, VideoSettings(preset="medium"))
    assert output.read_bytes() == undisturbed


FAST = VideoSettings(preset="ultrafast")


@pytest.fixture
def short(tmp_path):
    return clips.write(tmp_path / "short.mp4", 6, 96, 64, draw=lambda i: clips.scene(1, i, 96, 64))


def test_a_part_folder_that_is_a_link_is_refused(short, tmp_path, enhancer):
    (tmp_path / "diary").mkdir()
    (tmp_path / "diary/000000.mp4").write_text("precious")
    parts.folder_of(tmp_path / "out.mp4").symlink_to("diary")
    with pytest.raises(VideoError, match="is a link; remove it"):
        enhance_video(short, tmp_path / "out.mp4", enhancer, FAST)
    parts.remove_leftovers(tmp_path / "out.mp4")
    assert {path.name: path.read_text() for path in (tmp_path / "diary").iterdir()} == {"000000.mp4": "precious"}


def test_what_others_put_into_the_part_folder_stays(short, tmp_path, enhancer):
    folder = parts.folder_of(tmp_path / "out.mp4")
    (folder / "sub").mkdir(parents=True)
    (folder / "diary.txt").write_text("precious")
    (folder / "000000.mp4").write_text("of another run")
    enhance_video(short, tmp_path / "out.mp4", enhancer, FAST)
    assert (tmp_path / "out.mp4").exists()
    assert sorted(path.name for path in folder.iterdir()) == ["diary.txt", "sub"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with a name")
@pytest.mark.parametrize("name", ["lock", "manifest.json", "000000.json", "000000.mp4"])
def test_pipes_in_the_part_folder_do_not_hold_it_up(short, tmp_path, enhancer, name):
    folder = parts.folder_of(tmp_path / "out.mp4")
    folder.mkdir()
    os.mkfifo(folder / name)
    if name == "lock":
        with pytest.raises(VideoError, match="lock is not a file; remove"):
            enhance_video(short, tmp_path / "out.mp4", enhancer, FAST)
    else:
        enhance_video(short, tmp_path / "out.mp4", enhancer, FAST)
        assert not folder.exists()


def test_looks_that_differ_in_the_middle_of_a_field_are_not_mixed(source, tmp_path, enhancer, monkeypatch):
    monkeypatch.setattr(pipeline, "SEGMENT_SECONDS", SEGMENT)
    theta = identity()
    veil = np.array(theta.v)
    veil[10:20, 10:20] = 0.9
    treatments = [pipeline.Treatment(theta=one) for one in (theta, replace(theta, v=veil))]
    first, second = (replace(FAST, treatment=one) for one in treatments)
    frames = iter(range(40))
    with pytest.raises(StopIteration):
        enhance_video(source, tmp_path / "out.mp4", enhancer, first, check=lambda: next(frames))
    assert list(parts.folder_of(tmp_path / "out.mp4").glob("*.mp4"))
    done = []
    enhance_video(source, tmp_path / "out.mp4", enhancer, second, progress=lambda count, *_: done.append(count))
    assert done[0] == 0  # nothing of the first one was used


def test_two_runs_do_not_mix(source, tmp_path):
    output = tmp_path / "out.mp4"
    with subprocess.Popen(command(source, output), stderr=subprocess.PIPE) as first:
        while not (parts.folder_of(output) / "manifest.json").exists() and first.poll() is None:
            time.sleep(0.01)
        second = subprocess.run(command(source, output), capture_output=True, check=False)
        first.wait()
    assert first.returncode == 0
    assert output.exists()
    assert second.returncode  # refused while the first one runs, or because its result is there


@pytest.mark.skipif(shutil.which("mount") is None or os.name != "posix", reason="no small file system can be made")
def test_a_full_disk_says_how_much_is_needed(source, tmp_path, enhancer, undisturbed):
    from pic_uie.batch.mapping import DiskJob
    from pic_uie.batch.videos import process_video

    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", small], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("no permission to mount")
    try:
        job = DiskJob(source, small / "out.mp4")
        outcome = process_video(
            job, enhancer, VideoSettings(preset="medium", crf=1), check=lambda: None, progress=lambda *_: None
        )
        assert outcome.status == "failed"
        assert outcome.unwritable
        assert "MB more are needed" in outcome.error
        assert not (small / "out.mp4").exists()
        assert list(small.iterdir()) == []  # nothing to continue from yet
    finally:
        subprocess.run(["umount", small], check=True)


def test_an_existing_result_is_not_replaced(source, tmp_path, enhancer):
    output = tmp_path / "out.mp4"
    output.write_bytes(b"mine")
    with pytest.raises((VideoError, OSError)):
        enhance_video(source, output, enhancer, VideoSettings(preset="ultrafast"))
    assert output.read_bytes() == b"mine"
