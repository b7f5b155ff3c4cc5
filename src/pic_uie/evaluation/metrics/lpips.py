"""Learned perceptual similarity (Zhang et al., 2018): AlexNet features, v0.1 heads, as matrix products in NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from pic_uie.evaluation.assets import LPIPS_ALEX, load
from pic_uie.evaluation.metrics.pictures import check_pair
from pic_uie.images import RGB8

Features = NDArray[np.float32]  # (H, W, C)

SMALLEST = 31  # after one convolution of stride 4 and two poolings a single pixel is left
SHIFT = np.array([-0.030, -0.088, -0.188], dtype=np.float32)  # the published normalisation of inputs in [-1, 1]
SCALE = np.array([0.458, 0.448, 0.450], dtype=np.float32)
PATCH_BUDGET = 8 << 20  # values gathered at a time (32 MB), so that a large picture does not multiply its memory


@dataclass(frozen=True)
class Layer:
    """A convolution of AlexNet: its index in the published features, its stride, padding, and a pooling before it."""

    index: int
    stride: int
    padding: int
    pooled: bool


LAYERS = (
    Layer(0, stride=4, padding=2, pooled=False),
    Layer(3, stride=1, padding=2, pooled=True),
    Layer(6, stride=1, padding=1, pooled=True),
    Layer(8, stride=1, padding=1, pooled=False),
    Layer(10, stride=1, padding=1, pooled=False),
)


def lpips(pred: RGB8, ref: RGB8, assets: str | Path | None = None) -> float:
    """Returns the LPIPS-Alex distance; 0 = equal, lower = perceptually closer.

    Args:
        pred: uint8 RGB, at least 31x31.
        ref: uint8 RGB of the same size.
        assets: Folder of `lpips_alex.npz`; the environment variable PIC_UIE_ASSETS where not given.
    """
    check_pair(pred, ref, smallest=SMALLEST)
    published = load(LPIPS_ALEX, assets)
    parameters = {name: array.astype(np.float32, copy=False) for name, array in published.items()}
    x, y = _normalised(pred), _normalised(ref)
    distance = 0.0
    for number, layer in enumerate(LAYERS):
        if layer.pooled:
            x, y = _max_pool(x), _max_pool(y)
        weight, bias = parameters[f"features.{layer.index}.weight"], parameters[f"features.{layer.index}.bias"]
        x, y = (np.maximum(_convolve(z, weight, bias, layer), 0) for z in (x, y))
        head = parameters[f"lin{number}"].ravel()  # (C,)
        distance += float(np.mean(np.square(_unit(x) - _unit(y)) @ head, dtype=np.float64))
    return distance


def _normalised(picture: RGB8) -> Features:
    return (picture.astype(np.float32) / np.float32(127.5) - 1 - SHIFT) / SCALE


def _convolve(x: Features, weight: Features, bias: Features, layer: Layer) -> Features:
    """Returns the convolution of x (H, W, C) with weight (O, C, k, k), gathered strip by strip into matrix products."""
    channels_out, _, side, _ = weight.shape
    matrix = np.ascontiguousarray(weight.reshape(channels_out, -1).T)  # (C·k·k, O)
    padding = (layer.padding, layer.padding)
    padded = np.pad(x, (padding, padding, (0, 0)))
    windows = sliding_window_view(padded, (side, side), axis=(0, 1))
    patches = windows[:: layer.stride, :: layer.stride]  # (h, w, C, k, k), a view
    rows, columns = patches.shape[:2]
    result = np.empty((rows, columns, channels_out), dtype=np.float32)
    strip = max(1, PATCH_BUDGET // (columns * len(matrix)))
    for top in range(0, rows, strip):
        gathered = patches[top : top + strip].reshape(-1, len(matrix))
        result[top : top + strip] = (gathered @ matrix).reshape(-1, columns, channels_out)
    return result + bias


def _max_pool(x: Features) -> Features:
    """Returns the maximum over 3x3 windows at a stride of 2."""
    rows, columns = ((side - 3) // 2 + 1 for side in x.shape[:2])
    corners = (x[i : i + 2 * rows - 1 : 2, j : j + 2 * columns - 1 : 2] for i in range(3) for j in range(3))
    pooled = next(corners).copy()
    for corner in corners:
        np.maximum(pooled, corner, out=pooled)
    return pooled


def _unit(x: Features) -> Features:
    """Returns x with every pixel's feature vector scaled to length 1."""
    length = np.sqrt(np.sum(np.square(x), axis=-1, keepdims=True))
    unit: Features = x / (length + np.float32(1e-10))
    return unit
