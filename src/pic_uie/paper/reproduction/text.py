"""A reproduced table for people: plain text for the terminal, Markdown for a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pic_uie.evaluation.metrics import METRICS
from pic_uie.evaluation.tables import markdown_table, number, render
from pic_uie.paper.reproduction.orderings import RULED_OUT, WITHIN
from pic_uie.paper.reproduction.report import tables

VERBS = {"holds": "hold", "reversed": "reversed"}


def plain(report: Mapping[str, Any]) -> str:
    """Returns the report for a terminal."""
    parts = [f"{report['table']}: {report['title']}"]
    parts += [f"{caption}\n{render(header, rows)}" for caption, header, rows in tables(report)]
    return "\n\n".join([*parts, "\n".join(sentences(report))])


def markdown(report: Mapping[str, Any]) -> str:
    """Returns the report as a Markdown page."""
    parts = [f"# {report['table']}", report["title"]]
    parts += [f"**{caption}**\n\n{markdown_table(header, rows)}" for caption, header, rows in tables(report)]
    parts.append("## Which of the paper's orderings hold\n\n" + "\n".join(f"* {line}" for line in sentences(report)))
    used = ", ".join(f"{name} {version}" for name, version in report["versions"].items())
    return "\n\n".join([*parts, f"Made with {used}."]) + "\n"


def sentences(report: Mapping[str, Any]) -> list[str]:
    """Returns one line per ordering that involves the full model, and one that counts the rest."""
    lines = []
    if report["missing"]:
        lines.append(f"not trained yet: {', '.join(report['missing'])}")
    lines += [_sentence(verdict) for verdict in report["orderings"] if verdict["about_full"]]
    for column, metrics in report["metrics"].items():
        for metric in metrics:
            lines += _count(report, column, metric)
    return lines


def summary(reports: Sequence[Mapping[str, Any]]) -> str:
    """Returns one line per table: how many rows are measured, and what became of the orderings with the full model."""
    verdicts = ("holds", "reversed", WITHIN, "tied", "not measured")
    header = ["table", "rows measured", "set, metric", *verdicts, "the paper's size ruled out"]
    lines = []
    for report in reports:
        rows = f"{len(report['rows']) - len(report['missing'])} of {len(report['rows'])}"
        for column, metrics in report["metrics"].items():
            for metric in metrics:
                here = [
                    verdict
                    for verdict in report["orderings"]
                    if (verdict["column"], verdict["metric"]) == (column, metric) and verdict["about_full"]
                ]
                words = [verdict["verdict"] for verdict in here]
                counts = [str(words.count(word)) for word in verdicts]
                ruled_out = sum(verdict["size"] == RULED_OUT for verdict in here)
                lines.append([report["table"], rows, f"{column} {METRICS[metric].title}", *counts, str(ruled_out)])
    return f"Orderings of a row and the full model:\n\n{markdown_table(header, lines)}\n"


def _sentence(verdict: Mapping[str, Any]) -> str:
    decimals = METRICS[verdict["metric"]].decimals
    theirs = "in words" if verdict["margin"] is None else f"by {number(verdict['margin'], decimals)}"
    ours = "" if verdict["ours"] is None else f", ours {number(verdict['ours'], decimals, signed=True)}"
    where = f"{verdict['column']} {METRICS[verdict['metric']].title}"
    size = "; a margin of the paper's size is ruled out" if verdict["size"] == RULED_OUT else ""
    return f"{where}: {verdict['better']} above {verdict['worse']} ({theirs}{ours}): {verdict['verdict']}{size}"


def _count(report: Mapping[str, Any], column: str, metric: str) -> list[str]:
    def about(full: bool) -> list[Mapping[str, Any]]:
        return [
            verdict
            for verdict in report["orderings"]
            if (verdict["column"], verdict["metric"], verdict["about_full"]) == (column, metric, full)
            and verdict["ours"] is not None
        ]

    lines = []
    for full, what in ((True, f"with {report['full']}"), (False, "of the other rows among themselves")):
        measured = about(full)
        if measured:
            words = [verdict["verdict"] for verdict in measured]
            counts = {word: words.count(word) for word in ("holds", "reversed", WITHIN, "tied") if word in words}
            where = f"{column} {METRICS[metric].title}"
            told = ", ".join(f"{count} {VERBS.get(word, word)}" for word, count in counts.items())
            lines.append(f"{where}, {len(measured)} measured orderings {what}: {told}")
    return lines
