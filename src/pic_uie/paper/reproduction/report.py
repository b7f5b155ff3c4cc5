"""A reproduced table as a document: for JSON as it is, for people as Markdown or plain text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pic_uie.complexity import parameter_count
from pic_uie.datasets.names import called
from pic_uie.evaluation.compare import Difference, compare
from pic_uie.evaluation.metrics import METRICS
from pic_uie.evaluation.results import Result, summarise, versions
from pic_uie.evaluation.tables import interval, number
from pic_uie.paper import tables as paper
from pic_uie.paper.reproduction import measure
from pic_uie.paper.reproduction.measure import Measured
from pic_uie.paper.reproduction.orderings import judge, published
from pic_uie.paper.reproduction.plan import PlannedRun
from pic_uie.paper.reproduction.seeds import Noise, pooled

FORMAT = "pic-uie-reproduction-1"


def document(
    table: paper.Table, runs: Sequence[PlannedRun], measured: Mapping[str, Measured], columns: Sequence[str]
) -> dict[str, Any]:
    """Returns everything about a table: the paper's figures, ours with intervals, differences and verdicts.

    Raises:
        DataError: Rows were scored on different pictures.
    """
    full = next(run for run in runs if run.is_full)
    return {
        "format": FORMAT,
        "table": table.name,
        "title": table.title,
        "full": full.name,
        "epochs": full.recipe.optimization.epochs,
        "metrics": {column: _metrics(table, column) for column in columns},
        "noise": {column: _noises(measured, column) for column in columns},
        "names": {column: _names(measured, column) for column in columns},
        "rows": [_row(run, full, measured, columns) for run in runs],
        "missing": [run.name for run in runs if run.config not in measured],
        "orderings": [verdict for column in columns for verdict in _verdicts(table, runs, measured, column)],
        "statements": list(table.statements),
        "versions": versions(),
    }


def _row(run: PlannedRun, full: PlannedRun, measured: Mapping[str, Measured], columns: Sequence[str]) -> dict[str, Any]:
    mine, whole = measured.get(run.config), measured.get(full.config)
    cells: dict[str, Any] = {}
    for column in columns:
        theirs, theirs_full = run.row.group(column), full.row.group(column)
        result = mine.scores.get(column) if mine else None
        reference = whole.scores.get(column) if whole else None
        differences = compare(reference, result) if result and reference and not run.is_full else {}
        summaries = result.summaries(measure.RESIZE) if result else {}
        cells[column] = {
            metric: {
                "paper": theirs.get(metric),
                "paper_difference": _minus(theirs.get(metric), theirs_full.get(metric)),
                "ours": vars(summaries[metric]) if metric in summaries else None,
                "ours_seeds": list(mine.means[column][metric]) if mine and column in mine.means else [],
                "ours_difference": _difference(differences.get(metric)),
            }
            for metric in measure.METRICS
        }
    return {
        "name": run.name,
        "config": run.config,
        "params": parameter_count(run.recipe.model),
        "width": run.recipe.model.width,
        "columns": cells,
        "correlation": {
            "paper": dict(run.row.group("correlation")) or None,
            "ours": _correlation(mine.correlations) if mine and mine.correlations else None,
        },
    }


def _verdicts(
    table: paper.Table, runs: Sequence[PlannedRun], measured: Mapping[str, Measured], column: str
) -> list[dict[str, Any]]:
    configs = {run.name: run.config for run in runs}
    full = next(run.name for run in runs if run.is_full)

    def result(name: str) -> Result | None:
        found = measured.get(configs[name])
        return found.scores.get(column) if found else None

    def seeds(name: str, metric: str) -> int:
        return len(measured[configs[name]].means[column][metric])

    verdicts = []
    for ordering in published(table, column, tuple(_metrics(table, column))):
        better, worse = result(ordering.better), result(ordering.worse)
        noise = _noise(measured, column, ordering.metric)
        counts = (
            [seeds(name, ordering.metric) for name in (ordering.better, ordering.worse)] if better and worse else []
        )
        reach = noise.reach(*counts) if noise and counts else None
        verdict = judge(ordering, compare(worse, better) if better and worse else None, reach)
        about_full = full in (ordering.better, ordering.worse)
        ours = {"ours": verdict.margin, "verdict": verdict.word, "size": verdict.size}
        verdicts.append({**vars(ordering), **ours, "about_full": about_full, "reach": reach})
    return verdicts


def _metrics(table: paper.Table, column: str) -> list[str]:
    """The metrics that the paper has in this column."""
    return [metric for metric in measure.METRICS if any(metric in row.group(column) for row in table.rows)] or ["psnr"]


def _noise(measured: Mapping[str, Measured], column: str, metric: str) -> Noise | None:
    return pooled([entry.means[column][metric] for entry in measured.values() if column in entry.means])


def _noises(measured: Mapping[str, Measured], column: str) -> dict[str, dict[str, float] | None]:
    found = {metric: _noise(measured, column, metric) for metric in measure.METRICS}
    return {metric: vars(noise) if noise else None for metric, noise in found.items()}


def _names(measured: Mapping[str, Measured], column: str) -> dict[str, Any] | None:
    found = [entry.scores[column] for entry in measured.values() if column in entry.scores]
    return dict(found[0].names) if found else None


def _difference(difference: Difference | None) -> dict[str, float] | None:
    if difference is None:
        return None
    mean = difference.mean_b - difference.mean_a
    return {"mean": mean, "low": difference.low, "high": difference.high, "p": difference.p_value}


def _correlation(values: Mapping[str, float]) -> dict[str, float]:
    summary, array = summarise(list(values.values())), np.array(list(values.values()))
    positive = {"positive": int((array > 0).sum()), "of": array.size}
    return {**vars(summary), "median": float(np.median(array)), **positive}


def _minus(value: float | None, other: float | None) -> float | None:
    return None if value is None or other is None else value - other


def tables(report: Mapping[str, Any]) -> list[tuple[str, list[str], list[list[str]]]]:
    """Returns (caption, header, rows) of everything a person reads, for Markdown and for the terminal."""
    found = [
        (_caption(report, column, metric), *_metric_table(report, column, metric))
        for column, metrics in report["metrics"].items()
        for metric in metrics
    ]
    if any(row["correlation"]["paper"] for row in report["rows"]):
        found.append(("Correlation of -log t with depth", *_correlation_table(report)))
    return found


def _caption(report: Mapping[str, Any], column: str, metric: str) -> str:
    names = report["names"][column]
    pictures = f"{names['count']} pictures ({called(names)})" if names else "nothing measured yet"
    noise = report["noise"][column][metric]
    between = f"; deviation between seeds {number(noise['deviation'], METRICS[metric].decimals)}" if noise else ""
    return f"{METRICS[metric].title}: the paper's {column}; ours on {pictures}, {report['epochs']} epochs{between}"


def _metric_table(report: Mapping[str, Any], column: str, metric: str) -> tuple[list[str], list[list[str]]]:
    decimals = METRICS[metric].decimals
    full = report["full"]
    header = ["row", "parameters", "paper", "ours", f"paper: to {full}", f"ours: to {full}", "95 % interval"]
    header += ["order", "the paper's size"]
    rows = []
    for row in report["rows"]:
        cell = row["columns"][column][metric]
        ours, difference = cell["ours"], cell["ours_difference"]
        is_full = row["name"] == full
        ends = interval(difference["low"], difference["high"], decimals, signed=True) if difference else "-"
        rows.append(
            [
                row["name"],
                f"{row['params']:,}",
                number(cell["paper"], decimals),
                number(ours and ours["mean"], decimals) + _spread(cell.get("ours_seeds", ()), decimals),
                "-" if is_full else number(cell["paper_difference"], decimals, signed=True),
                number(difference and difference["mean"], decimals, signed=True),
                ends,
                *_verdict(report, row["name"], column, metric),
            ]
        )
    return header, rows


def _spread(means: Sequence[float], decimals: int) -> str:
    return f" ± {number(float(np.std(means, ddof=1)), decimals)} ({len(means)} seeds)" if len(means) > 1 else ""


def _verdict(report: Mapping[str, Any], name: str, column: str, metric: str) -> tuple[str, str]:
    """What became of the paper's ordering of this row and the full model, and of its margin."""
    for ordering in report["orderings"]:
        here = (ordering["column"], ordering["metric"]) == (column, metric)
        if here and {ordering["better"], ordering["worse"]} == {name, report["full"]}:
            return str(ordering["verdict"]), ordering["size"] or "-"
    return "-", "-"


def _correlation_table(report: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    rows = []
    for row in report["rows"]:
        cells = [row["name"]]
        for side in (row["correlation"]["paper"] or {}, row["correlation"]["ours"] or {}):
            share = f"{side['positive']} of {side['of']}" if "positive" in side else "-"
            cells += [number(side.get("mean"), 3), number(side.get("median"), 3), share]
        rows.append(cells)
    figures = ("mean", "median", "positive")
    return ["row", *(f"{side}: {figure}" for side in ("paper", "ours") for figure in figures)], rows
