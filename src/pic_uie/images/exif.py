"""EXIF as a tree of tags: read, brought up to date for the enhanced picture, written; maker notes stay in place.

Maker notes hold offsets from the start of the EXIF block that only their maker knows, so `serialise` puts them back at
the very byte where they were found.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field, replace

from pic_uie.images import ifd
from pic_uie.images.ifd import Directory, Entry

ORIENTATION, X_RESOLUTION, Y_RESOLUTION, RESOLUTION_UNIT, SOFTWARE = 0x0112, 0x011A, 0x011B, 0x0128, 0x0131
EXIF_POINTER, GPS_POINTER, INTEROP_POINTER = 0x8769, 0x8825, 0xA005
MAKER_NOTE, PIXEL_X, PIXEL_Y = 0x927C, 0xA002, 0xA003
INTEROP_INDEX = 0x0001
_LAST_CLASSIC_TYPE = 13  # BigTIFF's 64-bit types have no place in an EXIF block

# How a TIFF lays out its own pixels, blocks that travel apart (XMP, IPTC, Photoshop, ICC), pointers to other places.
STRUCTURAL = frozenset(
    {254, 255, 256, 257, 258, 259, 262, 263, 264, 265, 266, 273, 277, 278, 279, 280, 281, 284, 288, 289, 290, 291, 292}
    | {
        293,
        297,
        301,
        317,
        320,
        321,
        322,
        323,
        324,
        325,
        326,
        327,
        328,
        330,
        332,
        333,
        334,
        336,
        337,
        338,
        339,
        340,
        341,
    }
    | {342, 343, 344, 345, 346, 347, 351, 512, 513, 514, 515, 517, 518, 519, 520, 521, 529, 530, 532, 559, 700}
    | {33723, 34377, 34675, 37724, EXIF_POINTER, GPS_POINTER, INTEROP_POINTER}
)


@dataclass(frozen=True)
class Exif:
    """The directories of an EXIF block, without the thumbnail's."""

    order: str = "<"
    main: Directory = field(default_factory=dict)
    photo: Directory = field(default_factory=dict)
    gps: Directory = field(default_factory=dict)
    interop: Directory = field(default_factory=dict)

    @property
    def orientation(self) -> int:
        """1 to 8; 1 where the block says nothing sensible."""
        values = self._numbers(ORIENTATION)
        return values[0] if values and 1 <= values[0] <= 8 else 1

    @property
    def dpi(self) -> tuple[float, float] | None:
        """Dots per inch, where the block gives them."""
        x, y, unit = self._numbers(X_RESOLUTION), self._numbers(Y_RESOLUTION), self._numbers(RESOLUTION_UNIT)
        scale = {2: 1.0, 3: 2.54}.get(unit[0] if unit else 2)
        if scale is None or len(x) != 2 or len(y) != 2 or not x[0] * x[1] * y[0] * y[1]:
            return None
        return scale * x[0] / x[1], scale * y[0] / y[1]

    @property
    def is_adobe_rgb(self) -> bool:
        """Cameras set to Adobe RGB embed no profile; they say R03 here (DCF 2.0, "optional colour space")."""
        index = self.interop.get(INTEROP_INDEX)
        return index is not None and index.data.startswith(b"R03")

    def _numbers(self, tag: int) -> list[int]:
        try:
            return self.main[tag].numbers(self.order) if tag in self.main else []
        except (ifd.IfdError, struct.error):
            return []


def parse(block: bytes) -> Exif:
    """Reads an EXIF block or the head of a TIFF file; a damaged sub-directory is left out.

    Raises:
        IfdError: No TIFF structure at all.
    """
    layout, offset = ifd.read_header(block)
    main, _ = ifd.read_directory(block, offset, layout)
    return from_directory(block, main, layout)


def from_directory(data: bytes, main: Directory, layout: ifd.Layout) -> Exif:
    """Gathers the tree that hangs on a main directory."""
    photo = _follow(data, main, EXIF_POINTER, layout)
    gps = _follow(data, main, GPS_POINTER, layout)
    interop = _follow(data, photo, INTEROP_POINTER, layout)
    descriptive = {tag: entry for tag, entry in main.items() if tag not in STRUCTURAL}
    photo.pop(INTEROP_POINTER, None)
    directories = (descriptive, photo, gps, interop)
    return Exif(layout.order, *({t: e for t, e in d.items() if e.kind <= _LAST_CLASSIC_TYPE} for d in directories))


def refreshed(exif: Exif, width: int, height: int, software: str | None, dpi: tuple[float, float] | None) -> Exif:
    """Returns what is true of the enhanced picture: upright, its size, the resolution given, made by `software`."""
    order = exif.order
    main, photo = dict(exif.main), dict(exif.photo)
    if ORIENTATION in main:
        main[ORIENTATION] = ifd.short(1, order)
    if software:
        main[SOFTWARE] = ifd.text(software)
    if dpi:
        main |= {X_RESOLUTION: ifd.rational(dpi[0], order), Y_RESOLUTION: ifd.rational(dpi[1], order)}
        main[RESOLUTION_UNIT] = ifd.short(2, order)
    for tag, size in ((PIXEL_X, width), (PIXEL_Y, height)):
        if tag in photo:
            photo[tag] = ifd.long(size, order)
    return replace(exif, main=main, photo=photo)


def unpinned(exif: Exif) -> Exif:
    """Returns the tree with a maker note that may lie anywhere: its byte in a TIFF file says nothing about a block."""
    return replace(exif, photo={tag: replace(entry, offset=0) for tag, entry in exif.photo.items()})


def serialise(exif: Exif, limit: int | None = None) -> bytes:
    """Returns the block; beyond `limit` bytes the maker note is moved, then dropped.

    Raises:
        IfdError: Larger than `limit` even so.
    """
    note = exif.photo.get(MAKER_NOTE)
    candidates = [_serialise(exif, pin=note is not None and note.offset >= 8 and len(note.data) > 4), _serialise(exif)]
    if note is not None:
        bare = {tag: entry for tag, entry in exif.photo.items() if tag != MAKER_NOTE}
        candidates.append(_serialise(replace(exif, photo=bare)))
    for block in candidates:
        if limit is None or len(block) <= limit:
            return block
    raise ifd.IfdError(f"EXIF of {len(candidates[-1])} bytes does not fit into {limit} bytes")


def tables(exif: Exif, start: int, extra: Directory | None = None, pinned: dict[int, int] | None = None) -> bytes:
    """Returns all directories, to lie at byte `start`, the main one first.

    Args:
        exif: The directories.
        start: Where the first of them will lie.
        extra: More tags for the main directory.
        pinned: Tags of the main and the photo directory whose bytes lie elsewhere already, with the place.
    """
    main, photo = exif.main | (extra or {}), dict(exif.photo)
    # Two passes: sizes do not depend on the pointers' values, so the first pass finds out where each directory lies.
    places = dict.fromkeys((EXIF_POINTER, GPS_POINTER, INTEROP_POINTER), 0)
    parts: list[bytes] = []
    for _ in range(2):
        if exif.photo or exif.interop:
            main[EXIF_POINTER] = ifd.long(places[EXIF_POINTER], exif.order)
        if exif.gps:
            main[GPS_POINTER] = ifd.long(places[GPS_POINTER], exif.order)
        if exif.interop:
            photo[INTEROP_POINTER] = ifd.long(places[INTEROP_POINTER], exif.order)
        parts, at = [], start
        wanted = ((None, main), (EXIF_POINTER, photo), (GPS_POINTER, exif.gps), (INTEROP_POINTER, exif.interop))
        for pointer, directory in wanted:
            if not directory and directory is not main:
                continue
            if pointer is not None:
                places[pointer] = at
            parts.append(
                ifd.write_directory(directory, at, exif.order, pinned if pointer in (None, EXIF_POINTER) else None)
            )
            at += len(parts[-1])
    return b"".join(parts)


def _serialise(exif: Exif, pin: bool = False) -> bytes:
    header = (b"II" if exif.order == "<" else b"MM") + struct.pack(exif.order + "H", 42)
    if not pin:
        return header + struct.pack(exif.order + "I", 8) + tables(exif, 8)
    note: Entry = exif.photo[MAKER_NOTE]
    pinned = {MAKER_NOTE: note.offset}
    in_front = tables(exif, 8, pinned=pinned)
    if 8 + len(in_front) <= note.offset:
        return (header + struct.pack(exif.order + "I", 8) + in_front).ljust(note.offset, b"\0") + note.data
    start = note.offset + len(note.data) + len(note.data) % 2
    padded = (header + struct.pack(exif.order + "I", start)).ljust(note.offset, b"\0") + note.data
    return padded.ljust(start, b"\0") + tables(exif, start, pinned=pinned)


def _follow(data: bytes, directory: Directory, pointer: int, layout: ifd.Layout) -> Directory:
    try:
        (offset,) = directory[pointer].numbers(layout.order)
        return ifd.read_directory(data, offset, layout)[0]
    except (KeyError, ValueError):
        return {}
