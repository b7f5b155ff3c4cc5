"""PIC-UIE in float64 NumPy, written from the paper's equations; shares no code with the engines it checks."""

import numpy as np


def clip01(x):
    return np.minimum(np.maximum(x, 0.0), 1.0)


def sigmoid(x):
    return 0.5 * (1.0 + np.tanh(0.5 * x))


def softplus(x):
    return np.logaddexp(0.0, x)


def resize_weights(size, target):
    """The (target, size) matrix of bilinear resampling with half-pixel centres and clamped edges."""
    matrix = np.zeros((target, size))
    for row in range(target):
        x = max((row + 0.5) * size / target - 0.5, 0.0)
        left = min(int(np.floor(x)), size - 1)
        right = min(left + 1, size - 1)
        matrix[row, left] += 1.0 - (x - left)
        matrix[row, right] += x - left
    return matrix


def resize(image, height, width):
    """(C, H, W) to (C, height, width)."""
    return resize_weights(image.shape[1], height) @ image @ resize_weights(image.shape[2], width).T


def conv3x3(image, weight, bias, stride=1, groups=1):
    """(C, H, W) with weight (O, C / groups, 3, 3), zero padding 1."""
    padded = np.pad(image, ((0, 0), (1, 1), (1, 1)))
    height, width = image.shape[1:]
    patches = np.stack([padded[:, i : i + height, j : j + width] for i in range(3) for j in range(3)], axis=1)
    patches = patches[:, :, ::stride, ::stride]  # (C, 9, H', W')
    flat = weight.reshape(weight.shape[0], weight.shape[1], 9)
    if groups == 1:
        return np.tensordot(flat, patches, axes=([1, 2], [0, 1])) + bias[:, None, None]
    return np.einsum("ck,ckhw->chw", flat[:, 0], patches) + bias[:, None, None]


def to_ycbcr(rgb):
    r, g, b = rgb
    y = 0.299 * r + 0.587 * g + 0.114 * b
    return np.stack([y, 0.564 * (b - y), 0.713 * (r - y)])


def to_rgb(ycbcr):
    y, cb, cr = ycbcr
    r, b = y + 1.402 * cr, y + 1.773 * cb
    return np.stack([r, (y - 0.299 * r - 0.114 * b) / 0.587, b])


def predict(rgb, p, thumbnail=256, grid=9):
    """θ of an RGB picture (3, H, W) for parameters `p` by name, as a dictionary."""
    small = resize(rgb, thumbnail, thumbnail)
    x = small
    for i in range(3):
        x = conv3x3(x, p[f"predictor.body.{i}.conv.weight"], p[f"predictor.body.{i}.conv.bias"], stride=2)
        mean, var = x.mean((1, 2), keepdims=True), x.var((1, 2), keepdims=True)
        x = (x - mean) / np.sqrt(var + 1e-5)
        x = x * p[f"predictor.body.{i}.norm.weight"][:, None, None] + p[f"predictor.body.{i}.norm.bias"][:, None, None]
        x = np.maximum(x, 0.0)
    s = np.concatenate([small.mean((1, 2)), small.std((1, 2), ddof=1) + 1e-5])
    d = x.mean((1, 2)) + p["predictor.statistics.weight"] @ s + p["predictor.statistics.bias"]

    def spatial(name):
        weight = p[f"predictor.heads.{name}.weight"][0, :, 0, 0]
        return np.tensordot(weight, x, axes=(0, 0)) + p[f"predictor.heads.{name}.bias"][0]

    def linear(name):
        return p[f"predictor.heads.{name}.weight"] @ d + p[f"predictor.heads.{name}.bias"]

    cumulative = np.cumsum(softplus(linear("tone")) + 1e-3)
    axis = np.linspace(-1.0, 1.0, grid)
    identity = np.stack([np.tile(axis, (grid, 1)), np.tile(axis[:, None], (1, grid))])
    affine, k = linear("affine"), linear("covariance")
    G = np.array([[k[3], 0.0, 0.0], [k[4], k[5], 0.0], [k[6], k[7], k[8]]])
    return {
        "t": np.clip(sigmoid(spatial("t")), 0.05, 1.0),
        "v": sigmoid(spatial("v")),
        "a": softplus(spatial("a")),
        "tone": np.concatenate([[0.0], cumulative / cumulative[-1]]),
        "lut": identity + linear("chroma").reshape(2, grid, grid),
        "matrix": affine[:9].reshape(3, 3),
        "bias": affine[9:],
        "mean": k[:3],
        "recolor": G,
        "blend": sigmoid(k[9]),
    }


def lookup(table, cb, cr):
    """U(q): bilinear, corners at ±0.5, clamped."""
    n = table.shape[-1] - 1
    x, y = (np.clip((q / 0.5 + 1.0) / 2.0 * n, 0.0, n) for q in (cb, cr))
    i, j = (np.minimum(np.floor(p).astype(int), n - 1) for p in (x, y))
    fx, fy = x - i, y - j
    top = table[:, j, i] * (1 - fx) + table[:, j, i + 1] * fx
    bottom = table[:, j + 1, i] * (1 - fx) + table[:, j + 1, i + 1] * fx
    return 0.5 * (top * (1 - fy) + bottom * fy)


def refine(y, p):
    x = np.maximum(conv3x3(y[None], p["executor.refiner.expand.weight"], p["executor.refiner.expand.bias"]), 0.0)
    weight, bias = p["executor.refiner.depthwise.weight"], p["executor.refiner.depthwise.bias"]
    x = np.maximum(conv3x3(x, weight, bias, groups=16), 0.0)
    return conv3x3(x, p["executor.refiner.project.weight"], p["executor.refiner.project.bias"])[0]


def execute(rgb, theta, p, steps=False):
    """The enhanced picture (3, H, W); with `steps`, every intermediate by name."""
    y, cb, cr = to_ycbcr(rgb)
    t, v, a = resize(np.stack([theta["t"], theta["v"], theta["a"]]), *rgb.shape[1:])
    y1 = clip01((y - (1 - t) * v) * (1 + a * (1 - t)))  # Eq. 2
    toned = np.interp(y1, np.linspace(0.0, 1.0, len(theta["tone"])), theta["tone"])
    y2 = clip01(toned + refine(toned, p))  # Eq. 3
    g = clip01(p["executor.gate.beta"] + p["executor.gate.gamma"] * (1 - t))
    q = np.stack([cb, cr])
    q1 = q + g * (lookup(theta["lut"], cb, cr) - q)
    z1 = np.tensordot(theta["matrix"], np.stack([y2, *q1]), 1) + theta["bias"][:, None, None]  # Eq. 4
    z1[0] = clip01(z1[0])
    pixels = z1.reshape(3, -1)
    m = pixels.mean(1)
    S = (pixels - m[:, None]) @ (pixels - m[:, None]).T / max(pixels.shape[1] - 1, 1) + 1e-4 * np.eye(3)
    values, vectors = np.linalg.eigh(S)
    whiten = vectors @ np.diag(np.maximum(values, 1e-4) ** -0.5) @ vectors.T
    recolored = theta["recolor"] @ whiten @ (pixels - m[:, None]) + theta["mean"][:, None]
    z2 = ((1 - theta["blend"]) * pixels + theta["blend"] * recolored).reshape(z1.shape)
    z2[0] = clip01(z2[0])
    out = clip01(to_rgb(z2))
    return (
        {"y1": y1, "toned": toned, "y2": y2, "q1": q1, "z1": z1, "z2": z2, "rgb": out, "m": m, "S": S} if steps else out
    )
