"""IPTC records: bare in a TIFF, among the resources of Photoshop's block in a JPEG."""

from __future__ import annotations

import struct
from collections.abc import Iterator

PHOTOSHOP = b"Photoshop 3.0\0"
_RECORDS = 0x0404
_STALE = (0x0409, 0x040C, 0x040F, 0x0422, 0x0423, 0x0424)  # thumbnails, profile, EXIF, XMP: of the picture as it was


def records(block: bytes) -> bytes | None:
    """Returns the bare records of a block of either kind, as a TIFF holds them."""
    if not block.startswith(PHOTOSHOP):
        return block
    return next((data for number, data, _ in _resources(block) if number == _RECORDS), None)


def joined(bare: bytes | None, resources: bytes | None) -> bytes | None:
    """Returns one block for the bare records and the resources of a TIFF."""
    if resources is None:
        return bare
    block = PHOTOSHOP + resources
    return block if bare is None or records(block) is not None else block + _resource(bare)


def photoshop_block(block: bytes) -> bytes:
    """Returns a block of either kind as a JPEG holds it, without what the file has elsewhere, brought up to date."""
    if block.startswith(PHOTOSHOP):
        return PHOTOSHOP + b"".join(raw for number, _, raw in _resources(block) if number not in _STALE)
    return PHOTOSHOP + _resource(block)


def resources(block: bytes) -> bytes:
    """Returns a block of either kind as Photoshop's resources, without the name in front."""
    return photoshop_block(block).removeprefix(PHOTOSHOP)


def has_more_than_records(block: bytes) -> bool:
    """Returns whether other resources than the records are worth keeping, such as a clipping path."""
    bare = not block.startswith(PHOTOSHOP)
    return not bare and any(number not in (_RECORDS, *_STALE) for number, _, _ in _resources(block))


def _resource(bare: bytes) -> bytes:
    return b"8BIM" + struct.pack(">HHI", _RECORDS, 0, len(bare)) + bare + b"\0" * (len(bare) % 2)


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
