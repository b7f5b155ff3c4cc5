"""The capacity scan: PSNR against the width of the predictor, as a difference to width 16."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pic_uie.errors import DataError
from pic_uie.evaluation.documents import read_document
from pic_uie.paper import tables as paper
from pic_uie.paper.figures.canvas import INK, OURS, PAPER, QUIET, new_figure, quiet

TABLE, BASE = "width-scan", "w=16"
FORMAT = "pic-uie-reproduction-1"
PLAIN = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1}
TITLES = {"uieb-90": "UIEB", "lsui": "LSUI"}


def read(path: Path) -> dict[str, Any]:
    """Reads the JSON of `pic-uie reproduce width-scan`.

    Raises:
        DataError: It is something else.
    """
    document = read_document(path, f"pic-uie reproduce {TABLE}", format=FORMAT, table=TABLE)
    if not isinstance(document.get("metrics"), dict) or not isinstance(document.get("rows"), list):
        raise DataError(f"{path} is a damaged result: it has no metrics or no rows")
    return document


def draw(ours: Mapping[str, Any] | None = None) -> Any:
    """Returns the figure: the paper's figures and words, and ours with intervals where a scan is given."""
    table = paper.table(TABLE)
    figure = new_figure(8.2, 3.5)
    panels = figure.subplots(1, len(TITLES), sharex=True, sharey=True)
    widths = [row.cells["width"] for row in table.rows]
    for axes, (column, title) in zip(panels, TITLES.items(), strict=True):
        points = _points(ours, column) if ours is not None and column in ours["metrics"] else []
        _paper(axes, table, column, {width: (mean - below, mean + above) for width, mean, below, above in points})
        if ours is not None and points:
            _ours(axes, points, ours["epochs"])
        axes.axhline(0, color=QUIET, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)
        axes.set_xscale("log", base=2)
        axes.set_xticks(widths, [str(width) if width != 128 else "" for width in widths])  # 128 and 160 would touch
        axes.margins(x=0.09)
        axes.minorticks_off()
        axes.set_title(title, fontsize=11, color=INK, loc="left", weight="bold")
        axes.set_xlabel("width of the predictor")
        quiet(axes)
        axes.tick_params(axis="x", labelsize=7.5)
    panels[0].set_ylabel("PSNR to width 16 (dB)")
    low, high = panels[0].get_ylim()
    panels[0].set_ylim(low - 0.3 * (high - low), high + 0.1 * (high - low))  # room for the brackets
    handles, labels = panels[1].get_legend_handles_labels()
    more, more_labels = panels[0].get_legend_handles_labels()
    known = dict(zip([*labels, *more_labels], [*handles, *more], strict=True))
    figure.legend(
        known.values(), known.keys(), loc="outside lower center", ncols=3, fontsize=9, frameon=False, labelcolor=INK
    )
    return figure


def _paper(axes: Any, table: paper.Table, column: str, bars: Mapping[int, tuple[float, float]]) -> None:
    base = table.row(BASE).group(column)["psnr"] or 0.0
    figures = {
        row.cells["width"]: psnr - base for row in table.rows if (psnr := row.group(column).get("psnr")) is not None
    }
    style = {"ls": "", "marker": "o", "ms": 8, "color": PAPER, "mec": "white", "zorder": 3}
    axes.plot(figures.keys(), figures.values(), label="the paper; brackets: what it says in a sentence", **style)
    for width, difference in figures.items():
        if difference:  # written on the side away from our bar of that width, where it covers nothing
            low, high = bars.get(width, (0.0, 0.0))
            is_above = difference > (low + high) / 2
            is_in_bar = low < difference < high
            end, offset = (high if is_above else low) if is_in_bar else difference, 7 if is_above else -7
            style = {"textcoords": "offset points", "ha": "center", "fontsize": 8.5, "color": PAPER, "bbox": PLAIN}
            text = f"{difference:+.3f}".replace("-", "−")
            edge = "bottom" if is_above else "top"
            axes.annotate(text, (width, end), xytext=(0, offset), va=edge, zorder=2, **style)
    for stated in table.orderings:
        if column in stated.columns:
            _sentence(axes, [table.row(name).cells["width"] for name in stated.worse])


def _sentence(axes: Any, widths: Sequence[int]) -> None:
    """Draws what the paper says of a range of widths in one sentence: a bracket over the range, no point of its own."""
    low, high = min(widths), max(widths)
    where = {"transform": axes.get_xaxis_transform(), "color": PAPER, "lw": 1.3, "solid_capstyle": "butt"}
    axes.plot([low, low, high, high], [0.075, 0.045, 0.045, 0.075], **where)
    text = f"{low} to {high}: all below 16" if len(widths) > 2 else f"{low}, {high}: below 16"
    middle = (low * high) ** 0.5  # of a logarithmic axis
    style = {"ha": "center", "va": "bottom", "fontsize": 8, "color": PAPER}
    axes.text(middle, 0.08, text, transform=axes.get_xaxis_transform(), bbox=PLAIN, zorder=5, **style)


def _points(ours: Mapping[str, Any], column: str) -> list[tuple[int, float, float, float]]:
    """Returns width, difference to width 16, and how far its interval reaches below and above."""
    points = []
    for row in ours["rows"]:
        difference = row["columns"][column]["psnr"]["ours_difference"]
        if row["name"] == BASE and row["columns"][column]["psnr"]["ours"]:
            points.append((row["width"], 0.0, 0.0, 0.0))
        elif difference:
            mean, low, high = (difference[key] for key in ("mean", "low", "high"))
            points.append((row["width"], mean, mean - low, high - mean))
    return sorted(points)


def _ours(axes: Any, points: Sequence[tuple[int, float, float, float]], epochs: int) -> None:
    widths, means, below, above = zip(*points, strict=True)
    label = f"ours, {epochs} epochs, 95 % interval over pictures"
    style = {"color": OURS, "marker": "D", "ms": 5, "lw": 1.4, "elinewidth": 1.0, "capsize": 2.5}
    axes.errorbar(widths, means, yerr=(below, above), label=label, zorder=4, **style)
