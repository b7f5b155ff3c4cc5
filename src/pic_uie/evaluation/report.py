"""A result as text: ours with intervals, and beside it the paper's table."""

from __future__ import annotations

from collections.abc import Mapping

from pic_uie.evaluation import paper
from pic_uie.evaluation.metrics import METRICS
from pic_uie.evaluation.results import Result, Summary
from pic_uie.evaluation.tables import number, render

PAPER_RESIZE = "paper-256"  # the only way of resizing whose numbers are the paper's to compare with


def text(result: Result) -> str:
    """Returns the whole report: one table per way of resizing, then the paper's methods with ours below."""
    column = result.protocol.get("paper")
    parts = [_heading(result)]
    for resize in result.scores:
        parts.append(f"{resize}\n{_summary_table(result.summaries(resize), column)}")
    if column:
        compared = PAPER_RESIZE if PAPER_RESIZE in result.scores else next(iter(result.scores))
        parts.append(_paper_table(result, compared, column))
    return "\n\n".join(parts)


def _heading(result: Result) -> str:
    names = result.names
    listed = f"list {names['file']}" if names.get("file") else "the whole folder"
    count = len(next(iter(result.scores.values())))
    title = f"{result.method} on {result.protocol['name']}: {count} pictures, {listed}, sha256 {names['sha256'][:16]}"
    return f"{title}\n{result.protocol.get('title', '')}".rstrip()


def _summary_table(summaries: Mapping[str, Summary], column: Mapping[str, str] | None) -> str:
    published = paper.table(column["table"]).row(paper.ours()).group(column["column"]) if column else {}
    rows = []
    for name, summary in summaries.items():
        decimals = METRICS[name].decimals
        interval = f"{number(summary.low, decimals)} .. {number(summary.high, decimals)}"
        row = [_title(name), number(summary.mean, decimals), interval]
        if column:
            theirs = published.get(name)
            difference = None if theirs is None else summary.mean - theirs
            row += [number(theirs, decimals), number(difference, decimals, signed=True)]
        rows.append(row)
    header = ["metric", "mean", "95 % interval"]
    return render(header + ["the paper", "difference"] * bool(column), rows)


def _paper_table(result: Result, resize: str, column: Mapping[str, str]) -> str:
    table = paper.table(column["table"])
    summaries = result.summaries(resize)
    known = [name for name in summaries if name in table.row(paper.ours()).group(column["column"])]
    rows = []
    for row in table.rows:
        group = row.group(column["column"])
        rows.append([row.name, *(number(group.get(name), METRICS[name].decimals) for name in known)])
    rows.append([f"{result.method} (this run)", *(number(summaries[n].mean, METRICS[n].decimals) for n in known)])
    return f"the paper, {table.title}; this run by {resize}\n{render(['method', *map(_title, known)], rows)}"


def _title(name: str) -> str:
    metric = METRICS[name]
    return f"{metric.title} {'↑' if metric.higher_is_better else '↓'}"
