"""Mutates pictures of every kind, reads each and writes what could be read: always a picture or a documented error.

    python benchmarks/fuzz.py --count 100000

Every file has a bound of time and of memory. Each batch runs in a process of its own, so that a crash or a hang of a
decoder is seen and the mutation that caused it is named by its number: `--only NUMBER` runs it alone, `--save FILE`
writes it out. The first files are hostile ones as they are (see `fuzz_corpus.hostile`).
"""

from __future__ import annotations

import argparse
import multiprocessing
import platform
import resource
import struct
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from fuzz_corpus import SEED, corpus, hostile

from pic_uie import __version__, images
from pic_uie.errors import ImageError

MAX_PIXELS = 4_000_000  # a mutated header may ask for more than a fuzzing run should decode
SECONDS_PER_FILE = 60.0  # until it counts as a hang, on a machine that does other things; 5 s of processor time
POLL_SECONDS = 0.5
PROCESSOR_SECONDS = 5.0
MEGABYTES_PER_FILE = 400  # of 4 megapixels, their conversion and their file


HOSTILE = hostile()


def mutation(files: list[bytes], number: int) -> bytes:
    """The mutated file of a number: the same for ever."""
    if number < len(HOSTILE):
        return HOSTILE[number]
    return damaged(files[number % len(files)], files, np.random.default_rng([SEED, number]))


def damaged(whole: bytes, files: Sequence[bytes], rng: np.random.Generator) -> bytes:
    """A file with one kind of damage; `files` lend pieces."""
    data = bytearray(whole)
    how = rng.integers(6)
    if how == 0:  # truncation
        return bytes(data[: rng.integers(len(data))])
    if how == 1:  # bit flips anywhere
        for at in rng.integers(0, len(data), rng.integers(1, 40)):
            data[at] ^= 1 << rng.integers(8)
    elif how == 2:  # header edits: extreme numbers where sizes, offsets and counts are
        for _ in range(rng.integers(1, 4)):
            at = int(rng.integers(0, min(len(data), 400) - 4))
            value = int(rng.choice([0, 1, 0x7F, 0xFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 0x10000, 0x80000000]))
            data[at : at + 4] = struct.pack(str(rng.choice(["<I", ">I"])), value)
    elif how == 3:  # a piece is gone, or doubled
        start, size = int(rng.integers(len(data))), int(rng.integers(1, 200))
        piece = b"" if rng.integers(2) else data[start : start + size] * 2
        data[start : start + size] = piece
    elif how == 4:  # a piece of another file
        other = files[rng.integers(len(files))]
        start, size = int(rng.integers(len(data))), int(rng.integers(1, 400))
        data[start : start + size] = other[start : start + size]
    else:  # noise over a stretch
        start, size = int(rng.integers(len(data))), int(rng.integers(1, 64))
        data[start : start + size] = rng.bytes(size)
    return bytes(data)


def attempt(data: bytes) -> str:
    """Reads and, if that works, writes; returns what became of it. Anything but an ImageError is let through."""
    try:
        picture = images.read(data, max_pixels=MAX_PIXELS)
    except ImageError:
        return "refused"
    if picture.pixels.shape[:2] != (picture.height, picture.width) or picture.pixels.shape[2] not in (1, 2, 3, 4):
        raise AssertionError(f"impossible shape {picture.pixels.shape}")
    try:
        encoded = images.encode(picture, software="fuzz")
    except ImageError:
        return "not written"
    images.read(encoded, max_pixels=MAX_PIXELS, sample_range=images.SampleRange(0, 65535))
    return "read"


def bounded(data: bytes, attempt: Callable[[bytes], str] = attempt, megabytes: float = MEGABYTES_PER_FILE) -> str:
    """Attempts a file; time and memory beyond the bounds are a problem, which the outcome names."""
    before, started = _megabytes(), time.process_time()
    outcome = attempt(data)
    spent, grown = time.process_time() - started, _megabytes() - before
    if spent > PROCESSOR_SECONDS:
        return f"slow: {spent:.1f} s for {len(data)} bytes"
    if grown > megabytes:
        return f"large: {grown:.0f} MB for {len(data)} bytes"
    return outcome


def _megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def work(numbers: range, reports: multiprocessing.Queue) -> None:
    files = corpus()
    for number in numbers:
        reports.put(("start", number, ""))
        reports.put(("end", number, bounded(mutation(files, number))))


def batches(first: int, count: int, size: int) -> Iterator[range]:
    for start in range(first, first + count, size):
        yield range(start, min(start + size, first + count))


def run(first: int, count: int, work: Callable[..., None] = work) -> tuple[Counter[str], list[str]]:
    """Fuzzes with `count` files from number `first` on; returns what became of them, and what should not have.

    `work(numbers, reports)` attempts the files of some numbers and reports the start and the end of each.
    """
    outcomes: Counter[str] = Counter()
    problems: list[str] = []
    context = multiprocessing.get_context("spawn")
    for numbers in batches(first, count, 2500):
        while numbers:
            reports = context.Queue()
            process = context.Process(target=work, args=(numbers, reports))
            process.start()
            current, finished = _follow(process, reports, numbers, outcomes, problems)
            if finished:
                numbers = range(0)
                continue
            reason = f"exit code {process.exitcode}" if not process.is_alive() else f"no end after {SECONDS_PER_FILE} s"
            process.kill()
            problems.append(f"file {current}: {reason}")
            print(problems[-1], flush=True)
            numbers = range(current + 1, numbers.stop)
        print(f"{numbers.stop or sum(outcomes.values())} files: {dict(outcomes)}, {len(problems)} problems", flush=True)
    return outcomes, problems


def _follow(process, reports, numbers: range, outcomes: Counter[str], problems: list[str]) -> tuple[int, bool]:
    import queue

    current, waited = numbers.start, -10.0  # the corpus takes a while to make
    while True:
        try:
            what, current, outcome = reports.get(timeout=POLL_SECONDS)
            waited = 0.0
            if what == "end":
                outcomes[outcome.partition(":")[0]] += 1
                if outcome.startswith(("slow", "large")):
                    problems.append(f"file {current}: {outcome}")
                if current == numbers[-1]:
                    process.join()
                    return current, True
        except queue.Empty:
            waited += POLL_SECONDS  # not by the clock: both may have been paused
            if not process.is_alive() or waited > SECONDS_PER_FILE:
                return current, False


def main(
    text: str | None = __doc__,
    count: int = 100_000,
    file: Callable[[int], bytes] = lambda number: mutation(corpus(), number),
    bounded: Callable[[bytes], str] = bounded,
    work: Callable[..., None] = work,
) -> int:
    """The command, for files of any kind: `file(number)` makes one, `bounded` and `work` attempt one and many."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=count)
    parser.add_argument("--first", type=int, default=0, help="number of the first file, to share a run among machines")
    parser.add_argument("--only", type=int)
    parser.add_argument("--save", type=Path)
    arguments = parser.parse_args()
    if arguments.only is not None:
        data = file(arguments.only)
        if arguments.save:
            arguments.save.write_bytes(data)
        print(bounded(data))
        return 0
    print(f"pic-uie {__version__}, Python {platform.python_version()}, {platform.machine()}")
    started = time.monotonic()
    outcomes, problems = run(arguments.first, arguments.count, work)
    print(f"{sum(outcomes.values())} mutated files in {time.monotonic() - started:.0f} s: {dict(outcomes)}")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
