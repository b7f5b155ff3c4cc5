"""The training loop: epochs of steps, the moving average, validation, and a folder that can always go on."""

from __future__ import annotations

import copy
import csv
import hashlib
import io
import json
import math
import os
import platform
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from pic_uie import typed_yaml, weights
from pic_uie.errors import ConfigError, DataError, DivergedError
from pic_uie.model import PicUie
from pic_uie.training.augmentation import Batch, epoch_order, make_batch
from pic_uie.training.checkpoint import Ingredients, TrainingState, load_state, save_or_explain, save_state
from pic_uie.training.config import Optimization, Recipe
from pic_uie.training.losses import objective
from pic_uie.training.memory import keep_freed_memory
from pic_uie.training.pairs import Pairs
from pic_uie.training.teaching import Teachers
from pic_uie.training.trainee import Trainee
from pic_uie.training.validation import sample_sheet, validate

DIVERGED_REMEDY = "lower optimization.learning_rate; the run's folder keeps the epoch before"
Report = Callable[[dict[str, float]], None]


def train(
    recipe: Recipe,
    pairs: Pairs,
    validation: Pairs | None,
    folder: Path,
    *,
    device: str = "cpu",
    on_step: Callable[[int, int], None] = lambda step, steps: None,
    on_epoch: Report = lambda row: None,
) -> PicUie:
    """Trains to the end of the schedule, going on from the folder's state if there is one.

    Args:
        recipe: What to do.
        pairs: What to train on.
        validation: What to measure on, or None.
        folder: Where config, metrics, weights, state and samples go; exists.
        device: Of torch.
        on_step: Called with (steps done, steps in all).
        on_epoch: Called with the row that metrics.csv gets.

    Returns:
        The averaged model, nearer to its start by `recipe.start_share`.
    """
    keep_freed_memory()
    rank, world = (dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else (0, 1)
    steps = len(pairs) // recipe.optimization.batch
    if not steps:
        raise DataError(f"{len(pairs)} pairs do not fill one batch of {recipe.optimization.batch}")
    if recipe.optimization.batch % world:
        raise ConfigError(f"optimization.batch = {recipe.optimization.batch} cannot be split over {world} processes")
    state = start(recipe, device)
    beginning = copy.deepcopy(state.model)
    teachers = Teachers(recipe.teaching.teachers).to(device)
    run = RunFolder(folder, recipe, ingredients(recipe, pairs, validation), chief=rank == 0)
    run.resume(state)
    trainee: nn.Module = Trainee(state.model)
    if world > 1:
        trainee = DistributedDataParallel(trainee)
    while state.epoch < recipe.optimization.epochs:
        began = time.perf_counter()
        set_learning_rate(state.optimizer, learning_rate(recipe.optimization, state.epoch))
        order = epoch_order(len(pairs), recipe.seed, state.epoch)
        sums: dict[str, Tensor] = {}
        for step in range(steps):
            mine = order[step * recipe.optimization.batch :][: recipe.optimization.batch][rank::world]
            batch = teachers(make_batch(pairs, mine, recipe, state.epoch).to(device))
            for name, value in take_step(trainee, state, batch, recipe).items():
                sums[name] = sums.get(name, torch.zeros(())) + value
            on_step(state.epoch * steps + step + 1, recipe.optimization.epochs * steps)
        state.epoch += 1
        row = {"epoch": float(state.epoch), "learning_rate": state.optimizer.param_groups[0]["lr"]}
        losses = {f"loss_{name}": float(value) / steps for name, value in sums.items()}
        row |= losses if world == 1 else _mean_over_processes(losses, world, device)
        if not math.isfinite(row["loss_total"]):
            raise DivergedError(f"the loss is not finite in epoch {state.epoch}: {DIVERGED_REMEDY}")
        is_last = state.epoch == recipe.optimization.epochs
        result = blend(state.average, beginning, recipe.start_share)
        if validation and rank == 0 and (state.epoch % recipe.validate_every == 0 or is_last):
            quality = validate(result, validation)
            row |= {key: value for key, value in quality._asdict().items() if not math.isnan(value)}
            run.save_sample(state.epoch, sample_sheet(result, validation))
        row["seconds"] = time.perf_counter() - began
        run.finish_epoch(state, result, row)
        on_epoch(row)
    return blend(state.average, beginning, recipe.start_share)


def start(recipe: Recipe, device: str = "cpu") -> TrainingState:
    """Returns the state before the first step."""
    torch.manual_seed(recipe.seed)
    model = (PicUie.load(recipe.start) if recipe.start else PicUie(recipe.model)).to(device)
    if model.config != recipe.model:
        raise ConfigError(f"{recipe.start} is of another model than the recipe asks for: {model.config}")
    settings = recipe.optimization
    optimizer = torch.optim.AdamW(model.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay)
    return TrainingState(model, copy.deepcopy(model), optimizer)


@torch.no_grad()
def blend(model: PicUie, other: PicUie, share: float) -> PicUie:
    """Returns the model with a share of the other's weights."""
    blended = copy.deepcopy(model)
    torch._foreach_lerp_(list(blended.parameters()), list(other.parameters()), share)
    return blended


def take_step(trainee: nn.Module, state: TrainingState, batch: Batch, recipe: Recipe) -> dict[str, Tensor]:
    """One step of the optimiser and of the moving average; returns the weighted terms of the objective."""
    try:
        enhanced, theta = trainee(batch.inputs)
    except torch.linalg.LinAlgError as error:  # type: ignore[attr-defined]  # how NaN ends in eigenvalues
        raise DivergedError(f"the weights are not finite in epoch {state.epoch + 1}: {DIVERGED_REMEDY}") from error
    terms = objective(enhanced, batch.targets, theta, batch.depths, recipe.loss, recipe.model)
    state.optimizer.zero_grad(set_to_none=True)
    terms["total"].backward()  # type: ignore[no-untyped-call]
    state.optimizer.step()
    state.step += 1
    settings = recipe.optimization
    decay = min(settings.ema, (1 + state.step) / (10 + state.step)) if settings.ema_warmup else settings.ema
    with torch.no_grad():
        torch._foreach_lerp_(list(state.average.parameters()), list(state.model.parameters()), 1.0 - decay)
    return {name: term.detach() for name, term in terms.items()}


def learning_rate(settings: Optimization, epoch: int) -> float:
    """Linear warm-up, then a cosine to 0, constant within an epoch."""
    if epoch < settings.warmup:
        return settings.learning_rate * (epoch + 1) / (settings.warmup + 1)
    progress = (epoch - settings.warmup) / (settings.epochs - settings.warmup)
    return settings.learning_rate * 0.5 * (1.0 + math.cos(math.pi * progress))


def set_learning_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Sets the rate of every group."""
    for group in optimizer.param_groups:
        group["lr"] = rate


class RunFolder:
    """The files of a run; only the chief process writes."""

    def __init__(self, folder: Path, recipe: Recipe, ingredients: Ingredients, chief: bool) -> None:
        self.folder, self.recipe, self.ingredients, self.chief = folder, recipe, ingredients, chief
        self.rows: list[dict[str, float]] = []

    def resume(self, state: TrainingState) -> None:
        """Loads the state if there is one; rows of epochs that the state does not have are taken back."""
        path = self.folder / "state.safetensors"
        if path.exists():
            load_state(path, state, self.recipe, self.ingredients)
            metrics = self.folder / "metrics.csv"
            if metrics.exists():
                with metrics.open(newline="", encoding="utf-8") as file:
                    rows = [{key: float(text) for key, text in row.items() if text} for row in csv.DictReader(file)]
                self.rows = [row for row in rows if row["epoch"] <= state.epoch]
        elif self.chief:
            save_or_explain(self.folder / "config.yaml", typed_yaml.dump(self.recipe).encode())
            facts = versions() | dict(self.ingredients)
            save_or_explain(self.folder / "versions.json", json.dumps(facts, indent=2).encode())

    def finish_epoch(self, state: TrainingState, result: PicUie, row: dict[str, float]) -> None:
        """Writes weights and metrics, the state last: a run killed before that repeats the epoch to the same bits."""
        if not self.chief:
            return
        self.rows.append(row)
        result.save(self.folder / "last.safetensors")
        if row.get("psnr", 0.0) > state.best_psnr:
            state.best_psnr = row["psnr"]
            result.save(self.folder / "best.safetensors")
        names = list(dict.fromkeys(name for known in self.rows for name in known))
        text = io.StringIO()
        writer = csv.DictWriter(text, names, restval="")
        writer.writeheader()
        writer.writerows(self.rows)
        save_or_explain(self.folder / "metrics.csv", text.getvalue().encode())
        save_state(self.folder / "state.safetensors", state, self.recipe, self.ingredients)

    def save_sample(self, epoch: int, sheet: NDArray[np.uint8]) -> None:
        """Writes input, result and target of a few validation pictures."""
        (self.folder / "samples").mkdir(exist_ok=True)
        file = io.BytesIO()
        Image.fromarray(sheet).save(file, "JPEG", quality=92)
        save_or_explain(self.folder / "samples" / f"epoch-{epoch:04d}.jpg", file.getvalue())


def ingredients(recipe: Recipe, pairs: Pairs, validation: Pairs | None) -> dict[str, str]:
    """Hashes of what the run is made of: pictures with their names, and every weights file that the recipe names."""
    sets = {"pictures to train on": pairs, "pictures to measure on": validation}
    pictures = {what: _digest(given) for what, given in sets.items() if given is not None}
    files = (*recipe.teaching.teachers, *([recipe.start] if recipe.start else []))
    return pictures | {f"weights in {path}": weights.load(path).sha256 for path in files}


def _digest(pairs: Pairs) -> str:
    digest = hashlib.sha256(os.fsencode("\n".join(pairs.stems)))
    for arrays in (pairs.inputs, pairs.targets, pairs.depths):
        if arrays is not None:
            digest.update(np.ascontiguousarray(arrays).data)
    return digest.hexdigest()


def versions() -> dict[str, str]:
    """What the run was made with: packages and machine."""
    packages = {name: version(name) for name in ("pic-uie", "torch", "numpy", "safetensors")}
    machine = {"python": platform.python_version(), "machine": platform.machine()}
    return packages | machine | {"threads": str(torch.get_num_threads())}


def _mean_over_processes(row: dict[str, float], world: int, device: str) -> dict[str, float]:
    values = torch.tensor(list(row.values()), dtype=torch.float64, device=device)
    dist.all_reduce(values)
    return dict(zip(row, (values / world).tolist(), strict=True))
