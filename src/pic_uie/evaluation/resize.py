"""The named ways in which prediction and reference reach the size at which they are compared: always the same for both.

An antialiased prediction against an aliased reference costs about 0.04 SSIM and 0.11 PCQI with identical weights.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pic_uie.evaluation.metrics.pictures import opencv
from pic_uie.images import RGB8

Resize = Literal["paper-256", "antialias-256", "native", "from-256"]
SIDE = 256


def opencv_linear(picture: RGB8) -> RGB8:
    """Returns 256x256 by `cv2.resize(..., INTER_LINEAR)`: two samples per axis, so shrinking aliases."""
    cv2 = opencv()
    resized: RGB8 = cv2.resize(np.ascontiguousarray(picture), (SIDE, SIDE), interpolation=cv2.INTER_LINEAR)
    return resized


def antialiased(picture: RGB8) -> RGB8:
    """Returns 256x256 by a triangle filter that widens with the shrinking factor: every source pixel counts."""
    height, width = picture.shape[:2]
    down = _triangle_weights(height) @ picture.reshape(height, -1).astype(np.float32)  # (256, W * 3)
    both = _triangle_weights(width) @ down.reshape(SIDE, width, 3)  # (256, 256, 3)
    resized: RGB8 = np.clip(np.rint(both), 0, 255).astype(np.uint8)
    return resized


def unchanged(picture: RGB8) -> RGB8:
    """Returns the picture itself."""
    return picture


@functools.lru_cache(maxsize=64)
def _triangle_weights(length: int) -> NDArray[np.float32]:
    """Returns the weight of each source sample in each target sample, (256, length); rows sum to 1."""
    scale = length / SIDE
    support = max(scale, 1.0)  # half the width of the triangle, in source pixels
    centres = (np.arange(SIDE) + 0.5) * scale
    distances = np.abs(np.arange(length) + 0.5 - centres[:, None]) / support
    weights: NDArray[np.float64] = np.maximum(0.0, 1.0 - distances)
    normalised: NDArray[np.float64] = weights / weights.sum(axis=1, keepdims=True)
    return normalised.astype(np.float32)


# What is done to prediction and reference. `from-256` differs in where the prediction comes from: a 256x256 input.
RESIZES: dict[Resize, Callable[[RGB8], RGB8]] = {
    "paper-256": opencv_linear,
    "antialias-256": antialiased,
    "native": unchanged,
    "from-256": opencv_linear,
}
