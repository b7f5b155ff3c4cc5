"""CIEDE2000 colour difference (Sharma, Wu and Dalal, 2005): what a person sees as different, in ΔE units."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from pic_uie.evaluation.metrics.pictures import check_pair
from pic_uie.images import RGB8

Floats = NDArray[np.float64]
# sRGB to XYZ, D65 (IEC 61966-2-1), rows X, Y, Z; and the D65 white point of the 2° observer.
TO_XYZ = np.array([[0.412453, 0.357580, 0.180423], [0.212671, 0.715160, 0.072169], [0.019334, 0.119193, 0.950227]])
WHITE = np.array([0.95047, 1.0, 1.08883])
SEVEN = 25.0**7
ROWS = 1 << 14  # pixels at a time: the dozen temporaries stay in the cache


def ciede2000(pred: RGB8, ref: RGB8) -> float:
    """Returns the mean ΔE00 over pixels; 0 = equal, about 1 = just noticeable, 2.3 and more = plainly different."""
    check_pair(pred, ref)
    p, r = pred.reshape(-1, 3), ref.reshape(-1, 3)
    total = 0.0
    for start in range(0, len(p), ROWS):
        rows = slice(start, start + ROWS)
        total += float(np.sum(delta_e00(lab(p[rows]), lab(r[rows]))))
    return total / len(p)


def lab(rgb: NDArray[np.uint8]) -> Floats:
    """Returns CIE L*a*b* of 8-bit sRGB values, (..., 3)."""
    xyz = _linear_light()[rgb] @ (TO_XYZ / WHITE[:, None]).T
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16.0 / 116.0)
    x, y, z = f[..., 0], f[..., 1], f[..., 2]
    return np.stack([116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)], axis=-1)


def delta_e00(lab1: Floats, lab2: Floats) -> Floats:
    """Returns ΔE00 of each pair of L*a*b* colours, (...,); symmetric."""
    l1, a1, b1 = lab1[..., 0], lab1[..., 1], lab1[..., 2]
    l2, a2, b2 = lab2[..., 0], lab2[..., 1], lab2[..., 2]
    stretch = 1.5 - 0.5 * _saturation((_length(a1, b1) + _length(a2, b2)) / 2)  # 1 + G
    a1, a2 = a1 * stretch, a2 * stretch
    chroma1, chroma2 = _length(a1, b1), _length(a2, b2)
    hue1, hue2 = np.arctan2(b1, a1), np.arctan2(b2, a2)

    turn = hue2 - hue1
    turn -= 2 * np.pi * np.round(turn / (2 * np.pi))  # the short way round
    product = chroma1 * chroma2
    lightness, chroma = (l1 + l2) / 2, (chroma1 + chroma2) / 2
    hue = np.where(product > 0, hue1 + turn / 2, hue1 + hue2)  # the middle of the short way; a grey has hue 0
    degrees = np.degrees(hue) % 360
    off_middle = (lightness - 50) ** 2

    by_lightness = (l2 - l1) / (1 + 0.015 * off_middle / np.sqrt(20 + off_middle))
    by_chroma = (chroma2 - chroma1) / (1 + 0.045 * chroma)
    by_hue = 2 * np.sqrt(product) * np.sin(turn / 2) / (1 + 0.015 * chroma * _hue_weight(hue))
    rotation = -2 * _saturation(chroma) * np.sin(np.pi / 3 * np.exp(-(((degrees - 275) / 25) ** 2)))
    squared = by_lightness**2 + by_chroma**2 + by_hue**2 + rotation * by_chroma * by_hue
    result: Floats = np.sqrt(np.maximum(squared, 0.0))
    return result


def _hue_weight(hue: Floats) -> Floats:
    """Returns T = 1 - 0.17cos(h-30°) + 0.24cos(2h) + 0.32cos(3h+6°) - 0.20cos(4h-63°), from one cosine and one sine."""
    cos1, sin1 = np.cos(hue), np.sin(hue)
    cos2, sin2 = cos1 * cos1 - sin1 * sin1, 2 * sin1 * cos1
    cos3, sin3 = cos2 * cos1 - sin2 * sin1, sin2 * cos1 + cos2 * sin1
    cos4, sin4 = cos2 * cos2 - sin2 * sin2, 2 * sin2 * cos2
    c30, s30, c6, s6, c63, s63 = (f(np.radians(angle)) for angle in (30, 6, 63) for f in (np.cos, np.sin))
    weight: Floats = (
        1
        - 0.17 * (cos1 * c30 + sin1 * s30)
        + 0.24 * cos2
        + 0.32 * (cos3 * c6 - sin3 * s6)
        - 0.20 * (cos4 * c63 + sin4 * s63)
    )
    return weight


def _saturation(chroma: Floats) -> Floats:
    """Returns √(C⁷ / (C⁷ + 25⁷))."""
    cubed = chroma * chroma * chroma
    seventh = cubed * cubed * chroma
    root: Floats = np.sqrt(seventh / (seventh + SEVEN))
    return root


def _length(a: Floats, b: Floats) -> Floats:
    length: Floats = np.sqrt(a * a + b * b)
    return length


@functools.cache
def _linear_light() -> Floats:
    """Linear light of each 8-bit sRGB value."""
    coded = np.arange(256) / 255.0
    return np.where(coded > 0.04045, ((coded + 0.055) / 1.055) ** 2.4, coded / 12.92)
