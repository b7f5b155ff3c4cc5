"""Results on a disk: what is in their place already, and writing them."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Literal

from pic_uie.errors import ImageError
from pic_uie.files import DEFAULT_MODE, atomic_write, make_folders
from pic_uie.images.files import read_head
from pic_uie.images.formats import HEAD_BYTES, sniff
from pic_uie.video import kinds
from pic_uie.writing import DISK_FULL, DiskFullError, write_reason

State = Literal["absent", "whole", "unfinished", "other"]

_HEADER_BYTES = 256 << 10  # a file that was cut inside its header is shorter than this
_BIG_TIFF = 43


def state(path: Path) -> State:
    """Looks at the place of a result.

    A file is "whole" if its header is, and "unfinished" if it is empty, full of zeros (what a crashed system leaves), a
    link that leads nowhere, or cut inside its header: such a result is made again. So is a video that is shorter than
    its headers say. "other" is a file that is neither. Folders and devices count as "absent": writing will fail with
    the reason.
    """
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return "unfinished" if os.path.islink(path) else "absent"
    if not stat.S_ISREG(status.st_mode):
        return "absent"
    head = read_head(path, kinds.HEAD_BYTES)
    if head is None:  # not ours to read, but there
        return "whole"
    if not any(head):
        return "unfinished"
    if sniff(head) is None:
        return _state_of_video(path, kinds.sniff(head))
    long_enough = status.st_size > _HEADER_BYTES
    return "whole" if long_enough or _has_whole_header(read_head(path, _HEADER_BYTES) or b"") else "unfinished"


def _state_of_video(path: Path, kind: kinds.Kind | None) -> State:
    if kind is None:
        return "other"
    try:
        return "whole" if kinds.is_whole(path, kind) else "unfinished"
    except OSError:  # not ours to read, but there
        return "whole"


def _has_whole_header(data: bytes) -> bool:
    """Returns whether the pixels of a picture begin in `data`; no decoder is asked, since it may be missing."""
    found = sniff(data[:HEAD_BYTES])
    kind = found.name if found else ""
    if kind == "jpeg":
        return _jpeg_has_a_scan(data)
    if kind == "png":
        return _png_has_pixels(data)
    if kind == "webp":
        return int.from_bytes(data[4:8], "little") + 8 <= len(data) + 1  # some writers leave out the last padding
    if kind == "bmp":
        return int.from_bytes(data[10:14], "little") < len(data)
    if kind == "tiff":
        order: Literal["little", "big"] = "little" if data[:2] == b"II" else "big"
        first = data[8:16] if int.from_bytes(data[2:4], order) == _BIG_TIFF else data[4:8]
        return int.from_bytes(first, order) < len(data)
    return b"mdat" in data  # AVIF, HEIC


def _jpeg_has_a_scan(data: bytes) -> bool:
    position = 2
    while data[position : position + 1] == b"\xff":
        if data[position + 1 : position + 2] == b"\xda":
            return True
        position += 2 + max(2, int.from_bytes(data[position + 2 : position + 4], "big"))
    return False


def _png_has_pixels(data: bytes) -> bool:
    position = 8
    while position + 8 <= len(data):
        if data[position + 4 : position + 8] == b"IDAT":
            return True
        position += 12 + int.from_bytes(data[position : position + 4], "big")
    return False


def write(path: Path, data: bytes, overwrite: bool, mode: int = DEFAULT_MODE) -> None:
    """Writes a result, and its folder if need be.

    Raises:
        DiskFullError: No space is left.
        ImageError: The folder cannot be written, or something that is no file is in the way.
    """
    try:
        make_folders(path.parent)
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if path.exists() and not path.is_file():  # a pipe or a device
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
        atomic_write(path, data, overwrite=overwrite, mode=mode)
    except OSError as error:
        kind = DiskFullError if error.errno in DISK_FULL else ImageError
        raise kind(f"cannot write {path}: {write_reason(error)}") from error
