"""What a system costs: parameters, and GFLOPs as ours (convolutions and linear layers, 2 per multiply-add)."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn

from pic_uie.paper.baselines.base import Baseline

Counted = nn.Conv1d | nn.Conv2d | nn.ConvTranspose2d | nn.Linear
Parts = dict[str, tuple[int, float | None]]  # name -> parameters, GFLOPs


def parameter_count(model: nn.Module) -> int:
    """Returns the number of learned values."""
    return sum(parameter.numel() for parameter in model.parameters())


def gflops(model: Baseline, height: int, width: int) -> float:
    """Returns the cost of one picture of that size: of one pass, times the passes that the system makes."""
    total = parts(model, (height, width))["total"][1]
    return 0.0 if total is None else total


def parts(model: Baseline, size: tuple[int, int] | None) -> Parts:
    """Returns what each direct part of the system costs, and the total.

    Shapes alone decide: the model runs on torch's meta device, where nothing is computed and nothing is allocated.

    Args:
        model: The system.
        size: Height and width of the picture; without it only parameters are counted.
    """
    with torch.device("meta"):
        picture = torch.zeros(1, 3, *(size or (1, 1)))
    shadow = copy.deepcopy(model).eval().to("meta")
    spent = {name: 0 for name, _ in shadow.named_children()}
    for part, child in shadow.named_children():
        for layer in child.modules():
            if isinstance(layer, Counted):
                layer.register_forward_hook(_counter(spent, part))
    if size is not None:
        with torch.no_grad():
            shadow.one_pass(picture)
    costs = {name: 2e-9 * count * model.passes if size else None for name, count in spent.items()}
    found: Parts = {name: (parameter_count(child), costs[name]) for name, child in model.named_children()}
    loose = parameter_count(model) - sum(count for count, _ in found.values())
    if loose:
        found["others"] = (loose, 0.0 if size else None)
    return {**found, "total": (parameter_count(model), sum(cost or 0.0 for cost in costs.values()) if size else None)}


def _counter(spent: dict[str, int], part: str) -> Any:
    def count(layer: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        spent[part] += multiply_adds(layer, inputs[0], output)

    return count


def multiply_adds(layer: nn.Module, given: Tensor, made: Tensor) -> int:
    """Returns the multiply-adds of one layer on one input."""
    if isinstance(layer, nn.Linear):
        return layer.weight.numel() * (given.numel() // given.shape[-1])
    if isinstance(layer, nn.ConvTranspose2d):
        return layer.weight.numel() * (given.numel() // given.shape[1])
    if isinstance(layer, nn.Conv1d | nn.Conv2d):
        return layer.weight.numel() * (made.numel() // made.shape[1])
    raise ValueError(f"not a layer that is counted: {type(layer).__name__}")
