"""The sample tables of a track: where its bytes lie, how long each sample lasts, which are key frames."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pic_uie.errors import VideoError
from pic_uie.video.boxes import Node

Ints = NDArray[np.int64]
_MAX_SAMPLES = 1 << 24  # of a video track: 77 hours at 60 frames a second
VISUAL_HEADER = 86  # bytes of a visual sample entry before its boxes
_SELF_CONTAINED = 1
_ENCRYPTED = frozenset({b"encv", b"drmi"})  # sample entries of protected video
_BEYOND = 1 << 60  # bytes of no file
_UNCOMPRESSED = frozenset({b"raw ", b"twos", b"sowt", b"in24", b"in32", b"fl32", b"fl64", b"NONE"})


@dataclass(frozen=True)
class Chunks:
    """The chunks of a track.

    Attributes:
        offsets: Where each starts in the file.
        counts: How many samples each has.
        sizes: How many bytes each has.
        external: Whether they lie in another file.
    """

    offsets: Ints
    counts: Ints
    sizes: Ints
    external: bool


@dataclass(frozen=True)
class Samples:
    """The samples of a video track in decoding order.

    Attributes:
        offsets: Where each starts in the file.
        sizes: Bytes.
        durations: Ticks from one decoding time to the next.
        times: When each is shown, in ticks from the start of the media.
        keys: Whether each can be decoded alone.
    """

    offsets: Ints
    sizes: Ints
    durations: Ints
    times: Ints
    keys: NDArray[np.bool_]


def track_id(trak: Node) -> int:
    """Returns the number of a track."""
    data = _data(trak, b"tkhd")
    at = 20 if data[:1] == b"\1" else 12
    return int.from_bytes(_exactly(data, at, 4), "big")


def handler(trak: Node) -> bytes:
    """Returns the kind of a track: b"vide", b"soun", ..."""
    return _exactly(_data(trak, b"mdia", b"hdlr"), 8, 4)


def timescale(trak: Node) -> int:
    """Returns the ticks per second of a track."""
    data = _data(trak, b"mdia", b"mdhd")
    at = 20 if data[:1] == b"\1" else 12
    ticks = int.from_bytes(_exactly(data, at, 4), "big")
    if ticks == 0:
        raise VideoError("damaged: a track whose clock does not tick")
    return ticks


def entries(trak: Node) -> list[bytes]:
    """Returns the sample entries of a track, as whole boxes."""
    data = _data(trak, b"mdia", b"minf", b"stbl", b"stsd")
    count, at = int.from_bytes(_exactly(data, 4, 4), "big"), 8
    found: list[bytes] = []
    while len(found) < count and at + 8 <= len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        if size < 8 or at + size > len(data):
            raise VideoError("damaged: a sample description does not fit into its box")
        found.append(data[at : at + size])
        at += size
    if len(found) != count:
        raise VideoError("damaged: sample descriptions are missing")
    return found


def is_encrypted(trak: Node) -> bool:
    """Returns whether the frames of a video track are encrypted; sound is only copied."""
    stsd = trak.at(b"mdia", b"minf", b"stbl", b"stsd")
    return stsd is not None and stsd.data[12:16] in _ENCRYPTED


def chapter_tracks(moov: Node) -> frozenset[int]:
    """Returns the numbers of the tracks in which other tracks have the names of their chapters."""
    found: set[int] = set()
    for trak in moov.all(b"trak"):
        tref = trak.child(b"tref")
        for reference in entry_boxes(tref.data) if tref is not None else ():
            if reference[4:8] == b"chap":
                found.update(_array(reference, 8, (len(reference) - 8) // 4, ">u4").tolist())
    return frozenset(found)


def entry_boxes(data: bytes) -> Iterator[bytes]:
    """Yields the boxes behind the header of a sample entry."""
    at = 0
    while at + 8 <= len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        if size < 8 or at + size > len(data):
            return
        yield data[at : at + size]
        at += size


def chunks(trak: Node, file_size: int) -> Chunks:
    """Reads the chunks of a track.

    Raises:
        VideoError: Tables that contradict each other or the file.
    """
    stbl = _table(trak)
    offsets = _offsets(stbl)
    counts = _counts(stbl, len(offsets))
    total, sizes = _sizes(stbl, trak)
    if int(counts.sum()) != total:
        raise VideoError(f"damaged: a track has {total} samples, its chunks {int(counts.sum())}")
    if isinstance(sizes, int):
        if total * sizes > _BEYOND:
            raise VideoError("damaged: samples beyond any file")
        lengths = counts * sizes
    else:
        ends = np.concatenate(([0], np.cumsum(sizes)))
        lengths = np.diff(ends[np.concatenate(([0], np.cumsum(counts)))])
    external = _is_external(trak)
    if not external and len(offsets) and int((offsets + lengths).max()) > file_size:
        missing = int((offsets + lengths).max()) - file_size
        raise VideoError(f"cut off: {missing} bytes are missing at its end")
    if not external and float(lengths.astype(np.float64).sum()) > 2.0 * file_size:
        raise VideoError("damaged: its tracks are larger than the file")
    return Chunks(offsets, counts, lengths, external)


def samples(trak: Node, file_size: int) -> Samples:
    """Reads the samples of a video track.

    Raises:
        VideoError: Tables that contradict each other or the file.
    """
    stbl = _table(trak)
    total, sizes = _sizes(stbl, trak)
    if total > _MAX_SAMPLES:
        raise VideoError(f"damaged, or too long: {total} frames")
    found = chunks(trak, file_size)
    each = np.full(total, sizes, np.int64) if isinstance(sizes, int) else sizes
    starts = np.concatenate(([0], np.cumsum(each)[:-1])) if total else np.zeros(0, np.int64)
    firsts = np.cumsum(found.counts) - found.counts
    used = found.counts > 0
    base = found.offsets[used] - starts[firsts[used]]
    offsets = starts + np.repeat(base, found.counts[used])
    durations = _runs(_data(stbl, b"stts"), total, "<u4")
    times = np.cumsum(durations) - durations
    if (ctts := stbl.child(b"ctts")) is not None:
        times = times + _runs(ctts.data, total, "<i4")
    keys = np.ones(total, bool)
    if (stss := stbl.child(b"stss")) is not None:
        numbers = _array(stss.data, 8, int.from_bytes(_exactly(stss.data, 4, 4), "big"), ">u4")
        if len(numbers) and not (numbers.min() >= 1 and numbers.max() <= total):
            raise VideoError("damaged: a key frame that does not exist")
        keys[:] = False
        keys[numbers - 1] = True
    return Samples(offsets, each, durations, times, keys)


def _table(trak: Node) -> Node:
    stbl = trak.at(b"mdia", b"minf", b"stbl")
    if stbl is None or stbl.children is None:
        raise VideoError("damaged: a track has no sample table")
    return stbl


def _offsets(stbl: Node) -> Ints:
    short, long = stbl.child(b"stco"), stbl.child(b"co64")
    node, kind = (long, ">u8") if long is not None else (short, ">u4")
    if node is None:
        raise VideoError("damaged: a track has no chunk offsets")
    offsets = _array(node.data, 8, int.from_bytes(_exactly(node.data, 4, 4), "big"), kind)
    if len(offsets) and not 0 <= int(offsets.min()) <= int(offsets.max()) <= _BEYOND:
        raise VideoError("damaged: an offset beyond any file")
    return offsets


def _counts(stbl: Node, chunk_count: int) -> Ints:
    """Samples per chunk, from runs (first chunk, samples, description)."""
    data = _data(stbl, b"stsc")
    runs = _array(data, 8, 3 * int.from_bytes(_exactly(data, 4, 4), "big"), ">u4").reshape(-1, 3)
    if chunk_count == 0:
        return np.zeros(0, np.int64)
    firsts = runs[:, 0] - 1
    if len(runs) == 0 or firsts[0] != 0 or np.any(np.diff(firsts) <= 0):
        raise VideoError("damaged: the chunks of a track are out of order")
    ends = np.minimum(np.append(firsts[1:], chunk_count), chunk_count)
    lengths = np.maximum(ends - np.minimum(firsts, chunk_count), 0)
    counts = np.repeat(runs[:, 1], lengths)
    if float(counts.astype(np.float64).sum()) > 2**48:
        raise VideoError("damaged: more samples than any file has")
    return counts


def _sizes(stbl: Node, trak: Node) -> tuple[int, Ints | int]:
    """How many samples there are, and the size of each, or of all."""
    if (stsz := stbl.child(b"stsz")) is not None:
        size, count = struct.unpack(">II", _exactly(stsz.data, 4, 8))
        if size:
            return count, _uniform_size(size, trak)
        return count, _array(stsz.data, 12, count, ">u4")
    if (stz2 := stbl.child(b"stz2")) is not None:
        bits, count = _exactly(stz2.data, 7, 1)[0], int.from_bytes(_exactly(stz2.data, 8, 4), "big")
        if bits == 4:
            packed = _array(stz2.data, 12, (count + 1) // 2, ">u1")
            return count, np.stack([packed >> 4, packed & 15], axis=1).reshape(-1)[:count]
        if bits in (8, 16):
            return count, _array(stz2.data, 12, count, f">u{bits // 8}")
    raise VideoError("damaged: a track has no sample sizes")


def _uniform_size(size: int, trak: Node) -> int:
    """Old QuickTime files count 1 byte for a sample of uncompressed sound, whatever it has."""
    if size != 1 or handler(trak) != b"soun" or not (found := entries(trak)) or found[0][4:8] not in _UNCOMPRESSED:
        return size
    channels, bits = struct.unpack(">HH", _exactly(found[0], 24, 4))
    return max(1, int(channels) * ((int(bits) + 7) // 8))


def _runs(data: bytes, total: int, kind: str) -> Ints:
    """Expands (count, value) pairs to `total` values."""
    count = int.from_bytes(_exactly(data, 4, 4), "big")
    raw = _array(data, 8, 2 * count, ">u4").reshape(-1, 2)
    if int(raw[:, 0].sum()) != total:
        raise VideoError(f"damaged: times of {int(raw[:, 0].sum())} samples, where there are {total}")
    values = raw[:, 1].astype(np.uint32)
    return np.repeat(values.view(np.int32) if kind == "<i4" else values, raw[:, 0]).astype(np.int64)


def _is_external(trak: Node) -> bool:
    dref = trak.at(b"mdia", b"minf", b"dinf", b"dref")
    if dref is None or len(dref.data) < 20:
        return False
    return not int.from_bytes(dref.data[16:20], "big") & _SELF_CONTAINED


def _data(node: Node, *path: bytes) -> bytes:
    found = node.at(*path)
    if found is None or found.children is not None:
        raise VideoError(f"damaged: a track has no {path[-1].decode('latin-1')!r}")
    return found.data


def _exactly(data: bytes, at: int, size: int) -> bytes:
    if at + size > len(data):
        raise VideoError("damaged: a table is cut short")
    return data[at : at + size]


def _array(data: bytes, at: int, count: int, kind: str) -> Ints:
    size = np.dtype(kind).itemsize
    if at + count * size > len(data):
        raise VideoError("damaged: a table is cut short")
    return np.frombuffer(data, kind, count, at).astype(np.int64)
