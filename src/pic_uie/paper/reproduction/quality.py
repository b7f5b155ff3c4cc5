"""The quality tables: any number of methods under one protocol, beside the paper's table and never mixed into it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pic_uie.errors import ConfigError
from pic_uie.evaluation import protocols
from pic_uie.evaluation.compare import compare, identified
from pic_uie.evaluation.metrics import METRICS
from pic_uie.evaluation.report import caution, title
from pic_uie.evaluation.results import Result, versions
from pic_uie.evaluation.tables import interval, markdown_table, number, render
from pic_uie.paper import tables as paper
from pic_uie.paper.reproduction.orderings import Ordering, judge
from pic_uie.paper.reproduction.report import FORMAT

Table = tuple[str, list[str], list[list[str]]]  # caption, header, rows


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
    """Returns the paper's rows, ours with intervals, and whether ours stand to each other as the paper has it.

    Raises:
        ConfigError: The protocol is not one that the paper reports.
        DataError: The results are not on the same pictures.
    """
    first = results[0]
    place = place_in_paper(first.protocol)
    table, column = paper.table(place["table"]), place["column"]
    resize = next(iter(first.scores))
    published = {row.name: row.group(column) for row in table.rows}
    pictures = f"{len(first.scores[resize])} pictures, {identified(first.names)}"
    metrics = [metric for metric in published[paper.ours()] if metric in METRICS]
    return {
        "format": FORMAT,
        "table": "quality",
        "protocol": first.protocol["name"],
        "title": f"{table.title}; {column}",
        "measured": f"{first.protocol['name']}, {resize}, {pictures}",
        "comparable": protocols.paper_column(first.protocol) is not None,
        "cautions": [line for result in results for line in caution(result)],
        "column": column,
        "full": paper.ours(),
        "names": dict(first.names),
        "metrics": metrics,
        "paper": {name: {metric: group.get(metric) for metric in metrics} for name, group in published.items()},
        "ours": {
            result.method: {metric: vars(summary) for metric, summary in result.summaries(resize).items()}
            for result in results
        },
        "orderings": _verdicts(published, column, results, resize),
        "versions": versions(),
    }


def plain(report: Mapping[str, Any]) -> str:
    """Returns the report for a terminal."""
    parts = [f"{caption}\n{render(header, rows)}" for caption, header, rows in _tables(report)]
    return "\n\n".join([*parts, "\n".join(_sentences(report))])


def markdown(report: Mapping[str, Any]) -> str:
    """Returns the report as a Markdown page."""
    parts = [f"# quality, {report['protocol']}"]
    for caption, header, rows in _tables(report):
        parts.append(f"**{caption}**\n\n{markdown_table(header, rows)}")
    parts.append("## Which of the paper's orderings hold\n\n" + "\n".join(f"* {line}" for line in _sentences(report)))
    return "\n\n".join(parts) + "\n"


def _verdicts(
    published: Mapping[str, Mapping[str, float | None]], column: str, results: Sequence[Result], resize: str
) -> list[dict[str, Any]]:
    """For methods that go by a name of the paper's: whether they stand to its own model as the paper has it."""
    measured = {result.method: result for result in results}
    full = paper.ours()
    verdicts = []
    for name in measured:
        if name == full or name not in published or full not in measured:
            continue
        differences = compare(measured[name], measured[full], resize)
        for metric, value in published[name].items():
            best = published[full].get(metric)
            if metric not in differences or value is None or best is None or value == best:
                continue
            sign = 1.0 if METRICS[metric].higher_is_better else -1.0
            better, worse = (full, name) if sign * (best - value) > 0 else (name, full)
            ordering = Ordering(column, metric, better, worse, abs(best - value))
            pair = differences if better == full else compare(measured[full], measured[name], resize)
            verdict = judge(ordering, pair)
            verdicts.append({**vars(ordering), "ours": verdict.margin, "verdict": verdict.word})
    return verdicts


def _tables(report: Mapping[str, Any]) -> list[Table]:
    metrics = report["metrics"]
    header = ["method", *(title(metric) for metric in metrics)]
    theirs = [
        [name, *(number(values[metric], METRICS[metric].decimals) for metric in metrics)]
        for name, values in report["paper"].items()
    ]
    own = list(next(iter(report["ours"].values())))
    to_paper = report["comparable"] and any(name in report["paper"] for name in report["ours"])
    lead = next((metric for metric in own if metric in metrics), None)
    ours = []
    for name, values in report["ours"].items():
        row = [name]
        for metric in own:
            decimals = METRICS[metric].decimals
            summary = values[metric]
            row += [number(summary["mean"], decimals), interval(summary["low"], summary["high"], decimals)]
        if to_paper and lead:
            printed = report["paper"].get(name, {}).get(lead)
            difference = None if printed is None else values[lead]["mean"] - printed
            row.append(number(difference, METRICS[lead].decimals, signed=True))
        ours.append(row)
    own_header = ["method", *(word for metric in own for word in (title(metric), "95 % interval"))]
    if to_paper and lead:
        own_header.append(f"{METRICS[lead].title} to the paper's")
    return [
        (f"The paper's: {report['title']}", header, theirs),
        (f"Measured here: {report['measured']}", own_header, ours),
    ]


def _sentences(report: Mapping[str, Any]) -> list[str]:
    lines = [*report["cautions"]]
    lines += [] if report["comparable"] else ["these are pictures of one's own: the paper's levels do not compare"]
    if not report["orderings"]:
        return [*lines, f"no ordering to judge: name {report['full']} and another method of the paper with --method"]
    for verdict in report["orderings"]:
        metric = METRICS[verdict["metric"]]
        margins = [number(verdict[key], metric.decimals, signed=key == "ours") for key in ("margin", "ours")]
        lines.append(
            f"{metric.title}: {verdict['better']} better than {verdict['worse']} (paper by {margins[0]}, ours "
            f"{margins[1]}): {verdict['verdict']}"
        )
    return lines
