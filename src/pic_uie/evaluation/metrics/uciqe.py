"""Underwater colour image quality evaluation (Yang and Sowmya, 2015) on OpenCV's 8-bit Lab."""

from __future__ import annotations

import numpy as np

from pic_uie.evaluation.metrics.pictures import Picture, check_picture, opencv

CHROMA_WEIGHT = 0.4680
CONTRAST_WEIGHT = 0.2745
SATURATION_WEIGHT = 0.2576
TAIL = 0.01  # share of the brightest and of the darkest pixels that make the contrast


def uciqe(img: Picture) -> float:
    """Returns 0.4680·σ_c + 0.2745·con + 0.2576·μ_s; higher = more colour and contrast."""
    check_picture(img)
    cv2 = opencv()
    lab = cv2.cvtColor(np.ascontiguousarray(img), cv2.COLOR_RGB2LAB)  # L 0..255, a and b around 128
    lightness = lab[..., 0].ravel()
    a, b = (lab[..., channel].ravel() - 128.0 for channel in (1, 2))
    chroma = np.hypot(a, b) / 255.0
    tail = max(1, round(TAIL * lightness.size))
    ranked = np.sort(lightness, kind="stable")  # a radix sort on 8 bits
    contrast = (ranked[-tail:].mean() - ranked[:tail].mean()) / 255.0
    lit = lightness > 0
    saturation = np.sum(chroma[lit] / (lightness[lit] / 255.0)) / lightness.size  # black pixels count as 0
    return float(CHROMA_WEIGHT * chroma.std() + CONTRAST_WEIGHT * contrast + SATURATION_WEIGHT * saturation)
