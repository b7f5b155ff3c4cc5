"""Lines that a C library prints on standard error by itself: what they say comes as an error, in our words."""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

_STANDARD_ERROR = 2
_lock = threading.Lock()
_inside = 0
_held: tuple[int, IO[bytes]] | None = None  # standard error itself, and what stands in for it


@contextmanager
def silenced(first_bytes: bytes) -> Iterator[None]:
    """Keeps lines that begin with `first_bytes` away from standard error while the block runs, in all threads.

    Everything else that is printed meanwhile, by whichever thread, comes out when the last block has ended: keep blocks
    short. `first_bytes` must be the same in blocks that may run at a time.
    """
    _enter()
    try:
        yield
    finally:
        _leave(first_bytes)


def _enter() -> None:
    global _inside, _held
    with _lock:
        _inside += 1
        if _inside > 1:
            return
        with contextlib.suppress(OSError):  # no standard error, or no room for a file: the lines are printed
            own = os.dup(_STANDARD_ERROR)
            try:
                stand_in = tempfile.TemporaryFile()  # noqa: SIM115 (closed when the last block ends)
                os.dup2(stand_in.fileno(), _STANDARD_ERROR)
            except OSError:
                os.close(own)
                raise
            _held = own, stand_in


def _leave(first_bytes: bytes) -> None:
    global _inside, _held
    with _lock:
        _inside -= 1
        if _inside or _held is None:
            return
        (own, stand_in), _held = _held, None
        os.dup2(own, _STANDARD_ERROR)
        os.close(own)
        with stand_in:
            stand_in.seek(0)
            rest = b"".join(line for line in stand_in if not line.startswith(first_bytes))
        with contextlib.suppress(OSError):
            while rest:
                rest = rest[os.write(_STANDARD_ERROR, rest) :]
