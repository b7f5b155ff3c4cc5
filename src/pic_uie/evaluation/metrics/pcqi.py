"""Patch-based contrast quality index (Wang et al., 2015) in the dense form that the field uses."""

from __future__ import annotations

import numpy as np

from pic_uie.evaluation.metrics.pictures import WINDOW, check_pair, grey, local_mean
from pic_uie.images import RGB8

STABILISER = 3.0
GREY_LEVELS = 256.0


def pcqi(pred: RGB8, ref: RGB8) -> float:
    """Returns the mean PCQI on OpenCV's grey; not symmetric, above 1 = more contrast than the reference."""
    check_pair(pred, ref, smallest=WINDOW)
    p, r = grey(pred).astype(np.float64), grey(ref).astype(np.float64)
    mean_p, mean_r = local_mean(p), local_mean(r)
    variance_p = np.maximum(0.0, local_mean(p * p) - mean_p**2)
    variance_r = np.maximum(0.0, local_mean(r * r) - mean_r**2)
    covariance = local_mean(p * r) - mean_p * mean_r + STABILISER
    contrast = 4 / np.pi * np.arctan(covariance / (variance_r + STABILISER))
    structure = covariance / (np.sqrt(variance_r) * np.sqrt(variance_p) + STABILISER)
    luminance = np.exp(-np.abs(mean_r - mean_p) / GREY_LEVELS)
    return float(np.mean(contrast * structure * luminance))
