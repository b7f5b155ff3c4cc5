"""A result as text: ours with intervals, and beside it the paper's table."""

from __future__ import annotations

from collections.abc import Mapping

from pic_uie import weights
from pic_uie.datasets import lists
from pic_uie.datasets.names import called
from pic_uie.evaluation.metrics import METRICS
from pic_uie.evaluation.protocols import paper_column
from pic_uie.evaluation.results import Result, Summary
from pic_uie.evaluation.tables import interval, number, render
from pic_uie.paper import tables as paper

PAPER_RESIZES = ("paper-256", "from-256")  # how most of the paper's numbers were made


def text(result: Result) -> str:
    """Returns the whole report: one table per way of resizing, then the paper's methods with ours below."""
    column = paper_column(result.protocol)
    parts = [_heading(result), *caution(result)]
    for resize in result.scores:
        beside = column if column and resize in paper_resizes(column) else None  # others stand in the last table only
        parts.append(f"{resize}\n{_summary_table(result.summaries(resize), beside)}")
    if column:
        parts.append(_paper_table(result, column))
    return "\n\n".join(parts)


def caution(result: Result) -> list[str]:
    """Returns a warning where the weights in the package are scored on pictures that they were trained on."""
    known = lists.known()
    listed = result.names.get("list")
    if listed not in known or known[listed].held_out:
        return []
    ours = {weights.load(path).sha256 for path in (weights.DEFAULT_PATH, *weights.NAMED.values())}
    if result.source.get("weights_sha256") not in ours:
        return []
    unseen = ", ".join(name for name, facts in known.items() if facts.held_out)
    return [f"CAUTION: {result.method} was trained on pictures of {listed}; the known lists it has not seen: {unseen}"]


def paper_resizes(column: Mapping[str, str]) -> tuple[str, ...]:
    """Returns the ways of resizing that the paper's figures in a column were made by."""
    own = column.get("resize", PAPER_RESIZES[0])
    return PAPER_RESIZES if own in PAPER_RESIZES else (own,)


def _heading(result: Result) -> str:
    names = result.names
    count = len(next(iter(result.scores.values())))
    pictures = f"{count} pictures, {called(names)}, sha256 {names['sha256'][:16]}"
    title = f"{result.method} on {result.protocol['name']}: {pictures}"
    return f"{title}\n{result.protocol.get('title', '')}".rstrip()


def _summary_table(summaries: Mapping[str, Summary], column: Mapping[str, str] | None) -> str:
    published = paper.table(column["table"]).row(paper.ours()).group(column["column"]) if column else {}
    rows = []
    for name, summary in summaries.items():
        decimals = METRICS[name].decimals
        row = [title(name), number(summary.mean, decimals), interval(summary.low, summary.high, decimals)]
        if column:
            theirs = published.get(name)
            difference = None if theirs is None else summary.mean - theirs
            row += [number(theirs, decimals), number(difference, decimals, signed=True)]
        rows.append(row)
    header = ["metric", "mean", "95 % interval"]
    return render(header + ["the paper", "difference"] * bool(column), rows)


def _paper_table(result: Result, column: Mapping[str, str]) -> str:
    table = paper.table(column["table"])
    published = {row.name: row.group(column["column"]) for row in table.rows}
    means = {resize: result.summaries(resize) for resize in result.scores}
    metrics = [name for name in next(iter(means.values())) if name in published[paper.ours()]]
    if not metrics:
        return f"the paper has none of these metrics on {column['column']}"
    rows = [[name, *(_cell(group.get(metric), metric) for metric in metrics)] for name, group in published.items()]
    for resize, summaries in means.items():
        rows.append([f"{result.method}, {resize}", *(_cell(summaries[metric].mean, metric) for metric in metrics)])
    header = ["method", *(title(metric) for metric in metrics)]
    return f"beside the paper's {column['column']}\n{render(header, rows)}"


def _cell(value: float | None, metric: str) -> str:
    return number(value, METRICS[metric].decimals)


def title(name: str) -> str:
    """Returns the metric's name with an arrow towards better."""
    metric = METRICS[name]
    return f"{metric.title} {'↑' if metric.higher_is_better else '↓'}"
