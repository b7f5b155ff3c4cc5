"""The training loop: epochs of steps, then validation; `step.py` is one step, `run_folder.py` what a run leaves."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from pic_uie.errors import ConfigError, DataError, DivergedError
from pic_uie.model import PicUie
from pic_uie.training.augmentation import epoch_order, make_batch
from pic_uie.training.checkpoint import TrainingState
from pic_uie.training.config import Recipe
from pic_uie.training.lesson import MakeLesson, OwnLesson
from pic_uie.training.memory import keep_freed_memory
from pic_uie.training.pairs import Pairs
from pic_uie.training.run_folder import RunFolder, ingredients
from pic_uie.training.settling import settle
from pic_uie.training.step import (
    DIVERGED_REMEDY,
    blend,
    learning_rate,
    make_optimizer,
    set_learning_rate,
    step_seed,
    take_step,
)
from pic_uie.training.teaching import Teachers
from pic_uie.training.unlabelled import Answered
from pic_uie.training.validation import sample_sheet, validate

Report = Callable[[dict[str, float]], None]


def train(
    recipe: Recipe,
    pairs: Pairs,
    validation: Pairs | None,
    folder: Path,
    *,
    real: Answered | None = None,
    device: str = "cpu",
    on_step: Callable[[int, int], None] = lambda step, steps: None,
    on_epoch: Report = lambda row: None,
    on_note: Callable[[str], None] = lambda note: None,
    make_lesson: MakeLesson = OwnLesson,
) -> nn.Module:
    """Trains to the end of the schedule, resuming from the folder's state if there is one.

    Args:
        recipe: What to do.
        pairs: What to train on.
        validation: What to measure on, or None.
        folder: Where config, metrics, weights, state and samples go; exists.
        real: Unlabelled pictures with the teachers' answers, where `recipe.teaching.real` asks for them.
        device: Of torch.
        on_step: Called with (steps done, steps in all).
        on_epoch: Called with the row that metrics.csv gets.
        on_note: Called with what a person should know before the run starts.
        make_lesson: What is trained, and by which objective.

    Returns:
        The averaged model, nearer to its start by `recipe.start_share`, and settled where `recipe.settling` says so.
    """
    keep_freed_memory()
    rank, world = (dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else (0, 1)
    steps = len(pairs) // recipe.optimization.batch
    if not steps:
        raise DataError(f"{len(pairs)} pairs do not fill one batch of {recipe.optimization.batch}")
    if recipe.optimization.batch % world:
        raise ConfigError(f"optimization.batch = {recipe.optimization.batch} cannot be split over {world} processes")
    if bool(recipe.teaching.real) != (real is not None):
        raise ConfigError("teaching.real and unlabelled pictures belong together: give both or neither")
    state = start(recipe, device, make_lesson)
    for note in state.lesson.notes:
        on_note(note)
    if state.rival_optimizer and world > 1:
        raise ConfigError(f"{recipe.method} trains against a discriminator: run it in one process")
    beginning = copy.deepcopy(state.model)
    teachers = Teachers(recipe.teaching.teachers).to(device)
    run = RunFolder(
        folder, recipe, ingredients(recipe, pairs, validation, real) | state.lesson.ingredients, chief=rank == 0
    )
    run.resume(state)
    finished: nn.Module | None = None
    lesson: nn.Module = DistributedDataParallel(state.lesson) if world > 1 else state.lesson
    while state.epoch < recipe.optimization.epochs:
        began = time.perf_counter()
        for optimizer in state.optimizers:
            set_learning_rate(optimizer, learning_rate(recipe.optimization, state.epoch))
        order = epoch_order(len(pairs), recipe.seed, state.epoch)
        sums: dict[str, Tensor] = {}
        for step in range(steps):
            mine = order[step * recipe.optimization.batch :][: recipe.optimization.batch][rank::world]
            batch = teachers(make_batch(pairs, mine, recipe, state.epoch, real).to(device))
            torch.manual_seed(step_seed(recipe.seed, state.epoch, step, rank))  # of dropout and noise
            for name, value in take_step(lesson, state, batch, recipe).items():
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
        if is_last:
            result = finished = _settled(result, recipe, pairs, real)
        if validation and rank == 0 and (state.epoch % recipe.validate_every == 0 or is_last):
            quality = validate(result, validation)
            row |= {key: value for key, value in quality._asdict().items() if not math.isnan(value)}
            run.save_sample(state.epoch, sample_sheet(result, validation))
        row["seconds"] = time.perf_counter() - began
        run.finish_epoch(state, result, row)
        on_epoch(row)
    return finished or _settled(blend(state.average, beginning, recipe.start_share), recipe, pairs, real)


def _settled(model: nn.Module, recipe: Recipe, pairs: Pairs, real: Answered | None) -> nn.Module:
    if not recipe.settling.steps or not isinstance(model, PicUie):
        return model
    inputs = pairs.inputs if real is None else np.concatenate([pairs.inputs, real.pictures.inputs])
    return settle(model, inputs, pairs.targets, recipe.settling, recipe.seed)


def start(recipe: Recipe, device: str = "cpu", make_lesson: MakeLesson = OwnLesson) -> TrainingState:
    """Returns the state before the first step."""
    torch.manual_seed(recipe.seed)
    lesson = make_lesson(recipe).to(device).train()
    rival = make_optimizer(lesson.rival, recipe.optimization) if lesson.rival else None
    optimizer = make_optimizer(lesson.model, recipe.optimization)
    return TrainingState(lesson, copy.deepcopy(lesson.model), optimizer, rival)


def _mean_over_processes(row: dict[str, float], world: int, device: str) -> dict[str, float]:
    values = torch.tensor(list(row.values()), dtype=torch.float64, device=device)
    dist.all_reduce(values)
    return dict(zip(row, (values / world).tolist(), strict=True))
