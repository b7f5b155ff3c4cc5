"""Runs or resumes the trainings of a table one after the other, scores each, and collects what is finished."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from pic_uie import typed_yaml
from pic_uie.errors import ConfigError, DataError
from pic_uie.evaluation import results
from pic_uie.evaluation.compare import compare, identified
from pic_uie.evaluation.results import Result
from pic_uie.paper.reproduction import correlations
from pic_uie.paper.reproduction.measure import METRICS, RESIZE, Measured, TestSet, measure, pictures_of
from pic_uie.paper.reproduction.plan import PlannedRun
from pic_uie.paper.reproduction.seeds import averaged
from pic_uie.training.config import Recipe
from pic_uie.training.loop import train
from pic_uie.training.pairs import Pairs, load_pairs, split_stems
from pic_uie.writing import make_folder


class Reporter(Protocol):
    """Hears of a training's steps and epochs; `pic_uie.cli.training_progress.TrainingProgress` is one."""

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
        pictures_of(test)  # what is missing is reported now, not after hours of training
    with_depth = shop.depth or any(run.recipe.uses_depth for run in runs)
    sizes: dict[int, tuple[Pairs, Pairs]] = {}
    for number, run in enumerate(runs, 1):
        folder = shop.output / run.config
        make_folder(folder)
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


def score_finished(
    runs: Sequence[PlannedRun],
    shop: Workshop,
    seeds: Sequence[Path] = (),
    say: Callable[[str], None] = lambda line: None,
) -> None:
    """Scores the runs that were trained to their end elsewhere: recipe, curve and final weights are all that it takes.

    Raises:
        DataError: There is no such folder of runs, a curve is damaged, or pictures are missing or unreadable.
    """
    for place in (shop.output, *seeds):
        if not place.is_dir():
            raise DataError(f"{place} is not a folder: it should hold the runs of `pic-uie reproduce`")
    for test in shop.tests:
        pictures_of(test)
    held_out: dict[int, Pairs] = {}
    for run in runs:
        for folder in (place / run.config for place in (shop.output, *seeds)):
            epochs = run.recipe.optimization.epochs
            if not (folder / correlations.WEIGHTS).is_file() or not _is_finished(folder, epochs):
                continue
            for test in shop.tests:
                measure(folder, run.config, test, shop.jobs, say=say)
            if shop.depth and not (folder / correlations.FILE).is_file():
                size = run.recipe.size
                if size not in held_out:
                    names = split_stems(shop.data, shop.list_file, shop.validation)[1]
                    held_out[size] = load_pairs(shop.data, names, size, with_depth=True)
                correlations.measure(folder, held_out[size])


def _is_finished(folder: Path, epochs: int) -> bool:
    curve = folder / "metrics.csv"
    if not curve.is_file():
        return False
    try:
        with open(curve, newline="", encoding="utf-8") as rows:
            return any(int(float(row["epoch"])) == epochs for row in csv.DictReader(rows))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{curve} is not the curve of a training: {type(error).__name__} {error}") from error


def collect(
    runs: Sequence[PlannedRun], output: Path, tests: Sequence[TestSet], seeds: Sequence[Path] = ()
) -> dict[str, Measured]:
    """Reads the results of every run that is finished, also by another machine: configuration -> what was measured.

    Args:
        runs: The rows.
        output: Folder of their runs.
        tests: Where each row was scored.
        seeds: Folders of the same runs with other seeds; a row that is in several of them is their mean.

    Raises:
        ConfigError: A folder holds a run of another recipe, or one seed twice.
        DataError: A result is damaged, or on other pictures.
    """
    measured = {}
    lists = {test.column: pictures_of(test)[1] for test in tests}
    for run in runs:
        found: dict[int, dict[str, Result]] = {}
        for place in (output, *seeds):
            folder = place / run.config
            scores = {test.column: folder / f"{test.file}.json" for test in tests}
            present = {column: results.read(path) for column, path in scores.items() if path.is_file()}
            if not present:
                continue
            for column, result in present.items():
                if result.names["sha256"] != lists[column].sha256:
                    raise DataError(
                        f"{scores[column]} is of other pictures ({identified(result.names)}): score it again with "
                        "--collect, or give the list that it was made with"
                    )
            recipe, wanted = typed_yaml.load(Recipe, folder / "config.yaml").in_use, run.recipe.in_use
            if replace(recipe, seed=wanted.seed) != wanted or (place == output and recipe != wanted):
                raise ConfigError(
                    f"{folder} holds a run of another recipe: give the options it was made with, or another -o"
                )
            if recipe.seed in found:
                raise ConfigError(f"{folder} has the seed {recipe.seed}, which is there already: seeds must differ")
            found[recipe.seed] = present
        if found:
            measured[run.config] = _measured(found, output / run.config / correlations.FILE)
    return measured


def _measured(found: Mapping[int, Mapping[str, Result]], correlation: Path) -> Measured:
    by_column: dict[str, list[Result]] = {}
    for present in found.values():
        for column, result in present.items():
            by_column.setdefault(column, []).append(result)
    for same in by_column.values():
        for other in same[1:]:
            compare(same[0], other)  # refuses other pictures
    means = {
        column: {metric: [result.summaries(RESIZE)[metric].mean for result in same] for metric in METRICS}
        for column, same in by_column.items()
    }
    depth = correlations.read(correlation) if correlation.is_file() else None
    return Measured({column: averaged(same) for column, same in by_column.items()}, depth, means)
