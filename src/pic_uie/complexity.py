"""Parameters and GFLOPs in the paper's convention: convolutions and linear layers only, 2 per multiply-add."""

from __future__ import annotations

from dataclasses import dataclass

from pic_uie.config import ModelConfig
from pic_uie.weights.layout import parameter_shapes

PARTS = {
    "predictor.body": "body",
    "predictor.statistics": "statistics",
    "predictor.heads": "head",
    "executor.gate": "gate β, γ",
    "executor.refiner": "refiner",
    "dense": "dense network",
}


@dataclass(frozen=True)
class Part:
    """A part of the model with its cost; `predicted` says whether it runs on the thumbnail or on every pixel."""

    name: str
    parameters: int
    multiply_adds: int  # per picture if predicted, else per pixel
    predicted: bool


def parts(config: ModelConfig) -> list[Part]:
    """Returns the parts in the order that the data meets them."""
    totals: dict[str, Part] = {}
    for name, shape in parameter_shapes(config).items():
        prefix = next(prefix for prefix in PARTS if name.startswith(prefix))
        label = PARTS[prefix] if prefix != "predictor.heads" else f"{name.split('.')[2]} head"
        before = totals.get(label, Part(label, 0, 0, name.startswith("predictor")))
        parameters = before.parameters + _product(shape)
        totals[label] = Part(
            label, parameters, before.multiply_adds + _multiply_adds(name, shape, config), before.predicted
        )
    return list(totals.values())


def parameter_count(config: ModelConfig) -> int:
    """Returns the number of parameters."""
    return sum(part.parameters for part in parts(config))


def gflops(config: ModelConfig, height: int, width: int) -> float:
    """Returns the cost of one picture of that size."""
    return sum(part_gflops(part, height * width) for part in parts(config))


def predictor_gflops(config: ModelConfig) -> float:
    """Returns the part of the cost that does not depend on the picture's size."""
    return sum(part_gflops(part, 0) for part in parts(config) if part.predicted)


def part_gflops(part: Part, pixels: int) -> float:
    """Returns the cost of one part for a picture of that many pixels."""
    return 2e-9 * part.multiply_adds * (1 if part.predicted else pixels)


def _multiply_adds(name: str, shape: tuple[int, ...], config: ModelConfig) -> int:
    if not name.endswith("weight") or len(shape) == 1:
        return 0
    if name.startswith("predictor.body"):
        layer = int(name.split(".")[2])
        return _product(shape) * (config.thumbnail >> (layer + 1)) ** 2
    if name.startswith("predictor.heads") and len(shape) == 4:
        return _product(shape) * config.field_size**2
    return _product(shape)


def _product(shape: tuple[int, ...]) -> int:
    total = 1
    for size in shape:
        total *= size
    return total
