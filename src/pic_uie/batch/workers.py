"""Many pictures at once: each worker takes one from a bounded queue and carries it from file to file.

While one worker decodes, another enhances and a third waits for the disk, so that all cores stay busy without a fixed
share of cores per stage. Stores answer slowly: there, more workers wait for them, while only as many as there are
processors compute. Three things bound the memory: at most `workers + waiting` pictures are under way; those that
compute have at most `PIXELS_PER_JOB * workers` pixels together; and the files of all have at most `BYTES` (a larger
picture waits until it is alone).
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
BYTES = 512 << 20  # of files that came from a store and of their results
WAITING_FOR_DISK = 1  # workers beyond the processors: one computes while another waits
WAITING_FOR_STORE = 14
_POLL_SECONDS = 0.1  # how soon a request to stop is seen

Reserve = Callable[[int], AbstractContextManager[None]]
Process = Callable[[Job, Reserve, Callable[[], None]], Outcome]


class Budget:
    """Lets amounts in up to a limit, and no more than so many of them; one beyond the limit goes in alone."""

    def __init__(self, limit: int, places: int | None = None) -> None:
        self._limit, self._places = limit, places
        self._used = self._inside = 0
        self._changed = threading.Condition()

    @contextmanager
    def reserve(self, amount: int) -> Iterator[None]:
        """Waits for room, and gives it back at the end of the block."""
        with self._changed:
            self._changed.wait_for(lambda: self._has_room(amount))
            self._used += amount
            self._inside += 1
        try:
            yield
        finally:
            with self._changed:
                self._used -= amount
                self._inside -= 1
                self._changed.notify_all()

    def _has_room(self, amount: int) -> bool:
        if self._places is not None and self._inside >= self._places:
            return False
        return self._used == 0 or self._used + amount <= self._limit


class _Halt(threading.Event):
    """Is set by the end of a run, or by the caller's event, which it leaves alone."""

    def __init__(self, stop: threading.Event) -> None:
        super().__init__()
        self._stop = stop

    def is_set(self) -> bool:
        return super().is_set() or self._stop.is_set()


_Results = queue.Queue[Outcome | BaseException | None]
_Todo = queue.Queue[Job | None]


def run(
    jobs: Iterable[Job],
    process: Process,
    *,
    workers: int,
    stop: threading.Event,
    waiting: int = WAITING_FOR_DISK,
) -> Generator[Outcome, None, None]:
    """Yields outcomes as they come; ends early, between two stages, once `stop` is set.

    Args:
        jobs: What to do; may be endless, and is asked for more as there is room.
        process: Carries one picture from file to file.
        workers: How many pictures use a processor at a time.
        stop: Set by a signal handler, or by the caller who wants no more.
        waiting: How many more may wait for a disk or store.

    Raises:
        Exception: What the stream of jobs raised, or a bug of `process`.
    """
    count = workers + waiting
    pixels = Budget(PIXELS_PER_JOB * workers, None if waiting == WAITING_FOR_DISK else workers)
    files, halt = Budget(BYTES), _Halt(stop)
    todo: _Todo = queue.Queue(maxsize=2 * workers)
    results: _Results = queue.Queue(maxsize=2 * workers)
    threads = [threading.Thread(target=_feed, args=(jobs, todo, results, count, halt), daemon=True)]
    threads += [
        threading.Thread(target=_work, args=(todo, results, process, pixels, files, halt), daemon=True)
        for _ in range(count)
    ]
    for thread in threads:
        thread.start()
    running = len(threads)
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
        halt.set()
        while running:  # an error or an early end: let the workers finish their stage
            running -= _next(results) is None
        for thread in threads:
            thread.join()


def _feed(jobs: Iterable[Job], todo: _Todo, results: _Results, count: int, halt: _Halt) -> None:
    try:
        for job in jobs:
            if not _put(todo, job, halt):
                return
        for _ in range(count):
            if not _put(todo, None, halt):
                return
    except BaseException as error:  # a listing that failed
        results.put(error)
    finally:
        results.put(None)


def _work(todo: _Todo, results: _Results, process: Process, pixels: Budget, files: Budget, halt: _Halt) -> None:
    def check() -> None:
        if halt.is_set():
            raise Interrupted

    try:
        while not halt.is_set():
            try:
                job = todo.get(timeout=_POLL_SECONDS)
            except queue.Empty:
                continue
            if job is None:
                break
            with files.reserve(2 * (job.size or 0)):  # the source, and a result of about its size
                outcome = process(job, pixels.reserve, check)
            results.put(outcome)
    except Interrupted:
        pass
    except BaseException as error:  # a bug: passed to the caller, who raises it
        results.put(error)
    finally:
        results.put(None)


def _put(todo: _Todo, item: Job | None, halt: _Halt) -> bool:
    while not halt.is_set():
        try:
            todo.put(item, timeout=_POLL_SECONDS)
            return True
        except queue.Full:
            continue
    return False


def _next(results: _Results) -> Outcome | BaseException | None:
    while True:
        try:
            return results.get(timeout=_POLL_SECONDS)  # a timeout lets signal handlers run on every platform
        except queue.Empty:
            continue
