"""How a run shows itself: a bar on a terminal, plain lines in a log; always on stderr."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Protocol

from pic_uie.batch.ledger import Outcome, shown
from pic_uie.cli.streams import say

_LINE_SECONDS = 10.0
_FEW = 10  # so many files get a line each even without -v


class Progress(Protocol):
    """What a run prints while it lasts."""

    def __enter__(self) -> Progress: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def advance(self, outcome: Outcome) -> None:
        """Counts one more finished file."""


def make(total: int | None, *, quiet: bool, verbose: bool) -> Progress:
    """Chooses the bar for several files (None: an unknown number) on a terminal, plain lines otherwise."""
    if sys.stderr.isatty() and total != 1 and not quiet:
        return BarProgress(total, verbose=verbose)
    return LineProgress(total, quiet=quiet, verbose=verbose)


class LineProgress:
    """Failures and what was not kept at once, even if quiet; for a long run a line every ten seconds."""

    def __init__(self, total: int | None, *, quiet: bool, verbose: bool) -> None:
        self._total, self._finished, self._failed = total, 0, 0
        self._quiet = quiet
        self._each = (verbose or (total is not None and total <= _FEW)) and not quiet
        self._start = self._last = time.monotonic()

    def __enter__(self) -> LineProgress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def advance(self, outcome: Outcome) -> None:
        """Prints what is due."""
        self._finished += 1
        self._failed += outcome.status == "failed"
        if outcome.status == "failed" or outcome.notes or self._each:
            say(line(outcome))
        now = time.monotonic()
        if now - self._last >= _LINE_SECONDS and not self._quiet:
            self._last = now
            rate = self._finished / (now - self._start)
            say(self._figures(rate))

    def _figures(self, rate: float) -> str:
        if self._total is None:
            return f"{self._finished} files, {self._failed} failed, {rate:.1f} per second"
        left = round((self._total - self._finished) / rate)
        return (
            f"{self._finished} of {self._total} files, {self._failed} failed, {rate:.1f} per second, "
            f"about {left // 60}:{left % 60:02d} left"
        )


class BarProgress:
    """A bar with rate and remaining time; failures scroll by above it."""

    def __init__(self, total: int | None, *, verbose: bool) -> None:
        from rich.console import Console

        from pic_uie.cli.progress import rated_bar

        self._console = Console(stderr=True)
        self._verbose = verbose
        self._bar = rated_bar(self._console, transient=True)
        self._task = self._bar.add_task("enhancing", total=total)

    def __enter__(self) -> BarProgress:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def advance(self, outcome: Outcome) -> None:
        """Moves the bar."""
        self._bar.advance(self._task)
        if outcome.status == "failed" or outcome.notes or self._verbose:
            self._console.print(line(outcome), markup=False, highlight=False, soft_wrap=True)


def line(outcome: Outcome) -> str:
    """Says in one line what became of a file, and what of it was not kept."""
    if outcome.status == "failed":
        return f"{shown(outcome.input)}: {shown(outcome.error)}"
    if outcome.status in ("skipped", "ignored"):
        why = "the result exists" if outcome.status == "skipped" else "no picture"
        return f"{shown(outcome.input)}: {outcome.status} ({'; '.join((why, *outcome.notes))})"
    remarks = f" ({shown('; '.join(outcome.notes))})" if outcome.notes else ""
    seconds = sum(outcome.milliseconds.values()) / 1000
    return f"{shown(outcome.input)} -> {shown(outcome.output)}, {seconds:.2f} s{remarks}"
