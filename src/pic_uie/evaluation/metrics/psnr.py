"""Peak signal-to-noise ratio on RGB (on grey it would read 1.3 to 2.5 dB higher)."""

from __future__ import annotations

import math

from pic_uie.evaluation.metrics.mse import mse
from pic_uie.images import RGB8


def psnr(pred: RGB8, ref: RGB8) -> float:
    """Returns 10·log10(1/MSE) in dB; infinity for equal pictures."""
    error = mse(pred, ref)
    return -10.0 * math.log10(error) if error else math.inf
