"""IPTC records: bare in a TIFF, inside a block of Photoshop's in a JPEG."""

from __future__ import annotations

import struct
from collections.abc import Iterator

PHOTOSHOP = b"Photoshop 3.0\0"
_RECORDS = 0x0404
_THUMBNAILS = (0x0409, 0x040C)  # of the picture as it was


def records(block: bytes) -> bytes | None:
    """Returns the bare records of a block of either kind, as a TIFF holds them."""
    if not block.startswith(PHOTOSHOP):
        return block
    return next((data for number, data, _ in _resources(block) if number == _RECORDS), None)


def photoshop_block(block: bytes) -> bytes:
    """Returns a block of either kind as a JPEG holds it, without a thumbnail."""
    if block.startswith(PHOTOSHOP):
        return PHOTOSHOP + b"".join(raw for number, _, raw in _resources(block) if number not in _THUMBNAILS)
    return PHOTOSHOP + b"8BIM" + struct.pack(">HHI", _RECORDS, 0, len(block)) + block + b"\0" * (len(block) % 2)


def _resources(block: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Yields number, data and raw bytes of each resource; a damaged one is the last."""
    at = len(PHOTOSHOP)
    while at + 12 <= len(block):
        number, name_length = struct.unpack_from(">HB", block, at + 4)
        size_at = at + 6 + name_length + 1 + (name_length + 1) % 2  # the name is padded to an even length
        size = int.from_bytes(block[size_at : size_at + 4], "big")
        start, end = size_at + 4, size_at + 4 + size
        if end > len(block):
            return
        yield number, block[start:end], block[at:end] + b"\0" * (size % 2)
        at = end + size % 2
