"""Ctrl-C and SIGTERM: the first asks to stop after the current stage, the second leaves at once."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from pic_uie.cli.exit_codes import INTERRUPTED


@contextmanager
def stop_on_signals(stop: threading.Event) -> Iterator[threading.Event]:
    """Sets `stop`, and the event given to the block, when the process is asked to end.

    Leaving at once is safe: results appear by renaming finished files, and the next run clears what is left over.
    """
    interrupted = threading.Event()

    def handle(number: int, frame: FrameType | None) -> None:
        if interrupted.is_set():
            os._exit(INTERRUPTED)
        interrupted.set()
        stop.set()

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield interrupted
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
