"""Many pictures at once: each worker takes one from a bounded queue and carries it from file to file.

While one worker decodes, another enhances and a third waits for the disk, so that all cores stay busy without a fixed
share of cores per stage. Two things bound the memory: at most `workers + 1` pictures are under way, and together they
have at most `PIXELS_PER_JOB * workers` pixels (a larger one waits until it is alone).
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager

from pic_uie.batch.ledger import Outcome
from pic_uie.batch.mapping import Job
from pic_uie.batch.process import Interrupted

PIXELS_PER_JOB = 32_000_000
_POLL_SECONDS = 0.1  # how soon a request to stop is seen

Reserve = Callable[[int], AbstractContextManager[None]]
Process = Callable[[Job, Reserve, Callable[[], None]], Outcome]


class PixelBudget:
    """Lets pixels into memory up to a limit; a picture beyond the limit goes in alone."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._used = 0
        self._changed = threading.Condition()

    @contextmanager
    def reserve(self, pixels: int) -> Iterator[None]:
        """Waits for room, and gives it back at the end of the block."""
        with self._changed:
            self._changed.wait_for(lambda: self._used == 0 or self._used + pixels <= self._limit)
            self._used += pixels
        try:
            yield
        finally:
            with self._changed:
                self._used -= pixels
                self._changed.notify_all()


def run(
    jobs: Iterable[Job], process: Process, *, workers: int, stop: threading.Event
) -> Generator[Outcome, None, None]:
    """Yields outcomes as they come; ends early, between two stages, once `stop` is set.

    Args:
        jobs: What to do.
        process: Carries one picture from file to file.
        workers: How many pictures use a processor at a time.
        stop: Set by a signal handler, or by the caller who wants no more.
    """
    budget = PixelBudget(PIXELS_PER_JOB * workers)
    todo: queue.Queue[Job | None] = queue.Queue(maxsize=2 * workers)
    results: queue.Queue[Outcome | BaseException | None] = queue.Queue(maxsize=2 * workers)
    # One worker more than processors: it computes while another one waits for the disk.
    count = workers + 1
    threads = [threading.Thread(target=_feed, args=(jobs, todo, count, stop), daemon=True)]
    threads += [
        threading.Thread(target=_work, args=(todo, results, process, budget, stop), daemon=True) for _ in range(count)
    ]
    for thread in threads:
        thread.start()
    running = count
    try:
        while running:
            result = _next(results)
            if result is None:
                running -= 1
            elif isinstance(result, BaseException):
                raise result
            else:
                yield result
    finally:
        stop.set()
        while running:  # an error or an early end: let the workers finish their stage
            running -= _next(results) is None
        for thread in threads:
            thread.join()


def _feed(jobs: Iterable[Job], todo: queue.Queue[Job | None], count: int, stop: threading.Event) -> None:
    for job in jobs:
        if not _put(todo, job, stop):
            return
    for _ in range(count):
        if not _put(todo, None, stop):
            return


def _work(
    todo: queue.Queue[Job | None],
    results: queue.Queue[Outcome | BaseException | None],
    process: Process,
    budget: PixelBudget,
    stop: threading.Event,
) -> None:
    def check() -> None:
        if stop.is_set():
            raise Interrupted

    try:
        while not stop.is_set():
            try:
                job = todo.get(timeout=_POLL_SECONDS)
            except queue.Empty:
                continue
            if job is None:
                break
            results.put(process(job, budget.reserve, check))
    except Interrupted:
        pass
    except BaseException as error:  # a bug: told to the caller, who raises it
        results.put(error)
    finally:
        results.put(None)


def _put(todo: queue.Queue[Job | None], item: Job | None, stop: threading.Event) -> bool:
    while not stop.is_set():
        try:
            todo.put(item, timeout=_POLL_SECONDS)
            return True
        except queue.Full:
            continue
    return False


def _next(results: queue.Queue[Outcome | BaseException | None]) -> Outcome | BaseException | None:
    while True:
        try:
            return results.get(timeout=_POLL_SECONDS)  # a timeout lets signal handlers run on every platform
        except queue.Empty:
            continue
