"""What a run trains: a model with its objective; a batch in, weighted terms out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from torch import Tensor, nn

from pic_uie import weights
from pic_uie.errors import ConfigError
from pic_uie.model import PicUie
from pic_uie.training.augmentation import Batch
from pic_uie.training.config import OURS, Recipe
from pic_uie.training.losses import objective
from pic_uie.training.trainee import Trainee

Terms = dict[str, Tensor]


class Lesson(nn.Module):
    """A model with its objective.

    Attributes:
        model: What is trained, averaged and saved; `Trainee(model)` runs it.
        rival: The discriminator of an adversarial objective, or None.
        ingredients: Files that the run is made of: what each is called -> its hash.
        notes: What a person should know before the run starts.
    """

    model: nn.Module
    rival: nn.Module | None = None
    ingredients: dict[str, str]
    notes: tuple[str, ...] = ()

    def forward(self, batch: Batch) -> Terms:
        """Returns each term in use, weighted, and their sum under "total"."""
        raise NotImplementedError

    def rival_terms(self, batch: Batch) -> Terms:
        """Returns the same of what the discriminator minimises."""
        raise NotImplementedError

    def save(self, model: nn.Module, path: Path) -> None:
        """Writes the weights of a model of this kind."""
        raise NotImplementedError


MakeLesson = Callable[[Recipe], Lesson]


class OwnLesson(Lesson):
    """PIC-UIE with the paper's objective."""

    def __init__(self, recipe: Recipe) -> None:
        super().__init__()
        if recipe.method != OURS:
            raise ConfigError(f"this run trains {OURS}, but the recipe says method = {recipe.method!r}")
        self.recipe = recipe
        self.model: PicUie = PicUie.load(recipe.start) if recipe.start else PicUie(recipe.model)
        if self.model.config != recipe.model:
            raise ConfigError(f"{recipe.start} is of another model than the recipe asks for: {self.model.config}")
        self.ingredients = {f"weights in {recipe.start}": weights.load(recipe.start).sha256} if recipe.start else {}

    def forward(self, batch: Batch) -> Terms:
        """Returns each term in use, weighted, and their sum under "total"."""
        enhanced, theta = Trainee(self.model)(batch.inputs)
        return objective(enhanced, batch.targets, theta, batch.depths, self.recipe.loss, self.recipe.model)

    def save(self, model: nn.Module, path: Path) -> None:
        """Writes a weights file."""
        if not isinstance(model, PicUie):
            raise ValueError(f"expected a PicUie, got {type(model).__name__}")
        model.save(path)
