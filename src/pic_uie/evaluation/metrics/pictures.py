"""What a metric accepts, and the two things that several of them share: OpenCV's grey and the Gaussian window."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pic_uie.errors import EnvironmentMissingError
from pic_uie.images import RGB8

Plane = NDArray[np.float64]  # (H, W)

WINDOW = 11  # side of the Gaussian window of SSIM and PCQI
SIGMA = 1.5


def opencv() -> Any:
    """Returns the module cv2, or says how to get it."""
    try:
        import cv2
    except ImportError as error:
        raise EnvironmentMissingError(
            "evaluation needs OpenCV: install it with `pip install 'pic-uie[evaluate]'`"
        ) from error
    return cv2


def check_picture(picture: RGB8, smallest: int = 1, what: str = "picture") -> None:
    """Raises ValueError unless `picture` is uint8 (H, W, 3) with both sides at least `smallest`."""
    if not isinstance(picture, np.ndarray) or picture.dtype != np.uint8:
        seen = picture.dtype if isinstance(picture, np.ndarray) else type(picture).__name__
        raise ValueError(f"{what} must be a uint8 array of RGB values 0..255, got {seen}")
    if picture.ndim != 3 or picture.shape[2] != 3:
        raise ValueError(f"{what} must have shape (height, width, 3), got {picture.shape}")
    if min(picture.shape[:2]) < smallest:
        raise ValueError(f"{what} must be at least {smallest}x{smallest} pixels for this metric, got {size(picture)}")


def check_pair(pred: RGB8, ref: RGB8, smallest: int = 1) -> None:
    """Raises ValueError unless both are pictures of one size."""
    check_picture(pred, smallest, "prediction")
    check_picture(ref, smallest, "reference")
    if pred.shape != ref.shape:
        raise ValueError(f"the prediction is {size(pred)} and the reference {size(ref)}: they must have one size")


def size(picture: RGB8) -> str:
    """Returns `width x height` as people write it."""
    return f"{picture.shape[1]}x{picture.shape[0]}"


def grey(picture: RGB8) -> NDArray[np.uint8]:
    """Returns OpenCV's 8-bit grey, (H, W)."""
    cv2 = opencv()
    plane: NDArray[np.uint8] = cv2.cvtColor(np.ascontiguousarray(picture), cv2.COLOR_RGB2GRAY)
    return plane


def local_mean(plane: Plane) -> Plane:
    """Returns the Gaussian-weighted mean around each pixel that has a whole window: (H - 10, W - 10, ...)."""
    cv2 = opencv()
    taps = gaussian_taps()
    filtered: Plane = cv2.sepFilter2D(plane, cv2.CV_64F, taps, taps)
    edge = WINDOW // 2
    return filtered[edge:-edge, edge:-edge]


@functools.cache
def gaussian_taps() -> NDArray[np.float64]:
    """The 1-D Gaussian window, summing to 1."""
    offsets = np.arange(WINDOW) - WINDOW // 2
    taps = np.exp(-(offsets**2) / (2 * SIGMA**2))
    normalised: NDArray[np.float64] = taps / taps.sum()
    return normalised
