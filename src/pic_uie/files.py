"""Writing files so that a reader sees the old one or the new one, never a part."""

from __future__ import annotations

import hashlib
import itertools
import os
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows, where nobody can remove a file that is open: no lock is needed
    fcntl = None  # type: ignore[assignment]

PART_SUFFIX = ".pic-uie-part"  # a killed run may leave such a file; it is never mistaken for a finished one

_counter = itertools.count()


def atomic_write(path: Path, data: bytes | memoryview, *, overwrite: bool = True) -> None:
    """Writes `data` under a temporary name in the same folder, flushes it to the disk, and renames it to `path`.

    Raises:
        FileExistsError: `path` exists and `overwrite` is off.
        OSError: The folder is not writable or the disk is full; `path` is then as it was.
    """
    descriptor, temporary = _create_part(path)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
            if fcntl is not None:
                _rename(temporary, path, overwrite)  # while the lock is held: nobody may take the part for a left-over
        if fcntl is None:
            _rename(temporary, path, overwrite)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def identity(path: Path | int) -> tuple[int, int] | None:
    """Tells files apart where names do not: links, file systems that ignore case, open files given by number."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino


def remove_stale_parts(folder: Path) -> int:
    """Removes what killed runs left in `folder`; parts that another process is writing are locked and stay.

    The lock belongs to the open file, so that it ends with its process, however that ends.
    """
    removed = 0
    try:
        names = [entry.name for entry in os.scandir(folder) if entry.name.endswith(PART_SUFFIX)]
    except OSError:
        return 0
    for name in names:
        try:
            with open(folder / name, "rb") as file:
                if fcntl is not None:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    (folder / name).unlink()
            if fcntl is None:
                (folder / name).unlink()
            removed += 1
        except OSError:  # in use, gone, or not ours to remove
            continue
    return removed


def _create_part(path: Path) -> tuple[int, Path]:
    """Opens and locks a new file beside `path`; its name is short, so that any valid name of `path` can be written."""
    digest = hashlib.blake2s(os.fsencode(path.name), digest_size=6).hexdigest()
    while True:
        temporary = path.with_name(f".{digest}-{os.getpid()}-{next(_counter)}{PART_SUFFIX}")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        try:
            descriptor = os.open(temporary, flags, 0o666)
        except FileExistsError:  # left by a process that had our number
            continue
        if fcntl is None or _locked(descriptor, temporary):
            return descriptor, temporary
        os.close(descriptor)


def _locked(descriptor: int, path: Path) -> bool:
    """Locks a new file; False if a cleaner saw it between its creation and this lock, and removed it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.fstat(descriptor).st_ino == path.stat().st_ino
    except (BlockingIOError, FileNotFoundError):
        return False
    except OSError:  # a file system without locks
        return True


def _rename(temporary: Path, path: Path, overwrite: bool) -> None:
    if not overwrite and os.path.lexists(path):
        raise FileExistsError(f"{path} exists already")
    os.replace(temporary, path)
