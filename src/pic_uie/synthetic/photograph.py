"""The camera: blur, exposure, white balance, noise, and the sRGB curve."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pic_uie.images import RGB8

Array = NDArray[np.floating[Any]]


def develop(radiance: Array, target: float) -> RGB8:
    """Exposes so that the mean encoded brightness is near `target`, then encodes as 8-bit sRGB."""
    return encode(radiance * np.float32(exposure(radiance, target)))


def exposure(radiance: Array, target: float) -> float:
    """Returns the factor that brings the middle brightness to `target` without burning more than the brightest 2 %."""
    rows, columns = max(radiance.shape[1] // 128, 1), max(radiance.shape[2] // 128, 1)
    sample = np.tensordot(np.array((0.25, 0.6, 0.15), np.float32), radiance[:, ::rows, ::columns], 1)
    middle: float = target**2.2 / max(float(np.mean(np.sqrt(np.maximum(sample, 0)))) ** 2, 1e-6)
    highlights = 1.15 / max(float(np.quantile(sample, 0.98)), 1e-6)
    return float(min(middle, highlights))


def white_balance(radiance: Array, strength: float) -> Array:
    """Returns gains that move the mean colour toward grey by `strength`, as a camera's automatic balance does."""
    mean = np.maximum(radiance.mean(axis=(1, 2)), 1e-5)
    gains = np.minimum((mean.mean() / mean) ** strength, 2.5)
    result: Array = (gains / gains[1]).astype(np.float32)
    return result


def encode(linear: Array) -> RGB8:
    """Returns (H, W, 3) 8-bit sRGB of (3, H, W) linear light, with a soft shoulder above 0.8."""
    position = np.clip(linear * _STEPS + 0.5, 0, len(_SRGB) - 1).astype(np.uint16)
    picture: RGB8 = np.ascontiguousarray(np.moveaxis(_SRGB.take(position), 0, -1))
    return picture


def scatter_blur(radiance: Array, optical: Array, radius: float) -> Array:
    """Spreads light forward: the picture tends to a blurred copy as the optical distance grows."""
    reach = round(radius)
    if reach < 1 or min(optical.shape) <= 2 * reach:
        return radiance
    soft = np.moveaxis(radiance, 0, 1)  # (H, 3, W): whole rows are added up
    for _ in range(4):  # twice along each side: a triangle, near enough to the bell of forward scattering
        soft = _box_transposed(soft, reach)
    share = 0.75 * (1 - np.exp(-0.8 * optical))
    result: Array = radiance + share * (np.moveaxis(soft, 1, 0) - radiance)
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
    result = np.empty(image.shape, np.float32)
    total = padded[:size].sum(axis=0)
    for row in range(rows):
        total += padded[row + size]
        total -= padded[row]
        np.multiply(total, np.float32(1 / size), out=result[row])
    return np.ascontiguousarray(result.swapaxes(0, 2))


_STEPS = 4096  # of the encoding table in the unit of linear light


def _srgb_table() -> NDArray[np.uint8]:
    linear = np.arange(2 * _STEPS + 1) / _STEPS
    soft = np.where(linear > 0.8, 1 - 0.2 * np.exp(-(linear - 0.8) / 0.2), linear)
    curve = np.where(soft <= 0.0031308, 12.92 * soft, 1.055 * soft ** (1 / 2.4) - 0.055)
    return np.round(curve * 255).astype(np.uint8)


_SRGB = _srgb_table()
