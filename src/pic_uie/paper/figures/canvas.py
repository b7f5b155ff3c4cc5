"""What all figures share: making and saving, colours, quiet axes, and labels that keep out of each other's way."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from pic_uie.errors import EnvironmentMissingError

INK, QUIET, LINE = "#22303a", "#5a6871", "#d5dce0"
OURS, PAPER, SECOND = "#d1495b", "#5b7c99", "#e0a030"
_UNDATED = {"png": {"Software": "pic-uie"}, "pdf": {"CreationDate": None}}
_DIRECTIONS = ((1, 0), (-1, 0), (0, 1), (0, -1), (0.8, 0.8), (-0.8, 0.8), (0.8, -0.8), (-0.8, -0.8))
_GAPS = (2.5, 8.0, 15.0, 24.0)  # points between a marker and its label
_AIR = 1.0  # pixels around a label
_HIDDEN_COST = 10.0  # of a square pixel that is covered, against one point of distance

Axes = Any  # matplotlib.axes.Axes; matplotlib is an extra
Box = tuple[float, float, float, float]  # left, bottom, right, top


def new_figure(width: float, height: float) -> Any:
    """Returns an empty figure of that many inches.

    Raises:
        EnvironmentMissingError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise EnvironmentMissingError("figures need matplotlib: pip install 'pic-uie[figures]'") from error
    return Figure(figsize=(width, height), facecolor="white", layout="constrained")


def save(figure: Any, kind: str, dpi: int) -> bytes:
    """Returns the file of a figure, png or pdf: the same bytes for the same figure."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind, dpi=dpi, metadata=_UNDATED[kind])
    return buffer.getvalue()


def quiet(axes: Axes, grid: str = "both") -> None:
    """Leaves the axes with two hairlines and a faint grid."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set(color=LINE)
    axes.tick_params(colors=QUIET, labelsize=9, which="both", length=3)
    axes.grid(axis=grid, color=LINE, linewidth=0.6, alpha=0.7)
    axes.set_axisbelow(True)
    axes.xaxis.label.set_color(INK)
    axes.yaxis.label.set_color(INK)


def place_labels(axes: Axes, points: Sequence[tuple[float, float, float, str, dict[str, Any]]]) -> None:
    """Writes a label beside each point where it covers least of other points and labels.

    Args:
        axes: Laid out already, since positions are settled in pixels.
        points: x, y, radius of its marker in points, text, and the text's style.
    """
    figure = axes.figure
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    pixels = figure.dpi / 72
    centres = [axes.transData.transform((x, y)) for x, y, *_ in points]
    taken: list[Box] = [
        (cx - r * pixels, cy - r * pixels, cx + r * pixels, cy + r * pixels)
        for (cx, cy), (_, _, r, *_) in zip(centres, points, strict=True)
    ]
    frame = axes.get_window_extent()
    inside = (frame.x0, frame.y0, frame.x1, frame.y1)
    for (x, y, radius, text, style), (cx, cy) in zip(points, centres, strict=True):
        label = axes.annotate(text, (x, y), xytext=(0, 0), textcoords="offset points", **style)
        extent = label.get_window_extent()
        width, height = extent.width + 2 * _AIR, extent.height + 2 * _AIR
        best: tuple[float, Box, tuple[float, float], float] | None = None
        for gap in _GAPS:
            for dx, dy in _DIRECTIONS:
                reach = (radius + gap) * pixels
                middle_x = cx + dx * (reach + width / 2)
                middle_y = cy + dy * (reach + height / 2)
                box = (middle_x - width / 2, middle_y - height / 2, middle_x + width / 2, middle_y + height / 2)
                hidden = sum(_overlap(box, other) for other in taken) + _area(box) - _overlap(box, inside)
                cost = _HIDDEN_COST * hidden + gap
                if best is None or cost < best[0]:
                    best = (cost, box, ((box[0] + _AIR - cx) / pixels, (box[1] + _AIR - cy) / pixels), gap)
        if best is not None:
            label.set(position=best[2], horizontalalignment="left", verticalalignment="bottom")
            taken.append(best[1])
            if best[3] > _GAPS[0]:  # a label that had to move away is tied to its point
                _lead(axes, (x, y), (cx, cy), best[1], pixels)


def _lead(axes: Axes, point: tuple[float, float], centre: tuple[float, float], box: Box, pixels: float) -> None:
    nearest = (min(max(centre[0], box[0]), box[2]), min(max(centre[1], box[1]), box[3]))
    offset = ((nearest[0] - centre[0]) / pixels, (nearest[1] - centre[1]) / pixels)
    line = {"arrowstyle": "-", "color": QUIET, "lw": 0.7, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", point, xytext=offset, textcoords="offset points", arrowprops=line, zorder=2)


def _overlap(one: Box, other: Box) -> float:
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    return max(width, 0.0) * max(height, 0.0)


def _area(box: Box) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])
