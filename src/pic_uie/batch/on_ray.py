"""The same batch on a Ray cluster: chunks of pictures are tasks, a bounded number of them at a time.

A chunk whose worker dies is halved until the picture is alone that killed it; that one is tried once more, and fails.
Pictures of a chunk that were written before their worker died are made again, to the same bytes. A lost machine looks
the same and costs the same. Killing the driver ends its tasks; running again continues.
"""

from __future__ import annotations

import logging
import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pic_uie import Enhancer
from pic_uie.batch import workers
from pic_uie.batch.ledger import Outcome
from pic_uie.batch.mapping import Job
from pic_uie.batch.process import Settings, process
from pic_uie.batch.urls import Url
from pic_uie.errors import EnvironmentMissingError
from pic_uie.files import remove_stale_parts
from pic_uie.weights import Weights

CHUNK = 16  # pictures of a task: a few seconds of work beside a few milliseconds of scheduling
_TASKS_PER_PROCESSOR = 2  # one runs, the next one waits for it
_LAST_ATTEMPT = 3  # of a picture: among others, alone, and alone once more
_WAIT_SECONDS = 0.2  # how soon a request to stop, or a new machine, is seen


@dataclass(frozen=True)
class Engine:
    """What every worker makes its engine of.

    Attributes:
        weights: The parameters.
        instruction_set: The one to compute with; None: the best of each machine.
    """

    weights: Weights
    instruction_set: str | None = None


Enhance = Callable[[Sequence[Job], Engine, Settings], list[Outcome]]


@dataclass(frozen=True)
class _Chunk:
    jobs: tuple[Job, ...]
    attempt: int = 1


def run(
    jobs: Iterable[Job],
    engine: Engine,
    settings: Settings,
    *,
    stop: threading.Event,
    chunk: int = CHUNK,
    enhance: Enhance | None = None,
) -> Generator[Outcome, None, None]:
    """Yields outcomes as chunks are finished.

    Args:
        jobs: What to do; asked for more as there is room.
        engine: What to compute with.
        settings: How.
        stop: Set by whoever wants no more.
        chunk: Pictures of a task.
        enhance: What a task does; tests give one that can be killed.

    Raises:
        EnvironmentMissingError: Ray is missing, or the cluster cannot be reached or used.
    """
    ray = _connected()
    # Retries are ours: Ray would run a chunk again as a whole, and the picture that kills workers with it.
    remote = ray.remote(num_cpus=1, max_retries=0)(enhance or enhance_chunk)
    shared_engine, shared_settings = ray.put(engine), ray.put(settings)
    shared_again = ray.put(replace(settings, overwrite=True))  # what a dead worker has written is made again
    fresh, again = _chunks(jobs, chunk), deque[_Chunk]()
    running: dict[Any, _Chunk] = {}
    try:
        while not stop.is_set():
            while len(running) < _tasks_at_a_time(ray):
                part = again.popleft() if again else next(fresh, None)
                if part is None:
                    break
                moved = tuple(_absolute(job) for job in part.jobs)
                how = shared_settings if part.attempt == 1 else shared_again
                running[remote.remote(moved, shared_engine, how)] = part
            if not running:
                return
            ready, _ = ray.wait(list(running), num_returns=1, timeout=_WAIT_SECONDS)
            for reference in ready:
                part = running.pop(reference)
                outcomes = _result(ray, reference, part)
                if outcomes is None:
                    for folder in {job.output.parent for job in part.jobs if isinstance(job.output, Path)}:
                        remove_stale_parts(folder)  # of the dead worker: those of living ones are locked
                    again.extend(_halves(part))
                else:
                    yield from outcomes
    finally:
        for reference in running:
            ray.cancel(reference, force=True)


def enhance_chunk(jobs: Sequence[Job], engine: Engine, settings: Settings) -> list[Outcome]:
    """What a task does: a batch on one processor, with the engine that the process made for its first one."""
    enhancer = _enhancer(engine)

    def one(job: Job, reserve: workers.Reserve, check: Callable[[], None]) -> Outcome:
        return process(job, enhancer, settings, reserve=reserve, check=check)

    in_stores = any(isinstance(place, Url) for job in jobs for place in (job.source, job.output))
    waiting = min(len(jobs), workers.WAITING_FOR_STORE) if in_stores else workers.WAITING_FOR_DISK
    return list(workers.run(jobs, one, workers=1, stop=threading.Event(), waiting=waiting))


_enhancers: dict[tuple[str, str | None], Enhancer] = {}


def _enhancer(engine: Engine) -> Enhancer:
    key = engine.weights.sha256, engine.instruction_set
    if key not in _enhancers:
        _enhancers.clear()
        _enhancers[key] = Enhancer(engine.weights, threads=1, instruction_set=engine.instruction_set)
    return _enhancers[key]


def _connected() -> Any:
    """Returns Ray, connected to the cluster that RAY_ADDRESS names, or to one that is started on this machine."""
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    os.environ.setdefault("RAY_worker_niceness", "0")  # a local cluster is the work itself; 15 is meant for shared ones
    try:
        import ray
    except ImportError as error:
        raise EnvironmentMissingError("--on ray needs the package ray: pip install 'pic-uie[ray]'") from error
    if not ray.is_initialized():
        try:
            ray.init(include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
        except Exception as error:
            raise EnvironmentMissingError(f"Ray cannot be started or reached: {error}") from error
    return ray


def _tasks_at_a_time(ray: Any) -> int:
    return max(1, int(_TASKS_PER_PROCESSOR * ray.cluster_resources().get("CPU", 1)))


def _chunks(jobs: Iterable[Job], size: int) -> Iterator[_Chunk]:
    """Cuts the stream."""
    part: list[Job] = []
    for job in jobs:
        part.append(job)
        if len(part) == size:
            yield _Chunk(tuple(part))
            part = []
    if part:
        yield _Chunk(tuple(part))


def _result(ray: Any, reference: Any, part: _Chunk) -> list[Outcome] | None:
    """Returns the outcomes of a chunk; None if it is to be tried again.

    Raises:
        EnvironmentMissingError: The workers cannot run our code at all.
    """
    try:
        outcomes: list[Outcome] = ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        cause = error.cause if isinstance(error.cause, Exception) else error
        if isinstance(cause, (ImportError, EnvironmentMissingError, AttributeError)):
            raise EnvironmentMissingError(
                f"a worker of the cluster cannot run pic-uie ({cause}); install the same version on all machines"
            ) from error
        return _given_up(part, f"internal error, please report it: {type(cause).__name__}: {cause}")
    except ray.exceptions.RayError as error:  # the worker or its machine is gone
        if len(part.jobs) == 1 and part.attempt >= _LAST_ATTEMPT:
            return _given_up(part, f"its worker process died twice on this picture alone ({_death(ray, error)})")
        return None
    names = {(str(_absolute(job).source), str(_absolute(job).output)): job for job in part.jobs}
    for outcome in outcomes:
        job = names[outcome.input, outcome.output or ""]
        outcome.input, outcome.output = str(job.source), str(job.output)
    return outcomes


def _halves(part: _Chunk) -> list[_Chunk]:
    """Returns what to try next; a picture that is alone for the first time has its attempts still before it."""
    if len(part.jobs) == 1:
        return [replace(part, attempt=part.attempt + 1)]
    middle = len(part.jobs) // 2
    return [_Chunk(half, attempt=2) for half in (part.jobs[:middle], part.jobs[middle:])]


def _given_up(part: _Chunk, reason: str) -> list[Outcome]:
    return [Outcome(str(job.source), str(job.output), "failed", reason) for job in part.jobs]


def _death(ray: Any, error: Exception) -> str:
    return "out of memory" if isinstance(error, ray.exceptions.OutOfMemoryError) else "a crash, or a lost machine"


def _absolute(job: Job) -> Job:
    """Returns a job that means the same files in a process elsewhere."""
    source, output = (place.absolute() if isinstance(place, Path) else place for place in (job.source, job.output))
    return replace(job, source=source, output=output)
