"""Structural similarity (Wang et al., 2004): Gaussian window of 11, σ 1.5, valid region, mean over RGB."""

from __future__ import annotations

import numpy as np

from pic_uie.evaluation.metrics.pictures import WINDOW, check_pair, local_mean
from pic_uie.images import RGB8

C1 = 0.01**2  # for a data range of 1
C2 = 0.03**2


def ssim(pred: RGB8, ref: RGB8) -> float:
    """Returns the mean SSIM over pixels and channels, at most 1; within 1e-5 of `pytorch_msssim.ssim`."""
    check_pair(pred, ref, smallest=WINDOW)
    x, y = pred / 255.0, ref / 255.0
    mean_x, mean_y = local_mean(x), local_mean(y)  # (H - 10, W - 10, 3)
    variances = local_mean(x * x + y * y) - mean_x**2 - mean_y**2
    covariance = local_mean(x * y) - mean_x * mean_y
    luminance = (2 * mean_x * mean_y + C1) / (mean_x**2 + mean_y**2 + C1)
    contrast_structure = (2 * covariance + C2) / (variances + C2)
    return float(np.mean(luminance * contrast_structure))
