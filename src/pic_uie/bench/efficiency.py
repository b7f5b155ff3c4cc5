"""Latency and peak memory of the model on this machine: random pictures, batch 1, FP32, warm-up, then timed runs."""

from __future__ import annotations

import multiprocessing
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pic_uie import weights as weights_file
from pic_uie.bench import machine
from pic_uie.bench.engines import ENGINES, available
from pic_uie.complexity import gflops, parameter_count
from pic_uie.errors import ConfigError, EnvironmentMissingError, did_you_mean
from pic_uie.evaluation.documents import read_document
from pic_uie.evaluation.results import versions
from pic_uie.images import MAX_PIXELS

FORMAT = "pic-uie-bench-1"
SIZES = {"256": (256, 256), "1080p": (1080, 1920), "4k": (2160, 3840)}  # height, width
WARM_UP = 10
RUNS = 30
SEED = 0


@dataclass(frozen=True)
class Plan:
    """One measurement: an engine at one size.

    Attributes:
        engine: A name from ENGINES.
        height: Of the random picture.
        width: Of the random picture.
        weights: Weights file; the released one where None.
        threads: For the processor's engines; their own default where None.
        warm_up: Runs before the clock starts.
        runs: Timed runs.
    """

    engine: str
    height: int
    width: int
    weights: Path | None = None
    threads: int | None = None
    warm_up: int = WARM_UP
    runs: int = RUNS


def bench(
    engines: Sequence[str],
    sizes: Sequence[str],
    weights: Path | None = None,
    threads: int | None = None,
    warm_up: int = WARM_UP,
    runs: int = RUNS,
    on_done: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Measures every engine at every size, each in a fresh process so that peak memory is its own.

    Returns:
        A document for `json.dump`: machine, versions, model, protocol and one row per engine.

    Raises:
        ConfigError: An unknown engine, an impossible size or number of runs.
        EnvironmentMissingError: An engine that this machine does not have.
    """
    if runs < 1 or warm_up < 0:
        raise ConfigError(f"at least one timed run is needed and no negative warm-up, got {runs} and {warm_up}")
    if threads is not None and threads < 1:
        raise ConfigError(f"threads must be at least 1, got {threads}")
    shapes = {size: parse_size(size) for size in sizes}
    present = available()
    for engine in engines:
        if engine not in ENGINES:
            raise ConfigError(f"unknown engine {engine!r}: {did_you_mean(engine, ENGINES)}")
        if engine not in present:
            raise EnvironmentMissingError(
                f"this machine has no engine {engine!r}; it has {', '.join(present) or 'none'}"
            )
    checked = weights_file.load(weights or weights_file.DEFAULT_PATH)
    load_before = machine.load_average()  # ours would count from the first run on
    rows = []
    for engine in engines:
        measured = {}
        for size, (height, width) in shapes.items():
            row = _in_fresh_process(Plan(engine, height, width, weights, threads, warm_up, runs))
            measured[size] = {"gflops": gflops(checked.config, height, width), **row}
            on_done(f"{engine} {size}: " + ", ".join(f"{key} {_short(value)}" for key, value in row.items()))
        rows.append({"engine": engine, "device": present[engine], "threads": threads, "sizes": measured})
    return {
        "format": FORMAT,
        "machine": {**machine.describe(), "load_before": load_before},
        "versions": versions(),
        "model": {"params": parameter_count(checked.config), "weights_sha256": checked.sha256},
        "protocol": {"batch": 1, "precision": "fp32", "warm_up": warm_up, "runs": runs, "input": "random"},
        "rows": rows,
    }


def parse_size(text: str) -> tuple[int, int]:
    """Returns (height, width) of `256`, `1080p`, `4k` or WIDTHxHEIGHT."""
    if text.lower() in SIZES:
        return SIZES[text.lower()]
    width, _, height = text.lower().partition("x")
    if not (width.isdecimal() and height.isdecimal() and 0 < int(width) * int(height) <= MAX_PIXELS):
        raise ConfigError(f"a size is {', '.join(SIZES)} or WIDTHxHEIGHT up to {MAX_PIXELS} pixels, got {text!r}")
    return int(height), int(width)


def measure(plan: Plan) -> dict[str, float]:
    """Runs one measurement in this process; see `bench` for a process of its own."""
    random = np.random.default_rng(SEED)
    picture = random.integers(0, 256, (plan.height, plan.width, 3), dtype=np.uint8)
    runner = ENGINES[plan.engine].prepare(picture, plan.weights, plan.threads)
    for _ in range(plan.warm_up):
        runner.run()
    milliseconds = []
    for _ in range(plan.runs):
        runner.synchronise()
        start = time.perf_counter()
        runner.run()
        runner.synchronise()
        milliseconds.append((time.perf_counter() - start) * 1e3)
    mean = statistics.fmean(milliseconds)
    return {
        "ms_mean": mean,
        "ms_median": statistics.median(milliseconds),
        "ms_min": min(milliseconds),
        "ms_max": max(milliseconds),
        "fps": 1e3 / mean,
        "peak_mb": runner.peak_bytes() / 1e6,
    }


def read(path: Path) -> dict[str, Any]:
    """Reads a benchmark file.

    Raises:
        DataError: It cannot be read or is no benchmark.
    """
    return read_document(path, "pic-uie bench", format=FORMAT)


def _in_fresh_process(plan: Plan) -> dict[str, float | str]:
    """Measures; a run that the machine cannot carry is a row with the reason, where the paper has a dash."""
    context = multiprocessing.get_context("spawn")
    try:
        with ProcessPoolExecutor(max_workers=1, mp_context=context) as pool:
            return dict(pool.submit(measure, plan).result())
    except (MemoryError, RuntimeError) as error:  # a process that the system ended is a RuntimeError too
        return {"error": f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'out of memory'}"}


def _short(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.2f}"
