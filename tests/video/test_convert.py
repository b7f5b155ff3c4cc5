"""Files in, files out: times, streams, colour and tags as other programs see them."""

import subprocess
from fractions import Fraction

import numpy as np
import pytest

from helpers import clips
from helpers.clips import av, needs_exiftool, needs_ffmpeg
from helpers.rotate import turn
from pic_uie.errors import VideoError
from pic_uie.video.convert import VideoSettings, enhance_video
from pic_uie.video.pipeline import Treatment
from pic_uie.video.probe import probe


def convert(source, enhancer, output=None, **settings):
    output = output or source.with_name(f"{source.stem}_enhanced{source.suffix}")
    report = enhance_video(source, output, enhancer, VideoSettings(**{"preset": "ultrafast", "crf": 20, **settings}))
    assert not list(output.parent.glob(".*pic-uie-part"))
    return output, report


@needs_ffmpeg
@pytest.mark.parametrize("suffix", [".mp4", ".mov", ".mkv", ".avi", ".ts"])
def test_frames_times_and_sound_stay(tmp_path, enhancer, suffix):
    if suffix == ".avi":  # which has no times but numbers of frames; AAC begins before 0, which leaves an empty frame
        options = {"options": {"preset": "medium", "bf": "0"}, "times": list(range(40)), "time_base": (1, 25)}
        source = clips.write(tmp_path / "dive.avi", **options)
        assert [packet[1] for packet in clips.packet_hashes(source, 0)] == [0, *range(2, 41)]
    else:
        source = clips.write(tmp_path / f"dive{suffix}", options={"preset": "medium"})
    output, report = convert(source, enhancer)
    assert report.frames == 40
    assert clips.frame_times(output) == clips.frame_times(source)
    ours, theirs = clips.packet_hashes(output, 1), clips.packet_hashes(source, 1)
    assert [packet[2] for packet in ours] == [packet[2] for packet in theirs]
    if suffix != ".avi":  # where sound has no times either
        assert ours == theirs
    assert clips.video_stream(output)["pix_fmt"] == "yuv420p"
    assert not np.array_equal(clips.decoded(output)[5], clips.decoded(source)[5])


@needs_ffmpeg
@pytest.mark.parametrize("codec", ["libx264 -bf 0", "libx264 -bf 3", "mpeg4 -bf 0", "mpeg4 -bf 2", "mjpeg"])
def test_avi_keeps_the_places_of_frames(tmp_path, enhancer, codec):
    """Also of frames that are stored in another order; there, each program guesses another delay of all frames."""
    source = tmp_path / "dive.avi"
    make = ["-f", "lavfi", "-i", "testsrc2=s=96x64:r=25:d=2", "-f", "lavfi", "-i", "sine=d=2"]
    make += [
        "-vf",
        "select=not(between(n\\,20\\,22))",
        "-c:v",
        *codec.split(),
        "-pix_fmt",
        "yuv420p",
        "-c:a",
        "pcm_s16le",
    ]
    subprocess.run([clips.FFMPEG, "-v", "error", *make, str(source)], check=True)
    output, report = convert(source, enhancer, preset="medium")
    places = [packet[1] for packet in clips.packet_hashes(source, 0)]
    assert [packet[1] for packet in clips.packet_hashes(output, 0)] == places
    assert clips.frame_times(output) == places
    assert len(places) == report.frames
    ours, theirs = (
        b"".join(packet[2].encode() for packet in clips.packet_hashes(path, 1)) for path in (output, source)
    )
    assert ours == theirs


@needs_ffmpeg
@pytest.mark.parametrize("suffix", [".mp4", ".mkv", ".ts"])
def test_variable_rate_to_the_tick(tmp_path, enhancer, suffix):
    times = np.cumsum(np.random.default_rng(3).integers(5, 90, 50)).tolist()
    source = clips.write(tmp_path / f"vfr{suffix}", times=times)
    output, _ = convert(source, enhancer, preset="medium")
    assert clips.frame_times(output) == clips.frame_times(source)
    assert len(set(np.diff(clips.frame_times(output)))) > 10


@needs_ffmpeg
def test_ntsc_rate_is_not_rounded(tmp_path, enhancer):
    source = clips.write(tmp_path / "ntsc.mp4", times=[1001 * i for i in range(60)], time_base=(1, 30000))
    output, _ = convert(source, enhancer)
    assert clips.frame_times(output) == clips.frame_times(source)
    assert clips.video_stream(output)["avg_frame_rate"] == clips.video_stream(source)["avg_frame_rate"]


@needs_ffmpeg
def test_all_streams_chapters_and_timecode_of_an_mp4(tmp_path, enhancer):
    """Two sound tracks, a subtitle, chapters and a timecode track."""
    plain = clips.write(tmp_path / "plain.mp4", frames=75)
    (tmp_path / "words.srt").write_text("1\n00:00:00,500 --> 00:00:01,500\nA turtle\n")
    (tmp_path / "chapters.txt").write_text(
        ";FFMETADATA1\ntitle=Reef\n[CHAPTER]\nTIMEBASE=1/1000\nSTART=0\nEND=1000\ntitle=Down\n"
        "[CHAPTER]\nTIMEBASE=1/1000\nSTART=1000\nEND=3000\ntitle=Up\n"
    )
    source = tmp_path / "full.mp4"
    command = ["-i", plain, "-i", tmp_path / "words.srt", "-i", tmp_path / "chapters.txt"]
    command += ["-map", "0:v", "-map", "0:a", "-map", "0:a", "-map", "1", "-map_metadata", "2", "-map_chapters", "2"]
    command += ["-c", "copy", "-c:s", "mov_text", "-timecode", "01:00:00:00", source]
    subprocess.run([clips.FFMPEG, "-v", "error", *map(str, command)], check=True)
    turn(source, -90)
    output, report = convert(source, enhancer)
    assert report.notes == ("it has no colour tags: BT.601 and limited range assumed, as players do",)
    before, after = clips.streams(source), clips.streams(output)
    assert [stream["codec_type"] for stream in after] == [stream["codec_type"] for stream in before]
    assert len(after) >= 5
    for stream in before[1:]:
        assert clips.packet_hashes(output, stream["index"]) == clips.packet_hashes(source, stream["index"])
    assert clips.probe(output, "-show_chapters") == clips.probe(source, "-show_chapters")
    assert after[0]["side_data_list"] == before[0]["side_data_list"]  # the rotation
    assert after[0]["tags"].get("timecode") == "01:00:00:00"
    assert clips.frame_times(output) == clips.frame_times(source)


@needs_ffmpeg
@pytest.mark.parametrize("how", ["trimmed", "delayed"])
def test_edit_lists(tmp_path, enhancer, how):
    """A cut without encoding again leaves an edit list; B-frames leave another."""
    whole = clips.write(tmp_path / "whole.mp4", frames=100, options={"preset": "medium", "g": "25", "bf": "3"})
    source = tmp_path / "source.mp4"
    inputs = ["-ss", "1.3", "-i", whole] if how == "trimmed" else ["-itsoffset", "0.7", "-i", whole, "-i", whole]
    pick = [] if how == "trimmed" else ["-map", "0:v", "-map", "1:a"]
    subprocess.run([clips.FFMPEG, "-v", "error", *map(str, inputs), *pick, "-c", "copy", str(source)], check=True)
    output, _ = convert(source, enhancer)
    assert clips.frame_times(output) == clips.frame_times(source)
    assert clips.packet_hashes(output, 1) == clips.packet_hashes(source, 1)


@needs_ffmpeg
@pytest.mark.parametrize(
    ("tags", "pixel_format", "names"),
    [
        ((2, 1, 1, 1), "yuvj420p", ("pc", "bt709", "bt709", "bt709")),
        ((1, 6, 6, 6), "yuv420p", ("tv", "smpte170m", "smpte170m", "smpte170m")),
        ((1, 9, 14, 9), "yuv420p", ("tv", "bt2020nc", "bt2020-10", "bt2020")),
    ],
)
def test_colour_tags_and_levels_stay(tmp_path, enhancer, tags, pixel_format, names):
    source = clips.write(tmp_path / "tagged.mp4", tags=tags, pixel_format=pixel_format)
    output, report = convert(source, enhancer, treatment=Treatment(strength=0.0), crf=4)
    assert report.notes == ()
    found = clips.video_stream(output)
    assert (found["color_range"], found["color_space"], found["color_transfer"], found["color_primaries"]) == names
    for ours, theirs in zip(clips.luma(output), clips.luma(source), strict=True):
        assert abs(float(ours.mean()) - float(theirs.mean())) < 0.3  # no shift of blacks


@pytest.mark.parametrize(("height", "name", "matrix"), [(718, "BT.601", "bt601"), (720, "BT.709", "bt709")])
def test_untagged_is_taken_as_players_do_and_reported(tmp_path, enhancer, height, name, matrix):
    source = clips.write(tmp_path / "plain.mp4", frames=2, width=64, height=height, sound=False)
    colour = probe(source).colour
    assert (colour.matrix, colour.full_range) == (matrix, False)
    _, report = convert(source, enhancer)
    assert report.notes == (f"it has no colour tags: {name} and limited range assumed, as players do",)


def test_strength_0_is_visually_lossless(tmp_path, enhancer):
    source = clips.write(tmp_path / "dive.mp4")
    output = tmp_path / "same.mp4"
    enhance_video(source, output, enhancer, VideoSettings(treatment=Treatment(strength=0.0)))
    for ours, theirs in zip(clips.luma(output), clips.luma(source), strict=True):
        error = np.mean((ours.astype(float) - theirs) ** 2)
        assert 10 * np.log10(255**2 / max(error, 1e-9)) > 42


@needs_ffmpeg
def test_ten_bits_stay_ten_bits(tmp_path, enhancer):
    source = clips.write(tmp_path / "ten.mp4", codec="libx265", pixel_format="yuv420p10le", bits=10, options=clips.HEVC)
    output, _ = convert(source, enhancer)
    found = clips.video_stream(output)
    assert (found["codec_name"], found["codec_tag_string"], found["pix_fmt"]) == ("hevc", "hvc1", "yuv420p10le")
    assert clips.frame_times(output) == clips.frame_times(source)


@needs_ffmpeg
def test_hevc_becomes_h264_unless_asked(tmp_path, enhancer):
    source = clips.write(tmp_path / "h.mp4", codec="libx265", options=clips.HEVC)
    for codec, expected in ((None, "h264"), ("hevc", "hevc")):
        output, _ = convert(source, enhancer, tmp_path / f"{expected}.mp4", codec=codec)
        assert clips.video_stream(output)["codec_name"] == expected
        assert clips.frame_times(output) == clips.frame_times(source)


@needs_ffmpeg
def test_odd_sizes(tmp_path, enhancer):
    source = tmp_path / "odd.mkv"
    make = ["-f", "lavfi", "-i", "testsrc=s=101x67:d=1", "-c:v", "libx264", "-pix_fmt", "yuv444p", str(source)]
    subprocess.run([clips.FFMPEG, "-v", "error", *make], check=True)
    output, report = convert(source, enhancer)
    assert (report.width, report.height) == (102, 68)
    assert any("101x67 becomes 102x68" in note for note in report.notes)
    assert clips.frame_times(output) == clips.frame_times(source)


@needs_exiftool
@needs_ffmpeg
@pytest.mark.parametrize("name", ["gopro_max.mp4", "dolphins.mp4"])
def test_real_files(tmp_path, enhancer, name, video_data):
    source = video_data / name
    output, _ = convert(source, enhancer, tmp_path / name)
    assert clips.frame_times(output) == clips.frame_times(source)
    for stream in clips.streams(source)[1:]:
        assert clips.packet_hashes(output, stream["index"]) == clips.packet_hashes(source, stream["index"])
    assert clips.exif(output) == clips.exif(source)
    keys = ("color_range", "color_space", "color_transfer", "color_primaries", "pix_fmt", "duration_ts", "time_base")
    ours, theirs = clips.video_stream(output), clips.video_stream(source)
    assert {key: ours.get(key) for key in keys} == {key: theirs.get(key) for key in keys}


@needs_ffmpeg
def test_a_fragmented_file_is_written_anew(tmp_path, enhancer):
    source = clips.write(tmp_path / "frag.mp4", container={"movflags": "frag_keyframe+empty_moov"})
    output, report = convert(source, enhancer)
    assert any("fragmented" in note for note in report.notes)
    assert clips.frame_times(output) == clips.frame_times(source)
    assert [p[2] for p in clips.packet_hashes(output, 1)] == [p[2] for p in clips.packet_hashes(source, 1)]


@needs_ffmpeg
@pytest.mark.parametrize("b_frames", ["0", "2"])
@pytest.mark.parametrize("time_base", [(1, 30000), (1, 24000), (1, 44100)])
def test_a_fragmented_file_keeps_its_times_to_the_tick(tmp_path, enhancer, b_frames, time_base):
    """Where frames are reordered, the first one is shown late, by a time that is no number of milliseconds."""
    source = clips.write(
        tmp_path / "frag.mp4",
        times=[1001 * i for i in range(30)],
        time_base=time_base,
        options={"preset": "medium", "bf": b_frames},
        container={"movflags": "frag_keyframe+empty_moov"},
    )
    output, _ = convert(source, enhancer, preset="medium")
    assert clips.frame_times(output) == clips.frame_times(source)
    assert clips.video_stream(output)["time_base"] == clips.video_stream(source)["time_base"]
    assert clips.packet_hashes(output, 1) == clips.packet_hashes(source, 1)


def test_times_that_have_to_be_rounded_are_reported(tmp_path, enhancer):
    """Matroska files may count in any unit; FFmpeg writes milliseconds."""
    source = clips.write(tmp_path / "fine.mkv", times=[33 * i for i in range(20)], time_base=(1, 1000), sound=False)
    milliseconds, tenths = (b"\x2a\xd7\xb1\x83" + unit.to_bytes(3, "big") for unit in (1_000_000, 100_000))
    data = source.read_bytes()
    assert data.count(milliseconds) == 1
    _, report = convert(source, enhancer)
    assert not any("rounded" in note for note in report.notes)
    source.write_bytes(data.replace(milliseconds, tenths))
    _, report = convert(source, enhancer, tmp_path / "fine_again.mkv")
    assert "Matroska cannot carry times as fine as 1/10000 s, which are rounded" in report.notes


@needs_ffmpeg
def test_a_coarse_clock_stays(tmp_path, enhancer):
    """Phones count in 600ths of a second; FFmpeg would count finer."""
    source = clips.write(tmp_path / "phone.mov", container={"video_track_timescale": "600"})
    assert clips.video_stream(source)["time_base"] == "1/600"
    output, _ = convert(source, enhancer, start=Fraction(1, 5))
    assert clips.video_stream(output)["time_base"] == "1/600"
    moved = [time - 120 for time in clips.frame_times(source) if time >= 120]
    assert clips.frame_times(output) == moved


def test_the_index_comes_first(tmp_path, enhancer):
    output, _ = convert(clips.write(tmp_path / "dive.mp4"), enhancer)
    data = output.read_bytes()
    assert data.index(b"moov") < data.index(b"mdat")


def test_data_behind_the_last_box_stays(tmp_path, enhancer):
    """Some cameras put their telemetry there, without a box around it."""
    source = clips.write(tmp_path / "dive.mp4")
    tail = bytes(range(256)) * 9
    source.write_bytes(source.read_bytes() + tail)
    output, _ = convert(source, enhancer)
    assert output.read_bytes().endswith(tail)


@needs_ffmpeg
def test_start_and_end(tmp_path, enhancer):
    source = clips.write(tmp_path / "dive.mp4", frames=100)
    output, report = convert(source, enhancer, start=Fraction(1), end=Fraction(5, 2))
    assert report.frames in (37, 38)
    assert float(clips.video_stream(output)["duration"]) == pytest.approx(1.5, abs=0.05)
    assert float(clips.streams(output)[1]["duration"]) == pytest.approx(1.5, abs=0.05)
    with pytest.raises(VideoError, match="between --start and --end"):
        convert(source, enhancer, tmp_path / "none.mp4", start=Fraction(100))
    assert not (tmp_path / "none.mp4").exists()


@needs_ffmpeg
@pytest.mark.parametrize("suffix", [".mp4", ".mkv"])
def test_chapters_move_with_the_start(tmp_path, enhancer, suffix):
    plain = clips.write(tmp_path / "plain.mp4", frames=100)
    chapters = "".join(
        f"[CHAPTER]\nTIMEBASE=1/1000\nSTART={start}\nEND={end}\ntitle={title}\n"
        for start, end, title in ((0, 400, "Boat"), (400, 1000, "Down"), (1000, 3000, "Reef"), (3000, 4000, "Up"))
    )
    (tmp_path / "chapters.txt").write_text(f";FFMETADATA1\n{chapters}")
    source = tmp_path / f"full{suffix}"
    command = ["-i", plain, "-i", tmp_path / "chapters.txt", "-map", "0", "-map_chapters", "1", "-c", "copy", source]
    subprocess.run([clips.FFMPEG, "-v", "error", *map(str, command)], check=True)
    output, report = convert(source, enhancer, start=Fraction(1, 2), end=Fraction(5, 2))
    found = clips.probe(output, "-show_chapters")["chapters"]
    assert [chapter["tags"]["title"] for chapter in found] == ["Down", "Reef"]
    assert [float(chapter["start_time"]) for chapter in found] == [0.0, 0.5]
    assert [float(chapter["end_time"]) for chapter in found] == [0.5, 2.0]
    assert not any("cannot carry" in note for note in report.notes)  # the track of an MP4 that holds chapters


@needs_ffmpeg
def test_other_data_is_reported_where_chapters_are_carried(tmp_path, enhancer):
    plain = clips.write(tmp_path / "plain.mp4", frames=50)
    source = tmp_path / "timecode.mp4"
    command = [clips.FFMPEG, "-v", "error", "-i", plain, "-c", "copy", "-timecode", "01:00:00:00", source]
    subprocess.run([str(word) for word in command], check=True)
    _, report = convert(source, enhancer, start=Fraction(1, 2))
    assert any("MP4 cannot carry stream 2 (data" in note for note in report.notes)


@pytest.mark.parametrize("rotation", [0, 90, -90, 180])
def test_side_by_side_shows_the_source_to_the_left(tmp_path, enhancer, rotation):
    source = clips.write(tmp_path / "dive.mp4", frames=10)
    if rotation:
        turn(source, rotation)
    output, _ = convert(source, enhancer, side_by_side=True, crf=1)
    with av.open(str(output)) as ours, av.open(str(source)) as theirs:
        both, before = next(ours.decode(video=0)), next(theirs.decode(video=0))
        assert both.rotation % 360 == before.rotation % 360 == rotation % 360
        shown, single = (
            np.rot90(frame.to_ndarray(format="rgb24"), rotation // 90).astype(int) for frame in (both, before)
        )
    width = single.shape[1]
    assert shown.shape[1] == 2 * width
    assert np.abs(shown[:, :width] - single).mean() < 3
    assert np.abs(shown[:, width:] - single).mean() > 5


def test_lock_gives_every_frame_one_look(tmp_path, enhancer):
    """Equal frames in a changing clip stay equal."""
    kinds = [1] * 10 + [2] * 10 + [1] * 10
    draw = lambda i: clips.scene(kinds[i], 0, 96, 64)  # noqa: E731
    source = clips.write(tmp_path / "two.mp4", frames=30, draw=draw, options={"crf": "1"})
    output, _ = convert(source, enhancer, treatment=Treatment(temporal="lock"), crf=1)
    frames = clips.decoded(output)
    assert np.abs(frames[3].astype(int) - frames[27]).mean() < 1.0
