"""Writing files so that a reader sees the old one or the new one, never a part; reading them within limits."""

from __future__ import annotations

import errno
import hashlib
import itertools
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # Windows, where nobody can remove a file that is open: no lock is needed
    fcntl = None  # type: ignore[assignment]

PART_SUFFIX = ".pic-uie-part"  # a killed run may leave such a file; it is never mistaken for a finished one
DEFAULT_MODE = 0o666  # before the umask

_counter = itertools.count()


def atomic_write(path: Path, data: bytes | memoryview, *, overwrite: bool = True, mode: int = DEFAULT_MODE) -> None:
    """Writes `data` under a temporary name in the same folder, flushes it to the disk, and renames it to `path`.

    Args:
        path: The file.
        data: Its new content.
        overwrite: Whether an existing file is replaced.
        mode: Permissions, from which the umask is taken as always.

    Raises:
        FileExistsError: `path` exists and `overwrite` is off.
        OSError: The folder is not writable or the disk is full; `path` is then as it was.
    """
    with atomic_file(path, overwrite=overwrite, mode=mode) as file:
        file.write(data)


@contextmanager
def atomic_file(path: Path, *, overwrite: bool = True, mode: int = DEFAULT_MODE) -> Iterator[IO[bytes]]:
    """Gives the block a file to write to, which becomes `path` at its end; arguments and errors as `atomic_write`."""
    descriptor, temporary = _create_part(path, mode)
    try:
        with open(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(descriptor)
            if fcntl is not None:
                _rename(temporary, path, overwrite)  # while the lock is held: nobody may take the part for a left-over
        if fcntl is None:
            _rename(temporary, path, overwrite)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def mode_like(source: Path) -> int:
    """Returns permissions for a file made from `source`: nobody may read it who may not read the source."""
    try:
        return (os.stat(source).st_mode & DEFAULT_MODE) | stat.S_IRUSR | stat.S_IWUSR
    except (OSError, ValueError):
        return DEFAULT_MODE


def make_folders(folder: Path) -> None:
    """Makes a folder with all that are above it, however many these are; `Path.mkdir` gives up at a thousand.

    Raises:
        OSError: One of them cannot be made.
    """
    missing = [folder]
    while not os.path.lexists(missing[-1]) and missing[-1] != missing[-1].parent:
        missing.append(missing[-1].parent)
    if len(missing) > 1 and not missing[-1].is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(missing[-1]))
    for path in reversed(missing):
        path.mkdir(exist_ok=True)


def read_at_most(path: Path, limit: int) -> bytes:
    """Returns the content of a file or pipe.

    Raises:
        OSError: It cannot be read, or has more than `limit` bytes.
    """
    with open(path, "rb") as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise OSError(errno.EFBIG, f"larger than {limit >> 20} MB, the limit for such a file", str(path))
    return data


def identity(path: Path | int) -> tuple[int, int] | None:
    """Identifies a file where its name does not: links, file systems that ignore case, open files given by number."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino


def try_lock(descriptor: int) -> bool:
    """Locks an open file until it is closed; False if another process has locked it."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system or device without locks
        return True
    return True


def remove_stale_parts(folder: Path) -> int:
    """Removes what killed runs left in `folder`; parts that another process is writing are locked and stay.

    The lock belongs to the open file, so that it ends with its process, however that ends. Only regular files are
    parts: whatever else has such a name is left alone, and opening it does not wait.
    """
    removed = 0
    try:
        names = [
            entry.name
            for entry in os.scandir(folder)
            if entry.name.endswith(PART_SUFFIX) and entry.is_file(follow_symlinks=False)
        ]
    except OSError:
        return 0
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
    for name in names:
        try:
            descriptor = os.open(folder / name, flags)
            try:
                if fcntl is not None:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    (folder / name).unlink()
            finally:
                os.close(descriptor)
            if fcntl is None:
                (folder / name).unlink()
            removed += 1
        except OSError:  # in use, gone, or not ours to remove
            continue
    return removed


def _create_part(path: Path, mode: int) -> tuple[int, Path]:
    """Opens and locks a new file beside `path`; its name is short, so that any valid name of `path` can be written."""
    digest = hashlib.blake2s(os.fsencode(path.name), digest_size=6).hexdigest()
    while True:
        temporary = path.with_name(f".{digest}-{os.getpid()}-{next(_counter)}{PART_SUFFIX}")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        try:
            descriptor = os.open(temporary, flags, mode)
        except FileExistsError:  # left by a process that had our number
            continue
        if fcntl is None or _locked(descriptor, temporary):
            return descriptor, temporary
        os.close(descriptor)


def _locked(descriptor: int, path: Path) -> bool:
    """Locks a new file; False if a cleaner saw it between its creation and this lock, and removed it."""
    if not try_lock(descriptor):
        return False
    try:
        return os.fstat(descriptor).st_ino == path.stat().st_ino
    except FileNotFoundError:
        return False
    except OSError:
        return True


def _rename(temporary: Path, path: Path, overwrite: bool) -> None:
    if not overwrite and os.path.lexists(path):
        raise FileExistsError(f"{path} exists already")
    os.replace(temporary, path)
