"""What another seed would change: the noise that an ordering of two rows must rise above."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pic_uie.evaluation.results import Result
from pic_uie.evaluation.statistics import student_quantile


@dataclass(frozen=True)
class Noise:
    """Spread between trainings that differ in their seed alone.

    Attributes:
        deviation: Of one training's mean.
        freedom: Degrees of freedom that it is known with: two for three seeds of one row.
    """

    deviation: float
    freedom: int

    def reach(self, first: int, second: int) -> float:
        """Returns how far the means over so many seeds of two equal rows may lie apart, in 95 of 100 cases."""
        return student_quantile(self.freedom) * self.deviation * math.sqrt(1 / first + 1 / second)


def pooled(rows: Sequence[Sequence[float]]) -> Noise | None:
    """Returns the noise from the rows that have several seeds, taken to be the same for all rows; None without any."""
    several = [np.asarray(values) for values in rows if len(values) > 1]
    if not several:
        return None
    freedom = sum(values.size - 1 for values in several)
    squares = sum(float(np.square(values - values.mean()).sum()) for values in several)
    return Noise(math.sqrt(squares / freedom), freedom)


def averaged(results: Sequence[Result]) -> Result:
    """Returns the result whose value of each picture is the mean over seeds."""
    scores = {
        resize: {name: _mean([result.scores[resize][name] for result in results]) for name in pictures}
        for resize, pictures in results[0].scores.items()
    }
    return replace(results[0], scores=scores)


def _mean(values: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {metric: float(np.mean([one[metric] for one in values])) for metric in values[0]}
