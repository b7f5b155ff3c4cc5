"""Underwater colour image quality evaluation (Yang and Sowmya, 2015), under the conventions that are in use."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pic_uie.evaluation.metrics.pictures import check_picture, opencv
from pic_uie.images import RGB8

CHROMA_WEIGHT = 0.4680
CONTRAST_WEIGHT = 0.2745
SATURATION_WEIGHT = 0.2576
TAIL = 0.01  # share of the brightest and of the darkest pixels that make the contrast


Values = NDArray[np.float64]
Convention = Literal["centred", "matlab", "lab-units"]


def uciqe(img: RGB8, *, convention: Convention = "centred") -> float:
    """Returns 0.4680·σ_c + 0.2745·con + 0.2576·μ_s; higher = more colour and contrast.

    Args:
        img: uint8 RGB.
        convention: Published numbers follow three, which do not compare with each other. `centred`: 8-bit Lab with a
            and b around 0, saturation C/L, about 0.2 to 0.4 (the paper's). `matlab`: as the authors' script, with a
            and b around 128, a relative spread of chroma and saturation C/√(C²+L²), about 0.4 to 0.7. `lab-units`:
            Lab in its own units, L from 0 to 100, about 10 to 40.

    Raises:
        ValueError: Another convention.
    """
    check_picture(img)
    if convention == "centred":
        lightness, a, b = _lab8(img)
        return _weighted(*_terms(lightness / 255.0, np.hypot(a - 128.0, b - 128.0) / 255.0))
    if convention == "lab-units":
        cv2 = opencv()
        lab = cv2.cvtColor(np.ascontiguousarray(img, dtype=np.float32) / np.float32(255), cv2.COLOR_RGB2LAB)
        lightness, a, b = (lab[..., channel].ravel().astype(np.float64) for channel in range(3))
        return _weighted(*_terms(lightness, np.hypot(a, b)))
    if convention == "matlab":
        return _weighted(*_matlab(*_lab8(img)))
    raise ValueError(f"unknown convention {convention!r}: centred, matlab or lab-units")


def _lab8(img: RGB8) -> tuple[Values, Values, Values]:
    """Returns OpenCV's 8-bit L (0..255), a and b (around 128), each as one row of floats."""
    cv2 = opencv()
    lab = cv2.cvtColor(np.ascontiguousarray(img), cv2.COLOR_RGB2LAB)
    lightness, a, b = (lab[..., channel].ravel().astype(np.float64) for channel in range(3))
    return lightness, a, b


def _terms(lightness: Values, chroma: Values) -> tuple[float, float, float]:
    """Returns the spread of chroma, the contrast of the two tails of lightness, and the mean saturation."""
    tail = max(1, round(TAIL * lightness.size))
    ranked = np.sort(lightness)
    contrast = ranked[-tail:].mean() - ranked[:tail].mean()
    lit = lightness > 0
    saturation = np.sum(chroma[lit] / lightness[lit]) / lightness.size  # black pixels count as 0
    return float(chroma.std()), float(contrast), float(saturation)


def _matlab(lightness: Values, a: Values, b: Values) -> tuple[float, float, float]:
    light, chroma = lightness / 255.0, np.hypot(a, b) / 255.0  # around 128: never 0 for a colour that sRGB has
    spread = np.sqrt(np.mean(np.abs(1.0 - np.square(chroma.mean() / chroma))))
    shares = np.cumsum(np.bincount(lightness.astype(np.int64), minlength=256)) / lightness.size
    low, high = int(np.argmax(shares > TAIL)), int(np.argmax(shares >= 1.0 - TAIL))  # as stretchlim finds them
    saturation = np.mean(chroma / np.hypot(chroma, light))
    return float(spread), (high - low) / 255.0, float(saturation)


def _weighted(spread: float, contrast: float, saturation: float) -> float:
    return CHROMA_WEIGHT * spread + CONTRAST_WEIGHT * contrast + SATURATION_WEIGHT * saturation
