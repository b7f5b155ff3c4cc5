"""How sure a mean is, and whether two methods differ: bootstrap intervals and the Wilcoxon signed-rank test."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 10_000
LEVEL = 0.95
SEED = 0
EXACT_UP_TO = 200  # beyond that the normal approximation is good to more digits than anyone quotes
CHUNK = 2_000_000  # drawn indices at a time

Values = NDArray[np.float64]


def mean(values: Sequence[float]) -> float:
    """Returns the mean; infinities of both signs, as differences of infinite PSNRs, have none (NaN)."""
    with np.errstate(invalid="ignore"):
        return float(np.mean(values))


def deviation(values: Sequence[float]) -> float:
    """Returns the sample deviation; infinities have none (NaN)."""
    with np.errstate(invalid="ignore"):
        return float(np.std(values, ddof=1))


def bootstrap_interval(values: Sequence[float]) -> tuple[float, float]:
    """Returns the 95 % percentile bootstrap interval of the mean; the same every time."""
    array = np.asarray(values, dtype=np.float64)
    random = np.random.default_rng(SEED)
    per_chunk = max(1, CHUNK // array.size)
    sizes = [min(per_chunk, RESAMPLES - start) for start in range(0, RESAMPLES, per_chunk)]
    with np.errstate(invalid="ignore"):  # infinities of both signs have no mean
        means = np.concatenate(
            [array[random.integers(0, array.size, (size, array.size))].mean(axis=1) for size in sizes]
        )
    means.sort()
    tail = round((1 - LEVEL) / 2 * RESAMPLES)
    return float(means[tail]), float(means[-1 - tail])  # order statistics: no arithmetic, so infinities survive


def wilcoxon(differences: Sequence[float]) -> float:
    """Returns the two-sided p-value of the Wilcoxon signed-rank test; zeros are dropped, ties share their rank.

    Exact for up to 200 differences, also with ties; beyond that the normal approximation with tie correction.
    """
    array = np.asarray(differences, dtype=np.float64)
    array = array[array != 0]
    if not array.size:
        return 1.0
    doubled = _doubled_ranks(np.abs(array))  # whole numbers, also for shared ranks
    positive = int(doubled[array > 0].sum())
    total = int(doubled.sum())
    if array.size <= EXACT_UP_TO:
        chances = _rank_sum_chances(doubled, total)
        tail = min(chances[: positive + 1].sum(), chances[positive:].sum())
        return min(1.0, 2.0 * float(tail))
    deviation = math.sqrt(float(np.square(doubled.astype(np.float64)).sum()))
    return math.erfc(abs(2 * positive - total) / deviation / math.sqrt(2))


def signed_rank_sum(differences: Sequence[float]) -> float:
    """Returns the ranks of the rises minus those of the falls: the direction that `wilcoxon` is sure or unsure of."""
    array = np.asarray(differences, dtype=np.float64)
    array = array[array != 0]
    return float((_doubled_ranks(np.abs(array)) * np.sign(array)).sum()) / 2 if array.size else 0.0


def _doubled_ranks(magnitudes: Values) -> NDArray[np.int64]:
    """Returns twice the average rank of each magnitude."""
    _, group, counts = np.unique(magnitudes, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: NDArray[np.int64] = (2 * last - counts + 1)[group]
    return ranks


def _rank_sum_chances(doubled: NDArray[np.int64], total: int) -> Values:
    """Returns the chance of each possible positive rank sum when every sign is a fair coin."""
    chances = np.zeros(total + 1)
    chances[0] = 1.0
    for rank in doubled:
        chances[rank:] = 0.5 * chances[rank:] + 0.5 * chances[: total + 1 - rank]
        chances[:rank] *= 0.5
    return chances


# Two-sided 95 % quantiles of Student's t for 1, 2, ... degrees of freedom; beyond them the normal one is within 2 %.
_STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
            2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
            2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042)  # fmt: skip
_NORMAL = 1.960


def student_quantile(freedom: int) -> float:
    """Returns how many standard errors a 95 % interval reaches to each side."""
    return _STUDENT[freedom - 1] if freedom <= len(_STUDENT) else _NORMAL


def student_interval(values: Sequence[float]) -> tuple[float | None, float | None]:
    """Returns the 95 % interval of the mean of a few independent values, such as seeds; None for a single one."""
    if len(values) < 2:
        return None, None
    array = np.asarray(values, dtype=np.float64)
    reach = student_quantile(array.size - 1) * float(array.std(ddof=1)) / math.sqrt(array.size)
    return float(array.mean()) - reach, float(array.mean()) + reach


def holm(p_values: Sequence[float]) -> list[float]:
    """Returns the p-values corrected by Holm's method for being several, in their own order."""
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    corrected = [0.0] * len(p_values)
    largest = 0.0
    for rank, place in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        corrected[place] = largest
    return corrected
