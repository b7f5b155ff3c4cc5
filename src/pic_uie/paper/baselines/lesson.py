"""A system as the training loop sees it: its own objective, its discriminator if it has one, its weights file."""

from __future__ import annotations

import hashlib
from pathlib import Path

import torch
from torch import nn

from pic_uie.errors import ConfigError
from pic_uie.paper import baselines
from pic_uie.paper.baselines.base import Baseline, Given, Terms
from pic_uie.paper.baselines.perceptual import Perceptual
from pic_uie.training.augmentation import Batch
from pic_uie.training.config import Recipe
from pic_uie.training.lesson import Lesson


class BaselineLesson(Lesson):
    """A system with its own objective.

    Raises:
        ConfigError: An unknown name, or a size of pictures that the system cannot take.
        WeightsError: Weights to start from, or of VGG, that cannot be used.
    """

    model: Baseline

    def __init__(self, recipe: Recipe) -> None:
        super().__init__()
        system = baselines.find(recipe.method)
        try:
            system.check_size(recipe.size, recipe.size)
        except ValueError as error:
            raise ConfigError(f"size = {recipe.size}: {error}") from error
        self.ingredients = {}
        self.model = system()
        if recipe.start:
            self.model, self.ingredients[f"weights in {recipe.start}"] = baselines.load(recipe.start, recipe.method)
        self.rival = self.model.make_rival()
        self.perceptual: Perceptual | None = None
        if system.vgg is not None:
            self._add_perceptual(*system.vgg, recipe.vgg)
        elif recipe.vgg is not None:
            raise ConfigError(f"the objective of {recipe.method} has no perceptual term: leave out vgg")

    def forward(self, batch: Batch) -> Terms:
        """Returns each term of the system's objective, weighted, and their sum under "total"."""
        return _with_total(self.model.objective(self._given(batch)))

    def rival_terms(self, batch: Batch) -> Terms:
        """Returns the same of what the discriminator minimises."""
        return _with_total(self.model.rival_objective(self._given(batch)))

    def save(self, model: nn.Module, path: Path) -> None:
        """Writes a weights file of the system."""
        if not isinstance(model, Baseline):
            raise ValueError(f"expected a baseline, got {type(model).__name__}")
        model.save(path)

    def _given(self, batch: Batch) -> Given:
        return Given(batch.inputs, batch.targets, self.perceptual, self.rival)

    def _add_perceptual(self, depth: int, layers: dict[int, float], path: str | None) -> None:
        if path is None:
            self.notes = (
                f"{self.model.title} is trained without its perceptual term, which needs VGG-{depth}: "
                f"add vgg=FILE.safetensors to train with it",
            )
            return
        self.perceptual = Perceptual(depth, layers, path)
        self.ingredients[f"weights of VGG in {path}"] = hashlib.sha256(Path(path).read_bytes()).hexdigest()


def _with_total(terms: Terms) -> Terms:
    return {**terms, "total": torch.stack(list(terms.values())).sum()}
