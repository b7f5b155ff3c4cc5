"""The picture being painted: radiance and distance, with shading and a depth test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]
Window = tuple[slice, slice]


@dataclass(frozen=True)
class Light:
    """A sun that the surface has spread out, over diffuse light from above."""

    direction: tuple[float, float, float]  # x right, y up, z away from the camera; unit length
    sun: float
    ambient: float

    @classmethod
    def draw(cls, rng: np.random.Generator) -> Light:
        """Draws a high sun, mostly from behind the camera."""
        x, z = rng.normal(0, 0.45), rng.normal(-0.35, 0.35)
        length = float(np.sqrt(x * x + 1 + z * z))
        return cls((float(x) / length, 1 / length, float(z) / length), float(rng.uniform(0.45, 0.95)), 0.5)

    def shade(self, nx: Array, ny: Array, nz: Array) -> Array:
        """Returns the irradiance on surfaces with the given unit normals."""
        lx, ly, lz = self.direction
        facing = np.maximum(nx * lx + ny * ly + nz * lz, 0)
        result: Array = self.sun * facing + self.ambient * (0.62 + 0.38 * ny)
        return result


@dataclass(frozen=True)
class Canvas:
    """Linear radiance (3, H, W) and forward distance (H, W); objects are painted into it in place."""

    radiance: Array
    z: Array
    light: Light

    def window(self, column: float, row: float, half_width: float, half_height: float) -> Window | None:
        """Returns the part of the canvas under a box around (column, row), or None if there is none."""
        rows, columns = self.z.shape
        top, bottom = max(int(row - half_height), 0), min(int(row + half_height) + 2, rows)
        left, right = max(int(column - half_width), 0), min(int(column + half_width) + 2, columns)
        if top >= bottom or left >= right:
            return None
        return slice(top, bottom), slice(left, right)

    def paint(self, window: Window, coverage: Array, color: Array, z: Array | float) -> None:
        """Lays `color` (3, h, w) over the window where it is nearer than what is there."""
        behind = self.z[window]
        coverage = np.where(z < behind, coverage, 0)
        target = self.radiance[:, *window]
        target += coverage * (color - target)
        np.copyto(behind, z, where=coverage > 0.5)

    def darken(self, column: float, row: float, half_width: float, half_height: float, z: float, amount: float) -> None:
        """Lays a soft contact shadow on what lies near the distance `z`."""
        window = self.window(column, row, 1.8 * half_width, 1.8 * half_height)
        if window is None:
            return
        dx, dy = pixel_offsets(window, column, row)
        fall = np.exp(-((dx / half_width) ** 2) - (dy / half_height) ** 2)
        near = np.exp(-(((self.z[window] - z) / (0.12 * z + 0.1)) ** 2))
        self.radiance[:, *window] *= 1 - amount * fall * near


def pixel_offsets(window: Window, column: float, row: float) -> tuple[Array, Array]:
    """Returns the offsets of the window's pixels from (column, row), shaped (1, w) and (h, 1)."""
    dx = np.arange(window[1].start, window[1].stop, dtype=np.float32)[None, :] - np.float32(column)
    dy = np.arange(window[0].start, window[0].stop, dtype=np.float32)[:, None] - np.float32(row)
    return dx, dy
