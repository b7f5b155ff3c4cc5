"""The whole state of a run after an epoch, in one safetensors file: nothing to execute, replaced in one step."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch
from torch import Tensor, nn

from pic_uie import typed
from pic_uie.errors import ConfigError, WeightsError
from pic_uie.training.config import Recipe
from pic_uie.training.lesson import Lesson
from pic_uie.weights import make_header, read_header
from pic_uie.writing import write_file

_FORMATS = "pic-uie-training-"
FORMAT = f"{_FORMATS}4"
MAX_BYTES = 1 << 30  # four copies of the largest system of the paper's tables
MOMENTS = ("exp_avg", "exp_avg_sq", "step")
Ingredients = Mapping[str, str]  # what a run is made of beside its recipe: what it is called -> its hash


@dataclass
class TrainingState:
    """What a run needs to resume exactly where it stopped; order and augmentation depend on seed and epoch alone."""

    lesson: Lesson
    average: nn.Module
    optimizer: torch.optim.AdamW
    rival_optimizer: torch.optim.AdamW | None = None
    epoch: int = 0  # epochs that are complete
    step: int = 0
    best_psnr: float = 0.0

    @property
    def model(self) -> nn.Module:
        """What is trained."""
        return self.lesson.model

    @property
    def optimizers(self) -> list[torch.optim.AdamW]:
        """One, or two in an adversarial run."""
        return [self.optimizer, *([self.rival_optimizer] if self.rival_optimizer else [])]

    @property
    def learners(self) -> dict[str, tuple[nn.Module, torch.optim.AdamW]]:
        """Prefix of names in the file -> what learns, and its optimiser."""
        rival = {"rival.": (self.lesson.rival, self.rival_optimizer)} if self.rival_optimizer else {}
        return {"": (self.model, self.optimizer), **rival}  # type: ignore[dict-item]  # a rival has its optimiser


def save_state(path: Path, state: TrainingState, recipe: Recipe, ingredients: Ingredients) -> None:
    """Writes the state; an existing file stays as it was if this fails.

    Raises:
        EnvironmentMissingError: The disk is full or the folder is not writable.
    """
    tensors: dict[str, Tensor] = {}
    for prefix, (module, optimizer) in state.learners.items():
        for name, parameter in module.named_parameters():
            moments = optimizer.state[parameter]
            tensors[f"{prefix}model.{name}"] = parameter.detach()
            tensors |= {f"{prefix}{key}.{name}": moments[key] for key in MOMENTS if key in moments}
        tensors |= {f"{prefix}buffer.{name}": buffer for name, buffer in module.named_buffers()}
    tensors |= {f"average.{name}": parameter.detach() for name, parameter in state.average.named_parameters()}
    facts: dict[str, Any] = {"epoch": state.epoch, "step": state.step, "best_psnr": state.best_psnr}
    facts |= {"format": FORMAT, "recipe": typed.to_mapping(recipe), "ingredients": dict(ingredients)}
    tensors = {name: tensor.cpu().contiguous() for name, tensor in tensors.items()}
    header = make_header(sha256=_digest(facts, tensors), **facts)
    write_file(path, safetensors.torch.save(tensors, header))


def load_state(path: Path, state: TrainingState, recipe: Recipe, ingredients: Ingredients) -> None:
    """Fills `state` from a file.

    Raises:
        ConfigError: The file belongs to another recipe, or to other pictures or weights than those given now.
        WeightsError: The file is unreadable, damaged or incomplete.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise WeightsError(f"{path} is larger than {MAX_BYTES >> 20} MB: not a training state")
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
    facts = {name: value for name, value in header.items() if name != "sha256"}
    if header.get("sha256") != _digest(facts, tensors):
        raise WeightsError(f"{path} is damaged: its contents do not match its hash")
    stored, wanted = typed.from_mapping(Recipe, header["recipe"]).in_use, recipe.in_use
    if stored != wanted:
        raise ConfigError(
            f"{path} was made by another recipe ({_differences(stored, wanted)}): train to another folder"
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
            for name, buffer in state.average.named_buffers():  # the average has the model's own
                buffer.copy_(tensors[f"buffer.{name}"])
            for prefix, (module, optimizer) in state.learners.items():
                for name, buffer in module.named_buffers():
                    buffer.copy_(tensors[f"{prefix}buffer.{name}"])
                for name, parameter in module.named_parameters():
                    parameter.copy_(tensors[f"{prefix}model.{name}"])
                    if parameter.requires_grad:
                        moments = {key: tensors[f"{prefix}{key}.{name}"] for key in MOMENTS}
                        moments |= {key: moments[key].to(parameter.device) for key in MOMENTS[:2]}
                        optimizer.state[parameter] = moments
    except (KeyError, RuntimeError) as error:
        raise WeightsError(f"{path} is incomplete or damaged: {error}") from error
    state.epoch, state.step, state.best_psnr = header["epoch"], header["step"], header["best_psnr"]


def _digest(facts: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> str:
    """Returns the SHA-256 over the header and every tensor with its name, type and shape."""
    sha256 = hashlib.sha256(json.dumps(facts, sort_keys=True).encode())
    for name in sorted(tensors):
        tensor = tensors[name].detach().cpu().contiguous()
        sha256.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        sha256.update(tensor.numpy().tobytes())
    return sha256.hexdigest()


def _differences(stored: Recipe, asked: Recipe) -> str:
    pairs = zip(_flat(typed.to_mapping(stored)), _flat(typed.to_mapping(asked)), strict=True)
    return ", ".join(f"{name}: {old} there, {new} here" for (name, old), (_, new) in pairs if old != new)


def _flat(values: dict[str, object], where: str = "") -> list[tuple[str, object]]:
    found: list[tuple[str, object]] = []
    for key, value in values.items():
        found += _flat(value, f"{where}{key}.") if isinstance(value, dict) else [(f"{where}{key}", value)]
    return found
