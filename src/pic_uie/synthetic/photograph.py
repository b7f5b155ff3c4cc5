"""The camera: blur, exposure, white balance, noise, and the sRGB curve."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]
Picture = NDArray[np.uint8]


def develop(radiance: Array, gains: Array | float = 1.0, target: float = 0.42) -> Picture:
    """Exposes so that the mean encoded brightness is near `target`, then encodes as 8-bit sRGB."""
    balanced = radiance * np.asarray(gains, np.float32)
    return encode(balanced * exposure(balanced, target))


def exposure(radiance: Array, target: float) -> float:
    """Returns the factor that brings the middle brightness to `target` without burning more than the brightest 2 %."""
    luminance = radiance @ np.array((0.25, 0.6, 0.15), np.float32)
    sample = luminance[:: max(luminance.shape[0] // 128, 1), :: max(luminance.shape[1] // 128, 1)]
    middle: float = target**2.2 / max(float(np.mean(np.sqrt(np.maximum(sample, 0)))) ** 2, 1e-6)
    highlights = 1.15 / max(float(np.quantile(sample, 0.98)), 1e-6)
    return float(min(middle, highlights))


def white_balance(radiance: Array, strength: float) -> Array:
    """Returns gains that move the mean colour toward grey by `strength`, as a camera's automatic balance does."""
    mean = np.maximum(radiance.mean(axis=(0, 1)), 1e-5)
    gains = np.minimum((mean.mean() / mean) ** strength, 2.5)
    result: Array = (gains / gains[1]).astype(np.float32)
    return result


def encode(linear: Array) -> Picture:
    """Returns 8-bit sRGB with a soft shoulder above 0.8."""
    value = np.maximum(linear, 0)
    value = np.where(value > 0.8, 1 - 0.2 * np.exp(-(value - 0.8) / 0.2), value)
    step = 4096
    position = np.minimum(value * step + 0.5, step).astype(np.uint16)
    picture: Picture = _SRGB[position]
    return picture


def scatter_blur(radiance: Array, distance: Array, optical: Array, radius: float) -> Array:
    """Spreads light forward: the picture tends to a blurred copy as the optical distance grows."""
    reach = round(radius)
    if reach < 1 or min(distance.shape) <= 2 * reach:
        return radiance
    soft = radiance
    for _ in range(4):  # twice along each side: a triangle, near enough to the bell of forward scattering
        soft = _box_transposed(soft, reach)
    share = (0.75 * (1 - np.exp(-0.8 * optical)))[..., None]
    result: Array = radiance + share * (soft - radiance)
    return result


def sensor_noise(radiance: Array, rng: np.random.Generator, amount: float) -> Array:
    """Adds shot noise, which grows with the light, and read noise, for a full scale of 1."""
    deviation = amount * np.sqrt(np.maximum(radiance, 0) + 0.01)
    noisy: Array = radiance + deviation * rng.standard_normal(radiance.shape, dtype=np.float32)
    return noisy


def _box_transposed(image: Array, radius: int) -> Array:
    """Returns the mean over 2·radius + 1 rows around each, edges repeated, with rows and columns exchanged."""
    rows, size = image.shape[0], 2 * radius + 1
    padded = np.pad(image, ((radius + 1, radius), (0, 0), (0, 0)), mode="edge")
    result = np.empty_like(image)
    total = padded[:size].sum(axis=0)
    for row in range(rows):
        total += padded[row + size]
        total -= padded[row]
        np.multiply(total, np.float32(1 / size), out=result[row])
    return np.ascontiguousarray(result.swapaxes(0, 1))


def _srgb_table() -> NDArray[np.uint8]:
    linear = np.arange(4097) / 4096
    curve = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return np.round(curve * 255).astype(np.uint8)


_SRGB = _srgb_table()
