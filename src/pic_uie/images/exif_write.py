"""EXIF as bytes: a tree of tags written as a block, or as the directories of a TIFF file.

A maker note that may not move (see `makernote`) stays at its byte of the block, with all that lies around it.
"""

from __future__ import annotations

import struct

from pic_uie.images import ifd
from pic_uie.images.exif import EXIF_POINTER, GPS_POINTER, INTEROP_POINTER, MAKER_NOTE, Exif, without_maker_note
from pic_uie.images.ifd import Directory, Entry


def serialise(exif: Exif, limit: int | None = None) -> bytes:
    """Returns the block; beyond `limit` bytes without the maker note.

    Raises:
        IfdError: Larger than `limit` even so.
    """
    size = 0
    for block in _candidates(exif):
        size = len(block)
        if limit is None or size <= limit:
            return block
    raise ifd.IfdError(f"EXIF of {size} bytes does not fit into {limit} bytes")


def loses_maker_note(exif: Exif, limit: int) -> bool:
    """Returns whether `serialise` leaves out the maker note for want of room."""
    if MAKER_NOTE not in exif.photo:
        return False
    return all(len(block) > limit for block in _candidates(exif, with_note_only=True))


def tables(
    exif: Exif,
    start: int,
    extra: Directory | None = None,
    pinned: dict[int, int] | None = None,
    placed: bytes | None = None,
) -> bytes:
    """Returns all directories, to lie at byte `start`, the main one first.

    Args:
        exif: The directories.
        start: Where the first of them will lie.
        extra: More tags for the main directory.
        pinned: Tags of the main and the photo directory whose bytes lie elsewhere already, with the place.
        placed: What lies in front of them: values that are found there at their old place are not written again.
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
            kept = _in_place(directory, placed) if placed is not None else {}
            if pointer in (None, EXIF_POINTER):
                kept |= pinned or {}
            parts.append(ifd.write_directory(directory, at, exif.order, kept))
            parts[-1] += b"\0" * (len(parts[-1]) % 2)
            at += len(parts[-1])
    return b"".join(parts)


def _candidates(exif: Exif, *, with_note_only: bool = False) -> list[bytes]:
    """Returns the ways to write a tree, the best one first."""
    blocks: list[bytes] = []
    if exif.maker_note_stays:
        if exif.block is not None:
            blocks.append(_around(exif, exif.block))
        note = exif.photo[MAKER_NOTE]
        blocks.append(_around(exif, bytes(note.offset) + note.data))
    else:
        blocks.append(_compact(exif))
    if MAKER_NOTE in exif.photo and not with_note_only:
        blocks.append(_compact(without_maker_note(exif)))
    return blocks


def _header(exif: Exif, start: int) -> bytes:
    return (b"II" if exif.order == "<" else b"MM") + struct.pack(exif.order + "HI", 42, start)


def _compact(exif: Exif) -> bytes:
    return _header(exif, 8) + tables(exif, 8)


def _around(exif: Exif, placed: bytes) -> bytes:
    """Returns the block with new directories behind bytes that stay where they were."""
    start = len(placed) + len(placed) % 2
    front = _header(exif, start) + placed[8:].ljust(start - 8, b"\0")
    return front + tables(exif, start, placed=front)


def _in_place(directory: Directory, placed: bytes) -> dict[int, int]:
    def is_there(entry: Entry) -> bool:
        return entry.offset >= 8 and placed.startswith(entry.data, entry.offset)

    return {tag: entry.offset for tag, entry in directory.items() if is_there(entry)}
