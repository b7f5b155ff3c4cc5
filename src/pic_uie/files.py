"""Writing files so that a reader sees the old one or the new one, never a part."""

from __future__ import annotations

import os
from pathlib import Path

PART_SUFFIX = ".pic-uie-part"  # an interrupted run may leave such a file; it is never mistaken for a finished one


def atomic_write(path: Path, data: bytes) -> None:
    """Writes `data` under a temporary name in the same folder, flushes it to the disk, and renames it over `path`.

    Raises:
        OSError: The folder is not writable or the disk is full; `path` is then as it was.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}{PART_SUFFIX}")
    try:
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
