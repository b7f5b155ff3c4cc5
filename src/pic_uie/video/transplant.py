"""MP4 and QuickTime results: the source's own file with only the frames of one track exchanged.

`moov` is written as it was but for that track's sample tables and all chunk offsets; the chunks of all other tracks are
copied, in the order in which they were. So every other track, chapters, edit lists, rotation, timecode, `udta` and what
makers put where nobody looks survive bit for bit. The index comes first, as players on the web want it.
"""

from __future__ import annotations

import copy
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from pic_uie.errors import VideoError
from pic_uie.video import samples as tables
from pic_uie.video.boxes import Layout, Node, Place, box, full_box
from pic_uie.video.samples import VISUAL_HEADER, Chunks, Ints, entry_boxes

_KEPT_TABLES = frozenset({b"stsd", b"stts", b"ctts", b"stss", b"stsc", b"stsz", b"stco", b"co64"})
_NOT_COPIED = frozenset({b"moov", b"mdat", b"wide", b"ftyp"})
_FREE, _MAX_FREE = frozenset({b"free", b"skip"}), 16 << 20  # empty space, in which some makers keep their notes
_OF_THE_CODEC = frozenset({b"avcC", b"hvcC", b"av1C", b"vpcC", b"esds", b"btrt", b"dvcC", b"dvvC", b"mdcv", b"clli"})
_OF_THE_CODEC |= {b"dvwC", b"hvcE", b"amve", b"cclv", b"SmDm", b"CoLL"}
_FULL_RANGE = 2
_COPY_BYTES = 4 << 20
_LIMIT_32, _LIMIT_64 = (1 << 32) - 1, (1 << 64) - 1


@dataclass(frozen=True)
class Encoded:
    """New samples of the video track, in decoding order.

    Attributes:
        entry: Their sample entry, a box such as `avc1`.
        places: (file, offset, size) of each.
        order: Which frame each is, counted as they are shown.
        keys: Whether each can be decoded alone.
        times: When each frame is shown, in ticks of the track, ascending.
        size: Width and height, if they are not the source's.
        colour: Range, primaries, transfer and matrix, if they are not the source's.
    """

    entry: bytes
    places: Sequence[tuple[Path, int, int]]
    order: Ints
    keys: NDArray[np.bool_]
    times: Ints
    size: tuple[int, int] | None = None
    colour: tuple[int, int, int, int] | None = None


@dataclass(frozen=True)
class _Piece:
    """A chunk of the result: bytes of the source, or a run of new samples."""

    source: int  # where the bytes lie, or which new sample is the first one
    length: int
    samples: int | None = None  # how many new ones


def transplant(source: Path, layout: Layout, track: int, encoded: Encoded, out: BinaryIO) -> None:
    """Writes the source with new frames.

    Args:
        source: The file.
        layout: What `read_layout` says of it.
        track: The number of the track whose frames are exchanged.
        encoded: The new frames.
        out: Where to write.

    Raises:
        VideoError: The source's tables make no sense.
        OSError: Reading or writing failed.
    """
    moov = copy.deepcopy(layout.moov)
    traks = moov.all(b"trak")
    chosen = next((i for i, trak in enumerate(traks) if tables.track_id(trak) == track), None)
    if chosen is None:
        raise VideoError(f"damaged: track {track} is not in its index")
    found = [tables.chunks(trak, layout.size) for trak in traks]
    sizes = np.array([size for _, _, size in encoded.places], np.int64)
    counts, places = _regrouped(found[chosen], len(sizes))
    _exchange(traks[chosen], encoded, sizes, counts)
    pieces, offsets = _arrange(found, chosen, counts, places, sizes)
    head = next((_read(source, place.start, place.end) for place in layout.places if place.name == b"ftyp"), b"")
    others = [place for place in layout.places if place.name not in _NOT_COPIED and not _is_empty(source, place)]
    length = sum(piece.length for piece in pieces)
    mdat = 8 if length + 8 <= _LIMIT_32 else 16
    middle = sum(place.end - place.start for place in others)
    wide = False
    while True:  # offsets need the size of the index, which needs to know whether they are long
        for trak, chunk, new in zip(traks, found, offsets, strict=True):
            if not chunk.external:
                _put_offsets(trak, new, wide)
        start = len(head) + len(moov.to_bytes()) + middle + mdat
        if wide or start + length <= _LIMIT_32:
            break
        wide = True
    for trak, chunk, new in zip(traks, found, offsets, strict=True):
        if not chunk.external:
            _put_offsets(trak, new + start, wide)
    out.write(head)
    out.write(moov.to_bytes())
    with open(source, "rb") as file:
        for place in others:
            _copy(file, place.start, place.end - place.start, out)
        small = mdat == 8
        out.write(struct.pack(">I4s", length + 8, b"mdat") if small else struct.pack(">I4sQ", 1, b"mdat", length + 16))
        reader = _Reader()
        for piece in pieces:
            if piece.samples is None:
                _copy(file, piece.source, piece.length, out)
                continue
            for path, at, size in encoded.places[piece.source : piece.source + piece.samples]:
                _copy(reader.open(path), at, size, out)
        reader.close()
        if layout.cut is None:
            _copy(file, layout.tail, layout.size - layout.tail, out)


def decoding_times(encoded: Encoded) -> tuple[Ints, Ints, int]:
    """Returns durations and composition offsets of new samples, and by how much all are shown later in the media.

    Sample j is decoded at times[j] - times[0]. Where a frame would have to be decoded after it is shown, all frames are
    moved, and the edit list takes the move back; offsets are never negative, because old players do not know such.
    """
    times = encoded.times
    decoded = times - times[0]
    shown = times[encoded.order]
    extra = max(0, int((decoded - shown).max()))
    durations = np.diff(decoded)
    return durations, shown + extra - decoded, extra


def _exchange(trak: Node, encoded: Encoded, sizes: Ints, counts: Ints) -> None:
    """Puts the tables of the new samples into a track."""
    stbl = trak.at(b"mdia", b"minf", b"stbl")
    if stbl is None:
        raise VideoError("damaged: a track has no sample table")
    total = _total_duration(stbl)
    durations, offsets, extra = decoding_times(encoded)
    last = min(max(1, total - int(durations.sum())), _LIMIT_32)
    old = tables.entries(trak)
    entry = _entry(old[0], encoded)
    stbl.children = [node for node in stbl.children or () if node.name in _KEPT_TABLES]
    stbl.replace(b"stsd", full_box(b"stsd", 0, 0, struct.pack(">I", 1) + entry))
    stbl.replace(b"stts", full_box(b"stts", 0, 0, _runs(np.append(durations, last))))
    stbl.replace(b"ctts", full_box(b"ctts", 0, 0, _runs(offsets)) if offsets.any() else None)
    numbers = np.flatnonzero(encoded.keys) + 1
    stbl.replace(b"stss", None if encoded.keys.all() else full_box(b"stss", 0, 0, _counted(numbers, ">u4")))
    stbl.replace(b"stsz", full_box(b"stsz", 0, 0, struct.pack(">I", 0) + _counted(sizes, ">u4")))
    stbl.replace(b"stsc", full_box(b"stsc", 0, 0, _chunk_runs(counts)))
    if extra:
        _shift_edits(trak, extra)
        _lengthen(trak, extra)
    if encoded.size is not None:
        _resize(trak, encoded.size)


def _entry(old: bytes, encoded: Encoded) -> bytes:
    """The new sample entry with what the source's says besides the codec: colour, pixel shape, its maker's name."""
    header, inner = encoded.entry[8:VISUAL_HEADER], encoded.entry[VISUAL_HEADER:]
    name = encoded.entry[4:8]
    codec = b"".join(b for b in entry_boxes(inner) if b[4:8] in (b"avcC", b"hvcC"))
    if encoded.size is None:
        kept = b"".join(b for b in entry_boxes(old[VISUAL_HEADER:]) if b[4:8] not in _OF_THE_CODEC)
        header = old[8:VISUAL_HEADER] if len(old) >= VISUAL_HEADER else header
    else:
        kept = b"".join(b for b in entry_boxes(inner) if b[4:8] in (b"colr", b"pasp"))
    if encoded.colour is not None:
        kept = b"".join(b for b in entry_boxes(kept) if b[4:8] != b"colr") + _colour(encoded.colour, old)
    content = header + codec + kept
    return struct.pack(">I4s", 8 + len(content), name) + content


def _colour(tags: tuple[int, int, int, int], old: bytes) -> bytes:
    """A box of colour tags, in QuickTime's form where the source has that."""
    numbers = struct.pack(">HHH", *tags[1:])
    if any(b[4:12] == b"colrnclc" for b in entry_boxes(old[VISUAL_HEADER:])):
        return box(b"colr", b"nclc" + numbers)
    return box(b"colr", b"nclx" + numbers + (b"\x80" if tags[0] == _FULL_RANGE else b"\0"))


def _total_duration(stbl: Node) -> int:
    stts = stbl.child(b"stts")
    data = stts.data if stts is not None else b""
    pairs = np.frombuffer(data[8 : 8 + (len(data) - 8) // 8 * 8], ">u4").astype(np.int64).reshape(-1, 2)
    return sum(count * each for count, each in pairs.tolist())


def _shift_edits(trak: Node, extra: int) -> None:
    """Lets the edit list begin later in the media; a track without one gets one."""
    edts = trak.child(b"edts")
    elst = edts.child(b"elst") if edts is not None else None
    if elst is None or edts is None or len(elst.data) < 8 or elst.data[4:8] == bytes(4):
        tkhd = trak.child(b"tkhd")
        data = tkhd.data if tkhd is not None else b""
        wide = data[:1] == b"\1"
        duration = int.from_bytes(data[28:36] if wide else data[20:24], "big")
        kind = ">IQqI" if wide else ">IIiI"
        new = full_box(b"elst", int(wide), 0, struct.pack(kind, 1, duration, extra, 1 << 16))
        children = trak.children or []
        place = next((i + 1 for i, node in enumerate(children) if node.name == b"tkhd"), 0)
        trak.replace(b"edts", None)
        trak.children = [*(trak.children or [])[:place], Node(b"edts", children=[new]), *(trak.children or [])[place:]]
        return
    wide = elst.data[:1] == b"\1"
    kind, size = (">QqI", 20) if wide else (">IiI", 12)
    count = int.from_bytes(elst.data[4:8], "big")
    body = bytearray(elst.data)
    for i in range(min(count, (len(body) - 8) // size)):
        duration, start, rate = struct.unpack_from(kind, body, 8 + i * size)
        if start >= 0:  # -1 is a pause
            if start + extra > (_LIMIT_64 if wide else _LIMIT_32) // 2:
                raise VideoError("damaged: an edit list that begins beyond any video")
            struct.pack_into(kind, body, 8 + i * size, duration, start + extra, rate)
    edts.replace(b"elst", Node(b"elst", bytes(body)))


def _lengthen(trak: Node, extra: int) -> None:
    mdhd = trak.at(b"mdia", b"mdhd")
    if mdhd is None:
        return
    at, size = (24, 8) if mdhd.data[:1] == b"\1" else (16, 4)
    duration = int.from_bytes(mdhd.data[at : at + size], "big") + extra
    if duration < (1 << 8 * size) - 1:  # all ones: unknown
        mdhd.data = mdhd.data[:at] + duration.to_bytes(size, "big") + mdhd.data[at + size :]


def _resize(trak: Node, size: tuple[int, int]) -> None:
    tkhd = trak.child(b"tkhd")
    if tkhd is not None:
        tkhd.data = tkhd.data[:-8] + struct.pack(">II", size[0] << 16, size[1] << 16)
    trak.replace(b"tapt", None)  # apertures of the old size


def _regrouped(found: Chunks, total: int) -> tuple[Ints, Ints]:
    """Samples per chunk, and where the chunks were, for as many samples as there are now."""
    ends = np.minimum(np.cumsum(found.counts), total)
    if len(ends) == 0:
        return np.array([total], np.int64), np.zeros(1, np.int64)
    ends[-1] = total
    counts = np.diff(np.concatenate(([0], ends)))
    return counts[counts > 0], found.offsets[counts > 0]


def _arrange(
    found: Sequence[Chunks], chosen: int, counts: Ints, places: Ints, sizes: Ints
) -> tuple[list[_Piece], list[Ints]]:
    """Returns all chunks in the source's order, and where each track's lie, counted from the first byte of all."""
    ends = np.concatenate(([0], np.cumsum(sizes)))
    firsts = np.concatenate(([0], np.cumsum(counts)))
    lengths = [np.diff(ends[firsts]) if i == chosen else chunk.sizes for i, chunk in enumerate(found)]
    before = [places if i == chosen else chunk.offsets for i, chunk in enumerate(found)]
    entries = sorted(
        (int(at), track, i)
        for track, chunk in enumerate(found)
        if track == chosen or not chunk.external
        for i, at in enumerate(before[track])
    )
    offsets = [np.zeros(len(of_track), np.int64) for of_track in before]
    pieces: list[_Piece] = []
    at = 0
    for place, track, i in entries:
        length = int(lengths[track][i])
        offsets[track][i] = at
        new = track == chosen
        pieces.append(_Piece(int(firsts[i]), length, int(counts[i])) if new else _Piece(place, length))
        at += length
    return pieces, offsets


def _put_offsets(trak: Node, offsets: Ints, wide: bool) -> None:
    stbl = trak.at(b"mdia", b"minf", b"stbl")
    if stbl is None:
        return
    was_wide = stbl.child(b"co64") is not None
    name, kind = (b"co64", ">u8") if wide or was_wide else (b"stco", ">u4")
    node = full_box(name, 0, 0, _counted(offsets, kind))
    if was_wide or stbl.child(b"stco") is None:
        stbl.replace(b"stco", None)
        stbl.replace(b"co64", node)
    else:
        stbl.children = [node if old.name == b"stco" else old for old in stbl.children or ()]


def _counted(values: Ints, kind: str) -> bytes:
    return struct.pack(">I", len(values)) + values.astype(kind).tobytes()


def _runs(values: Ints) -> bytes:
    """(count, value) pairs.

    Raises:
        VideoError: A value that no table holds.
    """
    if len(values) and (int(values.min()) < 0 or int(values.max()) > _LIMIT_32):
        raise VideoError("its time stamps make no sense: frames are further apart than the file can say")
    starts = np.flatnonzero(np.concatenate(([True], np.diff(values) != 0)))
    lengths = np.diff(np.append(starts, len(values)))
    return struct.pack(">I", len(starts)) + np.stack([lengths, values[starts]], axis=1).astype(">u4").tobytes()


def _chunk_runs(counts: Ints) -> bytes:
    starts = np.flatnonzero(np.concatenate(([True], np.diff(counts) != 0)))
    ones = np.ones(len(starts), np.int64)
    return struct.pack(">I", len(starts)) + np.stack([starts + 1, counts[starts], ones], axis=1).astype(">u4").tobytes()


def _read(path: Path, start: int, end: int) -> bytes:
    with open(path, "rb") as file:
        file.seek(start)
        return file.read(end - start)


def _is_empty(path: Path, place: Place) -> bool:
    if place.name not in _FREE:
        return False
    return place.end - place.content > _MAX_FREE or not any(_read(path, place.content, place.end))


def _copy(file: BinaryIO, at: int, size: int, out: BinaryIO) -> None:
    file.seek(at)
    while size > 0:
        data = file.read(min(size, _COPY_BYTES))
        if not data:
            raise VideoError("the source became shorter while it was being read")
        out.write(data)
        size -= len(data)


class _Reader:
    """Keeps the file open that was read last."""

    def __init__(self) -> None:
        self._path: Path | None = None
        self._file: BinaryIO | None = None

    def open(self, path: Path) -> BinaryIO:
        if path != self._path or self._file is None:
            self.close()
            self._path, self._file = path, open(path, "rb")  # noqa: SIM115 (closed below)
        return self._file

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
