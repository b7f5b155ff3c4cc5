"""Underwater image quality measure (Panetta et al., 2016): colourfulness, sharpness and contrast of one picture."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pic_uie.evaluation.metrics.pictures import Plane, check_picture, opencv
from pic_uie.images import RGB8

COLOURFULNESS_WEIGHT = 0.0282
SHARPNESS_WEIGHT = 0.2953
CONTRAST_WEIGHT = 3.5753
CHANNEL_WEIGHTS = (0.299, 0.587)  # of red and green in the sharpness
BLUE = 0.144  # not 0.114: the field's habit, kept so that numbers compare
BLOCK = 8
TRIM = 0.1


def uiqm(img: RGB8, *, block: int = BLOCK, blue: float = BLUE) -> float:
    """Returns 0.0282·UICM + 0.2953·UISM + 3.5753·UIConM; higher = better.

    Args:
        img: uint8 RGB.
        block: Side of the blocks of sharpness and contrast. Published code has 8 or 10.
        blue: Weight of blue in the sharpness. Most published code has 0.144, some the 0.114 of grey.
    """
    sharpness, contrast = uism(img, block=block, blue=blue), uiconm(img, block=block)
    return COLOURFULNESS_WEIGHT * uicm(img) + SHARPNESS_WEIGHT * sharpness + CONTRAST_WEIGHT * contrast


def uicm(img: RGB8) -> float:
    """Returns the colourfulness: trimmed means and spreads of the two opponent channels."""
    check_picture(img)
    red, green, blue = (img[..., channel].astype(np.int16) for channel in range(3))
    mean_rg, variance_rg = _trimmed_mean_and_spread(red - green, scale=1.0)
    mean_yb, variance_yb = _trimmed_mean_and_spread(red + green - 2 * blue, scale=0.5)
    return -0.0268 * math.hypot(mean_rg, mean_yb) + 0.1586 * math.sqrt(variance_rg + variance_yb)


def uism(img: RGB8, *, block: int = BLOCK, blue: float = BLUE) -> float:
    """Returns the sharpness: the block contrast (EME) of each channel's edges."""
    check_picture(img, smallest=block)
    weights = (*CHANNEL_WEIGHTS, blue)
    return sum(weight * _eme(_edges(img[..., i]), block) for i, weight in enumerate(weights))


def uiconm(img: RGB8, *, block: int = BLOCK) -> float:
    """Returns the contrast: the mean over square blocks of all channels of -m·ln(m), m = (max-min)/(max+min)."""
    check_picture(img, smallest=block)
    high = _blocks(img.max(axis=2), block).max(axis=(1, 3)).astype(np.float64)
    low = _blocks(img.min(axis=2), block).min(axis=(1, 3)).astype(np.float64)
    top, bottom = high - low, high + low
    michelson = np.divide(top, bottom, out=np.ones_like(top), where=top > 0)  # m = 1 contributes -1·ln(1) = 0
    return float(-np.mean(michelson * np.log(michelson))) + 0.0


def _trimmed_mean_and_spread(values: NDArray[np.int16], scale: float) -> tuple[float, float]:
    """Returns μ of the middle 80 % and the mean square distance of all values from it, both times the scale."""
    count = values.size
    cut_low, cut_high = math.ceil(TRIM * count), math.floor(TRIM * count)
    ranked = np.sort(values, axis=None, kind="stable").astype(np.float64) * scale  # a radix sort on 16 bits
    kept = ranked[cut_low + 1 : count - cut_high]  # the published code starts one later than its divisor says
    mean = float(kept.sum()) / max(1, count - cut_low - cut_high)
    return mean, float(np.mean(np.square(ranked - mean)))


def _edges(channel: NDArray[np.uint8]) -> Plane:
    """Returns the channel times its Sobel magnitude, the latter scaled to a maximum of 255."""
    cv2 = opencv()
    plane = channel.astype(np.float64)
    across = cv2.Sobel(plane, cv2.CV_64F, 1, 0, ksize=3, borderType=cv2.BORDER_REFLECT)
    down = cv2.Sobel(plane, cv2.CV_64F, 0, 1, ksize=3, borderType=cv2.BORDER_REFLECT)
    magnitude: Plane = np.hypot(across, down)
    peak = float(magnitude.max())
    return magnitude * (255.0 / peak) * plane if peak else magnitude


def _eme(plane: Plane, block: int) -> float:
    blocks = _blocks(plane, block)
    high, low = blocks.max(axis=(1, 3)), blocks.min(axis=(1, 3))
    ratio = np.divide(high, low, out=np.ones_like(high), where=low > 0)  # blocks that touch 0 contribute ln(1) = 0
    return 2.0 * float(np.mean(np.log(ratio)))


def _blocks(plane: NDArray[np.generic], side: int) -> NDArray[np.generic]:
    """Returns the whole blocks as a view (rows, side, columns, side); what is left at right and bottom is dropped."""
    rows, columns = plane.shape[0] // side, plane.shape[1] // side
    return plane[: rows * side, : columns * side].reshape(rows, side, columns, side)
