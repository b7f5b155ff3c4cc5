"""Composes a scene: sea floor, what lives on it, and its distance from the camera, all before any water."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pic_uie.synthetic import noise, objects
from pic_uie.synthetic.canvas import Canvas, Light
from pic_uie.synthetic.terrain import FAR, Camera, Floor, Terrain, view

Array = NDArray[np.floating[Any]]

_REEF_TINTS = (  # stone, turf algae, coralline crust, rubble
    ((0.25, 0.22, 0.18), (0.21, 0.20, 0.10), (0.40, 0.22, 0.22), (0.48, 0.44, 0.36)),
    ((0.30, 0.25, 0.17), (0.33, 0.24, 0.10), (0.30, 0.17, 0.24), (0.52, 0.47, 0.40)),
    ((0.21, 0.20, 0.19), (0.14, 0.18, 0.09), (0.45, 0.27, 0.15), (0.40, 0.36, 0.30)),
)
_OPEN_WATER = (0.10, 0.22, 0.33)
_SANDS = ((0.62, 0.55, 0.43), (0.52, 0.46, 0.37), (0.70, 0.66, 0.57), (0.42, 0.38, 0.32))
_PLACERS: tuple[tuple[Callable[..., None], float], ...] = (
    (objects.boulder, 0.45),
    (objects.branching, 0.38),
    (objects.sponges, 0.17),
)


@dataclass(frozen=True)
class Scene:
    """A rendered scene without water.

    Attributes:
        radiance: Linear light that leaves the scene towards the camera, (3, H, W), white = about 1.
        distance: Length of each ray in scene units, (H, W).
        elevation: Sine of the angle of each ray above the horizontal, (H, W): where open water is brighter.
    """

    radiance: Array
    distance: Array
    elevation: Array


def render(height: int, width: int, rng: np.random.Generator) -> Scene:
    """Renders one random scene; the composition does not depend on the picture's size, only its detail does."""
    side = float(np.hypot(height, width)) / 1.2
    camera = Camera(
        rows=height,
        columns=width,
        focal=side * float(rng.uniform(0.65, 1.0)),
        horizon=height * float(rng.choice((rng.uniform(-0.25, 0.1), rng.uniform(0.1, 0.5)), p=(0.35, 0.65))),
        height=float(rng.uniform(0.7, 1.9)),
    )
    terrain, light = Terrain.draw(rng), Light.draw(rng)
    # The camera stays clear of the floor right under and before it.
    ahead = np.linspace(0.3, 2.5, 12, dtype=np.float32)
    ground = float(np.max(_ground(terrain, 0 * ahead, ahead) - 0.25 * ahead))
    camera = Camera(camera.rows, camera.columns, camera.focal, camera.horizon, camera.height + max(ground, -0.3))

    floor = view(terrain, camera)
    radiance = _paint_floor(floor, terrain, camera, light, rng)
    canvas = Canvas(radiance, np.where(floor.hit, floor.z, FAR).astype(np.float32), light)
    _place_life(canvas, terrain, camera, rng)

    x, y = camera.x_slopes()[None, :], camera.y_slopes()[:, None]
    ray = np.sqrt(1 + x * x + y * y)
    brightness = 1 + 0.5 * y / ray
    fade = np.clip((canvas.z - 0.45 * FAR) / (0.5 * FAR), 0, 1) ** 0.8  # the far end of the floor meets open water
    for plane, backdrop in zip(canvas.radiance, _OPEN_WATER, strict=True):
        plane += fade * (backdrop * brightness - plane)
    return Scene(canvas.radiance, canvas.z * ray, (y / ray).astype(np.float32))


def _paint_floor(floor: Floor, terrain: Terrain, camera: Camera, light: Light, rng: np.random.Generator) -> Array:
    footprint = floor.z / camera.focal
    # The texture is projected along the axis that a face looks at: from above alone it would smear on steep faces.
    steep_x, steep_z = np.abs(floor.slope_x), np.abs(floor.slope_z)
    tx = np.where((steep_x > 1) & (steep_x > steep_z), floor.y, floor.x)
    tz = np.where((steep_z > 1) & (steep_z >= steep_x), floor.y, floor.z)
    rough = noise.lookup(noise.clouds(), *terrain.tile_coordinates(tx, tz, 2.3), noise.level_for(1.3 * footprint, 2.3))
    broad = noise.lookup(noise.clouds(), *terrain.tile_coordinates(tz, tx, 7.1), noise.level_for(2 * footprint, 7.1))
    ripple = terrain.ripples(floor.x, floor.z) * np.clip(terrain.ripple_length / (12 * footprint), 0, 1)

    reef = np.clip(floor.reef + 0.35 * (rough + broad) * (floor.reef > 0.02), 0, 1)
    reef = reef * reef * (3 - 2 * reef)
    sand = 1 - reef
    # Bumps of the texture tilt the surface as they would in relief.
    tilt_z, tilt_x = np.gradient(rough) if min(rough.shape) > 1 else (np.zeros_like(rough), np.zeros_like(rough))
    relief = (0.25 + 0.75 * reef) * 1.1
    nx = -floor.slope_x - relief * np.clip(tilt_x, -1, 1)
    nz = -floor.slope_z + relief * np.clip(tilt_z, -1, 1) - 0.28 * sand * ripple
    length = np.sqrt(nx * nx + 1 + nz * nz)
    shade = light.shade(nx / length, 1 / length, nz / length)
    hollow = np.clip(1 + reef * (0.30 * rough + 0.18 * broad) + sand * (0.05 * rough + 0.10 * ripple), 0.22, 1.7)
    shade = shade * hollow * _caustics(terrain, floor, footprint, float(rng.uniform(-0.1, 0.35)))

    tints = np.array(_REEF_TINTS[rng.integers(len(_REEF_TINTS))], np.float32)
    ground = np.array(_SANDS[rng.integers(len(_SANDS))], np.float32)
    turf_share = np.clip(0.9 * broad + 0.2, 0, 1)
    crust_share = np.clip(-1.1 * broad - 0.5 + 0.4 * rough, 0, 0.85)
    rubble_share = np.clip(rough - 0.75, 0, 0.9)
    radiance = np.empty((3, *rough.shape), np.float32)
    for channel, plane in enumerate(radiance):  # plane by plane: NumPy is slow across a last axis of three
        stone, turf, crust, rubble = tints[:, channel]
        plane[...] = stone + turf_share * (turf - stone)
        plane += crust_share * (crust - plane)
        plane += rubble_share * (rubble - plane)
        plane += sand * (ground[channel] - plane)
        plane *= shade
    return radiance


def _caustics(terrain: Terrain, floor: Floor, footprint: Array, amount: float) -> Array:
    """Returns the net of light that waves throw on the floor, mean about 1."""
    if amount < 0.08:  # overcast or deep
        return np.ones_like(floor.z)
    bend = noise.lookup(noise.clouds(), *terrain.tile_coordinates(floor.z, floor.x, 5.0), 3)
    u, v = terrain.tile_coordinates(floor.x, floor.z, 4.2)
    border = noise.lookup(noise.cells(), u + 0.03 * bend, v - 0.03 * bend)
    net = np.exp(-border / 0.09)
    seen = np.clip(0.05 / footprint - 0.5, 0, 1)
    result: Array = 1 + amount * seen * (2.2 * net - 0.35)
    return result


def _ground(terrain: Terrain, x: Array, z: Array) -> Array:
    return terrain.elevation(x, z, terrain.reef_cover(x, z))


def _place_life(canvas: Canvas, terrain: Terrain, camera: Camera, rng: np.random.Generator) -> None:
    count = int(rng.poisson(4 + 14 * terrain.reef))
    z = (np.sort(rng.uniform(1.1**0.5, 11.0**0.5, count) ** 2)[::-1]).astype(np.float32)  # far to near
    x = (z * rng.uniform(-0.55, 0.55, count) * (camera.columns / camera.focal)).astype(np.float32)
    radii = rng.lognormal(-1.35, 0.45, count)
    painters, weights = zip(*_PLACERS, strict=True)
    kinds = rng.choice(len(painters), size=count, p=weights)
    reef, ground = terrain.reef_cover(x, z), _ground(terrain, x, z)
    settled = (reef > 0.15) | (rng.random(count) < 0.4)  # most of it grows on rock
    for i, own in enumerate(rng.spawn(count)):  # what one object draws does not move the next
        size = min(camera.focal * float(radii[i]) / float(z[i]), 0.3 * camera.rows)
        if settled[i] and size > 1.5:
            column, row = camera.project(float(x[i]), float(ground[i]) - 0.04, float(z[i]))
            scale = 1.0 if painters[kinds[i]] is objects.boulder else 1.8
            painters[kinds[i]](canvas, own, column, row, float(z[i]), scale * size, float(radii[i]))
    if rng.random() < 0.15:
        _place_chart(canvas, terrain, camera, rng)
    if rng.random() < 0.55:
        _place_fish(canvas, camera, rng)


def _place_chart(canvas: Canvas, terrain: Terrain, camera: Camera, rng: np.random.Generator) -> None:
    z = float(rng.uniform(1.4, 3.0))
    x = z * float(rng.uniform(-0.3, 0.3))
    ground = _ground(terrain, np.array([x], np.float32), np.array([z], np.float32))
    column, row = camera.project(x, float(ground[0]) + 0.02, z)
    objects.chart(canvas, rng, column, min(row, 0.97 * camera.rows), z, camera.focal * 0.42 / z)


def _place_fish(canvas: Canvas, camera: Camera, rng: np.random.Generator) -> None:
    color = objects.FISH_COLORS[rng.integers(len(objects.FISH_COLORS))]
    x, y, z = rng.uniform(-0.35, 0.35), rng.uniform(0.15, 0.6), rng.uniform(1.8, 6.0)
    length = float(rng.lognormal(-1.6, 0.35))
    for _ in range(int(1 + rng.geometric(0.18))):
        distance = float(z * np.exp(0.15 * rng.normal()))
        column = (0.5 + x + 0.16 * rng.normal()) * camera.columns
        row = (y + 0.10 * rng.normal()) * camera.rows
        objects.fish(canvas, rng, float(column), float(row), distance, camera.focal * length / distance, color)
