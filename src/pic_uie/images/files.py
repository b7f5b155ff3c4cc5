"""Reads a file's bytes with care: regular files only, no more than a picture can need, errors in plain words."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from pic_uie.errors import ImageError

_BYTES_PER_PIXEL = 8  # 16-bit RGBA, uncompressed
_METADATA_BYTES = 64 << 20

_REASONS = {
    errno.ENOENT: "no such file or folder",
    errno.EACCES: "no permission to read it",
    errno.EPERM: "no permission to read it",
    errno.ELOOP: "a symbolic link that leads back to itself",
    errno.EISDIR: "a folder, not a file",
    errno.ENAMETOOLONG: "the name is too long",
    errno.EIO: "the disk reports a read error",
    errno.ENXIO: "not a regular file (a socket or device)",
}


def read_bytes(path: str | Path, max_pixels: int) -> bytes:
    """Returns the content of a regular file.

    Raises:
        ImageError: Missing, unreadable, not a regular file, or larger than any picture of `max_pixels` is.
    """
    try:
        # O_NONBLOCK: opening a FIFO must not wait for a writer
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with open(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if stat.S_ISDIR(status.st_mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            if not stat.S_ISREG(status.st_mode):
                raise ImageError("not a regular file (a pipe, socket or device)")
            if status.st_size > size_limit(max_pixels):
                raise ImageError(
                    f"{status.st_size / 1e6:.0f} MB, more than any picture of {max_pixels / 1e6:.0f} megapixels needs; "
                    "if you trust the file, raise --max-pixels"
                )
            return file.read()
    except OSError as error:
        raise ImageError(reason(error)) from error
    except ValueError as error:  # a null character
        raise ImageError("not a possible file name") from error


def size_limit(max_pixels: int) -> int:
    """Returns how many bytes a file with a picture of `max_pixels` can sensibly have."""
    return max_pixels * _BYTES_PER_PIXEL + _METADATA_BYTES


def read_head(path: str | Path, size: int) -> bytes | None:
    """Returns the first bytes of a regular file, or None if they cannot be had."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with open(descriptor, "rb", buffering=0) as file:
            return file.read(size) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
    except OSError:
        return None


def reason(error: OSError) -> str:
    """Says in plain words why a file cannot be read."""
    return _REASONS.get(error.errno or 0) or error.strerror or str(error)
