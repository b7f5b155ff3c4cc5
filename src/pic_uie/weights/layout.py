"""Names and shapes of every parameter, from the configuration alone (a test holds this to the PyTorch modules)."""

from __future__ import annotations

import itertools

from pic_uie import constants as c
from pic_uie.config import ModelConfig

Shapes = dict[str, tuple[int, ...]]


def parameter_shapes(config: ModelConfig) -> Shapes:
    """Returns the shape of each parameter by its name in the weights file."""
    if config.output != "corrections":
        return _dense_shapes()
    return _predictor_shapes(config) | _executor_shapes(config)


def _predictor_shapes(config: ModelConfig) -> Shapes:
    width = config.width
    shapes: Shapes = {}
    for index, channels in enumerate((config.input_channels, width, width)):
        shapes |= _layer(f"predictor.body.{index}.conv", (width, channels, 3, 3))
        shapes |= _layer(f"predictor.body.{index}.norm", (width,))
    if config.statistics == "projected":
        shapes |= _layer("predictor.statistics", (width, 6))
    for name in spatial_heads(config):
        shapes |= _layer(f"predictor.heads.{name}", (1, width, 1, 1))
    for name, size in global_heads(config).items():
        shapes |= _layer(f"predictor.heads.{name}", (size, config.descriptor_size))
    return shapes


def _executor_shapes(config: ModelConfig) -> Shapes:
    shapes: Shapes = {}
    if config.gate:
        shapes |= {"executor.gate.beta": (), "executor.gate.gamma": ()}
    width = c.REFINER_WIDTH
    shapes |= _layer("executor.refiner.expand", (width, 1, 3, 3))
    shapes |= _layer("executor.refiner.depthwise", (width, 1, 3, 3))
    shapes |= _layer("executor.refiner.project", (1, width, 3, 3))
    return shapes


def _dense_shapes() -> Shapes:
    shapes: Shapes = {}
    channels = (3, *DENSE_WIDTHS, 3)
    for index, (before, after) in enumerate(itertools.pairwise(channels)):
        shapes |= _layer(f"dense.convs.{index}", (after, before, 3, 3))
    return shapes


def spatial_heads(config: ModelConfig) -> tuple[str, ...]:
    """Names of the 1x1 heads; t stays without the luminance step, since the gate and the depth loss read it."""
    return ("t", "v", "a") if config.luminance else ("t",)


def global_heads(config: ModelConfig) -> dict[str, int]:
    """Names and output sizes of the heads that read the descriptor."""
    chroma = {"lut": 2 * config.lut_grid**2, "curves": 2 * c.CURVE_INCREMENTS, "affine": 6}[config.chroma]
    sizes = {"tone": c.TONE_INCREMENTS * config.tone, "chroma": chroma, "affine": 12 * config.ccm}
    sizes["covariance"] = 10 * config.calibration
    return {name: size for name, size in sizes.items() if size}


def _layer(name: str, weight: tuple[int, ...]) -> Shapes:
    return {f"{name}.weight": weight, f"{name}.bias": weight[:1]}


# Five plain 3x3 convolutions with exactly the 9,427 parameters of the paper's direct-residual controls.
DENSE_WIDTHS = (18, 15, 17, 23)
