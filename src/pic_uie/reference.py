"""The model in float64 NumPy, beside the paper: what the engines are checked against, and what `inspect` shows.

The same mathematics exists twice more, since it must: in C++ (`native/`), which enhances pictures, and in PyTorch
(`model/`), which can be trained. Tests compare both with this file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pic_uie import constants as c
from pic_uie.corrections import Corrections

Array = NDArray[np.float64]
Parameters = Mapping[str, NDArray[Any]]  # by their names in the weights file
Theta = Mapping[str, Array]  # the fields of `Corrections`, not rounded to float32


@dataclass(frozen=True)
class Steps:
    """Every intermediate of one picture; images are (H, W) or (H, W, channels).

    Attributes:
        rgb: The input in [0, 1].
        t: Transmission at the picture's size.
        v: Veiling light, likewise.
        a: Gain, likewise.
        y: Luminance of the input.
        y1: Y¹, after the spatial luminance correction.
        toned: Γ(Y¹).
        y2: Y², after the refiner.
        gate: g(t), how much of the chroma table acts.
        q: Chroma (Cb, Cr) of the input.
        q1: q¹, after the chroma table.
        z1: (Y, Cb, Cr) after the colour matrix.
        mean: m, the mean of z¹.
        covariance: S of z¹, with what the model adds to its diagonal.
        eigenvalues: Of S, ascending.
        z2: (Y, Cb, Cr) after the covariance calibration.
        result: The enhanced picture in [0, 1].
    """

    rgb: Array
    t: Array
    v: Array
    a: Array
    y: Array
    y1: Array
    toned: Array
    y2: Array
    gate: Array
    q: Array
    q1: Array
    z1: Array
    mean: Array
    covariance: Array
    eigenvalues: Array
    z2: Array
    result: Array


def predict(
    rgb: Array, parameters: Parameters, thumbnail: int = c.THUMBNAIL, grid: int = c.LUT_GRID
) -> dict[str, Array]:
    """Returns θ of a picture (H, W, 3) in [0, 1], Eq. 1.

    Args:
        rgb: The picture.
        parameters: Of the predictor.
        thumbnail: Side of the square that the predictor sees.
        grid: Samples along each side of the chroma table.
    """
    small = resize(np.asarray(rgb, np.float64), thumbnail, thumbnail).transpose(2, 0, 1)  # (3, s, s)
    x = small
    for layer in range(3):
        body = f"predictor.body.{layer}"
        x = _convolve(x, parameters[f"{body}.conv.weight"], parameters[f"{body}.conv.bias"])
        x = (x - x.mean((1, 2), keepdims=True)) / np.sqrt(x.var((1, 2), keepdims=True) + c.NORM_EPS)
        scale, shift = (parameters[f"{body}.norm.{name}"][:, None, None] for name in ("weight", "bias"))
        x = np.maximum(x * scale + shift, 0.0)
    seen = np.concatenate([small.mean((1, 2)), small.std((1, 2), ddof=1) + c.STD_EPS])
    d = x.mean((1, 2)) + parameters["predictor.statistics.weight"] @ seen + parameters["predictor.statistics.bias"]

    def spatial(name: str) -> Array:
        weight, bias = (parameters[f"predictor.heads.{name}.{part}"] for part in ("weight", "bias"))
        field: Array = np.tensordot(weight[0, :, 0, 0].astype(np.float64), x, 1) + bias[0]
        return field

    def linear(name: str) -> Array:
        weight, bias = (parameters[f"predictor.heads.{name}.{part}"] for part in ("weight", "bias"))
        vector: Array = weight @ d + bias
        return vector

    cumulative = np.cumsum(_softplus(linear("tone")) + c.TONE_FLOOR)
    axis = np.linspace(-1.0, 1.0, grid)
    affine, k = linear("affine"), linear("covariance")
    return {
        "t": np.clip(_sigmoid(spatial("t")), c.T_MIN, 1.0),
        "v": _sigmoid(spatial("v")),
        "a": _softplus(spatial("a")),
        "tone": np.concatenate([[0.0], cumulative / cumulative[-1]]),
        "lut": np.stack(np.meshgrid(axis, axis)) + linear("chroma").reshape(2, grid, grid),
        "matrix": affine[:9].reshape(3, 3),
        "bias": affine[9:],
        "mean": k[:3],
        "recolor": np.array([[k[3], 0.0, 0.0], [k[4], k[5], 0.0], [k[6], k[7], k[8]]]),  # G, lower triangular
        "blend": np.asarray(_sigmoid(k[9])),
    }


def exact(theta: Corrections) -> dict[str, Array]:
    """Returns corrections as `execute` takes them."""
    return {field.name: np.asarray(getattr(theta, field.name), np.float64) for field in fields(theta)}


def execute(rgb: Array, theta: Theta, parameters: Parameters, given: tuple[Array, Array] | None = None) -> Steps:
    """Applies θ to a picture (H, W, 3) in [0, 1] and keeps every step, Eqs. 2-4.

    Args:
        rgb: The picture.
        theta: Its corrections, as `predict` or `exact` returns them.
        parameters: Of the executor, by their names in the weights file: the refiner, and the gate if it has one.
        given: m and S to calibrate with; None for the picture's own.
    """
    rgb = np.asarray(rgb, np.float64)
    height, width = rgb.shape[:2]
    ycbcr = to_ycbcr(rgb)
    y, q = ycbcr[..., 0], ycbcr[..., 1:]
    t, v, a = (resize(theta[name], height, width) for name in "tva")

    y1 = np.clip((y - (1 - t) * v) * (1 + a * (1 - t)), 0, 1)  # Eq. 2
    toned = np.interp(y1, np.linspace(0, 1, theta["tone"].size), theta["tone"])  # Eq. 3
    y2 = np.clip(toned + theta.get("refinement", 1.0) * _refine(toned, parameters), 0, 1)  # Eq. 3

    beta, gamma = gate_scalars(parameters)
    gate = np.clip(beta + gamma * (1 - t), 0, 1)
    q1 = q + gate[..., None] * (look_up(theta["lut"], q) - q)  # Eq. 3

    z1 = np.dstack([y2, q1]) @ theta["matrix"].T + theta["bias"]  # Eq. 4
    z1[..., 0] = np.clip(z1[..., 0], 0, 1)
    mean, covariance = statistics(z1) if given is None else given
    eigenvalues, vectors = np.linalg.eigh(covariance)
    whitening = (vectors * np.maximum(eigenvalues, c.EIGENVALUE_FLOOR) ** -0.5) @ vectors.T  # S^(-1/2)
    recolored = (z1 - mean) @ (theta["recolor"] @ whitening).T + theta["mean"]
    z2 = (1 - theta["blend"]) * z1 + theta["blend"] * recolored  # Eq. 4
    z2[..., 0] = np.clip(z2[..., 0], 0, 1)
    result = np.clip(to_rgb(z2), 0, 1)
    return Steps(rgb, t, v, a, y, y1, toned, y2, gate, q, q1, z1, mean, covariance, eigenvalues, z2, result)


def to_ycbcr(rgb: Array) -> Array:
    """Full-range BT.601 with centred chroma, (..., 3) to (..., 3)."""
    red, green, blue = rgb[..., 0], rgb[..., 1], rgb[..., 2]
    y = c.LUMA_R * red + c.LUMA_G * green + c.LUMA_B * blue
    return np.stack([y, c.CB_SCALE * (blue - y), c.CR_SCALE * (red - y)], axis=-1)


def to_rgb(ycbcr: Array) -> Array:
    """The way back, not clipped."""
    y, cb, cr = ycbcr[..., 0], ycbcr[..., 1], ycbcr[..., 2]
    red, blue = y + c.R_FROM_CR * cr, y + c.B_FROM_CB * cb
    return np.stack([red, (y - c.LUMA_R * red - c.LUMA_B * blue) / c.LUMA_G, blue], axis=-1)


def resize(image: Array, height: int, width: int) -> Array:
    """Bilinear with half-pixel centres and clamped edges, no antialiasing; (H, W) or (H, W, channels)."""
    for axis, size in enumerate((height, width)):
        position = np.clip((np.arange(size) + 0.5) * image.shape[axis] / size - 0.5, 0, image.shape[axis] - 1)
        left = np.floor(position).astype(int)
        right = np.minimum(left + 1, image.shape[axis] - 1)
        part = (position - left).reshape([-1 if i == axis else 1 for i in range(image.ndim)])
        image = np.take(image, left, axis) * (1 - part) + np.take(image, right, axis) * part
    return image


def look_up(lut: Array, q: Array) -> Array:
    """U(q) by bilinear interpolation, corners at ±0.5, clamped: (2, g, g) and (..., 2) to (..., 2)."""
    last = lut.shape[-1] - 1
    position = np.clip((q / c.CHROMA_LIMIT + 1) / 2 * last, 0, last)
    low = np.minimum(np.floor(position).astype(int), last - 1)
    x, y = low[..., 0], low[..., 1]
    fx, fy = np.moveaxis(position - low, -1, 0)
    upper = lut[:, y, x] * (1 - fx) + lut[:, y, x + 1] * fx
    lower = lut[:, y + 1, x] * (1 - fx) + lut[:, y + 1, x + 1] * fx
    mapped: Array = np.moveaxis(upper * (1 - fy) + lower * fy, 0, -1) * c.CHROMA_LIMIT
    return mapped


def statistics(z: Array) -> tuple[Array, Array]:
    """Returns m and S over all pixels; S divides by N - 1 and is 0 for a single pixel, its diagonal not yet raised."""
    pixels = z.reshape(-1, 3)
    mean = pixels.mean(axis=0)
    centred = pixels - mean
    covariance = centred.T @ centred / max(len(pixels) - 1, 1) + c.COVARIANCE_EPS * np.eye(3)
    return mean, covariance


def gate_scalars(parameters: Parameters) -> tuple[float, float]:
    """(β, γ) of the gate; (1, 0) for the variant without one."""
    beta, gamma = parameters.get("executor.gate.beta", 1.0), parameters.get("executor.gate.gamma", 0.0)
    return float(beta), float(gamma)


def _refine(y: Array, parameters: Parameters) -> Array:
    """F: 3x3 convolution 1 → 16, ReLU, depthwise 3x3, ReLU, 3x3 16 → 1; zero padding."""
    expand, depthwise, project = (f"executor.refiner.{name}" for name in ("expand", "depthwise", "project"))
    features = []
    for channel in range(c.REFINER_WIDTH):
        weight, bias = parameters[f"{expand}.weight"][channel, 0], parameters[f"{expand}.bias"][channel]
        first = np.maximum(_filter(y, weight) + bias, 0)
        weight, bias = parameters[f"{depthwise}.weight"][channel, 0], parameters[f"{depthwise}.bias"][channel]
        second = np.maximum(_filter(first, weight) + bias, 0)
        features.append(_filter(second, parameters[f"{project}.weight"][0, channel]))
    residual: Array = np.sum(features, axis=0) + parameters[f"{project}.bias"][0]
    return residual


def _filter(image: Array, weight: NDArray[Any]) -> Array:
    """One plane with one 3x3 kernel, zero padding: a plane at a time, so that large pictures fit into memory."""
    height, width = image.shape
    padded = np.pad(image, 1)
    total = np.zeros_like(image)
    for i in range(3):
        for j in range(3):
            total += weight[i, j] * padded[i : i + height, j : j + width]
    return total


def _convolve(planes: Array, weight: NDArray[Any], bias: NDArray[Any]) -> Array:
    """(C, H, W) with (O, C, 3, 3) at a stride of 2, zero padding."""
    height, width = planes.shape[1:]
    padded = np.pad(planes, ((0, 0), (1, 1), (1, 1)))
    total = np.zeros((len(weight), -(-height // 2), -(-width // 2)))
    for i in range(3):
        for j in range(3):
            total += np.tensordot(
                weight[:, :, i, j].astype(np.float64), padded[:, i : i + height : 2, j : j + width : 2], 1
            )
    total += bias[:, None, None]
    return total


def _sigmoid(x: Array) -> Array:
    return 0.5 * (1.0 + np.tanh(0.5 * x))


def _softplus(x: Array) -> Array:
    return np.logaddexp(0.0, x)
