"""Natural image quality evaluator (Mittal et al., 2013): how far the picture's statistics are from pristine ones.

At 256x256 only four blocks remain: compare methods with it, do not quote absolutes.
"""

from __future__ import annotations

import functools
import math
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pic_uie.evaluation.assets import NIQE_PRISTINE, load
from pic_uie.evaluation.metrics.pictures import Plane, check_picture, opencv
from pic_uie.images import RGB8

BLOCK = 96
SHIFTS = ((0, 1), (1, 0), (1, 1), (1, -1))  # (rows, columns), cyclic within the block
LUMA = {  # offset, and weights of red, green and blue
    "grey": (0.0, (0.299, 0.587, 0.114)),
    "y": (16.0, (65.481 / 255, 128.553 / 255, 24.966 / 255)),
}
Vector = NDArray[np.float64]


def niqe(img: RGB8, assets: str | Path | None = None, *, plane: Literal["grey", "y"] = "grey") -> float:
    """Returns the NIQE distance; lower = more natural.

    Args:
        img: uint8 RGB, at least 96x96.
        assets: Folder of `niqe_pris_params.npz`; the environment variable PIC_UIE_ASSETS where not given.
        plane: What is measured: `grey` (0 to 255) or `y`, the luma of digital video (16 to 235), which BasicSR and
            pyiqa take where nothing else is said.

    Raises:
        ValueError: A picture without any texture, whose statistics are undefined.
    """
    check_picture(img, smallest=BLOCK)
    pristine = {name: array.astype(np.float64) for name, array in load(NIQE_PRISTINE, assets).items()}
    window = pristine["gaussian_window"]
    luma = _luma(img, plane)
    height, width = (side - side % BLOCK for side in luma.shape)
    luma = luma[:height, :width]
    scales = (_block_features(luma, window, BLOCK), _block_features(half_size(luma), window, BLOCK // 2))
    features = np.concatenate(scales, axis=1)  # (blocks, 36)
    textured = features[~np.isnan(features).any(axis=1)]
    if len(textured) < 2:
        raise ValueError("NIQE is undefined: fewer than two of the 96x96 blocks have any texture")
    covariance = (pristine["cov_pris_param"] + np.cov(textured, rowvar=False)) / 2
    distance = pristine["mu_pris_param"][0] - np.nanmean(features, axis=0)
    return math.sqrt(float(distance @ np.linalg.pinv(covariance) @ distance))


def _luma(img: RGB8, plane: str) -> Plane:
    if plane not in LUMA:
        raise ValueError(f"unknown plane {plane!r}: {' or '.join(LUMA)}")
    offset, weights = LUMA[plane]
    luma: Plane = np.round(offset + img @ np.array(weights))
    return luma


def _block_features(plane: Plane, window: Plane, side: int) -> NDArray[np.float64]:
    """Returns the 18 features of each block, (blocks, 18); a flat block has NaN."""
    cv2 = opencv()
    mean = cv2.filter2D(plane, cv2.CV_64F, window, borderType=cv2.BORDER_REPLICATE)
    square = cv2.filter2D(plane * plane, cv2.CV_64F, window, borderType=cv2.BORDER_REPLICATE)
    normalised = (plane - mean) / (np.sqrt(np.abs(square - mean * mean)) + 1.0)  # MSCN
    rows, columns = (length // side for length in plane.shape)
    blocks = normalised.reshape(rows, side, columns, side).swapaxes(1, 2).reshape(-1, side, side)
    shape, left, right = asymmetric_gaussian(blocks)
    features = [shape, (left + right) / 2]
    for shift in SHIFTS:
        shape, left, right = asymmetric_gaussian(blocks * np.roll(blocks, shift, axis=(1, 2)))
        mean_of_product = (right - left) * _gamma(2 / shape) / _gamma(1 / shape)
        features += [shape, mean_of_product, left, right]
    return np.stack(features, axis=1)


def asymmetric_gaussian(blocks: NDArray[np.float64]) -> tuple[Vector, Vector, Vector]:
    """Returns shape α and the two scales of the generalised Gaussian that fits each block by moments."""
    values = blocks.reshape(len(blocks), -1)
    square = values * values
    negative, positive = values < 0, values > 0
    with np.errstate(invalid="ignore", divide="ignore"):  # a flat block gives 0/0: NaN, sorted out by the caller
        left = np.sqrt(np.sum(square * negative, axis=1) / negative.sum(axis=1))
        right = np.sqrt(np.sum(square * positive, axis=1) / positive.sum(axis=1))
        ratio = left / right
        moment = np.mean(np.abs(values), axis=1) ** 2 / square.mean(axis=1)
        moment *= (ratio**3 + 1) * (ratio + 1) / (ratio**2 + 1) ** 2
    grid, moments = _shape_grid()
    nearest = np.argmin(np.square(moments - moment[:, None]), axis=1)
    shape = np.where(np.isnan(moment), np.nan, grid[nearest])
    scale = np.sqrt(_gamma(1 / shape) / _gamma(3 / shape))
    return shape, left * scale, right * scale


def half_size(plane: Plane) -> Plane:
    """Returns the plane at half size, as MATLAB's antialiased bicubic `imresize(plane, 0.5)` does."""
    distance = np.abs(np.arange(8) - 3.5) / 2  # of the eight source samples around each target sample
    near = 1.5 * distance**3 - 2.5 * distance**2 + 1
    far = -0.5 * distance**3 + 2.5 * distance**2 - 4 * distance + 2
    taps = np.where(distance <= 1, near, far)
    taps /= taps.sum()
    for axis in (0, 1):
        padded = np.pad(plane, [(3, 4) if i == axis else (0, 0) for i in (0, 1)], mode="symmetric")
        half = plane.shape[axis] // 2
        starts = [np.take(padded, np.arange(half) * 2 + tap, axis=axis) for tap in range(8)]
        plane = np.sum([weight * samples for weight, samples in zip(taps, starts, strict=True)], axis=0)
    return plane


def _gamma(values: Vector) -> Vector:
    return np.array([math.gamma(value) for value in values])


@functools.cache
def _shape_grid() -> tuple[Vector, Vector]:
    """The candidates for α, 0.2..10 in steps of 0.001, and the moment ratio that each would show."""
    grid = np.arange(0.2, 10.001, 0.001)
    return grid, _gamma(2 / grid) ** 2 / (_gamma(1 / grid) * _gamma(3 / grid))
