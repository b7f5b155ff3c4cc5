"""Which row the paper finds better than which, and whether ours agree."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

from pic_uie.evaluation.compare import Difference
from pic_uie.evaluation.metrics import METRICS
from pic_uie.paper import tables as paper

WITHIN = "within the noise"
POSSIBLE, RULED_OUT = "possible", "ruled out"


@dataclass(frozen=True)
class Ordering:
    """One claim: in this column, `better` beats `worse` by this margin (None: the paper says so in words only)."""

    column: str
    metric: str
    better: str
    worse: str
    margin: float | None


@dataclass(frozen=True)
class Verdict:
    """An ordering with ours beside it.

    Attributes:
        ordering: The paper's.
        margin: Ours, positive where the order is the paper's; None where a row is missing.
        low: Lower end of its 95 % interval over pictures.
        high: Upper end.
        reach: What two seeds of equal rows may differ by, in 95 of 100 cases; None where no row has several seeds.
    """

    ordering: Ordering
    margin: float | None
    low: float = 0.0
    high: float = 0.0
    reach: float | None = None

    @property
    def word(self) -> str:
        """What a reader sees of the order."""
        if self.margin is None:
            return "not measured"
        if self.margin == 0.0:
            return "tied"
        if self._allows(0.0):
            return WITHIN
        return "holds" if self.margin > 0 else "reversed"

    @property
    def size(self) -> str | None:
        """What a reader sees of the paper's margin: whether ours leaves room for it; None where there is none."""
        if self.margin is None or self.ordering.margin is None:
            return None
        return POSSIBLE if self._allows(self.ordering.margin) else RULED_OUT

    def _allows(self, margin: float) -> bool:
        """Whether the noise of the pictures or, where known, of the seeds leaves room for a margin."""
        near = self.reach is not None and self.margin is not None and abs(self.margin - margin) <= self.reach
        return near or self.low <= margin <= self.high


def published(table: paper.Table, column: str, metrics: tuple[str, ...]) -> list[Ordering]:
    """Returns every ordering of two rows that the paper's figures or words state in a column, largest margin first."""
    found = []
    for metric in metrics:
        values = {row.name: row.group(column).get(metric) for row in table.rows}
        sign = 1.0 if METRICS[metric].higher_is_better else -1.0
        for one, two in itertools.combinations(values, 2):
            a, b = values[one], values[two]
            if a is None or b is None or a == b:
                continue
            better, worse = (one, two) if sign * (a - b) > 0 else (two, one)
            found.append(Ordering(column, metric, better, worse, abs(a - b)))
    known = {(ordering.metric, ordering.better, ordering.worse) for ordering in found}
    for stated in table.orderings:
        if column in stated.columns and stated.metric in metrics:
            for worse in stated.worse:
                if (stated.metric, stated.better, worse) not in known:
                    found.append(Ordering(column, stated.metric, stated.better, worse, None))
    return sorted(found, key=lambda ordering: -(ordering.margin or 0.0))


def judge(ordering: Ordering, differences: Mapping[str, Difference] | None, reach: float | None = None) -> Verdict:
    """Judges by the differences `better` minus `worse` on the same pictures, None where one of them is missing."""
    if differences is None or ordering.metric not in differences:
        return Verdict(ordering, None)
    difference = differences[ordering.metric]
    sign = 1.0 if METRICS[ordering.metric].higher_is_better else -1.0
    margin = sign * (difference.mean_b - difference.mean_a)
    low, high = sorted((sign * difference.low, sign * difference.high))
    return Verdict(ordering, margin, low, high, reach)
