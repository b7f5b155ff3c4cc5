"""Maker notes: which of them may move.

Most makers count offsets inside their note from the start of the EXIF block, some from the start of the file, and some
let values lie outside the note. Such a note must stay where it is. A few makers count from the note itself.
"""

from __future__ import annotations

import struct

from pic_uie.images.ifd import TYPE_SIZES

_COUNT_FROM_THEMSELVES = (
    b"Apple iOS\0",
    b"FUJIFILM",
    b"Nikon\0\x02",
    b"OLYMPUS\0",
    b"OM SYSTEM\0",
    b"PENTAX \0",
    b"RICOH\0II",
    b"RICOH\0MM",
)
_HEADER_BYTES = (0, 6, 8, 10, 12, 14, 16, 18)  # what makers put in front of their directory
_MAX_ENTRIES = 512
_LAST_TYPE = 13


def must_stay(note: bytes) -> bool:
    """Returns whether a maker note holds offsets that count from elsewhere, so that moving it would break it."""
    if note.startswith(_COUNT_FROM_THEMSELVES):
        return False
    return any(_has_offsets(note, start, order) for start in _HEADER_BYTES for order in "<>")


def _has_offsets(note: bytes, start: int, order: str) -> bool:
    """Returns whether a directory with values outside its table begins at `start`."""
    if len(note) < start + 2 + 12:
        return False
    (count,) = struct.unpack_from(order + "H", note, start)
    if not 1 <= count <= _MAX_ENTRIES or len(note) < start + 2 + 12 * min(count, 4):
        return False
    outside = valid = 0
    shown = min(count, (len(note) - start - 2) // 12)
    for row in range(shown):
        _, kind, number = struct.unpack_from(order + "HHI", note, start + 2 + 12 * row)
        if 1 <= kind <= _LAST_TYPE and 0 < number < 1 << 24:
            valid += 1
            outside += TYPE_SIZES[kind] * number > 4
    return valid >= 0.75 * shown and outside > 0
