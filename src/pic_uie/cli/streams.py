"""Standard output and standard error: closed, full, or of a narrow encoding, they never end a run."""

from __future__ import annotations

import io
import os
import sys
from typing import Any


def open_streams() -> None:
    """Discards messages where the caller closed a stream, and escapes names that the encoding cannot show."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            _drop(name)
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def forgive_errors() -> None:
    """Makes standard error a stream that never fails: a full disk behind it ends nothing."""
    try:
        descriptor = sys.stderr.fileno()
    except (AttributeError, OSError, ValueError):  # closed, or replaced by the caller
        return
    sys.stderr = io.TextIOWrapper(
        io.BufferedWriter(_Forgiving(descriptor), 1 << 16),
        encoding=sys.stderr.encoding,
        errors="backslashreplace",
        line_buffering=True,
    )


class _Forgiving(io.RawIOBase):
    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return os.isatty(self._descriptor)

    def fileno(self) -> int:
        return self._descriptor

    def write(self, data: Any) -> int:
        try:
            return os.write(self._descriptor, data)
        except OSError:
            return len(data)


def say(text: str) -> None:
    """Prints a message on standard error; a closed pipe or a full disk does not stop the run."""
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        _drop("stderr")


def drop_output() -> None:
    """Discards what standard output no longer takes, so that the interpreter does not fail on it at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        _drop("stdout")


def _drop(name: str) -> None:
    setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 (for as long as we run)
