"""How far a run is: a bar with rate and remaining time on a terminal, a line now and then elsewhere, on stderr."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.text import Text

from pic_uie.cli.streams import say

LINES = 10  # plain lines over a whole run where there is no terminal


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        return Text(f"{task.finished_speed or task.speed or 0.0:.1f}/s")


def rated_bar(console: Console, *, transient: bool) -> Bar:
    """A bar with a label, the count, the rate and the remaining time."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), _Rate(), TimeRemainingColumn())
    return Bar(*columns, console=console, transient=transient)


class Shown:
    """What has a bar on a terminal and none elsewhere; use it as a context manager so that the bar ends."""

    bar: Bar | None

    def __enter__(self) -> Self:
        if self.bar:
            self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.bar:
            self.bar.stop()


class Progress(Shown):
    """Counts finished items."""

    def __init__(self, total: int, label: str, quiet: bool = False) -> None:
        self.total, self.label, self.quiet = total, label, quiet
        self.done = 0
        self.started = time.monotonic()
        console = Console(stderr=True)
        self.bar = rated_bar(console, transient=False) if console.is_terminal and not quiet else None
        if self.bar:
            self.task = self.bar.add_task(label, total=total)

    def advance(self) -> None:
        """Notes that one more item is done."""
        self.done += 1
        if self.bar:
            self.bar.advance(self.task)
        elif not self.quiet and self.done * LINES // self.total > (self.done - 1) * LINES // self.total:
            say(self._figures())

    def _figures(self) -> str:
        rate = self.done / max(time.monotonic() - self.started, 1e-9)
        remaining = (self.total - self.done) / rate
        return f"{self.label} {self.done}/{self.total}, {rate:.1f}/s, {remaining:.0f} s left"
