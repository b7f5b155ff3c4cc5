"""Ctrl-C and SIGTERM: a run stops after the current stage, or at the second one at once; start and end are silent."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from pic_uie.cli.exit_codes import INTERRUPTED


def leave_silently() -> None:
    """Lets Ctrl-C end the process silently: while it starts there is nothing to report, and nothing to clean up."""
    signal.signal(signal.SIGINT, _leave)


def _leave(number: int, frame: FrameType | None) -> None:
    os._exit(INTERRUPTED)


@contextmanager
def keyboard_interrupts() -> Iterator[None]:
    """Lets Ctrl-C raise KeyboardInterrupt inside the block, where it would leave silently outside of it."""
    if signal.getsignal(signal.SIGINT) is not _leave:
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        leave_silently()


@contextmanager
def stop_on_signals(*stop: threading.Event) -> Iterator[threading.Event]:
    """Sets `stop`, and the event given to the block, when the process is asked to end.

    Leaving at once is safe: results appear by renaming finished files, and the next run clears what is left over.
    """
    interrupted = threading.Event()

    def handle(number: int, frame: FrameType | None) -> None:
        if interrupted.is_set():
            os._exit(INTERRUPTED)
        interrupted.set()
        for event in stop:
            event.set()

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield interrupted
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
