"""Synthetic underwater pictures with their reference and depth: procedural scenes put under physical water."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pic_uie.images import RGB8
from pic_uie.synthetic import photograph
from pic_uie.synthetic.scene import render
from pic_uie.synthetic.water import WATER_TYPES, draw_water, submerge, water

__all__ = ["WATER_TYPES", "Pair", "inverse_depth", "render_pair", "submerge", "water"]

MIN_SIDE, MAX_PIXELS = 16, 1 << 28


class Pair(NamedTuple):
    """One synthetic picture.

    Attributes:
        input: The scene under water, (H, W, 3) uint8 sRGB.
        reference: The same scene in clear white light, (H, W, 3) uint8 sRGB.
        distance: Metres from the camera, (H, W) float32.
    """

    input: RGB8
    reference: RGB8
    distance: NDArray[np.float32]


def render_pair(height: int, width: int, seed: int, water: str | None = None) -> Pair:
    """Renders a scene and puts it under water.

    Args:
        height: Rows, at least 16.
        width: Columns, at least 16.
        seed: Same seed, size and water: same bytes.
        water: A Jerlov type of WATER_TYPES, or None to draw one.

    Raises:
        ValueError: A size, seed or water type that cannot be.
    """
    if min(height, width) < MIN_SIDE or height * width > MAX_PIXELS:
        raise ValueError(f"a scene has {MIN_SIDE} pixels a side or more and at most {MAX_PIXELS}, got {width}x{height}")
    if seed < 0:
        raise ValueError(f"the seed must be 0 or more, got {seed}")
    scene_rng, water_rng, camera_rng = np.random.default_rng(seed).spawn(3)
    waters = draw_water(water_rng, water)
    scene = render(height, width, scene_rng)

    # The photographer goes nearer in murky water: the middle distance has a drawn optical thickness.
    thickness = float(water_rng.uniform(0.25, 1.5)) / float(waters.direct.mean() * np.median(scene.distance))
    distance = scene.distance * np.float32(np.clip(thickness, 0.12, 2.5))
    seen = submerge(scene.radiance, distance, waters, scene.elevation)
    optical = distance * np.float32(waters.direct[1])
    seen = photograph.scatter_blur(seen, optical, camera_rng.uniform(0.002, 0.008) * min(height, width))

    gains = photograph.white_balance(seen, float(camera_rng.uniform(0.0, 0.5)))
    seen *= gains[:, None, None]
    seen *= np.float32(photograph.exposure(seen, float(camera_rng.uniform(0.33, 0.5))))
    seen = photograph.sensor_noise(seen, camera_rng, float(camera_rng.uniform(0.004, 0.02)))
    reference = photograph.develop(scene.radiance, target=0.47)
    return Pair(photograph.encode(seen), reference, distance.astype(np.float32))


def inverse_depth(distance: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Returns relative inverse depth, near = bright, scaled to 0..255 for this picture."""
    inverse = 1.0 / np.maximum(distance.astype(np.float64), 1e-6)
    low, high = float(inverse.min()), float(inverse.max())
    if high - low < 1e-12 * high:
        return np.zeros(distance.shape, np.uint8)
    return np.round((inverse - low) * (255.0 / (high - low))).astype(np.uint8)
