"""`pic-uie inspect` of a video: θ over time, cuts, and the sheet."""

import json

import numpy as np
import pytest

from helpers import clips
from pic_uie.cli.main import main
from pic_uie.inspection.course import STILLS, Numbers, follow, numbers
from pic_uie.video import demux
from pic_uie.video.probe import probe

KINDS = [1] * 20 + [2] * 25


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    path = tmp_path_factory.mktemp("course") / "dive.mp4"
    draw = lambda i: clips.scene(KINDS[i], i, 96, 64)  # noqa: E731
    return clips.write(path, len(KINDS), draw=draw, sound=False)


def test_the_course_is_that_of_the_engine(clip, enhancer):
    course = follow(clip, enhancer, "dive")
    assert course.cuts == [pytest.approx(20 / 25)]
    assert course.times == pytest.approx([i / 25 for i in range(len(KINDS))])
    found = probe(clip, in_place=False)
    alone = [numbers(enhancer.predict(demux.planes(frame, found))) for frame in demux.frames(found)]
    np.testing.assert_allclose(course.predicted, alone)
    assert np.argmax(course.steps) == 20
    for scene in (slice(0, 20), slice(20, None)):  # applied: within the predictions of the same scene
        predicted, applied = np.array(course.predicted[scene]), np.array(course.applied[scene])
        assert np.all(applied >= predicted.min(axis=0) - 1e-5)
        assert np.all(applied <= predicted.max(axis=0) + 1e-5)
        assert np.abs(np.diff(applied, axis=0)).sum() <= np.abs(np.diff(predicted, axis=0)).sum()
    assert 2 <= len(course.stills) <= STILLS
    assert not np.array_equal(course.stills[0].source, course.stills[0].result)


def test_numbers_and_sheet_of_the_command(clip, tmp_path, capsys):
    sheet = tmp_path / "sheet.png"
    assert main(["inspect", str(clip), "--json", "-o", str(sheet), "--dpi", "40"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["cuts"] == [pytest.approx(0.8)]
    assert set(values["applied"]) == set(values["predicted"]) == set(Numbers._fields)
    assert all(len(row) == len(KINDS) for row in values["applied"].values())
    assert sheet.read_bytes().startswith(b"\x89PNG")


def test_strengths_apply(clip, enhancer, capsys):
    assert main(["inspect", str(clip), "--json", "--haze", "0"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert set(values["applied"]["v"]) == {0.0}


def test_a_bad_video_is_an_error(tmp_path, capsys):
    bad = tmp_path / "bad.mp4"
    bad.write_bytes(b"\0\0\0\x20ftypisom" + bytes(30))
    assert main(["inspect", str(bad), "-o", str(tmp_path / "sheet.png")]) == 1
    assert "not a complete MP4" in capsys.readouterr().err
    assert not (tmp_path / "sheet.png").exists()
