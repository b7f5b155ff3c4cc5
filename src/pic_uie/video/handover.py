"""Items that one thread hands to the next, until the work ends or somebody stops it."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")
POLL_SECONDS = 0.1  # a wait that ends lets signal handlers run
_QUEUED = 3  # items between two stages


def put(items: queue.Queue[T | BaseException | None], item: T | BaseException | None, stop: threading.Event) -> bool:
    """Hands over an item, an error, or None for the end; returns whether it was, before `stop`."""
    while not stop.is_set():
        try:
            items.put(item, timeout=POLL_SECONDS)
            return True
        except queue.Full:
            continue
    return False


def taken(items: queue.Queue[T | BaseException | None], stop: threading.Event) -> Iterator[T]:
    """Yields what is handed over up to the end or `stop`; raises an error that is handed over."""
    while not stop.is_set():
        try:
            item = items.get(timeout=POLL_SECONDS)
        except queue.Empty:
            continue
        if item is None:
            return
        if isinstance(item, BaseException):
            raise item
        yield item


class Stage(Generic[T]):
    """Runs an iterator in a thread of its own, a few items ahead of whoever iterates over this."""

    def __init__(self, items: Iterator[T], stop: threading.Event) -> None:
        self._items, self._stop = items, stop
        self._queue: queue.Queue[T | BaseException | None] = queue.Queue(_QUEUED)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            for item in self._items:
                if not put(self._queue, item, self._stop):
                    return
            put(self._queue, None, self._stop)
        except BaseException as error:  # raised again by whoever iterates
            put(self._queue, error, self._stop)
        finally:
            close = getattr(self._items, "close", None)
            if close is not None:
                close()

    def __iter__(self) -> Iterator[T]:
        return taken(self._queue, self._stop)

    def join(self) -> None:
        """Waits for the thread, once `stop` is set."""
        self._thread.join()
