"""Scores every picture of a protocol: predict or read, resize prediction and reference alike, measure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from pic_uie.datasets.stems import few
from pic_uie.errors import DataError, ImageError
from pic_uie.evaluation.assets import load as load_asset
from pic_uie.evaluation.cases import Case
from pic_uie.evaluation.metrics import Metric
from pic_uie.evaluation.metrics.pictures import size
from pic_uie.evaluation.predictions import Enhance
from pic_uie.evaluation.resize import RESIZES, SIDE, Resize, opencv_linear
from pic_uie.images import RGB8, read_rgb8

Values = dict[str, float]  # metric -> value
Scores = dict[str, dict[str, Values]]  # way of resizing -> picture -> values


@dataclass(frozen=True)
class Task:
    """What is measured, and how.

    Attributes:
        metrics: By name.
        resizes: Each is scored separately.
        enhance: Makes the prediction from the input; None where finished pictures are read.
        assets: Folder of published parameters.
    """

    metrics: Mapping[str, Metric]
    resizes: Sequence[Resize]
    enhance: Enhance | None = None
    assets: Path | None = None


def score(cases: Sequence[Case], task: Task, jobs: int = 1, on_done: Callable[[], None] = lambda: None) -> Scores:
    """Returns the values of every picture under every way of resizing.

    Args:
        cases: The pictures.
        task: What is measured.
        jobs: Pictures at a time; the values do not depend on it.
        on_done: Called after each picture, for a progress bar.

    Raises:
        DataError: Some pictures could not be scored; all of them are named with the reason.
        EnvironmentMissingError: Published parameters are missing; raised before any picture is read.
    """
    for metric in task.metrics.values():
        if metric.asset:
            load_asset(metric.asset, task.assets)
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        futures = {pool.submit(_score_case, case, task): case for case in cases}
        try:
            for _ in as_completed(futures):
                on_done()
        except BaseException:  # an interrupt: what has not begun never will
            pool.shutdown(cancel_futures=True)
            raise
    return _collect(futures, task)


def _collect(futures: Mapping[Future[dict[Resize, Values]], Case], task: Task) -> Scores:
    scores: Scores = {resize: {} for resize in task.resizes}
    failures: list[str] = []
    for future, case in futures.items():
        try:
            values = future.result()
        except (ImageError, ValueError, DataError) as error:
            failures.append(f"{case.name}: {error}")
            continue
        for resize in task.resizes:
            scores[resize][case.name] = values[resize]
    if failures:
        listed = few(failures, "\n  ")
        raise DataError(f"{len(failures)} of {len(futures)} pictures could not be scored:\n  {listed}")
    return scores


def _score_case(case: Case, task: Task) -> dict[Resize, Values]:
    source = read_rgb8(case.input) if case.input is not None else None
    reference = read_rgb8(case.reference) if case.reference is not None else None
    finished = read_rgb8(case.prediction) if case.prediction is not None else None
    full_size: RGB8 | None = None  # made once for all ways of resizing that use it
    values: dict[Resize, Values] = {}
    for resize in task.resizes:
        if resize == "from-256":
            prediction = _predict(task, finished, source, opencv_linear)
            if prediction.shape != (SIDE, SIDE, 3):
                raise DataError(f"{resize} scores predictions of {SIDE}x{SIDE}, this one is {size(prediction)}")
        else:
            full_size = _predict(task, finished, source, None) if full_size is None else full_size
            prediction = full_size
            _check_size(prediction, reference if reference is not None else source)
        change = RESIZES[resize]
        resized_reference = change(reference) if reference is not None else None
        values[resize] = _measure(change(prediction), resized_reference, task)
    return values


def _predict(task: Task, finished: RGB8 | None, source: RGB8 | None, before: Callable[[RGB8], RGB8] | None) -> RGB8:
    if finished is not None:
        return finished
    if task.enhance is None or source is None:
        raise ValueError("a case without a finished prediction needs an input and weights")
    return task.enhance(before(source) if before else source)


def _check_size(prediction: RGB8, native: RGB8 | None) -> None:
    if native is not None and prediction.shape != native.shape:
        raise DataError(
            f"the prediction is {size(prediction)}, the original {size(native)}; predictions are made at native size "
            f"(those made from a {SIDE}x{SIDE} input are scored with --resize from-256)"
        )


def _measure(prediction: RGB8, reference: RGB8 | None, task: Task) -> Values:
    values: Values = {}
    for name, metric in task.metrics.items():
        value = metric(prediction, reference, task.assets)
        if math.isnan(value):
            raise DataError(f"{name} is not a number")
        values[name] = value
    return values
