"""Two results picture by picture: differences, a paired test, and where the second method loses most."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pic_uie.datasets.names import called
from pic_uie.errors import ConfigError, DataError, did_you_mean
from pic_uie.evaluation import statistics
from pic_uie.evaluation.metrics import METRICS
from pic_uie.evaluation.report import title
from pic_uie.evaluation.results import Result
from pic_uie.evaluation.tables import interval, number, render

WORST = 10


@dataclass(frozen=True)
class Difference:
    """One metric of two methods on the same pictures; differences are second minus first.

    Attributes:
        mean_a: Mean of the first.
        mean_b: Mean of the second.
        by_name: Picture -> difference.
        low: Lower end of the 95 % bootstrap interval of the mean difference.
        high: Upper end.
        p_value: Two-sided Wilcoxon signed-rank test.
        wins: Pictures on which the second is better.
        losses: Pictures on which the first is better.
    """

    mean_a: float
    mean_b: float
    by_name: dict[str, float]
    low: float
    high: float
    p_value: float
    wins: int
    losses: int


def compare(a: Result, b: Result, resize: str | None = None) -> dict[str, Difference]:
    """Returns the differences of every metric that both results have under one way of resizing.

    Raises:
        DataError: They are not on the same pictures, or share no metric.
        ConfigError: A way of resizing that one of them does not have.
    """
    if a.names["sha256"] != b.names["sha256"]:
        raise DataError(
            f"{a.method} and {b.method} were scored on different lists of pictures ({identified(a.names)} and "
            f"{identified(b.names)}), which cannot be compared: score both on one list"
        )
    resize = choose_resize(a, b, resize)
    first, second = a.scores[resize], b.scores[resize]
    if first.keys() != second.keys():
        odd = sorted(first.keys() ^ second.keys())
        raise DataError(f"only one of the results has {', '.join(odd[:WORST])}")
    in_b = set(next(iter(second.values())))
    shared = [metric for metric in next(iter(first.values())) if metric in in_b and metric in METRICS]
    if not shared:
        raise DataError("the two results share no metric")
    return {
        metric: _difference(
            {name: values[metric] for name, values in first.items()},
            {name: second[name][metric] for name in first},
            METRICS[metric].higher_is_better,
        )
        for metric in shared
    }


def identified(names: Mapping[str, Any]) -> str:
    """Returns the name of a result's list with the beginning of its hash."""
    return f"{called(names)}, sha256 {names['sha256'][:16]}"


def choose_resize(a: Result, b: Result, wanted: str | None) -> str:
    """Returns the way of resizing to compare by: the wanted one, or the first that both results have."""
    shared = [resize for resize in a.scores if resize in b.scores]
    if not shared:
        raise DataError(f"no common way of resizing: {', '.join(a.scores)} against {', '.join(b.scores)}")
    if wanted is not None and wanted not in shared:
        raise ConfigError(f"the results do not share the resizing {wanted!r}: {did_you_mean(wanted, shared)}")
    return wanted or shared[0]


def worst(difference: Difference, metric: str) -> list[tuple[str, float]]:
    """Returns the ten pictures on which the second method falls furthest behind the first, worst first."""
    sign = 1 if METRICS[metric].higher_is_better else -1
    ranked = sorted(difference.by_name.items(), key=lambda item: (sign * item[1], item[0]))
    return ranked[:WORST]


def summary_table(differences: dict[str, Difference], name_a: str, name_b: str) -> str:
    """Returns the table of means, differences, intervals and p-values."""
    rows = []
    for metric, d in differences.items():
        decimals = METRICS[metric].decimals
        mean = statistics.mean(list(d.by_name.values()))
        means = [number(value, decimals) for value in (d.mean_a, d.mean_b)]
        tally = f"{d.wins}:{d.losses}"
        ends = interval(d.low, d.high, decimals, signed=True)
        rows.append([title(metric), *means, number(mean, decimals, signed=True), ends, f"{d.p_value:.2g}", tally])
    header = ["metric", f"A {name_a}", f"B {name_b}", "B - A", "95 % interval", "Wilcoxon p", "B better : worse"]
    return render(header, rows)


def worst_table(difference: Difference, metric: str) -> str:
    """Returns the table of the worst ten."""
    decimals = METRICS[metric].decimals
    rows = [[name, number(value, decimals, signed=True)] for name, value in worst(difference, metric)]
    return render(["picture", f"{METRICS[metric].title} B - A"], rows)


def to_csv(differences: dict[str, Difference]) -> str:
    """Returns the difference of every picture and metric."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["name", *differences])
    for name in next(iter(differences.values())).by_name:
        writer.writerow([name, *(difference.by_name[name] for difference in differences.values())])
    return text.getvalue()


def _difference(a: dict[str, float], b: dict[str, float], higher_is_better: bool) -> Difference:
    by_name = {name: 0.0 if a[name] == b[name] else b[name] - a[name] for name in a}  # ∞ - ∞ of equal pictures is 0
    values = list(by_name.values())
    low, high = statistics.bootstrap_interval(values)
    rises, falls = sum(value > 0 for value in values), sum(value < 0 for value in values)
    wins, losses = (rises, falls) if higher_is_better else (falls, rises)
    mean_a, mean_b = (float(np.mean(list(side.values()))) for side in (a, b))
    return Difference(mean_a, mean_b, by_name, low, high, statistics.wilcoxon(values), wins, losses)
