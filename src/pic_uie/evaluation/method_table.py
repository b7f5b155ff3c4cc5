"""Any number of methods, each with any number of seeds, on one list of pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pic_uie.datasets.stems import few
from pic_uie.errors import ConfigError, DataError, did_you_mean
from pic_uie.evaluation import statistics
from pic_uie.evaluation.compare import identified
from pic_uie.evaluation.metrics import METRICS
from pic_uie.evaluation.results import Result, Summary, summarise

Values = Mapping[str, float]  # picture -> value
BEST, SECOND = 1, 2


@dataclass(frozen=True)
class Cell:
    """One method's value of one metric.

    Attributes:
        mean: Over pictures and seeds.
        deviation: Sample deviation of the seeds' means; None for one seed.
        interval: 95 % bootstrap interval over pictures of the seeds' mean.
        rank: 1 or 2 for the best and the second of the table as it is printed, ties alike; None for the rest.
    """

    mean: float
    deviation: float | None
    interval: Summary
    rank: int | None


@dataclass(frozen=True)
class Test:
    """One method against the chosen one: the paired difference, and how likely chance alone is.

    Attributes:
        difference: Method minus the chosen one.
        low: Lower end of its 95 % bootstrap interval over pictures.
        high: Upper end.
        p: Two-sided Wilcoxon signed-rank test over pictures.
        holm: The same, corrected by Holm's method for all tests of the table.
        ranks: The signed-rank sum, whose sign is the direction that the test speaks of.
    """

    difference: float
    low: float
    high: float
    p: float
    holm: float
    ranks: float


@dataclass(frozen=True)
class MethodTable:
    """A table.

    Attributes:
        protocol: Name of the protocol.
        pictures: Which pictures, by list and hash, and how many.
        resize: Way of resizing.
        metrics: In the order of the columns.
        seeds: Method -> number of results.
        cells: Method -> metric -> cell.
        against: The method that the others are tested against; None = no tests.
        tests: Method -> metric -> test.
    """

    protocol: str
    pictures: str
    resize: str
    metrics: Sequence[str]
    seeds: Mapping[str, int]
    cells: Mapping[str, Mapping[str, Cell]]
    against: str | None
    tests: Mapping[str, Mapping[str, Test]]


def build(results: Sequence[Result], resize: str | None = None, against: str | None = None) -> MethodTable:
    """Builds the table; results of one name are seeds of one method.

    Raises:
        DataError: Results on different lists or protocols, without a common metric, or one given twice.
        ConfigError: A way of resizing or a method to test against that is not there.
    """
    _refuse_mixture(results)
    shared = [name for name in results[0].scores if all(name in result.scores for result in results)]
    if not shared:
        ways = "; ".join(", ".join(result.scores) for result in results)
        raise DataError(f"no common way of resizing: {ways}")
    if resize is not None and resize not in shared:
        raise ConfigError(f"the results do not share the resizing {resize!r}: {did_you_mean(resize, shared)}")
    resize = resize or shared[0]
    metrics = [
        metric
        for metric in next(iter(results[0].scores[resize].values()))
        if metric in METRICS and all(metric in next(iter(result.scores[resize].values())) for result in results)
    ]
    if not metrics:
        raise DataError("the results share no metric")
    methods: dict[str, list[Result]] = {}
    for result in results:
        methods.setdefault(result.method, []).append(result)
    if against is not None and against not in methods:
        raise ConfigError(f"no method {against!r} is in the table: {did_you_mean(against, methods)}")
    values = {
        name: {metric: _mean_over_seeds(seeds, resize, metric) for metric in metrics} for name, seeds in methods.items()
    }
    return MethodTable(
        protocol=str(results[0].protocol["name"]),
        pictures=f"{len(results[0].scores[resize])} pictures, {identified(results[0].names)}",
        resize=resize,
        metrics=metrics,
        seeds={name: len(seeds) for name, seeds in methods.items()},
        cells=_cells(methods, values, resize, metrics),
        against=against,
        tests=_tests(values, metrics, against) if against else {},
    )


def _refuse_mixture(results: Sequence[Result]) -> None:
    first = results[0]
    for place, result in enumerate(results):
        if result.names["sha256"] != first.names["sha256"]:
            raise DataError(
                f"{first.method} and {result.method} were scored on different lists ({identified(first.names)} and "
                f"{identified(result.names)}): one table is of one list"
            )
        if result.protocol["name"] != first.protocol["name"]:
            raise DataError(
                f"{first.method} and {result.method} were scored under different protocols "
                f"({first.protocol['name']} and {result.protocol['name']}): one table is of one protocol"
            )
        for folder in ("inputs", "references"):
            if result.protocol.get(folder) != first.protocol.get(folder):
                raise DataError(
                    f"{first.method} and {result.method} were scored on different {folder} under one name of protocol "
                    f"({first.protocol.get(folder)} and {result.protocol.get(folder)}): one table is of one protocol"
                )
        for resize in result.scores.keys() & first.scores.keys():
            odd = sorted(result.scores[resize].keys() ^ first.scores[resize].keys())
            if odd:
                raise DataError(f"only one of {first.method} and {result.method} has {few(odd)}")
        for other in results[:place]:
            if other.method == result.method and other.scores == result.scores:
                raise DataError(f"{result.method} is given twice with the same values: seeds must be different runs")


def _mean_over_seeds(seeds: Sequence[Result], resize: str, metric: str) -> Values:
    names = seeds[0].scores[resize].keys()
    return {name: float(np.mean([seed.scores[resize][name][metric] for seed in seeds])) for name in names}


def _cells(
    methods: Mapping[str, Sequence[Result]],
    values: Mapping[str, Mapping[str, Values]],
    resize: str,
    metrics: Sequence[str],
) -> dict[str, dict[str, Cell]]:
    cells: dict[str, dict[str, Cell]] = {name: {} for name in methods}
    for metric in metrics:
        printed = {}
        for name in methods:
            printed[name] = round(float(np.mean(list(values[name][metric].values()))), METRICS[metric].decimals)
        ranks = _ranks(printed, METRICS[metric].higher_is_better)
        for name, seeds in methods.items():
            means = [float(np.mean([row[metric] for row in seed.scores[resize].values()])) for seed in seeds]
            interval = summarise(list(values[name][metric].values()))
            spread = statistics.deviation(means) if len(means) > 1 else None
            cells[name][metric] = Cell(interval.mean, spread, interval, ranks[name])
    return cells


def _ranks(printed: Mapping[str, float], higher_is_better: bool) -> dict[str, int | None]:
    """Ranks by what is printed: two that look alike share a place, and two firsts leave no second."""
    ranks: dict[str, int | None] = {}
    for name, value in printed.items():
        ahead = sum((other > value) if higher_is_better else (other < value) for other in printed.values())
        ranks[name] = ahead + 1 if ahead < SECOND else None
    return ranks


def _tests(
    values: Mapping[str, Mapping[str, Values]], metrics: Sequence[str], against: str
) -> dict[str, dict[str, Test]]:
    raw: list[tuple[str, str, list[float], float]] = []
    for name in values:
        for metric in metrics if name != against else ():
            base, own = values[against][metric], values[name][metric]
            differences = [0.0 if own[key] == base[key] else own[key] - base[key] for key in base]
            raw.append((name, metric, differences, statistics.wilcoxon(differences)))
    corrected = statistics.holm([p for *_, p in raw])
    tests: dict[str, dict[str, Test]] = {}
    for (name, metric, differences, p), holm in zip(raw, corrected, strict=True):
        low, high = statistics.bootstrap_interval(differences)
        ranks = statistics.signed_rank_sum(differences)
        tests.setdefault(name, {})[metric] = Test(statistics.mean(differences), low, high, p, holm, ranks)
    return tests
