"""How far a run is: a bar with rate and remaining time on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Self, TextIO

BAR = 30
REDRAW_SECONDS = 0.1
LINES = 10  # plain lines over a whole run where there is no terminal


class Progress:
    """Counts finished items on stderr; use it as a context manager so that the bar's line is ended."""

    def __init__(self, total: int, label: str, quiet: bool = False, stream: TextIO | None = None) -> None:
        self.total, self.label, self.quiet = total, label, quiet
        self.stream = stream or sys.stderr
        self.done = 0
        self.started = self.drawn = time.monotonic()
        self.terminal = self.stream.isatty()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.terminal and not self.quiet and self.done:
            self.stream.write("\n")
            self.stream.flush()

    def advance(self) -> None:
        """Notes that one more item is done."""
        self.done += 1
        if self.quiet:
            return
        now = time.monotonic()
        if self.terminal:
            if self.done == self.total or now - self.drawn >= REDRAW_SECONDS:
                self.drawn = now
                self._write(f"\r{self._bar()} {self._figures(now)}\x1b[K")
        elif self.done * LINES // self.total > (self.done - 1) * LINES // self.total:
            self._write(f"{self._figures(now)}\n")

    def _bar(self) -> str:
        filled = BAR * self.done // self.total
        return f"[{'#' * filled}{'.' * (BAR - filled)}]"

    def _figures(self, now: float) -> str:
        rate = self.done / max(now - self.started, 1e-9)
        remaining = (self.total - self.done) / rate
        return f"{self.label} {self.done}/{self.total}, {rate:.1f}/s, {remaining:.0f} s left"

    def _write(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()
