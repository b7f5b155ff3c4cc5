"""The quality table: any number of methods under one protocol, set into the paper's table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pic_uie.errors import ConfigError
from pic_uie.evaluation import paper
from pic_uie.evaluation.metrics import METRICS
from pic_uie.evaluation.report import title
from pic_uie.evaluation.results import Result, versions
from pic_uie.evaluation.tables import number, render
from pic_uie.reproduction.report import FORMAT

MEASURED = " (measured)"


def place_in_paper(protocol: Mapping[str, Any]) -> Mapping[str, str]:
    """Returns the table and column of the paper that a protocol repeats.

    Raises:
        ConfigError: It is not one that the paper reports.
    """
    place: Mapping[str, str] | None = protocol.get("paper")
    if place is None:
        raise ConfigError(f"the paper has no table for protocol {protocol['name']!r}: score it with pic-uie evaluate")
    return place


def document(results: Sequence[Result]) -> dict[str, Any]:
    """Returns the paper's rows and ours, each with its difference to the paper's own model.

    Raises:
        ConfigError: The protocol is not one that the paper reports.
    """
    place = place_in_paper(results[0].protocol)
    table, column = paper.table(place["table"]), place["column"]
    resize = next(iter(results[0].scores))
    full = table.row(paper.ours()).group(column)
    rows = [_row(row.name, row.group(column), full, "paper") for row in table.rows]
    for result in results:
        summaries = result.summaries(resize)
        row = _row(result.method, {metric: summary.mean for metric, summary in summaries.items()}, full, "ours")
        rows.append(row | {"intervals": {metric: vars(summary) for metric, summary in summaries.items()}})
    return {
        "format": FORMAT,
        "table": "quality",
        "title": f"{table.title}; {column} at {resize}",
        "column": column,
        "full": paper.ours(),
        "names": dict(results[0].names),
        "metrics": [metric for metric in full if metric in METRICS],
        "rows": rows,
        "orderings": _verdicts(table, column, full, results, resize),
        "versions": versions(),
    }


def plain(report: Mapping[str, Any]) -> str:
    """Returns the report for a terminal."""
    header, rows = _table(report)
    return f"quality: {report['title']}\n\n{render(header, rows)}\n\n" + "\n".join(_sentences(report))


def markdown(report: Mapping[str, Any]) -> str:
    """Returns the report as a Markdown page."""
    header, rows = _table(report)
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    orderings = "\n".join(f"* {line}" for line in _sentences(report))
    return f"# quality\n\n{report['title']}\n\n{body}\n\n## Which of the paper's orderings hold\n\n{orderings}\n"


def _row(
    name: str, values: Mapping[str, float | None], full: Mapping[str, float | None], source: str
) -> dict[str, Any]:
    known = {metric: value for metric, value in values.items() if metric in METRICS and value is not None}
    differences = {metric: value - (full.get(metric) or 0.0) for metric, value in known.items() if metric in full}
    return {"name": name, "source": source, "values": known, "difference": differences}


def _verdicts(
    table: paper.Table, column: str, full: Mapping[str, float | None], results: Sequence[Result], resize: str
) -> list[dict[str, Any]]:
    """For methods that go by a name of the paper's: whether they stand to our model as the paper has it."""
    measured = {result.method: result.summaries(resize) for result in results}
    published = {row.name: row.group(column) for row in table.rows}
    verdicts = []
    for name in measured:
        if name == paper.ours() or name not in published or paper.ours() not in measured:
            continue
        for metric, value in published[name].items():
            best = full.get(metric)
            if metric not in measured[name] or value is None or best is None:
                continue
            sign = 1.0 if METRICS[metric].higher_is_better else -1.0
            theirs = sign * (best - value)
            ours = sign * (measured[paper.ours()][metric].mean - measured[name][metric].mean)
            verdicts.append(
                {"method": name, "metric": metric, "paper": theirs, "ours": ours, "holds": theirs * ours > 0}
            )
    return verdicts


def _table(report: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    header = ["method", *(title(metric) for metric in report["metrics"]), f"PSNR to {report['full']}"]
    rows = []
    for row in report["rows"]:
        cells = [row["name"] + (MEASURED if row["source"] == "ours" else "")]
        cells += [number(row["values"].get(metric), METRICS[metric].decimals) for metric in report["metrics"]]
        rows.append([*cells, number(row["difference"].get("psnr"), METRICS["psnr"].decimals, signed=True)])
    return header, rows


def _sentences(report: Mapping[str, Any]) -> list[str]:
    if not report["orderings"]:
        return [f"no ordering to judge: name {report['full']} and another method of the paper with --method NAME=PATH"]
    return [
        f"{METRICS[verdict['metric']].title}: {report['full']} against {verdict['method']}, positive = better: "
        f"paper {verdict['paper']:+.4f}, ours {verdict['ours']:+.4f}: {'holds' if verdict['holds'] else 'reversed'}"
        for verdict in report["orderings"]
    ]
