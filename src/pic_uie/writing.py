"""Writing a file, and saying why it cannot be written: one way for every command, with one error and one exit code."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pic_uie.errors import EnvironmentMissingError
from pic_uie.files import atomic_write, make_folders

DISK_FULL = (errno.ENOSPC, errno.EDQUOT)

_REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "your disk quota is used up",
    errno.EFBIG: "the file is larger than the file system allows",
    errno.EACCES: "no permission to write there",
    errno.EPERM: "no permission to write there",
    errno.EROFS: "the file system is read-only",
    errno.ENOTDIR: "a part of the path is a file, not a folder",
    errno.EEXIST: "something else is in its place",
    errno.EISDIR: "a folder is in its place",
    errno.ENAMETOOLONG: "the name is too long",
}


class UnwritableError(EnvironmentMissingError):
    """Something cannot be written: not this, and most likely nothing that follows."""


class DiskFullError(UnwritableError):
    """No space is left."""


def write_reason(error: OSError) -> str:
    """Returns in plain words why a file cannot be written."""
    return _REASONS.get(error.errno or 0) or error.strerror or str(error)


@contextmanager
def explained(what: str | Path) -> Iterator[None]:
    """Turns an OSError of its block into an UnwritableError that names `what`, such as a path or "the report a.json".

    Raises:
        DiskFullError: No space is left.
        UnwritableError: Anything else that the system refuses.
    """
    try:
        yield
    except OSError as error:
        kind = DiskFullError if error.errno in DISK_FULL else UnwritableError
        raise kind(f"cannot write {what}: {write_reason(error)}") from error


def write_file(path: Path, data: bytes | memoryview, *, overwrite: bool = True) -> None:
    """Writes a file in one step, and its folder if need be; what was there before stays as it is if that fails.

    Raises:
        UnwritableError: It cannot be written, or exists and `overwrite` is off.
    """
    with explained(path):
        make_folders(path.parent)
        atomic_write(path, data, overwrite=overwrite)


def make_folder(folder: Path) -> None:
    """Makes a folder that a command writes to, with all that are above it.

    Raises:
        UnwritableError: It cannot be made.
    """
    try:
        make_folders(folder)
    except OSError as error:
        raise UnwritableError(f"cannot make the folder {folder}: {write_reason(error)}") from error
