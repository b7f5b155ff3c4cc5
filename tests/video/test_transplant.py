"""MP4 results are the source's own file but for the frames, however it is laid out; as ffprobe and exiftool see it."""

import copy
import os
import struct
import subprocess

import numpy as np
import pytest

from helpers import clips, mp4
from helpers.clips import needs_exiftool, needs_ffmpeg
from pic_uie.video import samples
from pic_uie.video.boxes import Node, box, read_layout
from pic_uie.video.convert import VideoSettings, enhance_video
from pic_uie.video.transplant import Encoded, transplant

GIGABYTE = 1 << 30


def convert(source, enhancer, **settings):
    output = source.with_name(f"{source.stem}_enhanced{source.suffix}")
    report = enhance_video(source, output, enhancer, VideoSettings(**{"preset": "medium", "crf": 25, **settings}))
    assert sorted(path.name for path in source.parent.glob(".*")) == []
    return output, report


def same_but_for_the_frames(source, output, video=0):
    """Frame count and times, and every packet of all other streams."""
    assert clips.frame_times(output, video) == clips.frame_times(source, video)
    before, after = clips.streams(source), clips.streams(output)
    assert [stream["codec_type"] for stream in after] == [stream["codec_type"] for stream in before]
    for stream in before:
        if stream["index"] != video:
            assert clips.packet_hashes(output, stream["index"]) == clips.packet_hashes(source, stream["index"])


def ffmpeg(*arguments):
    subprocess.run([clips.FFMPEG, "-v", "error", *map(str, arguments)], check=True)


def with_a_hole(path, hole, size):
    """Writes a file anew, sparse, with a box of 5 GB in front of its data, and 64-bit offsets behind it."""
    mp4.edit(path, lambda moov: mp4.long_offsets(moov, size))
    data = path.read_bytes()
    at = next(place.start for place in read_layout(path).places if place.name == b"mdat")
    with open(path, "wb") as file:
        file.write(data[:at] + struct.pack(">I4sQ", 1, hole, size))
        file.seek(at + size)
        file.write(data[at:])
    return path


@needs_ffmpeg
@pytest.mark.parametrize("hole", [b"free", b"mdat"])
def test_offsets_beyond_4_gb(tmp_path, enhancer, hole):
    source = with_a_hole(clips.write(tmp_path / "large.mp4", frames=20), hole, 5 * GIGABYTE)
    if os.stat(source).st_blocks * 512 > GIGABYTE:
        pytest.skip("this file system has no sparse files")
    output, _ = convert(source, enhancer)
    assert output.stat().st_size < 1_000_000
    same_but_for_the_frames(source, output)
    assert all(mp4.table(trak, b"co64") for trak in read_layout(output).moov.all(b"trak"))


class SparseFile:
    """Writes nothing where there are zeros."""

    def __init__(self, file):
        self.file, self.zeros = file, bytes(4 << 20)

    def write(self, data):
        if data == self.zeros:
            self.file.seek(len(data), os.SEEK_CUR)
        else:
            self.file.write(data)


@needs_ffmpeg
def test_a_result_of_more_than_4_gb(tmp_path):
    """More than four gigabytes of a data track, which are a hole, in front of the frames."""
    source = clips.write(tmp_path / "large.mp4", frames=20, sound=False, options={"preset": "medium", "bf": "3"})
    chunks, each = 5, (1 << 32) // 5 + 4096

    def add_track(moov):
        trak = moov.all(b"trak")[0]
        data = copy.deepcopy(trak)
        data.child(b"tkhd").data = trak.child(b"tkhd").data[:12] + struct.pack(">I", 7) + trak.child(b"tkhd").data[16:]
        hdlr = data.at(b"mdia", b"hdlr")
        hdlr.data = hdlr.data[:8] + b"meta" + hdlr.data[12:]
        stbl = data.at(b"mdia", b"minf", b"stbl")
        entry = box(b"mett", bytes(6) + b"\0\1" + b"\0application/x\0")
        at = read_layout(source).places[0].end + 16
        stbl.children = [
            Node(b"stsd", struct.pack(">II", 0, 1) + entry),
            Node(b"stts", struct.pack(">IIII", 0, 1, chunks, 100)),
            Node(b"stsc", struct.pack(">IIIII", 0, 1, 1, 1, 1)),
            Node(b"stsz", struct.pack(">III", 0, each, chunks)),
            Node(b"co64", struct.pack(f">II{chunks}Q", 0, chunks, *(at + i * each for i in range(chunks)))),
        ]
        moov.children.append(data)

    with_a_hole(source, b"mdat", chunks * each + 16)
    if os.stat(source).st_blocks * 512 > GIGABYTE:
        pytest.skip("this file system has no sparse files")
    layout = read_layout(source)
    add_track(layout.moov)
    trak = mp4.tracks(layout.moov)[0]
    found = samples.samples(trak, layout.size)
    shown = np.argsort(found.times, kind="stable")
    order = np.empty_like(shown)
    order[shown] = np.arange(len(shown))
    places = [(source, int(at), int(size)) for at, size in zip(found.offsets, found.sizes, strict=True)]
    entry = samples.entries(trak)[0]
    encoded = Encoded(entry, places, order, found.keys, found.times[shown])
    output = tmp_path / "out.mp4"
    with open(output, "wb") as file:
        transplant(source, layout, samples.track_id(trak), encoded, SparseFile(file))
    assert output.stat().st_size > chunks * each > 1 << 32
    written = read_layout(output)
    mdat = next(place for place in written.places if place.name == b"mdat")
    assert mdat.content - mdat.start == 16
    assert all(mp4.table(trak, b"co64") for trak in written.moov.all(b"trak"))
    assert clips.frame_times(output) == clips.frame_times(source)
    assert [packet[2] for packet in clips.packet_hashes(output, 0)] == [
        packet[2] for packet in clips.packet_hashes(source, 0)
    ]


@needs_ffmpeg
@needs_exiftool
def test_headers_with_64_bit_times(tmp_path, enhancer):
    source = clips.write(tmp_path / "v1.mp4", options={"preset": "medium", "bf": "3"})
    mp4.edit(source, mp4.long_times)
    output, _ = convert(source, enhancer)
    same_but_for_the_frames(source, output)
    ours, theirs = clips.exif(output), clips.exif(source)
    changed = {key for key in ours.keys() | theirs.keys() if ours.get(key) != theirs.get(key)}
    assert changed <= {"Track1:MediaDuration"}  # other B-frames begin later in the media
    moov = read_layout(output).moov
    assert moov.child(b"mvhd").data[0] == 1
    for trak in moov.all(b"trak"):
        assert trak.child(b"tkhd").data[0] == trak.at(b"mdia", b"mdhd").data[0] == 1


@needs_ffmpeg
@needs_exiftool
@pytest.mark.parametrize("suffix", [".mp4", ".mov"])
def test_what_makers_put_into_a_file(tmp_path, enhancer, suffix):
    """Boxes in `udta`, unknown ones in the index and outside of it, notes in free space, bytes behind the last box."""
    source = clips.write(tmp_path / f"dive{suffix}")
    mp4.edit(source, mp4.maker_data)
    notes = box(b"skip", b"camera notes" * 9)
    own = box(b"uuid", bytes(range(16)) + b"telemetry" * 30)
    tail = b"Insta360" + bytes(range(256)) * 3
    source.write_bytes(source.read_bytes() + notes + own + box(b"free", bytes(500)) + tail)
    output, _ = convert(source, enhancer, preset="ultrafast")
    same_but_for_the_frames(source, output)
    assert clips.exif(output) == clips.exif(source)
    written = output.read_bytes()
    assert written.count(notes) == written.count(own) == 1
    assert written.endswith(tail)
    before, after = read_layout(source).moov, read_layout(output).moov
    assert after.child(b"udta").data == before.child(b"udta").data
    assert after.child(b"dji ").data == before.child(b"dji ").data


@needs_ffmpeg
def test_several_video_tracks(tmp_path, enhancer):
    """The main one is exchanged, the other one kept, whichever comes first."""
    main = clips.write(tmp_path / "main.mp4", frames=30, width=160, height=96)
    small = clips.write(tmp_path / "small.mp4", frames=30, width=48, height=32, sound=False)
    for order in ((main, small), (small, main)):
        source = tmp_path / f"two_{order[0].stem}.mp4"
        inputs = [argument for path in order for argument in ("-i", path)]
        ffmpeg(*inputs, "-map", "0", "-map", "1", "-c", "copy", source)
        video = next(stream["index"] for stream in clips.streams(source) if stream.get("width") == 160)
        output, _ = convert(source, enhancer)
        same_but_for_the_frames(source, output, video)
        assert clips.packet_hashes(output, video) != clips.packet_hashes(source, video)


@needs_ffmpeg
@needs_exiftool
def test_cover_art(tmp_path, enhancer):
    from PIL import Image

    plain = clips.write(tmp_path / "plain.mp4")
    Image.effect_noise((64, 48), 40).convert("RGB").save(tmp_path / "cover.jpg")
    source = tmp_path / "cover.mp4"
    ffmpeg(
        *("-i", plain, "-i", tmp_path / "cover.jpg", "-map", "0", "-map", "1", "-c", "copy"),
        *("-disposition:v:1", "attached_pic", source),
    )
    output, _ = convert(source, enhancer, preset="ultrafast")
    same_but_for_the_frames(source, output)
    assert sum(stream["disposition"]["attached_pic"] for stream in clips.streams(output)) == 1
    assert clips.exif(output) == clips.exif(source)


@needs_ffmpeg
def test_what_a_fragmented_file_loses_is_reported(tmp_path, enhancer):
    plain = clips.write(tmp_path / "plain.mp4", frames=75)
    (tmp_path / "words.srt").write_text("1\n00:00:00,500 --> 00:00:01,500\nA turtle\n")
    source = tmp_path / "fragments.mp4"
    ffmpeg(
        *("-i", plain, "-i", tmp_path / "words.srt", "-map", "0", "-map", "1", "-c", "copy", "-c:s", "mov_text"),
        *("-timecode", "01:00:00:00", "-movflags", "frag_keyframe+empty_moov", source),
    )
    kinds = [stream["codec_type"] for stream in clips.streams(source)]
    assert kinds == ["video", "audio", "subtitle", "data"]
    output, report = convert(source, enhancer)
    assert any("fragmented" in note for note in report.notes)
    assert any("cannot carry stream 3 (data" in note for note in report.notes)
    assert clips.frame_times(output) == clips.frame_times(source)
    assert [stream["codec_type"] for stream in clips.streams(output)][:3] == kinds[:3]
    for index in (1, 2):
        ours, theirs = (clips.packet_hashes(path, index) for path in (output, source))
        extra = ours[len(theirs) :]  # FFmpeg ends the last subtitle with an empty one
        assert [packet[2] for packet in ours[: len(theirs)]] == [packet[2] for packet in theirs]
        assert len(extra) == index - 1 or not extra
