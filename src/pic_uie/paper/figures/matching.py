"""Matches between two neighbouring frames as lines: for each method, what RANSAC keeps and what it rejects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pic_uie.errors import ConfigError
from pic_uie.evaluation.matching import Frames, PairMatch, features, match
from pic_uie.images import RGB8
from pic_uie.paper.figures.canvas import INK, OURS, QUIET, new_figure

KEPT, REJECTED = "#2a9d8f", OURS
LINES = 160  # more become one patch of colour
_WIDTH, _TITLE, _GAP, _LEGEND = 7.6, 0.26, 0.06, 0.3  # inches


@dataclass(frozen=True)
class Drawn:
    """One method's pair of frames with its matches."""

    first: RGB8
    second: RGB8
    found: PairMatch


def measure(ways: Mapping[str, Frames], scene: str, paths: list[Path], number: int) -> dict[str, Drawn]:
    """Matches one pair of adjacent frames for every method.

    Raises:
        ConfigError: The scene has fewer pairs.
    """
    if not 0 <= number < len(paths) - 1:
        raise ConfigError(f"{scene} has {len(paths) - 1} pairs, numbered from 0: there is no pair {number}")
    drawn = {}
    for name, way in ways.items():
        first, second = (way(scene, path) for path in paths[number : number + 2])
        drawn[name] = Drawn(first, second, match(features(first), features(second)))
    return drawn


def draw(drawn: Mapping[str, Drawn]) -> Any:
    """Returns the figure: a row per method."""
    heights = [_WIDTH / 2 * max(pair.first.shape[0] / pair.first.shape[1], 0.2) for pair in drawn.values()]
    total = sum(heights) + len(heights) * (_TITLE + _GAP) + _LEGEND
    figure = new_figure(_WIDTH, total)
    figure.set_layout_engine("none")
    top = 0.0
    for (name, pair), height in zip(drawn.items(), heights, strict=True):
        place = (0.0, 1 - (top + _TITLE + height) / total, 1.0, height / total)
        _row(figure.add_axes(place), pair)
        share = f", {pair.found.inliers / pair.found.matches:.0%} kept" if pair.found.matches else ""
        figures = f"{pair.found.matches:,} matches, {pair.found.inliers:,} inliers{share}"
        style = {"va": "center", "fontsize": 9, "parse_math": False}
        middle = 1 - (top + _TITLE / 2) / total
        figure.text(0.008, middle, name, color=INK, weight="bold", **style)
        figure.text(0.992, middle, figures, color=QUIET, ha="right", **style)
        top += _TITLE + height + _GAP
    _legend(figure, _LEGEND / 2 / total, drawn)
    return figure


def _row(axes: Any, pair: Drawn) -> None:
    height = min(pair.first.shape[0], pair.second.shape[0])
    axes.imshow(np.concatenate([pair.first[:height], pair.second[:height]], axis=1), aspect="auto")
    points, inlier = pair.found.points, pair.found.is_inlier
    if points is not None and inlier is not None:
        for chosen, color, alpha in ((~inlier, REJECTED, 0.8), (inlier, KEPT, 0.75)):
            for (x0, y0), (x1, y1) in points[chosen & _sample(len(points))]:
                axes.plot([x0, x1 + pair.first.shape[1]], [y0, y1], color=color, lw=0.6, alpha=alpha)
    axes.axvline(pair.first.shape[1] - 0.5, color="white", lw=1.5)
    axes.set(
        xticks=[], yticks=[], xlim=(-0.5, pair.first.shape[1] + pair.second.shape[1] - 0.5), ylim=(height - 0.5, -0.5)
    )
    axes.spines[:].set_visible(False)


def _sample(count: int) -> NDArray[np.bool_]:
    """Which of so many matches are drawn: all, or as many as can be told apart, the same ones every time."""
    chosen = np.ones(count, bool)
    if count > LINES:
        chosen[np.random.default_rng(0).permutation(count)[LINES:]] = False
    return chosen


def _legend(figure: Any, middle: float, drawn: Mapping[str, Drawn]) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=KEPT, lw=2, label="kept by RANSAC at 3 pixels"),
        Line2D([], [], color=REJECTED, lw=2, label="rejected"),
    ]
    if any(pair.found.matches > LINES for pair in drawn.values()):
        handles.append(Line2D([], [], ls="", label=f"{LINES} lines of each pair are drawn, taken at random"))
    style = {"loc": "center", "bbox_to_anchor": (0.5, middle), "ncols": 3, "frameon": False}
    figure.legend(handles=handles, fontsize=8.5, labelcolor=INK, **style)
