"""Quality against cost: one bubble per method, its area for the parameters, its colour for the other cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pic_uie import weights
from pic_uie.complexity import gflops, parameter_count
from pic_uie.datasets.names import called
from pic_uie.errors import ConfigError, DataError, WeightsError
from pic_uie.evaluation.compare import identified
from pic_uie.evaluation.metrics import METRICS
from pic_uie.evaluation.protocols import paper_column
from pic_uie.evaluation.report import PAPER_RESIZES
from pic_uie.evaluation.results import Result, Summary
from pic_uie.paper import tables as paper
from pic_uie.paper.figures.canvas import INK, OURS, QUIET, new_figure, place_labels, quiet

Cost = Literal["gflops", "ms", "params"]
AXES: dict[Cost, str] = {
    "gflops": "GFLOPs at 256×256",
    "ms": "milliseconds at 256×256 (the paper's: RTX 4090)",
    "params": "parameters",
}
_AREA, _POWER = 26.0, 0.32  # points² for 10⁴ parameters; a true area would span four orders of magnitude
_LEGEND = ((1e4, "10 K"), (1e6, "1 M"), (1e8, "100 M"))


@dataclass(frozen=True)
class Method:
    """A bubble; a cost that is not known is None.

    Attributes:
        name: Its label.
        quality: The metric's mean, with an interval where we measured it.
        params: Number of parameters.
        gflops: For a picture of 256×256.
        ms: For a picture of 256×256, on the paper's machine or the one that was measured.
        ours: Whether it was measured here.
    """

    name: str
    quality: float
    params: float
    gflops: float
    ms: float | None
    ours: bool = False
    interval: Summary | None = None


def published(column: str, metric: str) -> list[Method]:
    """Returns the paper's methods."""
    found = []
    for row in paper.table("quality").rows:
        quality, cost = row.group(column).get(metric), row.cells["cost"]
        if quality is not None:
            found.append(Method(row.name, quality, cost["params"], cost["gflops"], cost["ms"]))
    if not found:
        raise ConfigError(f"the paper's quality table has no {metric!r} on {column!r}")
    return found


def measured(result: Result, column: str, metric: str, candidates: Sequence[Path], ms: float | None) -> Method:
    """Returns the bubble of one of our results, with the cost of the weights that made it.

    A result on other pictures than the paper's is labelled with theirs: it stands beside the paper's, not among them.

    Raises:
        ConfigError: It is of another column of the paper, was not made at the paper's size, the metric is not in it,
            or its weights are not among the candidates.
    """
    protocol = result.protocol
    of = (paper_column(protocol) or {}).get("column")
    if of not in (None, column):
        is_drawn = of in paper.table("quality").rows[0].cells
        remedy = f"choose --column {of}" if is_drawn else "evaluate under uieb-90 or lsui"
        raise ConfigError(f"the result of {result.method} is on {of}, not on {column}: {remedy}")
    resize = next((resize for resize in result.scores if resize in PAPER_RESIZES), None)
    if resize is None:
        raise ConfigError(
            f"the result of {result.method} was made at {', '.join(result.scores)}, the paper's at 256×256: evaluate "
            f"with --resize {PAPER_RESIZES[0]}"
        )
    where = called(result.names) if of else f"{protocol['name']}, {called(result.names)}"
    label = f"{result.method} (measured: {where})"
    summary = result.summaries(resize).get(metric)
    if summary is None:
        raise ConfigError(f"the result of {result.method} has no {metric!r}")
    sha256 = result.source.get("weights_sha256")
    for path in candidates:
        try:
            checked = weights.load(path)
        except WeightsError:
            if path != weights.DEFAULT_PATH:
                raise
            continue
        if checked.sha256 == sha256:
            cost = parameter_count(checked.config), gflops(checked.config, 256, 256)
            return Method(label, summary.mean, *cost, ms, ours=True, interval=summary)
    raise ConfigError(f"the cost of {result.method} is not known: name the weights that made the result with --weights")


def refuse_mixture(results: Sequence[Result]) -> None:
    """Raises DataError unless all results are on one list: bubbles at different heights must mean one thing."""
    for result in results[1:]:
        if result.names["sha256"] != results[0].names["sha256"]:
            lists = f"{identified(results[0].names)} and {identified(result.names)}"
            raise DataError(f"{results[0].method} and {result.method} are on different lists ({lists}): draw one")


def draw(methods: Sequence[Method], column: str, metric: str, x: Cost = "ms", color_by: Cost = "gflops") -> Any:
    """Returns the figure."""
    from matplotlib.colors import LogNorm
    from matplotlib.lines import Line2D
    from matplotlib.ticker import NullFormatter

    known = [method for method in methods if getattr(method, x) is not None]
    figure = new_figure(7.4, 4.6)
    axes = figure.add_subplot()
    shades = [value for method in known if (value := getattr(method, color_by)) is not None]
    scale = LogNorm(min(shades), max(shades))
    points, colored = [], None
    for method in sorted(known, key=lambda method: -method.params):
        area, place = _area(method.params), (getattr(method, x), method.quality)
        shade = getattr(method, color_by)
        special = method.ours or method.name == paper.ours()
        area = max(area, 60.0) if special else area  # what the figure is about must be seen
        if special or shade is None:
            axes.scatter(*place, s=area, color=OURS, marker="D" if method.ours else "o", edgecolor="white", zorder=4)
        else:
            fill = {"c": [shade], "cmap": "YlGnBu", "norm": scale}
            colored = axes.scatter(*place, s=area, **fill, edgecolor=QUIET, linewidth=0.6, alpha=0.9, zorder=3)
        if method.interval:
            span = [[method.interval.low], [method.interval.high]]
            axes.vlines(place[0], *span, color=OURS, linewidth=1.2, zorder=3)
        style = {"fontsize": 8.5, "color": OURS if special else INK, "weight": "bold" if special else "normal"}
        beside_ours = any(other.ours for other in known) and method.name == paper.ours()
        name = f"{method.name} (the paper)" if beside_ours else method.name
        points.append((*place, area**0.5 / 2, name, style))
    axes.set_xscale("log")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.margins(x=0.16, y=0.1)
    shown = METRICS[metric]
    unit = " (dB)" if metric == "psnr" else ""
    axes.set(xlabel=AXES[x], ylabel=f"{shown.title}{unit} on {column.upper()}")
    if not shown.higher_is_better:
        axes.invert_yaxis()
    quiet(axes)
    if colored is not None:
        bar = figure.colorbar(colored, ax=axes, pad=0.01, aspect=32)
        bar.set_label(AXES[color_by], color=INK, fontsize=9)
        bar.outline.set_visible(False)
        bar.ax.tick_params(colors=QUIET, labelsize=8)
    handles = [
        Line2D([], [], ls="", marker="o", mfc="none", mec=QUIET, ms=_area(size) ** 0.5, label=text)
        for size, text in _LEGEND
    ]
    figure.legend(
        handles=handles, title="parameters", ncols=3, loc="outside upper left", fontsize=8.5, title_fontsize=8.5,
        frameon=False, labelcolor=QUIET, columnspacing=2.0, alignment="left",
    )  # fmt: skip
    place_labels(axes, points[::-1])
    return figure


def _area(params: float) -> float:
    return float(_AREA * (params / 1e4) ** _POWER)
