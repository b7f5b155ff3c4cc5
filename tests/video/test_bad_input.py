"""Bad input: an error that says what and what to do, and nothing left behind."""

import os
import re
import struct
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

from helpers import clips, mp4
from helpers.clips import av, needs_ffmpeg
from pic_uie.errors import VideoError
from pic_uie.video import pipeline
from pic_uie.video.boxes import read_layout
from pic_uie.video.convert import VideoSettings, enhance_video


def refused(source, enhancer, message, **settings):
    """A source is refused; what lies beside it stays, and nothing comes to it."""
    before = sorted(source.parent.iterdir())
    with pytest.raises(VideoError, match=message):
        enhance_video(source, source.with_name("out.mp4"), enhancer, VideoSettings(preset="ultrafast", **settings))
    assert sorted(source.parent.iterdir()) == before


def salvaged(source, enhancer):
    output = source.with_name(f"out{source.suffix}")
    return enhance_video(source, output, enhancer, VideoSettings(preset="ultrafast", salvage=True)), output


def ffmpeg(*arguments):
    subprocess.run([clips.FFMPEG, "-v", "error", *map(str, arguments)], check=True)


def cut(path, share):
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    return path


def test_a_truncated_mp4_with_its_index_first(tmp_path, enhancer):
    source = cut(clips.write(tmp_path / "cut.mp4", container={"movflags": "faststart"}, sound=False), 0.6)
    refused(source, enhancer, r"cut off: \d+ bytes are missing at its end; --salvage")
    report, output = salvaged(source, enhancer)
    assert 5 < report.frames < 40
    assert any(f"only {report.frames} of 40 frames" in note for note in report.notes)
    assert len(clips.decoded(output)) == report.frames


def test_a_truncated_mp4_with_its_index_last(tmp_path, enhancer):
    source = cut(clips.write(tmp_path / "cut.mp4"), 0.6)
    refused(source, enhancer, "before its index was written.*untrunc")
    refused(source, enhancer, "before its index was written.*untrunc", salvage=True)


@pytest.mark.parametrize("suffix", [".mkv", ".avi", ".ts"])
def test_other_truncated_files(tmp_path, enhancer, suffix):
    times = {"times": list(range(40)), "time_base": (1, 25)} if suffix == ".avi" else {}
    options = {"preset": "ultrafast", "crf": "1", "bf": "0"}
    source = cut(clips.write(tmp_path / f"cut{suffix}", sound=False, options=options, **times), 0.6)
    refused(source, enhancer, r"cut off: \d+ bytes are missing at its end; --salvage")
    report, output = salvaged(source, enhancer)
    assert 5 < report.frames < 40
    assert len(clips.decoded(output)) == report.frames
    notes = "; ".join(report.notes)
    assert re.search(r"cut off: \d+ bytes are missing at its end", notes)
    if suffix == ".ts":  # which does not say how long it was
        assert "of about" not in notes
    else:
        assert f"only {report.frames} of about 40 frames could be decoded" in notes


def test_a_truncated_fragmented_mp4(tmp_path, enhancer):
    container = {"movflags": "frag_keyframe+empty_moov"}
    options = {"preset": "ultrafast", "g": "10"}
    source = cut(clips.write(tmp_path / "cut.mp4", container=container, options=options, sound=False), 0.6)
    refused(source, enhancer, r"cut off: \d+ bytes are missing at its end; --salvage")
    report, output = salvaged(source, enhancer)
    assert 5 < report.frames < 40
    assert any("cut off" in note for note in report.notes)
    assert len(clips.decoded(output)) == report.frames


@pytest.mark.parametrize("suffix", [".mkv", ".ts"])
def test_damage_inside_is_counted(tmp_path, enhancer, suffix):
    """Bytes that no decoder takes, in a file whose end is there."""
    options = {"preset": "ultrafast", "crf": "1", "bf": "0", "g": "5"}
    source = clips.write(tmp_path / f"hurt{suffix}", sound=False, options=options)
    data = bytearray(source.read_bytes())
    start, end = int(0.5 * len(data)), int(0.56 * len(data))
    step = 188 if suffix == ".ts" else 1
    for at in range(start - start % step, end - end % step):
        if suffix != ".ts" or at % step >= 30:
            data[at] = 0
    source.write_bytes(data)
    report, _ = salvaged(source, enhancer)
    assert 20 < report.frames < 40
    assert re.search(rf"only {report.frames} of (about )?\d+ frames could be decoded", "; ".join(report.notes))


def test_salvage_of_a_whole_file_has_nothing_to_tell(tmp_path, enhancer):
    for suffix in (".mkv", ".ts", ".mp4"):
        report, _ = salvaged(clips.write(tmp_path / f"whole{suffix}", options={"preset": "medium"}), enhancer)
        assert report.frames == 40
        assert not any("only" in note or "cut" in note for note in report.notes)


def test_samples_that_are_gone_are_not_silently_left_out(tmp_path, enhancer, monkeypatch):
    """Damage behind the first segment: no part folder stays, since the same run would end so again."""
    monkeypatch.setattr(pipeline, "SEGMENT_SECONDS", Fraction(1, 5))
    source = clips.write(tmp_path / "holes.mp4", 60, sound=False, options={"preset": "ultrafast", "g": "10"})
    layout, data = read_layout(source), bytearray(source.read_bytes())
    trak = mp4.tracks(layout.moov)[0]
    sizes = np.frombuffer(mp4.table(trak, b"stsz").data[12:], ">u4").astype(int)
    first = int.from_bytes(mp4.table(trak, b"stco").data[8:12], "big")
    at = first + int(sizes[:33].sum())
    data[at : at + int(sizes[33:36].sum())] = bytes(int(sizes[33:36].sum()))
    source.write_bytes(data)
    refused(source, enhancer, r"damaged at about \d\.\d s.*--salvage|could be decoded; --salvage")
    report, _ = salvaged(source, enhancer)
    assert 50 <= report.frames <= 57  # it continues, at the next key frame at the latest


def test_no_frames(tmp_path, enhancer):
    path = tmp_path / "none.mp4"
    with av.open(str(path), "w") as out:
        video = out.add_stream("libx264", rate=25)
        video.width, video.height, video.pix_fmt = 96, 64, "yuv420p"
        out.start_encoding()
    refused(path, enhancer, "there are no frames in it|no video in it")


def test_sound_alone(tmp_path, enhancer):
    path = tmp_path / "sound.mp4"
    with av.open(str(path), "w") as out:
        audio = out.add_stream("aac", rate=48000)
        clips.write_sound(out, audio, 0.3)
    refused(path, enhancer, "there is no video in it")


def test_an_unknown_codec(tmp_path, enhancer):
    source = clips.write(tmp_path / "odd.mp4", sound=False)
    mp4.edit(source, lambda moov: mp4.rename_entry(moov, b"zzzz"))
    refused(source, enhancer, "cannot decode; convert it to H.264 first")


def test_an_encrypted_file(tmp_path, enhancer):
    source = clips.write(tmp_path / "drm.mp4")
    mp4.edit(source, lambda moov: mp4.rename_entry(moov, b"encv"))
    refused(source, enhancer, "it is encrypted; save it without protection")


def test_the_size_changes_in_mid_stream(tmp_path, enhancer, monkeypatch):
    monkeypatch.setattr(pipeline, "SEGMENT_SECONDS", Fraction(1, 5))
    small, large = (clips.write(tmp_path / f"{side}.ts", 20, side, 64, sound=False) for side in (96, 128))
    source = tmp_path / "both" / "joined.ts"
    source.parent.mkdir()
    source.write_bytes(small.read_bytes() + large.read_bytes())
    refused(source, enhancer, r"its size changes from 96x64 to 128x64 at \d\.\d\d s; split it there")


@pytest.mark.parametrize("times", [[0, 1 << 31, 5, 6, 7], [0, 0, 0, 0, 0]])
def test_absurd_time_stamps(tmp_path, enhancer, times):
    """A track whose frames are years apart, and one whose clock stands still."""
    source = clips.write(tmp_path / "odd.mp4", frames=5, sound=False, options={"preset": "ultrafast", "bf": "0"})

    def change(moov):
        trak = mp4.tracks(moov)[0]
        deltas = [(later - now) & 0xFFFFFFFF for now, later in zip(times, [*times[1:], times[-1]], strict=True)]
        runs = b"".join(struct.pack(">II", 1, delta) for delta in deltas)
        mp4.table(trak, b"stts").data = bytes(4) + struct.pack(">I", len(times)) + runs
        trak.replace(b"edts", None)

    mp4.edit(source, change)
    refused(source, enhancer, "its time stamps make no sense.*--salvage|only 1 of 5 frames.*--salvage")


def test_frames_of_16k(tmp_path, enhancer):
    """Refused by what its header says: a decoder would take a gigabyte for each frame."""
    source = clips.write(
        tmp_path / "16k.mov", frames=2, sound=False, codec="mjpeg", pixel_format="yuvj420p", options={"q": "5"}
    )

    def change(moov):
        stsd = mp4.table(mp4.tracks(moov)[0], b"stsd")
        stsd.data = stsd.data[:40] + struct.pack(">HH", 15360, 8640) + stsd.data[44:]

    mp4.edit(source, change)
    size = struct.pack(">HH", 64, 96)
    data = source.read_bytes()
    assert data.count(b"\xff\xc0\x00\x11\x08" + size) == 2
    source.write_bytes(
        data.replace(b"\xff\xc0\x00\x11\x08" + size, b"\xff\xc0\x00\x11\x08" + struct.pack(">HH", 8640, 15360))
    )
    refused(source, enhancer, r"15360x8640 is more than H.264 and HEVC can hold.*scale=7680")


@needs_ffmpeg
def test_an_interlaced_file(tmp_path, enhancer):
    plain = clips.write(tmp_path / "plain.mp4", sound=False)
    source = tmp_path / "one" / "interlaced.mp4"
    source.parent.mkdir()
    ffmpeg("-i", plain, "-vf", "setfield=tff", "-c:v", "libx264", "-flags", "+ilme+ildct", "-x264opts", "tff=1", source)
    refused(source, enhancer, "it is interlaced; deinterlace it first.*bwdif")


def test_files_that_are_no_videos(tmp_path, enhancer):
    empty = tmp_path / "empty.mp4"
    empty.touch()
    refused(empty, enhancer, "an empty file")
    for content in (b"\0" * 1000, b"not a video at all " * 50, b"\0\0\0\x20ftypisom" + b"\0" * 20):
        junk = tmp_path / "junk.mp4"
        junk.write_bytes(content)
        refused(junk, enhancer, "not a video that can be read|not a complete MP4")
    refused(tmp_path / "absent.mp4", enhancer, "(?i)no such file")
    folder = tmp_path / "folder.mp4"
    folder.mkdir()
    refused(folder, enhancer, "not a regular file")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.mp4")
        refused(tmp_path / "pipe.mp4", enhancer, "not a regular file")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="this user may read everything (root)")
def test_an_unreadable_file(tmp_path, enhancer):
    source = clips.write(tmp_path / "mine.mp4", frames=3)
    source.chmod(0)
    refused(source, enhancer, "(?i)permission")


def run(*arguments):
    command = [sys.executable, "-m", "pic_uie", "enhance", *map(str, arguments), "--preset", "ultrafast"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_names_that_lie(tmp_path):
    """Types are detected from content: a picture called .mp4 is a picture, a video called .jpg is a video."""
    from PIL import Image

    folder = tmp_path / "card"
    folder.mkdir()
    Image.effect_noise((64, 48), 40).convert("RGB").save(folder / "picture.mp4", "JPEG")
    clips.write(tmp_path / "dive.mp4", frames=5, sound=False).rename(folder / "video.jpg")
    done = run(folder, "-o", tmp_path / "out")
    assert "Traceback" not in done.stderr
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["picture.mp4", "video.jpg"]
    with Image.open(tmp_path / "out" / "picture.mp4") as picture:
        assert picture.format == "JPEG"
    assert len(clips.decoded(tmp_path / "out" / "video.jpg")) == 5


def test_bad_videos_do_not_stop_a_run(tmp_path):
    clips.write(tmp_path / "good.mp4", frames=5, sound=False)
    (tmp_path / "empty.mp4").touch()
    cut(clips.write(tmp_path / "cut.mp4", sound=False), 0.5)
    done = run(tmp_path, "-o", tmp_path / "out")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "an empty file" in done.stderr
    assert "before its index was written" in done.stderr
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["good.mp4"]
