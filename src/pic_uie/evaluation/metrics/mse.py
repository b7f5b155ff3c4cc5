"""Mean squared error over all RGB values in [0, 1]."""

from __future__ import annotations

import numpy as np

from pic_uie.evaluation.metrics.pictures import check_pair
from pic_uie.images import RGB8


def mse(pred: RGB8, ref: RGB8) -> float:
    """Returns the mean squared difference of two pictures, in units where white is 1."""
    check_pair(pred, ref)
    difference = pred.astype(np.int32) - ref
    return float(np.mean(np.square(difference))) / 255.0**2  # integer squares: exact whatever the order of the sum
