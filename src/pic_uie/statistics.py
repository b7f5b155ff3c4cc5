"""m and S of Eq. 4: the mean and covariance of a picture's colours before the last calibration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pic_uie.errors import CorrectionsError

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Statistics:
    """What `Enhancer.measure` found and `Enhancer.execute` can be given, checked and read-only.

    Attributes:
        mean: m of z¹ = (Y, Cb, Cr), (3,).
        covariance: S as the executor uses it, with its 1e-4 on the diagonal, (3, 3), symmetric.
    """

    mean: Array
    covariance: Array

    def __post_init__(self) -> None:
        """Copies the arrays as float64 and checks them."""
        for name, shape in (("mean", (3,)), ("covariance", (3, 3))):
            try:
                array = np.array(getattr(self, name), np.float64, order="C")
            except (TypeError, ValueError) as error:
                raise CorrectionsError(f"{name} must be an array of numbers: {error}") from error
            if array.shape != shape:
                raise CorrectionsError(f"{name} must have shape {shape}, got {array.shape}")
            if not np.all(np.isfinite(array)):
                raise CorrectionsError(f"{name} must be finite, got {array.tolist()}")
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        if not np.array_equal(self.covariance, self.covariance.T):
            raise CorrectionsError(f"covariance must be symmetric, got {self.covariance.tolist()}")
        if np.any(np.diag(self.covariance) < 0.0):
            raise CorrectionsError(
                f"covariance must have no negative variance, got {np.diag(self.covariance).tolist()}"
            )

    def __eq__(self, other: object) -> bool:
        """Returns whether both are the same, bit for bit."""
        if not isinstance(other, Statistics):
            return NotImplemented
        return np.array_equal(self.mean, other.mean) and np.array_equal(self.covariance, other.covariance)

    def interpolate(self, other: Statistics, weight: float) -> Statistics:
        """Returns (1 - weight)·self + weight·other, for a weight in [0, 1]."""
        if not 0.0 <= weight <= 1.0:
            raise CorrectionsError(f"weight must be in [0, 1], got {weight}")
        return Statistics(
            (1.0 - weight) * self.mean + weight * other.mean,
            (1.0 - weight) * self.covariance + weight * other.covariance,
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and unpickled ones are checked and read-only too."""
        return Statistics, (self.mean, self.covariance)


def pooled(statistics: Sequence[Statistics]) -> Statistics:
    """Returns m and S of several pictures taken as one, each with the same share.

    Of three or more, the quarter whose mean colour is farthest from the median does not count, so that one odd picture
    changes nothing.

    Raises:
        CorrectionsError: There are none.
    """
    if not statistics:
        raise CorrectionsError("statistics of no pictures cannot be pooled")
    means, covariances = (np.stack([getattr(item, name) for item in statistics]) for name in ("mean", "covariance"))
    if len(means) > 2:
        distances = np.linalg.norm(means - np.median(means, axis=0), axis=1)
        nearest = np.sort(np.argsort(distances, kind="stable")[: len(means) - odd_ones(len(means))])
        means, covariances = means[nearest], covariances[nearest]
    mean = means.mean(axis=0)
    between = np.einsum("ni,nj->ij", means - mean, means - mean) / len(means)
    covariance = covariances.mean(axis=0) + (between + between.T) / 2.0
    return Statistics(mean, covariance)


def odd_ones(count: int) -> int:
    """Returns how many of so many pictures are left out as odd: a quarter, at least one of three."""
    return -(-count // 4) if count > 2 else 0
