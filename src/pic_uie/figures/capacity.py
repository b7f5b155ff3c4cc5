"""The capacity scan: PSNR against the width of the predictor, as a difference to width 16."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pic_uie.errors import DataError
from pic_uie.evaluation import paper
from pic_uie.evaluation.documents import read_document
from pic_uie.figures.canvas import INK, OURS, PAPER, QUIET, new_figure, quiet

TABLE, BASE = "width-scan", "w=16"
FORMAT = "pic-uie-reproduction-1"
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
        _paper(axes, table, column)
        if ours is not None and column in ours["metrics"]:
            _ours(axes, ours, column)
        axes.axhline(0, color=QUIET, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)
        axes.set_xscale("log", base=2)
        axes.set_xticks(widths, [str(width) for width in widths])
        axes.margins(x=0.09)
        axes.minorticks_off()
        axes.set_title(title, fontsize=11, color=INK, loc="left", weight="bold")
        axes.set_xlabel("width of the predictor")
        quiet(axes)
        axes.tick_params(axis="x", labelsize=7.5)
    panels[0].set_ylabel("PSNR to width 16 (dB)")
    panels[0].margins(y=0.18)
    handles, labels = panels[1].get_legend_handles_labels()
    more, more_labels = panels[0].get_legend_handles_labels()
    known = dict(zip([*labels, *more_labels], [*handles, *more], strict=True))
    figure.legend(
        known.values(), known.keys(), loc="outside lower center", ncols=3, fontsize=9, frameon=False, labelcolor=INK
    )
    return figure


def _paper(axes: Any, table: paper.Table, column: str) -> None:
    base = table.row(BASE).group(column)["psnr"] or 0.0
    figures = {
        row.cells["width"]: psnr - base for row in table.rows if (psnr := row.group(column).get("psnr")) is not None
    }
    axes.plot(
        figures.keys(), figures.values(), ls="", marker="o", ms=8, color=PAPER, mec="white", label="the paper", zorder=3
    )
    for width, difference in figures.items():
        if difference:
            offset = (0, 9 if difference > 0 else -15)
            style = {"textcoords": "offset points", "ha": "center", "fontsize": 8.5, "color": PAPER}
            axes.annotate(f"{difference:+.3f}".replace("-", "−"), (width, difference), xytext=offset, **style)
    lower = {name for stated in table.orderings if column in stated.columns for name in stated.worse}
    worded = [table.row(name).cells["width"] for name in lower if table.row(name).cells["width"] not in figures]
    style = {"marker": "v", "s": 46, "facecolor": "white", "edgecolor": PAPER, "linewidth": 1.3, "zorder": 3}
    axes.scatter(worded, [-0.02] * len(worded), label="the paper: below width 16, no figure given", **style)


def _ours(axes: Any, ours: Mapping[str, Any], column: str) -> None:
    points = []
    for row in ours["rows"]:
        difference = row["columns"][column]["psnr"]["ours_difference"]
        if row["name"] == BASE and row["columns"][column]["psnr"]["ours"]:
            points.append((row["width"], 0.0, 0.0, 0.0))
        elif difference:
            mean, low, high = (difference[key] for key in ("mean", "low", "high"))
            points.append((row["width"], mean, mean - low, high - mean))
    if not points:
        return
    widths, means, below, above = zip(*sorted(points), strict=True)
    label = f"ours, {ours['epochs']} epochs, 95 % interval"
    style = {"color": OURS, "marker": "D", "ms": 5, "lw": 1.4, "elinewidth": 1.0, "capsize": 2.5}
    axes.errorbar(widths, means, yerr=(below, above), label=label, zorder=4, **style)
