"""Real pictures that have no reference, and which of them a step sees."""

from __future__ import annotations

import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pic_uie.datasets import folders
from pic_uie.training.pairs import read_square

Odds = NDArray[np.float64]


@dataclass(frozen=True)
class Unlabelled:
    """Pictures without a reference, in memory.

    Attributes:
        stems: Names, in the order of the array.
        inputs: (N, S, S, 3).
    """

    stems: tuple[str, ...]
    inputs: NDArray[np.uint8]

    @property
    def sha256(self) -> str:
        """Hash of names and pixels."""
        digest = hashlib.sha256(os.fsencode("\n".join(self.stems)))
        digest.update(np.ascontiguousarray(self.inputs).data)
        return digest.hexdigest()


@dataclass(frozen=True)
class Answered:
    """Unlabelled pictures with what the teachers make of them.

    Attributes:
        pictures: The pictures.
        answers: (N, S, S, 3): the mean over the teachers and over eight views.
        disagreement: (N,): RMS distance of the teachers' pictures from their mean, in [0, 1].
    """

    pictures: Unlabelled
    answers: NDArray[np.uint8]
    disagreement: Odds

    def draw(self, agreement: float, rng: np.random.Generator) -> int:
        """Returns the place of a picture, drawn by the odds of `draw_odds`."""
        ends = np.cumsum(draw_odds(self.disagreement, agreement))
        return min(int(np.searchsorted(ends, rng.random(), side="right")), len(ends) - 1)


def load_unlabelled(folder: Path, size: int) -> Unlabelled:
    """Reads every picture of a folder, resized to a square of `size` (bicubic, antialiased).

    Raises:
        DataError: The folder has no pictures, or one of them is unreadable; names it.
    """
    index = folders.index(folder)
    with ThreadPoolExecutor() as pool:
        inputs = np.stack(list(pool.map(lambda path: read_square(path, size), index.values())))
    return Unlabelled(tuple(index), inputs)


def draw_odds(disagreement: Odds, agreement: float) -> Odds:
    """Returns how likely each picture is drawn: in proportion to 1 / (1 + (agreement · d / median of d)²)."""
    typical = float(np.median(disagreement))
    relative = disagreement / typical if typical > 0.0 else np.zeros_like(disagreement)
    odds = 1.0 / (1.0 + (agreement * relative) ** 2)
    share: Odds = odds / odds.sum()
    return share
