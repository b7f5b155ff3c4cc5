"""A table of methods as text: for a terminal, Markdown, CSV and LaTeX (booktabs)."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable

from pic_uie.evaluation.method_table import BEST, SECOND, Cell, MethodTable, Test
from pic_uie.evaluation.metrics import METRICS
from pic_uie.evaluation.report import title
from pic_uie.evaluation.tables import interval, markdown_table, number, render

SURE = 0.05
LEGEND = (
    "Bold: best; italics: second, as printed. ±: deviation over seeds. Below: 95 % bootstrap interval over pictures."
)
TEX_LEGEND = (
    r"Bold: best; underlined: second, as printed. $\pm$: deviation over seeds. Below: 95\,\% bootstrap interval over "
    "pictures."
)
PLAIN_MARKS = {BEST: "¹", SECOND: "²"}


def plain(table: MethodTable) -> str:
    """Returns the table for a terminal; ¹ and ² mark the best and the second."""
    header = ["method", "seeds", *(title(metric) for metric in table.metrics)]
    rows = [
        [
            name,
            str(table.seeds[name]),
            *(_value(cells[m], m, "±") + PLAIN_MARKS.get(cells[m].rank or 0, " ") for m in cells),
        ]
        for name, cells in table.cells.items()
    ]
    parts = [
        caption(table),
        render(header, rows),
        "¹ best, ² second, as printed; ± deviation over seeds",
        intervals(table),
    ]
    if table.against:
        parts += [f"against {table.against}: {METHOD_OF_TEST}", render(*_test_rows(table))]
    return "\n\n".join(parts)


def intervals(table: MethodTable) -> str:
    """Returns the 95 % bootstrap intervals over pictures."""
    header = ["95 % interval over pictures", *(METRICS[metric].title for metric in table.metrics)]
    return render(header, [[name, *(_interval(cells[m], m) for m in cells)] for name, cells in table.cells.items()])


def markdown(table: MethodTable) -> str:
    """Returns the table for a Markdown page; the best is bold, the second in italics."""
    marks: dict[int, Callable[[str], str]] = {BEST: "**{}**".format, SECOND: "*{}*".format}
    header = ["method", "seeds", *(title(metric) for metric in table.metrics)]
    rows = []
    for name, cells in table.cells.items():
        shown = [marks.get(cell.rank or 0, str)(_value(cell, metric, "±")) for metric, cell in cells.items()]
        spans = [f"<br>{_interval(cell, metric)}" for metric, cell in cells.items()]
        rows.append([name, str(table.seeds[name]), *(value + span for value, span in zip(shown, spans, strict=True))])
    parts = [f"**{caption(table)}**", markdown_table(header, rows), LEGEND]
    if table.against:
        parts += [f"Against {table.against}: {METHOD_OF_TEST}.", markdown_table(*_test_rows(table))]
    return "\n\n".join(parts) + "\n"


def latex(table: MethodTable) -> str:
    """Returns the table for LaTeX with the package booktabs; the best is bold, the second underlined."""
    marks: dict[int, Callable[[str], str]] = {BEST: r"\textbf{{{}}}".format, SECOND: r"\underline{{{}}}".format}
    header = ["Method", "Seeds", *(f"{_tex(METRICS[m].title)} {_arrow(m)}" for m in table.metrics)]
    lines = [
        r"\begin{tabular}{lc" + "c" * len(table.metrics) + "}",
        r"\toprule",
        " & ".join(header) + r" \\",
        r"\midrule",
    ]
    for name, cells in table.cells.items():
        shown = []
        for metric, cell in cells.items():
            decimals = METRICS[metric].decimals
            spread = "" if cell.deviation is None else rf"\,{{\scriptsize$\pm${number(cell.deviation, decimals)}}}"
            star = "$^{*}$" if _is_sure(table, name, metric) else ""
            shown.append(marks.get(cell.rank or 0, str)(number(cell.mean, decimals)) + star + spread)
        ends = [_interval(cell, metric).replace(" .. ", " to ") for metric, cell in cells.items()]
        lines.append(" & ".join([_tex(name), str(table.seeds[name]), *shown]) + r" \\")
        lines.append(" & ".join(["", "", *(rf"{{\scriptsize {span}}}" for span in ends)]) + r" \\")
    notes = [_tex(caption(table)), TEX_LEGEND]
    if table.against:
        notes.append(rf"$^*$: differs from {_tex(table.against)} ({METHOD_OF_TEST}, $p < {SURE}$).")
    below = [r"\par\smallskip", r"\begin{minipage}{\linewidth}\footnotesize", *(f"{note}\n" for note in notes)]
    lines += [r"\bottomrule", r"\end{tabular}", *below, r"\end{minipage}"]
    return "\n".join(lines) + "\n"


def to_csv(table: MethodTable) -> str:
    """Returns one line per method and metric, with everything that is known."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["method", "seeds", "metric", "mean", "deviation", "low", "high", "rank", "against", "difference",
                     "difference_low", "difference_high", "p", "p_holm", "protocol", "pictures", "resize"])  # fmt: skip
    for name, cells in table.cells.items():
        for metric, cell in cells.items():
            test = table.tests.get(name, {}).get(metric)
            tested = [table.against, test.difference, test.low, test.high, test.p, test.holm] if test else [""] * 6
            own = [cell.mean, "" if cell.deviation is None else cell.deviation, cell.interval.low, cell.interval.high]
            where = [table.protocol, table.pictures, table.resize]
            writer.writerow([name, table.seeds[name], metric, *own, cell.rank or "", *tested, *where])
    return text.getvalue()


def caption(table: MethodTable) -> str:
    """Returns what the numbers are of: a table without it cannot be compared."""
    return f"{table.protocol}, {table.resize}, {table.pictures}"


METHOD_OF_TEST = "paired Wilcoxon signed-rank test over pictures, corrected by Holm for all tests of the table"
WRITERS: dict[str, Callable[[MethodTable], str]] = {".md": markdown, ".csv": to_csv, ".tex": latex}


def _test_rows(table: MethodTable) -> tuple[list[str], list[list[str]]]:
    header = ["method", "metric", "difference", "95 % interval", "p", "p (Holm)", "verdict"]
    rows = []
    for name, tests in table.tests.items():
        for metric, test in tests.items():
            decimals = METRICS[metric].decimals
            ends = interval(test.low, test.high, decimals, signed=True)
            chances = [f"{test.p:.2g}", f"{test.holm:.2g}"]
            difference = number(test.difference, decimals, signed=True)
            rows.append([name, METRICS[metric].title, difference, ends, *chances, _verdict(test, metric)])
    return header, rows


def _verdict(test: Test, metric: str) -> str:
    if test.holm >= SURE:
        return "not distinguished"
    if test.difference * test.ranks < 0:
        return "mixed"  # a few large differences outweigh many small ones
    return "better" if (test.ranks > 0) == METRICS[metric].higher_is_better else "worse"


def _is_sure(table: MethodTable, name: str, metric: str) -> bool:
    test = table.tests.get(name, {}).get(metric)
    return test is not None and test.holm < SURE


def _value(cell: Cell, metric: str, sign: str) -> str:
    decimals = METRICS[metric].decimals
    spread = "" if cell.deviation is None else f" {sign} {number(cell.deviation, decimals)}"
    return number(cell.mean, decimals) + spread


def _interval(cell: Cell, metric: str) -> str:
    return interval(cell.interval.low, cell.interval.high, METRICS[metric].decimals)


def _arrow(metric: str) -> str:
    return r"$\uparrow$" if METRICS[metric].higher_is_better else r"$\downarrow$"


def _tex(text: str) -> str:
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    return "".join(special.get(letter, f"\\{letter}" if letter in "&%$#_{}" else letter) for letter in text)
