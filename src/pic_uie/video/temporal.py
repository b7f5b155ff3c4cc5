"""θ over time: smoothed without delay in files, from the past alone in streams, never across a cut.

Only θ is smoothed: (m, S) of each frame belong to its own pixels and keep the mean steady.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from pic_uie import _native
from pic_uie import constants as c
from pic_uie.arguments import Array
from pic_uie.corrections import Corrections
from pic_uie.yuv import Yuv

Flat = NDArray[np.float32]
Item = TypeVar("Item")
HALF_SECONDS = 0.5  # before and after a frame; the raised cosine is half a second wide at half its height
_MAX_HALF = 30  # frames: bounds the frames that wait in memory, whatever the rate
_PARTS = ("t", "v", "a", "tone", "lut", "matrix", "bias", "mean", "recolor")
LOOK_BEHIND = _native.FLASH_FRAMES + 2  # frames before the window that decide where cuts are


def describe(frame: Array | Yuv) -> Flat:
    """Returns what the cut detector needs of a frame."""
    scene = np.empty(_native.SCENE_NUMBERS, np.float32)
    if code := _native.describe(frame, scene):
        raise ValueError(_native.errors()[code][1])
    return scene


def flatten(theta: Corrections) -> Flat:
    """Returns θ as one row of numbers."""
    parts = [getattr(theta, name).reshape(-1) for name in _PARTS]
    return np.concatenate([*parts, np.array([theta.blend, theta.refinement], np.float32)]).astype(np.float32)


def unflatten(numbers: Flat, like: Corrections) -> Corrections:
    """Returns a mean of rows as θ; what rounding moved across a limit is moved back."""
    values: dict[str, Any] = {}
    at = 0
    for name in _PARTS:
        shape = getattr(like, name).shape
        size = int(np.prod(shape))
        values[name] = numbers[at : at + size].reshape(shape)
        at += size
    values["t"] = np.clip(values["t"], np.float32(c.T_MIN), 1.0)
    values["v"] = np.clip(values["v"], 0.0, 1.0)
    values["a"] = np.maximum(values["a"], 0.0)
    values["tone"] = np.array([0.0, *values["tone"][1:-1], 1.0], np.float32)
    blend, refinement = (float(np.clip(number, 0.0, 1.0)) for number in numbers[at:])
    return Corrections(**values, blend=blend, refinement=refinement)


def mean(thetas: Sequence[Corrections]) -> Corrections:
    """Returns the mean of several θ."""
    rows = np.stack([flatten(theta) for theta in thetas]).astype(np.float64)
    return unflatten(rows.mean(axis=0).astype(np.float32), thetas[0])


def half_window(rate: Fraction) -> int:
    """Returns how many frames before and after a frame influence its θ."""
    return max(1, min(_MAX_HALF, round(rate * Fraction(HALF_SECONDS))))


@dataclass
class _Waiting(Generic[Item]):
    item: Item | None
    scene: Flat
    row: Flat
    cut: bool | None = None


class ZeroPhase(Generic[Item]):
    """Smooths θ of a file: a raised cosine over the frames before and after, up to the cuts around them.

    What becomes of a frame depends on `half + LOOK_BEHIND` frames before it and `ahead` frames after it, no more: a run
    that continues in the middle of a file comes to the same numbers.

    Args:
        half: Frames on each side.
        like: θ with the shapes of all.
    """

    def __init__(self, half: int, like: Corrections) -> None:
        self._half, self._like = half, like
        self.ahead = half + _native.FLASH_FRAMES
        self._frames: deque[_Waiting[Item]] = deque()
        self._next = 0  # the frame that is to be given out, counted from the oldest one
        self.weights = 1.0 + np.cos(np.pi * np.arange(half + 1) / (half + 1))

    def push(self, item: Item, scene: Flat, theta: Corrections) -> Iterator[tuple[Item, Corrections, bool]]:
        """Takes a frame; yields those whose θ is settled, with θ and whether they begin a scene."""
        self._frames.append(_Waiting(item, scene, flatten(theta)))
        while len(self._frames) - self._next > self.ahead:
            yield self._give()

    def flush(self) -> Iterator[tuple[Item, Corrections, bool]]:
        """Yields what is left at the end of the file."""
        while self._next < len(self._frames):
            yield self._give()

    def _give(self) -> tuple[Item, Corrections, bool]:
        at = self._next
        first, last = at, at
        while first > max(0, at - self._half) and not self._is_cut(first):
            first -= 1
        while last < min(len(self._frames) - 1, at + self._half) and not self._is_cut(last + 1):
            last += 1
        weights = self.weights[np.abs(np.arange(first, last + 1) - at)]
        rows = np.stack([self._frames[i].row for i in range(first, last + 1)])
        row = (weights / weights.sum()) @ rows.astype(np.float64)
        frame = self._frames[at]
        item, frame.item = frame.item, None
        cut = self._is_cut(at)
        self._next += 1
        while self._next > self._half + LOOK_BEHIND + 1:
            self._frames.popleft()
            self._next -= 1
        return item, unflatten(row.astype(np.float32), self._like), cut  # type: ignore[return-value]

    def _is_cut(self, index: int) -> bool:
        frame = self._frames[index]
        if frame.cut is None:
            low = max(0, index - _native.FLASH_FRAMES - 1)
            high = min(len(self._frames), index + _native.FLASH_FRAMES + 1)
            scenes = np.stack([self._frames[i].scene for i in range(low, high)])
            frame.cut = _native.is_cut(scenes, index - low)
        return frame.cut


class Causal:
    """Smooths θ of a stream: an exponential mean that starts anew at cuts, in the native core.

    Args:
        rate: Frames a second.
    """

    def __init__(self, rate: float = 30.0) -> None:
        self._frames = max(1.0, HALF_SECONDS * rate)
        self._filter: _native.CausalFilter | None = None

    def push(self, frame: Array | Yuv, theta: Corrections) -> tuple[Corrections, bool]:
        """Returns smoothed θ of the next frame, and whether it begins a scene."""
        row = flatten(theta)
        if self._filter is None:
            self._filter = _native.CausalFilter(row.size, self._frames)
        cut = self._filter.push(describe(frame), row, row)
        return unflatten(row, theta), cut
