"""Shannon entropy of the grey levels, in bits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pic_uie.evaluation.metrics.pictures import check_picture, grey
from pic_uie.images import RGB8


def entropy(img: RGB8, *, per_channel: bool = False) -> float:
    """Returns the entropy of OpenCV's grey, 0..8 bits; `per_channel`: the mean of the three channels' entropies."""
    check_picture(img)
    planes = [img[..., channel] for channel in range(3)] if per_channel else [grey(img)]
    return float(np.mean([_bits(plane) for plane in planes]))


def _bits(plane: NDArray[np.uint8]) -> float:
    counts = np.bincount(plane.ravel(), minlength=256)
    shares = counts[counts > 0] / plane.size
    return float(-np.sum(shares * np.log2(shares))) + 0.0  # + 0.0: a flat plane has 0, not -0
