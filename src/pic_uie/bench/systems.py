"""The paper's efficiency table for this machine: every system and ours, timed in turn within one run."""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from pic_uie import complexity
from pic_uie.bench import machine
from pic_uie.bench.efficiency import SEED, parse_size
from pic_uie.config import ModelConfig
from pic_uie.cores import usable_cores
from pic_uie.enhancer import Enhancer
from pic_uie.errors import ConfigError
from pic_uie.evaluation.results import versions
from pic_uie.model import PicUie
from pic_uie.paper import baselines
from pic_uie.paper.baselines.cost import gflops, parameter_count
from pic_uie.weights import DEFAULT_PATH

FORMAT = "pic-uie-bench-systems-1"
OURS, OURS_EAGER = "pic-uie", "pic-uie (PyTorch)"
CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "cpu": time.process_time}
MEMORY_SHARE = 0.75  # of what is free: the rest of the machine keeps running


@dataclass(frozen=True)
class Plan:
    """One measurement.

    Attributes:
        method: A name of BASELINES, OURS or OURS_EAGER.
        height: Of the random picture.
        width: Of the random picture.
        weights: Of the method; random values where None (they cost the same).
        threads: Of both sides.
        runs: Timed runs, fewer where one takes long.
        seconds: Time that all runs of the method may take; one run is always made.
        clock: A key of CLOCKS.
    """

    method: str
    height: int
    width: int
    weights: Path | None
    threads: int
    runs: int
    seconds: float
    clock: str


def bench(
    methods: Sequence[str],
    sizes: Sequence[str],
    weights: Path | None = None,
    threads: int | None = None,
    runs: int = 10,
    limit: float = 60.0,
    clock: str = "wall",
    on_done: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Measures every method at every size, each in a fresh process, ours in turn with it.

    Args:
        methods: Names of BASELINES; ours is added.
        sizes: As `bench.efficiency.parse_size` reads them, small ones first.
        weights: Of the method, where there is only one.
        threads: Of all methods; all cores where None.
        runs: Timed runs.
        limit: Seconds that one run may take, judged by the size before; longer ones are a dash.
        clock: `wall`, or `cpu`: processor time, which a busy machine does not lengthen; for one thread.
        on_done: Called with a line for each measurement.

    Returns:
        A document for `json.dump`.
    """
    for name in methods:
        baselines.find(name)
    threads = threads or usable_cores()
    if clock == "cpu" and threads != 1:
        raise ConfigError(
            f"processor time is that of all threads together: --clock cpu needs --threads 1, got {threads}"
        )
    shapes = {size: parse_size(size) for size in sizes}
    load_before = machine.load_average()
    rows = []
    for name in (OURS, OURS_EAGER, *methods):
        measured: dict[str, Any] = {}
        speed: float | None = None  # milliseconds a pixel, at the last size
        for size, (height, width) in shapes.items():
            row = _forbidden(name, height, width, speed, limit)
            if row is None:
                plan = Plan(name, height, width, weights, threads, runs, limit, clock)
                row = in_fresh_process(plan)
            if "ms" in row:
                speed = row["ms"] / (height * width)
            measured[size] = {"gflops": _gflops(name, height, width), **row}
            on_done(f"{name} {size}: " + ", ".join(f"{key} {_short(value)}" for key, value in row.items()))
        rows.append({"method": name, "params": _parameters(name), "sizes": measured})
    return {
        "format": FORMAT,
        "machine": {**machine.describe(), "load_before": load_before},
        "versions": versions(),
        "protocol": {"batch": 1, "precision": "fp32", "runs": runs, "threads": threads, "limit": limit, "clock": clock},
        "rows": rows,
    }


def measure(plan: Plan) -> dict[str, float]:
    """Runs a method and ours in turn, in this process."""
    torch.set_num_threads(plan.threads)
    random = np.random.default_rng(SEED)
    picture = random.integers(0, 256, (plan.height, plan.width, 3), dtype=np.uint8)
    enhancer = Enhancer(None, plan.threads)
    result = np.empty_like(picture)
    tensor = torch.from_numpy(picture.astype(np.float32) / 255).permute(2, 0, 1)[None].contiguous()
    theirs = _runner(plan, tensor, enhancer, picture, result)
    now = CLOCKS[plan.clock]
    first = _seconds(theirs, now)  # a warm-up, and a hint of how many runs there is time for
    ours_first = _seconds(lambda: enhancer.enhance(picture, out=result), now)
    runs = min(plan.runs, int(plan.seconds / max(first, 1e-6)) - 1)
    them, us = ([], []) if runs > 0 else ([first * 1e3], [ours_first * 1e3])
    for _ in range(max(runs, 1)):
        if runs > 0:
            them.append(_seconds(theirs, now) * 1e3)
        us.append(_seconds(lambda: enhancer.enhance(picture, out=result), now) * 1e3)
    ms, ours = min(them), min(us)  # the best: what else the machine does only adds
    return {"ms": ms, "ours_ms": ours, "ratio": ms / ours, "runs": float(len(them))}


def _runner(
    plan: Plan, tensor: torch.Tensor, enhancer: Enhancer, picture: np.ndarray[Any, Any], result: np.ndarray[Any, Any]
) -> Callable[[], object]:
    if plan.method == OURS:
        return lambda: enhancer.enhance(picture, out=result)
    model: torch.nn.Module
    if plan.method == OURS_EAGER:
        model = PicUie.load(DEFAULT_PATH)
    elif plan.weights is not None:
        model = baselines.load(plan.weights, plan.method)[0]
    else:
        torch.manual_seed(SEED)
        model = baselines.find(plan.method)()
    model.eval()

    def run() -> object:
        with torch.inference_mode():
            return model(tensor)

    return run


def _forbidden(name: str, height: int, width: int, speed: float | None, limit: float) -> dict[str, Any] | None:
    """Returns the reason why a method is not run at a size, or None."""
    if name in baselines.BASELINES:
        try:
            baselines.find(name).check_size(height, width)
        except ValueError:
            return {"error": f"takes {baselines.find(name).fixed}x{baselines.find(name).fixed} only"}
    expected = (speed or 0.0) * height * width / 1e3
    return {"error": f"about {expected:.0f} s a run: over the limit of {limit:g} s"} if expected > limit else None


def in_fresh_process(plan: Plan) -> dict[str, Any]:
    """Measures in a process that may take a share of the free memory; what fails there becomes an `error`."""
    context = multiprocessing.get_context("spawn")
    allowed = _memory_allowed()
    try:
        with ProcessPoolExecutor(1, mp_context=context, initializer=_limit_memory, initargs=(allowed,)) as pool:
            return dict(pool.submit(measure, plan).result())
    except (MemoryError, RuntimeError) as error:  # a process that the system ended is a RuntimeError too
        text = str(error).splitlines()[0] if str(error) else ""
        if isinstance(error, MemoryError) or "memory" in text or "terminated" in text:
            return {"error": f"out of memory: needs more than {allowed / 1e9:.1f} GB" if allowed else "out of memory"}
        return {"error": f"{type(error).__name__}: {text}"}


def _memory_allowed() -> int | None:
    """Returns the bytes that a run may take; None where the system does not say what is free."""
    if not sys.platform.startswith("linux"):
        return None
    facts = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    return int(MEMORY_SHARE * int(facts["MemAvailable"].split()[0]) * 1024)


def _limit_memory(allowed: int | None) -> None:
    """Makes an allocation fail rather than the machine."""
    if allowed is None:
        return
    import resource

    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + allowed, mapped + allowed))


def _gflops(name: str, height: int, width: int) -> float | None:
    if name in (OURS, OURS_EAGER):
        return complexity.gflops(ModelConfig(), height, width)
    system = baselines.find(name)
    try:
        system.check_size(height, width)
    except ValueError:
        return None
    return gflops(system(), height, width)


def _parameters(name: str) -> int:
    if name in (OURS, OURS_EAGER):
        return complexity.parameter_count(ModelConfig())
    return parameter_count(baselines.find(name)())


def _seconds(run: Callable[[], object], now: Callable[[], float]) -> float:
    began = now()
    run()
    return now() - began


def _short(value: Any) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def reasons(document: Mapping[str, Any]) -> list[str]:
    """Returns why there are dashes, one line each."""
    return [
        f"{row['method']} at {size}: {found['error']}"
        for row in document["rows"]
        for size, found in row["sizes"].items()
        if "error" in found
    ]
