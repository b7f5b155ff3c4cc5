"""Names of results say what is in them, or a word is said; options that change nothing are named."""

import pytest
from PIL import Image

from helpers import clips
from helpers.clips import av
from helpers.command import enhance, make, tree

FAST = ("--preset", "ultrafast")
VP9 = {"codec": "libvpx-vp9", "sound": False, "options": {"deadline": "realtime"}}


def container(path):
    with av.open(str(path)) as file:
        return file.format.name


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder to work in, with a video in three containers and a picture."""
    monkeypatch.chdir(tmp_path)
    clips.write(tmp_path / "s.mp4", frames=5, sound=False)
    clips.write(tmp_path / "s.mkv", frames=5, sound=False)
    clips.write(tmp_path / "s.webm", frames=5, **VP9)
    make(tmp_path / "p.png")
    return tmp_path


@pytest.mark.parametrize(
    ("source", "output", "remedy"),
    [
        ("s.mp4", "x.jpg", "the result of s.mp4 is a video (MP4); name it x.mp4"),
        ("s.mp4", "w.mkv", "the result of s.mp4 is a video (MP4); name it w.mp4"),
        ("s.mp4", "q.MOV", "the result of s.mp4 is a video (MP4); name it q.mp4"),
        ("s.mkv", "w.mp4", "the result of s.mkv is a video (Matroska); name it w.mkv"),
        ("s.webm", "o.webm", "WebM holds no H.264 or HEVC: the result of s.webm is a video (Matroska); name it o.mkv"),
        ("p.png", "pp.mp4", "-o pp.mp4 is the name of a video, but p.png is none; name it pp.png"),
    ],
)
def test_a_named_file_of_another_kind_is_refused_before_any_work(folder, capsys, source, output, remedy):
    before = tree(folder)
    assert enhance(source, "-o", output, *FAST) == 2
    assert remedy in capsys.readouterr().err
    assert tree(folder) == before


@pytest.mark.parametrize("output", ["x.mp4", "x.M4V"])
def test_a_named_file_of_its_own_kind(folder, capsys, output):
    assert enhance("s.mp4", "-o", output, *FAST) == 0
    assert "its name says otherwise" not in capsys.readouterr().err
    assert "mp4" in container(output)


@pytest.mark.parametrize("name", ["vid.jpg", "vid.mkv"])
def test_a_name_from_the_source_that_lies_is_noted(folder, capsys, name):
    (folder / "s.mp4").rename(folder / name)
    assert enhance(name, *FAST) == 0
    assert "its name says otherwise, but it is a video (MP4)" in capsys.readouterr().err
    assert "mp4" in container(f"vid_enhanced{name[-4:]}")


def test_a_suffix_that_says_nothing_is_no_lie(folder, capsys):
    (folder / "s.mp4").rename(folder / "vid.3gp")
    assert enhance("vid.3gp", *FAST) == 0
    assert "says otherwise" not in capsys.readouterr().err


def test_webm_becomes_matroska_with_its_name_and_a_note(folder, capsys):
    assert enhance("s.webm", "-o", "out/", *FAST) == 0
    assert "WebM holds no H.264 or HEVC: it becomes Matroska" in capsys.readouterr().err
    assert tree(folder / "out") == ["s.mkv"]
    assert b"webm" not in (folder / "out" / "s.mkv").read_bytes()[:64]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--format", "png"], "--format has no effect: it is for pictures, and there are none"),
        (["--range", "auto", "--resize", "40"], "--resize, --range have no effect: they are for pictures"),
        (["--preview", "sheet.jpg"], "--preview has no effect"),
    ],
)
def test_options_of_pictures_without_pictures(folder, capsys, options, said):
    assert enhance("s.mp4", *FAST, "-q", *options) == 0
    assert said in capsys.readouterr().err


def test_options_of_videos_without_videos(folder, capsys):
    assert enhance("p.png", "--start", "0.1", "--tone-map") == 0
    assert "--start, --tone-map have no effect: they are for videos, and there are none" in capsys.readouterr().err
    with Image.open("p_enhanced.png") as result:
        assert result.format == "PNG"


def test_options_of_both_where_there_are_both(folder, capsys):
    assert enhance("s.mp4", "p.png", "-o", "out/", "--quality", "80", "--end", "0.1", *FAST) == 0
    assert "no effect" not in capsys.readouterr().err


def test_progress_counts_files(folder, capsys, monkeypatch):
    from pic_uie.cli import display

    monkeypatch.setattr(display, "_LINE_SECONDS", 0.0)
    assert enhance("s.mp4", *FAST) == 0
    assert "1 of 1 files, 0 failed" in capsys.readouterr().err
