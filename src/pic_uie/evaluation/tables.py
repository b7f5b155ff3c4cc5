"""Tables as plain text for terminals, and as Markdown."""

from __future__ import annotations

import math
from collections.abc import Sequence


def render(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Returns aligned lines: the first column to the left, the others to the right."""
    lines = [list(header), *(list(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    text = [_line(lines[0], widths), _line(["-" * width for width in widths], widths)]
    return "\n".join(text + [_line(line, widths) for line in lines[1:]])


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Returns the table in Markdown; a bar in a cell stays in its cell."""
    lines = [[cell.replace("|", "\\|") for cell in line] for line in (header, *rows)]
    lines.insert(1, ["---", *["---:"] * (len(header) - 1)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def number(value: float | None, decimals: int, signed: bool = False) -> str:
    """Returns a number with fixed decimals; a dash where there is none."""
    if value is None or math.isnan(value):
        return "-"
    return f"{value:{'+' if signed else ''},.{decimals}f}"


def interval(low: float | None, high: float | None, decimals: int, signed: bool = False) -> str:
    """Returns both ends of an interval; a dash where one of them is missing."""
    ends = [number(end, decimals, signed) for end in (low, high)]
    return "-" if "-" in ends else " .. ".join(ends)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = (
        cell.ljust(width) if column == 0 else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join([first, *others]).rstrip()
