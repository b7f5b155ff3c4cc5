"""Runs or resumes the trainings of a table one after the other, scores each, and collects what is finished."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pic_uie import typed_yaml
from pic_uie.errors import ConfigError, EnvironmentMissingError
from pic_uie.evaluation import results
from pic_uie.reproduction import correlations
from pic_uie.reproduction.measure import Measured, TestSet, measure, pictures_of
from pic_uie.reproduction.plan import PlannedRun
from pic_uie.training.config import Recipe
from pic_uie.training.loop import train
from pic_uie.training.pairs import Pairs, load_pairs, split_stems


class Reporter(Protocol):
    """Hears of a training's steps and epochs; `pic_uie.training.progress.Progress` is one."""

    def step(self, done: int, total: int) -> None:
        """Called after each step."""

    def epoch(self, row: dict[str, float]) -> None:
        """Called after each epoch."""


@dataclass(frozen=True)
class Workshop:
    """Where and on what the rows of a table are trained and scored.

    Attributes:
        data: Folder with input/, target/ and, for the depth loss, depth/.
        list_file: Pictures to use; None = all.
        validation: Pictures held out of training and scored on.
        output: Holds one folder per configuration.
        tests: Where each row is scored.
        depth: Whether the correlation with depth is measured too.
        device: Of torch.
        jobs: Pictures scored at a time.
    """

    data: Path
    list_file: Path | None
    validation: Path
    output: Path
    tests: Sequence[TestSet]
    depth: bool = False
    device: str = "cpu"
    jobs: int = 1


def run_all(
    runs: Sequence[PlannedRun],
    shop: Workshop,
    say: Callable[[str], None] = lambda line: None,
    reporter: Callable[[], AbstractContextManager[Reporter]] | None = None,
) -> None:
    """Brings every run to the end of its schedule and scores it; what is finished already costs next to nothing.

    Raises:
        ConfigError: A run folder belongs to another recipe, such as another number of epochs, or was trained on other
            pictures: a score must not be on what was trained on.
        DataError: Pictures are missing or unreadable.
    """
    kept, held_out = split_stems(shop.data, shop.list_file, shop.validation)
    for test in shop.tests:
        pictures_of(test)  # what is missing is told now, not after hours of training
    with_depth = shop.depth or any(run.recipe.uses_depth for run in runs)
    sizes: dict[int, tuple[Pairs, Pairs]] = {}
    for number, run in enumerate(runs, 1):
        folder = shop.output / run.config
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise EnvironmentMissingError(f"cannot make the folder {folder}: {error.strerror}") from error
        size = run.recipe.size
        if size not in sizes:
            sizes[size] = (
                load_pairs(shop.data, kept, size, with_depth),
                load_pairs(shop.data, held_out, size, with_depth),
            )
        pairs, validation = sizes[size]
        say(f"{number}/{len(runs)} {run.name}: {run.recipe.optimization.epochs} epochs on {len(pairs)} pairs, {folder}")
        if reporter is None:
            train(run.recipe, pairs, validation, folder, device=shop.device)
        else:
            with reporter() as hears:
                callbacks = {"on_step": hears.step, "on_epoch": hears.epoch}
                train(run.recipe, pairs, validation, folder, device=shop.device, **callbacks)  # type: ignore[arg-type]
        for test in shop.tests:
            result = measure(folder, run.config, test, shop.jobs)
            means = result.summaries(next(iter(result.scores)))
            say(f"  {test.column}: " + ", ".join(f"{metric} {summary.mean:.4f}" for metric, summary in means.items()))
        if shop.depth:
            correlations.measure(folder, validation)


def collect(runs: Sequence[PlannedRun], output: Path, tests: Sequence[TestSet]) -> dict[str, Measured]:
    """Reads the results of every run that is finished, also by another machine: configuration -> what was measured.

    Raises:
        ConfigError: A folder holds a run of another recipe.
        DataError: A result is damaged.
    """
    measured = {}
    for run in runs:
        folder = output / run.config
        scores = {test.column: folder / f"{test.file}.json" for test in tests}
        present = {column: results.read(path) for column, path in scores.items() if path.is_file()}
        if not present:
            continue
        if typed_yaml.load(Recipe, folder / "config.yaml") != run.recipe:
            raise ConfigError(
                f"{folder} holds a run of another recipe: give the options it was made with, or another -o"
            )
        correlation = folder / correlations.FILE
        measured[run.config] = Measured(present, correlations.read(correlation) if correlation.is_file() else None)
    return measured
