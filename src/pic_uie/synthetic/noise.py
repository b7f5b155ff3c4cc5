"""Periodic noise tiles, made once per process, and their lookup at any point of the world."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]

TILE = 512  # samples along a side of a tile; a tile covers [0, 1)² and repeats
LEVELS = 7  # each level is the one before with its finest octave removed
_CELLS = 11  # cells along a side of the cell tile


@cache
def clouds() -> Array:
    """Returns fractal noise of mean 0 and deviation 1 as (LEVELS, TILE, TILE), smoother with the level."""
    rng = np.random.default_rng(20_011)
    frequency = np.hypot(np.fft.fftfreq(TILE)[:, None], np.fft.rfftfreq(TILE)[None, :]) * TILE
    frequency[0, 0] = np.inf
    # An amplitude of 1/f^1.35 is between a cloud and a rough stone; below 2 cycles a tile there is only drift.
    spectrum = np.fft.rfft2(rng.standard_normal((TILE, TILE))) / (2.0 + frequency) ** 1.35
    finest = np.fft.irfft2(spectrum, s=(TILE, TILE))
    cutoffs = TILE / 2.0 ** (np.arange(LEVELS) + 1)
    levels = [np.fft.irfft2(spectrum * np.exp(-((frequency / cutoff) ** 2)), s=(TILE, TILE)) for cutoff in cutoffs]
    levels[0] = finest
    return np.ascontiguousarray(np.stack(levels) / finest.std(), dtype=np.float32)


@cache
def cells() -> Array:
    """Returns two views of random cells as (2, TILE, TILE).

    Level 0 is the distance to the border between cells, 0 to about 1; level 1 is a rounded dome on each cell, 0..1.
    """
    rng = np.random.default_rng(20_012)
    grid = np.stack(np.meshgrid(np.arange(_CELLS), np.arange(_CELLS), indexing="ij"), axis=-1).reshape(-1, 2)
    seeds = (grid + rng.random(grid.shape)) / _CELLS
    axis = (np.arange(TILE) / TILE).astype(np.float32)
    first = np.full((TILE, TILE), np.inf, np.float32)
    second = first.copy()
    for y, x in seeds:
        dy = np.abs(axis - y)
        dx = np.abs(axis - x)
        squared = np.add.outer(np.minimum(dy, 1 - dy) ** 2, np.minimum(dx, 1 - dx) ** 2).astype(np.float32)
        second = np.minimum(second, np.maximum(first, squared))
        first = np.minimum(first, squared)
    border = (np.sqrt(second) - np.sqrt(first)) * _CELLS
    dome = np.maximum(1 - first * (_CELLS * _CELLS), 0) ** 1.2
    return np.ascontiguousarray(np.stack((border, dome)))


def lookup(tiles: Array, x: Array, y: Array, level: NDArray[np.intp] | int = 0) -> Array:
    """Interpolates a stack of periodic tiles at (x, y) in tile units; `level` chooses the tile for each point."""
    x, y = np.asarray(x, np.float32) * TILE, np.asarray(y, np.float32) * TILE
    column, row = np.floor(x), np.floor(y)
    fx, fy = x - column, y - row
    left, top = column.astype(np.intp) & (TILE - 1), row.astype(np.intp) & (TILE - 1)
    right, bottom = (left + 1) & (TILE - 1), (top + 1) & (TILE - 1)
    flat = tiles.reshape(-1)
    base = np.asarray(level, np.intp) * (TILE * TILE)
    top, bottom = top * TILE + base, bottom * TILE + base
    upper, lower = flat.take(top + left), flat.take(bottom + left)
    upper += fx * (flat.take(top + right) - upper)
    lower += fx * (flat.take(bottom + right) - lower)
    result: Array = upper + (lower - upper) * fy
    return result


def level_for(footprint: Array, metres_per_tile: float) -> NDArray[np.intp]:
    """Returns the level whose finest detail is about one pixel, for pixels that cover `footprint` metres."""
    samples = np.maximum(footprint * (TILE / metres_per_tile), 1.0)
    level: NDArray[np.intp] = np.minimum(np.log2(samples), LEVELS - 1).astype(np.intp)
    return level
