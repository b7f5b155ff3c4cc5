"""Mutates small videos, reads each and writes what could be read: always a video or a documented error.

    python benchmarks/fuzz_video.py --count 20000

MP4 and QuickTime files are taken apart into boxes, which are cut, nested, swapped, doubled and given absurd sizes,
counts and offsets; the other containers get bit flips and noise. Each file is probed and decoded, and its frames are
exchanged for others; what was written is read back and must hold every other track's bytes. Bounds, `--only` and
`--save` are those of `fuzz.py`.
"""

from __future__ import annotations

import io
import multiprocessing
import struct
import sys
import tempfile
from fractions import Fraction
from functools import cache
from pathlib import Path

import av
import fuzz
import numpy as np
from fuzz_corpus import SEED

from pic_uie.errors import VideoError
from pic_uie.video import boxes, demux, mux, samples
from pic_uie.video.clip import Clip
from pic_uie.video.encode import Encoding, Segment, SegmentWriter, read_segment
from pic_uie.video.pipeline import Range
from pic_uie.video.probe import probe

FRAMES, SIDE = 8, 32
MOST_FRAMES = 64  # that are decoded of a mutated file
MEGABYTES_PER_FILE = 700  # a damaged header may name frames of up to 36 megapixels, and decoders keep several
_INSIDE = frozenset({b"moov", b"trak", b"mdia", b"minf", b"stbl", b"edts", b"dinf", b"udta", b"mvex", b"moof", b"traf"})
_NUMBERS = (0, 1, 2, 7, 0x7FFF, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFF0, 0xFFFFFFFF)


@cache
def corpus() -> tuple[bytes, ...]:
    """Valid files: MP4 (also fragmented), QuickTime, B-frames, HEVC, long offsets; a few of the other containers."""
    h264 = {"preset": "ultrafast"}
    plain = _clip("mp4", h264)
    files = [plain, _clip("mp4", {"preset": "medium", "bf": "2"}, sound=True), _clip("mov", h264, sound=True)]
    files += [_clip("mp4", {"x265-params": "log-level=none"}, codec="libx265"), _with_long_offsets(plain)]
    files += [_clip("mp4", h264, sound=True, movflags="frag_keyframe+empty_moov")]
    files += [_clip("mp4", {}, codec="mpeg4"), _clip("mov", {}, codec="mjpeg", pixels="yuvj420p", sound=True)]
    others = [_clip("matroska", h264, sound=True), _clip("avi", {}, codec="mpeg4"), _clip("mpegts", h264)]
    return (*files, *files, *files, *others)  # mostly MP4


def _clip(
    kind: str,
    options: dict[str, str],
    *,
    codec: str = "libx264",
    pixels: str = "yuv420p",
    sound: bool = False,
    movflags: str | None = None,
) -> bytes:
    out = io.BytesIO()
    rng = np.random.default_rng(SEED)
    with av.open(out, "w", format=kind, options={"movflags": movflags} if movflags else {}) as container:
        video = container.add_stream(codec, rate=25, options=options)
        video.width = video.height = SIDE
        video.pix_fmt = pixels
        audio = container.add_stream("pcm_s16be" if kind == "mov" else "aac", rate=8000) if sound else None
        container.metadata["title"] = "a dive"
        for index in range(FRAMES):
            planes = np.full((SIDE * 3 // 2, SIDE), 90 + 5 * index) + rng.integers(0, 9, (SIDE * 3 // 2, SIDE))
            container.mux(video.encode(av.VideoFrame.from_ndarray(planes.astype(np.uint8), format=pixels)))
        container.mux(video.encode(None))
        if audio is not None:
            packed = audio.codec_context.format.name == "s16"
            tone = np.zeros((1, 2560), np.int16 if packed else np.float32)
            frame = av.AudioFrame.from_ndarray(tone, format="s16" if packed else "fltp", layout="mono")
            frame.sample_rate = 8000
            container.mux([*audio.encode(frame), *audio.encode(None)])
    return out.getvalue()


def _with_long_offsets(data: bytes) -> bytes:
    """The same file with 64-bit chunk offsets, and its index behind the data."""
    top = [_Box(*found) for found in _split(data)]
    moov = next(one for one in top if one.name == b"moov")
    for node in moov.walk():
        if node.name == b"stco":
            count = int.from_bytes(node.data[4:8], "big")
            node.name, node.data = (
                b"co64",
                node.data[:8] + struct.pack(f">{count}Q", *struct.unpack_from(f">{count}I", node.data, 8)),
            )
    return b"".join(one.to_bytes() for one in [*(one for one in top if one is not moov), moov])


class _Box:
    """A box that can be damaged: what it says of its size need not be true."""

    def __init__(self, name: bytes, data: bytes) -> None:
        self.name, self.data = name, data
        self.children = [_Box(*found) for found in _split(data)] if name in _INSIDE else None
        self.lie: bytes | None = None

    def walk(self) -> list[_Box]:
        return [self, *(node for child in self.children or () for node in child.walk())]

    def to_bytes(self) -> bytes:
        content = self.data if self.children is None else b"".join(child.to_bytes() for child in self.children)
        return (self.lie or struct.pack(">I", 8 + len(content))) + self.name + content


def _split(data: bytes) -> list[tuple[bytes, bytes]]:
    found, at = [], 0
    while at + 8 <= len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        if size < 8:
            break
        found.append((data[at + 4 : at + 8], data[at + 8 : at + size]))
        at += size
    return found


def mutation(number: int) -> bytes:
    """The mutated file of a number: the same for ever, as long as the encoders are."""
    files = corpus()
    rng = np.random.default_rng([SEED, number])
    data = files[number % len(files)]
    if data[4:8] != b"ftyp" or rng.integers(8) == 0:
        return fuzz.damaged(data, files, rng)
    top = [_Box(*found) for found in _split(data)]
    for _ in range(rng.integers(1, 4)):
        _damage(top, rng)
    result = b"".join(one.to_bytes() for one in top)
    return result[: rng.integers(len(result))] if rng.integers(20) == 0 else result


def _damage(top: list[_Box], rng: np.random.Generator) -> None:
    every = [(siblings, node) for siblings in _families(top) for node in siblings]
    tables = [pair for pair in every if pair[1].children is None and pair[1].name != b"mdat"] or every
    siblings, node = tables[rng.integers(len(tables))] if rng.integers(3) else every[rng.integers(len(every))]
    value = int(rng.choice(_NUMBERS))
    how = rng.integers(9)
    if how == 0:  # a size that is not true, perhaps a long one
        node.lie = struct.pack(">I", value)
    elif how == 1 and node.children is None:  # cut, or longer than its table
        node.data = (
            node.data[: rng.integers(len(node.data) + 1)]
            if rng.integers(2)
            else node.data + rng.bytes(rng.integers(1, 40))
        )
    elif how in (2, 3, 4) and node.children is None and len(node.data) >= 4:  # numbers: counts, sizes, offsets, times
        for _ in range(rng.integers(1, 4)):
            at = 4 * int(rng.integers(min(len(node.data) // 4, 30)))
            packed = struct.pack(">I", int(rng.choice(_NUMBERS)))
            node.data = node.data[:at] + packed + node.data[at + 4 :]
    elif how == 5:  # one in another, or in itself many times
        inner = _Box(node.name, node.data)
        for _ in range(rng.choice([1, 3, 12, 2000])):
            wrapped = _Box(bytes(rng.choice([b"moov", b"trak", b"stbl", b"udta"])), b"")
            wrapped.children, inner = None, _Box(b"skip", inner.to_bytes())
            wrapped.data = inner.to_bytes()
            inner = wrapped
            if len(inner.data) > 100_000:
                break
        node.name, node.data, node.children = inner.name, inner.data, None
    elif how == 6:  # swapped with another one, wherever that is
        others, other = every[rng.integers(len(every))]
        i, j = siblings.index(node), others.index(other)
        if other not in node.walk() and node not in other.walk():
            siblings[i], others[j] = other, node
    elif how == 7:  # gone, or there twice
        siblings.remove(node) if rng.integers(2) else siblings.insert(0, node)
    elif node.children is None and node.data:  # bit flips
        changed = bytearray(node.data)
        for at in rng.integers(0, len(changed), rng.integers(1, 10)):
            changed[at] ^= 1 << rng.integers(8)
        node.data = bytes(changed)


def _families(top: list[_Box]) -> list[list[_Box]]:
    found = [top]
    for family in found:
        found += [node.children for node in family if node.children]
    return found


@cache
def _segment() -> Segment:
    path = Path(tempfile.mkdtemp()) / "0.mp4"
    encoding = Encoding("h264", 30, "ultrafast", "yuv420p", SIDE, SIDE, Fraction(25), (1, 1, 1, 1), Fraction(1))
    writer = SegmentWriter(path, encoding)
    for _ in range(MOST_FRAMES):
        writer.add(av.VideoFrame(SIDE, SIDE, "yuv420p"))
    writer.finish()
    return read_segment(path)


def attempt(data: bytes) -> str:
    """Reads and, if that works, exchanges the frames; anything but a VideoError is let through."""
    folder = _segment().path.parent
    path, output = folder / "in.mp4", folder / "out.mp4"
    path.write_bytes(data)
    salvage = len(data) % 2 == 0
    try:
        clip = probe(path, salvage=salvage)
        times = []
        for frame in demux.frames(clip, salvage=salvage):
            demux.planes(frame, clip)
            times.append(frame.pts)
            if len(times) == MOST_FRAMES:
                break
        if not times:
            return "no frames"
        one = _segment()
        first = slice(0, len(times))
        segment = Segment(
            one.path, one.entry, one.offsets[first], one.sizes[first], np.arange(len(times)), one.keys[first]
        )
        track = mux.Track((segment,), segment.order, np.array(times, np.int64))
        if clip.layout is None:
            mux.remux(clip, track, output, mux.container_of(clip), Range(), keep_metadata=True)
            return "written anew"
        mux.exchange(clip, track, output, (clip.width, clip.height))
    except VideoError:
        return "refused"
    _compare(path, clip, output, times)
    return "exchanged"


def _compare(path: Path, clip: Clip, output: Path, times: list[int]) -> None:
    """What was written can be read, has the times, and the bytes of all other tracks."""
    before, after = boxes.read_layout(path), boxes.read_layout(output)
    pairs = zip(before.moov.all(b"trak"), after.moov.all(b"trak"), strict=True)
    theirs, ours = path.read_bytes(), output.read_bytes()
    exchanged = False
    for old, new in pairs:
        if not exchanged and samples.track_id(old) == clip.track:
            exchanged = True
            found = samples.samples(new, after.size)
            if np.any(np.diff(found.times) != np.diff(times)):
                raise AssertionError("times are not those of the source")
            continue
        a, b = samples.chunks(old, before.size), samples.chunks(new, after.size)
        if not a.external and [theirs[i : i + n] for i, n in zip(a.offsets, a.sizes, strict=True)] != [
            ours[i : i + n] for i, n in zip(b.offsets, b.sizes, strict=True)
        ]:
            raise AssertionError("the bytes of another track are not those of the source")


def bounded(data: bytes) -> str:
    return fuzz.bounded(data, attempt, MEGABYTES_PER_FILE)


def work(numbers: range, reports: multiprocessing.Queue) -> None:
    for number in numbers:
        reports.put(("start", number, ""))
        reports.put(("end", number, bounded(mutation(number))))


if __name__ == "__main__":
    sys.exit(fuzz.main(__doc__, 20_000, mutation, bounded, work))
