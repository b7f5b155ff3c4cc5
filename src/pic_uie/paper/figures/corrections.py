"""One step of the model at a time: the picture before, the correction, the picture after."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pic_uie.inspection import panels
from pic_uie.inspection.report import Inspection
from pic_uie.paper.figures.canvas import INK, QUIET, new_figure
from pic_uie.reference import to_rgb

Draw = Callable[[Any], None]


@dataclass(frozen=True)
class Panel:
    """A plot: its title, what to see in it, how to draw it, width : height, and inches for the labels at its left."""

    title: str
    caption: str
    draw: Draw
    aspect: float
    indent: float = 0.0


_HEIGHT, _GAP, _TITLE, _BELOW, _MARGIN = 1.9, 0.25, 0.52, 0.4, 0.1  # inches
_AXIS, _NAMES = 0.45, 0.28  # room for the labels of a vertical axis, and of a matrix


def draw(inspection: Inspection, step: str) -> Any:
    """Returns the figure of one of STEPS."""
    row = STEPS[step](inspection)
    total = sum(_HEIGHT * panel.aspect + panel.indent + _GAP for panel in row) - _GAP + 2 * _MARGIN
    height = _TITLE + _HEIGHT + _BELOW
    figure = new_figure(total, height)
    figure.set_layout_engine("none")
    left = _MARGIN
    for panel in row:
        width = _HEIGHT * panel.aspect
        place = ((left + panel.indent) / total, _BELOW / height, width / total, _HEIGHT / height)
        panel.draw(figure.add_axes(place, anchor="NW"))
        style = {"va": "top", "parse_math": False}
        figure.text(left / total, 1 - 0.04 / height, panel.title, fontsize=11, weight="bold", color=INK, **style)
        figure.text(left / total, 1 - 0.26 / height, panel.caption, fontsize=8, color=QUIET, **style)
        left += panel.indent + width + _GAP
    return figure


def _luminance(inspection: Inspection) -> list[Panel]:
    steps = inspection.steps
    return [
        _picture(inspection, "Y", "brightness of the input", steps.y),
        _field(inspection, "t", "how much light gets through", steps.t, "viridis"),
        _field(inspection, "v", "the veil's brightness", steps.v, "cividis"),
        _field(inspection, "a", "gain where t is low", steps.a, "magma"),
        _picture(inspection, "Y¹", "veil off, gain on", steps.y1),
    ]


def _tone(inspection: Inspection) -> list[Panel]:
    steps = inspection.steps
    return [
        _picture(inspection, "Y¹", "before", steps.y1),
        Panel("Γ", "grey: how often a value occurs", lambda axes: panels.tone(axes, inspection), 1.0, _AXIS),
        _picture(inspection, "Γ(Y¹)", "through the curve", steps.toned),
        _picture(inspection, "Y²", "and the small refiner", steps.y2),
    ]


def _chroma(inspection: Inspection) -> list[Panel]:
    steps = inspection.steps
    return [
        _picture(inspection, "q", "colour of the input, brightness made even", _even(steps.q)),
        Panel("U", "the white grid moves to the red one", lambda axes: panels.chroma(axes, inspection), 1.0, _AXIS),
        _picture(inspection, "q¹", "through the table", _even(steps.q1)),
    ]


def _colour(inspection: Inspection) -> list[Panel]:
    steps, theta = inspection.steps, inspection.theta
    mixing = np.column_stack([theta.matrix, theta.bias])
    names = ("Y", "Cb", "Cr", "b")
    return [
        _picture(inspection, "z⁰", "Y² and q¹ together", to_rgb(np.dstack([steps.y2, steps.q1]))),
        Panel("A", "M and b", lambda axes: panels.matrix(axes, mixing, np.eye(3, 4), names), 4 / 3, _NAMES),
        _picture(inspection, "z¹", "through the matrix", to_rgb(steps.z1)),
    ]


def _calibration(inspection: Inspection) -> list[Panel]:
    steps, blend = inspection.steps, inspection.theta.blend
    caption = f"spread, blue to red; α = {blend:.2f}"
    return [
        _picture(inspection, "z¹", "before", to_rgb(steps.z1)),
        Panel("K", caption, lambda axes: panels.projection(axes, inspection), 1.0, _AXIS),
        _picture(inspection, "z²", "the result", to_rgb(steps.z2)),
    ]


def _picture(inspection: Inspection, title: str, caption: str, image: NDArray[np.float64]) -> Panel:
    return Panel(title, caption, lambda axes: panels.picture(axes, image), _aspect(inspection))


def _field(inspection: Inspection, title: str, caption: str, values: NDArray[np.float64], colors: str) -> Panel:
    luminance = inspection.steps.y
    return Panel(title, caption, lambda axes: panels.field(axes, values, luminance, colors), _aspect(inspection))


def _aspect(inspection: Inspection) -> float:
    rows, columns = inspection.steps.y.shape
    return float(columns / rows)


def _even(chroma: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns chroma as a picture of even brightness."""
    return to_rgb(np.dstack([np.full(chroma.shape[:2], 0.55), chroma]))


STEPS: dict[str, Callable[[Inspection], list[Panel]]] = {
    "luminance": _luminance,
    "tone": _tone,
    "chroma": _chroma,
    "colour": _colour,
    "calibration": _calibration,
}
