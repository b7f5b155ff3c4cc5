"""From a table of the paper to the trainings that make it: one run per row, each its own recipe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pic_uie.errors import ConfigError, did_you_mean
from pic_uie.paper import tables as paper
from pic_uie.training.config import Recipe
from pic_uie.training.recipe_file import read_values
from pic_uie.typed import from_mapping, merge
from pic_uie.typed_yaml import apply_override

FULL = "paper"  # the configuration that every table compares with
TRAINED = (
    "matched-capacity",
    "representation",
    "leave-one-out",
    "depth-controls",
    "thumbnail",
    "lut-grid",
    "loss-terms",
    "width-scan",
)


@dataclass(frozen=True)
class PlannedRun:
    """One row of a table as a training.

    Attributes:
        row: The paper's row.
        config: Name of its configuration, and of its run folder: rows that tables share are trained once.
        recipe: What to train.
    """

    row: paper.Row
    config: str
    recipe: Recipe

    @property
    def name(self) -> str:
        """What the paper calls the row."""
        return self.row.name

    @property
    def is_full(self) -> bool:
        """Whether this is the paper's own model."""
        return self.config == FULL


def plan(table: paper.Table, configs: Path, overrides: Sequence[str] = ()) -> list[PlannedRun]:
    """Returns the runs of a table in the paper's order.

    Args:
        table: One whose rows name a configuration.
        configs: Folder with paper.yaml and variants/.
        overrides: `key=value` changes of the common recipe; what a row is about wins over them.

    Raises:
        ConfigError: A configuration is missing or impossible.
    """
    if not (configs / "paper.yaml").is_file():
        raise ConfigError(f"{configs} has no paper.yaml: name the repository's configs folder with --configs DIR")
    common = read_values(configs / "paper.yaml")
    for override in overrides:
        apply_override(common, override)
    runs = []
    for row in table.rows:
        config = str(row.cells["config"])
        changes = {} if config == FULL else read_values(configs / "variants" / f"{config}.yaml")
        runs.append(PlannedRun(row, config, from_mapping(Recipe, merge(common, changes))))
    return runs


def choose(runs: Sequence[PlannedRun], only: Sequence[str]) -> list[PlannedRun]:
    """Returns the runs of these rows or configurations; all of them where none is named.

    Raises:
        ConfigError: A word that is neither, with the nearest that is.
    """
    if not only:
        return list(runs)
    known = {run.name for run in runs} | {run.config for run in runs}
    for word in only:
        if word not in known:
            raise ConfigError(f"the table has no row {word!r}: {did_you_mean(word, known)}")
    return [run for run in runs if run.name in only or run.config in only]
