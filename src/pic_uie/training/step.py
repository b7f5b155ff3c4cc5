"""One step: the optimiser, its rival, the learning rate and the moving average."""

from __future__ import annotations

import copy
import math

import numpy as np
import torch
from torch import Tensor, nn

from pic_uie.errors import DivergedError
from pic_uie.training.augmentation import Batch
from pic_uie.training.checkpoint import TrainingState
from pic_uie.training.config import Optimization, Recipe

DIVERGED_REMEDY = "lower optimization.learning_rate; the run's folder keeps the previous epoch"


def make_optimizer(module: nn.Module, settings: Optimization) -> torch.optim.AdamW:
    """Returns the optimiser of a model or of its rival."""
    betas = (settings.beta1, 0.999)
    return torch.optim.AdamW(
        module.parameters(), lr=settings.learning_rate, betas=betas, weight_decay=settings.weight_decay
    )


def step_seed(*place: int) -> int:
    """Returns the seed of what is random within one step: by place and not by history, so that runs can resume."""
    return int(np.random.SeedSequence(place).generate_state(1, np.uint64)[0] >> np.uint64(1))


@torch.no_grad()
def blend(model: nn.Module, other: nn.Module, share: float) -> nn.Module:
    """Returns the model with a share of the other's weights."""
    blended = copy.deepcopy(model)
    torch._foreach_lerp_(list(blended.parameters()), list(other.parameters()), share)
    return blended


def take_step(lesson: nn.Module, state: TrainingState, batch: Batch, recipe: Recipe) -> dict[str, Tensor]:
    """One step of the optimiser, its rival and the moving average; returns the weighted terms of the objective.

    Args:
        lesson: `state.lesson`, wrapped where several processes share the batch.
        state: What is changed.
        batch: What to learn from.
        recipe: What to do.
    """
    try:
        terms = lesson(batch)
    except torch.linalg.LinAlgError as error:  # type: ignore[attr-defined]  # how NaN ends in eigenvalues
        raise DivergedError(f"the weights are not finite in epoch {state.epoch + 1}: {DIVERGED_REMEDY}") from error
    state.optimizer.zero_grad(set_to_none=True)
    terms["total"].backward()
    state.optimizer.step()
    if state.rival_optimizer:
        rival_terms = state.lesson.rival_terms(batch)
        state.rival_optimizer.zero_grad(set_to_none=True)
        rival_terms["total"].backward()  # type: ignore[no-untyped-call]
        state.rival_optimizer.step()
        terms = {**rival_terms, **terms}
    state.step += 1
    settings = recipe.optimization
    decay = min(settings.ema, (1 + state.step) / (10 + state.step)) if settings.ema_warmup else settings.ema
    with torch.no_grad():
        torch._foreach_lerp_(list(state.average.parameters()), list(state.model.parameters()), 1.0 - decay)
        for kept, buffer in zip(state.average.buffers(), state.model.buffers(), strict=True):
            kept.copy_(buffer)
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
