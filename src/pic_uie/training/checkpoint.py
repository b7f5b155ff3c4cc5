"""The whole state of a run after an epoch, in one safetensors file: nothing to execute, replaced in one step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import safetensors
import safetensors.torch
import torch
from torch import Tensor

from pic_uie import typed_yaml
from pic_uie.errors import ConfigError, EnvironmentMissingError, WeightsError
from pic_uie.files import atomic_write
from pic_uie.model import PicUie
from pic_uie.training.config import Recipe
from pic_uie.weights import make_header, read_header

_FORMATS = "pic-uie-training-"
FORMAT = f"{_FORMATS}3"
Ingredients = Mapping[str, str]  # what a run is made of beside its recipe: what it is called -> its hash


@dataclass
class TrainingState:
    """What a run needs to go on exactly where it stopped; order and augmentation depend on seed and epoch alone."""

    model: PicUie
    average: PicUie
    optimizer: torch.optim.AdamW
    epoch: int = 0  # epochs that are complete
    step: int = 0
    best_psnr: float = 0.0


def save_state(path: Path, state: TrainingState, recipe: Recipe, ingredients: Ingredients) -> None:
    """Writes the state; an existing file stays as it was if this fails.

    Raises:
        EnvironmentMissingError: The disk is full or the folder is not writable.
    """
    tensors: dict[str, Tensor] = {}
    for name, parameter in state.model.named_parameters():
        moments = state.optimizer.state[parameter]
        tensors[f"model.{name}"] = parameter.detach()
        tensors |= {f"{key}.{name}": moments[key] for key in ("exp_avg", "exp_avg_sq", "step") if key in moments}
    tensors |= {f"average.{name}": parameter.detach() for name, parameter in state.average.named_parameters()}
    facts = {"epoch": state.epoch, "step": state.step, "best_psnr": state.best_psnr}
    header = make_header(format=FORMAT, recipe=typed_yaml.to_mapping(recipe), ingredients=dict(ingredients), **facts)
    data = safetensors.torch.save({name: tensor.cpu().contiguous() for name, tensor in tensors.items()}, header)
    save_or_explain(path, data)


def load_state(path: Path, state: TrainingState, recipe: Recipe, ingredients: Ingredients) -> None:
    """Fills `state` from a file.

    Raises:
        ConfigError: The file belongs to another recipe, or to other pictures or weights than those given now.
        WeightsError: The file is unreadable, damaged or incomplete.
    """
    try:
        with safetensors.safe_open(str(path), framework="pt") as file:
            header = read_header(file.metadata())
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    except (OSError, safetensors.SafetensorError) as error:
        raise WeightsError(f"cannot read the training state {path}: {error}") from error
    found = str(header.get("format"))
    if found != FORMAT and found.startswith(_FORMATS):
        raise ConfigError(f"{path} was made by another version of pic-uie: train to another folder")
    if found != FORMAT or not {"recipe", "ingredients", "epoch", "step", "best_psnr"} <= header.keys():
        raise WeightsError(f"{path} has format {found!r}, expected {FORMAT!r}: not a training state, or a damaged one")
    stored = typed_yaml.from_mapping(Recipe, header["recipe"])
    if stored != recipe:
        raise ConfigError(
            f"{path} was made by another recipe ({_differences(stored, recipe)}): train to another folder"
        )
    changed = [
        name
        for name in {**header["ingredients"], **ingredients}
        if header["ingredients"].get(name) != ingredients.get(name)
    ]
    if changed:
        raise ConfigError(
            f"{path} was made with other {' and other '.join(changed)}: give what the run began with, or train to "
            "another folder"
        )
    try:
        with torch.no_grad():
            for name, parameter in state.average.named_parameters():
                parameter.copy_(tensors[f"average.{name}"])
            for name, parameter in state.model.named_parameters():
                parameter.copy_(tensors[f"model.{name}"])
                moments = {key: tensors[f"{key}.{name}"].to(parameter.device) for key in ("exp_avg", "exp_avg_sq")}
                state.optimizer.state[parameter] = moments | {"step": tensors[f"step.{name}"]}
    except (KeyError, RuntimeError) as error:
        raise WeightsError(f"{path} is incomplete or damaged: {error}") from error
    state.epoch, state.step, state.best_psnr = header["epoch"], header["step"], header["best_psnr"]


def save_or_explain(path: Path, data: bytes) -> None:
    """Writes a file of the run in one step, or says why not."""
    try:
        atomic_write(path, data)
    except OSError as error:
        reason = error.strerror or error
        raise EnvironmentMissingError(f"cannot save {path}: {reason}; the file from before is untouched") from error


def _differences(stored: Recipe, asked: Recipe) -> str:
    pairs = zip(_flat(typed_yaml.to_mapping(stored)), _flat(typed_yaml.to_mapping(asked)), strict=True)
    return ", ".join(f"{name}: {old} there, {new} here" for (name, old), (_, new) in pairs if old != new)


def _flat(values: dict[str, object], where: str = "") -> list[tuple[str, object]]:
    found: list[tuple[str, object]] = []
    for key, value in values.items():
        found += _flat(value, f"{where}{key}.") if isinstance(value, dict) else [(f"{where}{key}", value)]
    return found
