"""The sea floor: a height field of sand, ripples and reef, seen by a camera above it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pic_uie.synthetic import noise

Array = NDArray[np.floating[Any]]

NEAR, FAR = 0.35, 24.0  # the range of forward distances that is sampled, in scene units


@dataclass(frozen=True)
class Camera:
    """A pinhole camera that looks along +z from (0, height, 0); tilt is a shift of the horizon."""

    rows: int
    columns: int
    focal: float  # in pixels
    horizon: float  # row of the horizon
    height: float  # above the mean sea floor

    def x_slopes(self) -> Array:
        """Returns X / z of each column."""
        return ((np.arange(self.columns) - 0.5 * (self.columns - 1)) / self.focal).astype(np.float32)

    def y_slopes(self) -> Array:
        """Returns Y / z of each row, relative to the camera: negative below the horizon."""
        return ((self.horizon - np.arange(self.rows)) / self.focal).astype(np.float32)

    def project(self, x: float, y: float, z: float) -> tuple[float, float]:
        """Returns (column, row) of a point of the world."""
        column = 0.5 * (self.columns - 1) + self.focal * x / z
        return column, self.horizon - self.focal * (y - self.height) / z


@dataclass(frozen=True)
class Terrain:
    """What the sea floor of one scene is like."""

    offset: tuple[float, float]  # where in the noise tiles this scene lies
    heading: float
    hills: float  # height of the broad hills
    reef: float  # 0: open sand, 1: reef everywhere
    reef_height: float
    slope: float  # rise of the floor with forward distance: a bank or a wall
    slope_start: float
    side_slope: float
    ripple_length: float
    ripple_heading: float

    @classmethod
    def draw(cls, rng: np.random.Generator) -> Terrain:
        """Draws a sea floor: a flat, a reef, a bank or a wall."""
        wall = rng.random() < 0.3
        return cls(
            offset=(float(rng.random()), float(rng.random())),
            heading=float(rng.uniform(0, 2 * np.pi)),
            hills=float(rng.uniform(0.1, 0.5)),
            reef=float(np.clip(rng.beta(1.1, 1.0), 0.05, 0.95)),
            reef_height=float(rng.uniform(0.15, 0.5)),
            slope=float(rng.uniform(0.35, 1.1) if wall else rng.uniform(0.0, 0.12)),
            slope_start=float(rng.uniform(2.0, 7.0)),
            side_slope=float(rng.normal(0, 0.25 if wall else 0.07)),
            ripple_length=float(rng.uniform(0.12, 0.3)),
            ripple_heading=float(rng.normal(0.0, 0.5)),
        )

    def tile_coordinates(self, x: Array, z: Array, metres: float) -> tuple[Array, Array]:
        """Returns where points of the floor lie in a tile that covers `metres`."""
        cos, sin = math.cos(self.heading) / metres, math.sin(self.heading) / metres
        return (cos * x + sin * z + self.offset[0]), (cos * z - sin * x + self.offset[1])

    def reef_cover(self, x: Array, z: Array) -> Array:
        """Returns how much of the floor is reef at each point, 0..1."""
        patches = noise.lookup(noise.clouds(), *self.tile_coordinates(x, z, 29.0), level=3)
        threshold = 1.3 - 2.6 * self.reef
        cover: Array = np.clip(1.6 * (patches - threshold) + 0.5, 0, 1)
        return cover

    def elevation(self, x: Array, z: Array, reef: Array) -> Array:
        """Returns the height of the floor at each point, given its reef cover."""
        hills = noise.lookup(noise.clouds(), *self.tile_coordinates(x, z, 41.0), level=5)
        rough = noise.lookup(noise.clouds(), *self.tile_coordinates(x, z, 9.0), level=3)
        u, v = self.tile_coordinates(z, x, 19.0)
        domes = noise.lookup(noise.cells(), u + 0.012 * rough, v - 0.012 * rough, level=1)
        heads = noise.lookup(noise.cells(), *self.tile_coordinates(x, z, 6.7), level=1)
        knolls = 0.1 + 0.3 * rough + 1.1 * domes * (1 + 0.3 * rough) + 0.16 * heads
        bank = self.slope * np.maximum(z - self.slope_start, 0) + self.side_slope * x
        height: Array = self.hills * hills + bank + self.reef_height * reef * knolls
        return height

    def ripples(self, x: Array, z: Array) -> Array:
        """Returns the profile of the sand ripples, about -1..1."""
        bend = noise.lookup(noise.clouds(), *self.tile_coordinates(x, z, 6.0), level=4)
        across = z * math.cos(self.ripple_heading) + x * math.sin(self.ripple_heading) + 0.22 * bend
        phase = np.mod(across / self.ripple_length, 1.0)
        ramp = np.where(phase < 0.65, phase / 0.65, (1 - phase) / 0.35)  # steep in the lee, as sand lies
        profile: Array = 2 * ramp * ramp * (3 - 2 * ramp) - 1
        return profile


@dataclass(frozen=True)
class Floor:
    """What the camera sees of a terrain; every array is (rows, columns)."""

    hit: NDArray[np.bool_]  # False: open water
    z: Array  # forward distance
    x: Array
    y: Array  # height of the point seen
    slope_x: Array
    slope_z: Array
    reef: Array


def view(terrain: Terrain, camera: Camera) -> Floor:
    """Finds the first point of the floor on every ray, column by column in one sweep.

    Along a column the floor at growing distances is seen at rows whose running top never sinks; a pixel sees the first
    distance at which the running top reaches it.
    """
    samples = int(np.clip(camera.rows * 0.9, 160, 2000))
    steepest, flattest = float(-camera.y_slopes()[-1]), float(-camera.y_slopes()[0])
    near = max(NEAR, 0.35 * camera.height / steepest) if steepest > 0 else NEAR
    far = min(FAR, (camera.height + 2.0) / flattest) if flattest > 0 else FAR  # a camera that looks down sees less far
    distances = np.geomspace(min(near, 0.5 * far), far, samples, dtype=np.float32)
    slopes = camera.x_slopes()
    z = distances[:, None]
    half = slopes[::2]  # the floor is smooth at the scale of pixels: every other column is enough
    x_half, z_half = np.multiply.outer(distances, half), np.broadcast_to(z, (samples, len(half)))
    reef_half = terrain.reef_cover(x_half, z_half)
    height = _double_columns(terrain.elevation(x_half, z_half, reef_half), camera.columns)  # (samples, columns)
    reef = _double_columns(reef_half, camera.columns)
    rows = camera.horizon - camera.focal * (height - camera.height) / z
    bend = np.maximum(rows[:-2] - 2 * rows[1:-1] + rows[2:], 1e-3)  # a crest between samples: the parabola's vertex
    crest = (rows[:-2] > rows[1:-1]) & (rows[2:] > rows[1:-1])
    rows[1:-1] -= np.where(crest, (rows[2:] - rows[:-2]) ** 2 / (8 * bend), 0)
    top = np.minimum.accumulate(rows, axis=0)

    # index[r, c] = how many samples stay below pixel r = the first sample that reaches it.
    bins = np.clip(np.ceil(top), 0, camera.rows).astype(np.intp)
    flat = bins * camera.columns + np.arange(camera.columns)
    counts = np.bincount(flat.ravel(), minlength=(camera.rows + 1) * camera.columns)
    reached = counts.reshape(camera.rows + 1, camera.columns).cumsum(axis=0)  # samples with ceil(top) <= r
    index = samples - reached[: camera.rows]
    hit = index < samples
    after = np.clip(index, 1, samples - 1)

    column = np.broadcast_to(np.arange(camera.columns), after.shape)
    row = np.arange(camera.rows, dtype=np.float32)[:, None]
    row_before, row_after = rows[after - 1, column], rows[after, column]
    part = np.clip((row_before - row) / np.maximum(row_before - row_after, 1e-3), 0, 1)
    z_hit = distances[after - 1] + part * (distances[after] - distances[after - 1])

    along_x = np.gradient(height, axis=1) * (camera.focal / z) if camera.columns > 1 else np.zeros_like(height)
    along_z = np.gradient(height, axis=0) / np.gradient(distances)[:, None] - along_x * slopes
    pick = np.where(part < 0.5, after - 1, after), column
    x_hit = z_hit * slopes
    y_hit = camera.height + z_hit * camera.y_slopes()[:, None]
    return Floor(hit, z_hit, x_hit, y_hit, along_x[pick], along_z[pick], reef[pick])


def _double_columns(half: Array, columns: int) -> Array:
    full = np.repeat(half, 2, axis=1)[:, :columns]
    inner = (columns - 1) // 2
    full[:, 1 : 2 * inner : 2] += 0.5 * np.diff(half, axis=1)[:, :inner]
    return full
