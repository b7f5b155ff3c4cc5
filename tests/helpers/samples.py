"""Random and extreme corrections, parameters and pictures that several test files share."""

import numpy as np

from pic_uie import Look, Statistics
from pic_uie.config import ModelConfig
from pic_uie.corrections import Corrections, identity_lut
from pic_uie.weights.layout import parameter_shapes


def random_corrections(seed, field_size=32, grid=9, tones=33):
    """Valid corrections that look like a trained model's, with every value in play."""
    rng = np.random.default_rng(seed)
    fields = rng.random((3, field_size, field_size))
    return Corrections(
        t=np.clip(fields[0], 0.05, 1.0),
        v=0.4 * fields[1],
        a=fields[2],
        tone=curve(rng.random(tones - 1) + 0.05),
        lut=identity_lut(grid) + rng.normal(0.0, 0.15, (2, grid, grid)),
        matrix=np.eye(3) + rng.normal(0.0, 0.1, (3, 3)),
        bias=rng.normal(0.0, 0.05, 3),
        mean=np.array([0.5, 0.0, 0.0]) + rng.normal(0.0, 0.05, 3),
        recolor=np.tril(np.diag([0.2, 0.05, 0.05]) + rng.normal(0.0, 0.03, (3, 3))),
        blend=rng.random(),
    )


def extreme_corrections(name):
    """Corrections at an edge of what is allowed."""
    base = {key: getattr(random_corrections(99), key) for key in Corrections.__dataclass_fields__}
    flat = np.ones((32, 32), np.float32)
    changes = {
        "darkest water": {"t": 0.05 * flat, "v": flat, "a": 8.0 * flat},
        # all of the rise in one of 32 intervals; smooth fields, since it magnifies the rounding before it 32 times
        "steep tone": {
            "tone": curve(np.where(np.arange(32) == 9, 1.0, 1e-5)),
            "v": 0.1 * flat,
            "a": flat,
            "t": 0.6 * flat,
        },
        "folded table": {"lut": -1.5 * identity_lut(9)[::-1]},
        "singular recolouring": {"recolor": np.zeros((3, 3)), "blend": 1.0},
        "full calibration": {"blend": 1.0, "recolor": np.tril(np.full((3, 3), 0.4))},
        "large matrix": {"matrix": np.full((3, 3), -3.0), "bias": [2.0, 1.0, -1.0]},
    }
    return Corrections(**(base | changes[name]))


EXTREMES = (
    "darkest water",
    "steep tone",
    "folded table",
    "singular recolouring",
    "full calibration",
    "large matrix",
)


def some_look(seed, **shapes):
    """A valid look of weights that nobody has."""
    rng = np.random.default_rng(seed)
    root = rng.normal(0.0, 0.2, (3, 3))
    covariance = np.einsum("ik,jk->ij", root, root) + 1e-4 * np.eye(3)
    statistics = Statistics(np.array([0.5, 0.0, 0.0]) + rng.normal(0.0, 0.05, 3), (covariance + covariance.T) / 2)
    return Look(random_corrections(seed, **shapes), statistics, "0123456789abcdef" * 4)


def curve(increments):
    """A strictly increasing curve from 0 to 1, exact at both ends in float32."""
    cumulative = np.concatenate([[0.0], np.cumsum(increments)])
    return (cumulative / cumulative[-1]).astype(np.float32)


def random_parameters(seed, config=None):
    """Parameters by name with the sizes of a trained model's."""
    rng = np.random.default_rng(seed)
    parameters = {}
    for name, shape in parameter_shapes(config or ModelConfig()).items():
        fan_in = np.prod(shape[1:]) if len(shape) > 1 else 8.0
        parameters[name] = np.asarray(rng.normal(0.0, 0.7 / np.sqrt(fan_in), shape), np.float32)
        if name.endswith("norm.weight") or name.endswith("beta"):
            parameters[name] = parameters[name] + np.float32(1.0)
        if name.startswith("executor.refiner.project"):
            parameters[name] = parameters[name] * np.float32(0.2)
    return parameters


def picture(seed, height, width):
    """A smooth random RGB picture with some texture and saturated corners, (3, H, W) float32 in [0, 1]."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width] / max(height, width, 2)
    waves = [np.sin(rng.uniform(1, 9) * x + rng.uniform(1, 9) * y + rng.uniform(0, 6)) for _ in range(3)]
    image = 0.5 + 0.45 * np.stack(waves) + rng.normal(0.0, 0.05, (3, height, width))
    return np.clip(image, 0.0, 1.0).astype(np.float32)
