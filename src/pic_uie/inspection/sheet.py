"""The sheet: one figure from which a person understands what the model did to their picture."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pic_uie.inspection import panels
from pic_uie.inspection.page import MARGIN, QUIET, Page
from pic_uie.inspection.report import Inspection
from pic_uie.reference import statistics, to_rgb

COLUMNS = 6
CELL, GAP = 2.72, 0.34  # inches, as all lengths here
TITLE, SECTION = 0.85, 0.55
HEADER, FOOTER = 0.82, 0.42  # title and caption above each panel, scale or axis label below it
AXIS, ROW_NAMES = 0.45, 0.28  # indents of plots with a vertical axis, and of matrices
STORY = """A small network looks at a thumbnail and predicts seven corrections:
t, v, a, Γ, U, A = (M, b) and K = (u, G, α). They are applied to every
pixel of the full picture: brightness and colour apart, then together."""


@dataclass(frozen=True)
class Panel:
    """A titled plot of one cell.

    Attributes:
        title: The paper's symbol and its name.
        caption: What to see in it.
        draw: Draws it into the axes it is given.
        indent: Inches left free for the labels of a vertical axis.
        solid: Drawn in 3-D.
    """

    title: str
    caption: str
    draw: Callable[[Any], None]
    indent: float = 0.0
    solid: bool = False


def render(inspection: Inspection, kind: str = "png", dpi: int = 120) -> bytes:
    """Returns the sheet as a file of the given kind: png, pdf or svg.

    Raises:
        EnvironmentMissingError: matplotlib is not installed.
    """
    rows_seen, columns_seen = inspection.steps.y.shape
    aspect = float(np.clip(columns_seen / rows_seen, 0.6, 2.2))
    picture_height = min(CELL / aspect, CELL)
    plot_height = max(picture_height, 2.1)
    hero_width = 2 * CELL + GAP
    hero_height = float(np.clip(hero_width / aspect, 3.3, 5.6))
    rows = [  # heading, panels, their height with what is below them
        ("Predicted from the thumbnail", _predicted(inspection), plot_height, FOOTER),
        ("Brightness and colour, pixel by pixel", _executed(inspection), picture_height, 0.1),
        ("Colour as a whole", _calibrated(inspection), plot_height, FOOTER),
    ]
    rows_height = sum(SECTION + HEADER + height + below for _, _, height, below in rows)
    page_width = 2 * MARGIN + COLUMNS * CELL + (COLUMNS - 1) * GAP
    page = Page(page_width, TITLE + hero_height + rows_height + 0.1)

    name = textwrap.shorten(inspection.name, 80, placeholder=" …") or "this picture"
    page.text(MARGIN, 0.3, f"What PIC-UIE did to {name}", size=22, weight="bold")
    for column, label, image in ((0, "input", inspection.steps.rgb), (2, "result", inspection.steps.result)):
        axes = page.axes(_left(column), TITLE, hero_width, hero_height)
        panels.picture(axes, image)
        box = {"facecolor": "black", "alpha": 0.45, "edgecolor": "none", "pad": 4}
        axes.text(
            0.02, 0.97, label, transform=axes.transAxes, va="top", fontsize=14, weight="bold", color="white", bbox=box
        )
    page.text(_left(4), TITLE, STORY, size=11.5, linespacing=1.45)
    for line, (label, value) in enumerate(_facts(inspection)):
        page.text(_left(4), TITLE + 1.15 + 0.22 * line, label, size=10.5, color=QUIET)
        page.text(_left(4) + 1.45, TITLE + 1.15 + 0.22 * line, value, size=10.5)

    top = TITLE + hero_height
    for heading, row, height, below in rows:
        page.rule(top + 0.5 * SECTION, heading)
        for column, panel in enumerate(row):
            page.text(_left(column), top + SECTION, panel.title, size=13.5, weight="bold")
            page.text(_left(column), top + SECTION + 0.27, textwrap.fill(panel.caption, 41), size=9.5, color=QUIET)
            left, width = _left(column) + panel.indent, CELL - panel.indent
            panel.draw(page.axes(left, top + SECTION + HEADER, width, height, panel.solid))
        top += SECTION + HEADER + height + below
    return page.save(kind, dpi)


def _predicted(inspection: Inspection) -> list[Panel]:
    steps, side = inspection.steps, inspection.thumbnail.shape[0]
    seen = f"all that the predictor sees: {side} × {side} pixels"
    through = "how much light gets through: low where the water is thick"
    tones = "red: output for each brightness; grey: how often it occurs"
    table = "the white grid moves to the red one; dark: the picture's own colours"
    return [
        Panel("thumbnail", seen, _plot(panels.picture, inspection.thumbnail)),
        Panel("t   transmission", through, _plot(panels.field, steps.t, steps.y, "viridis")),
        Panel("v   veil", "haze removed, most where t is low", _plot(panels.field, steps.v, steps.y, "cividis")),
        Panel("a   gain", "how much the rest is amplified there", _plot(panels.field, steps.a, steps.y, "magma")),
        Panel("Γ   tone curve", tones, _plot(panels.tone, inspection), AXIS),
        Panel("U   chroma table", table, _plot(panels.chroma, inspection), AXIS),
    ]


def _executed(inspection: Inspection) -> list[Panel]:
    steps, (beta, gamma) = inspection.steps, inspection.gate
    refined = f"fine detail by 3 × 3 filters: mean change {np.abs(steps.y2 - steps.toned).mean():.3f}"
    gated = f"through the table, by g = {steps.gate.min():.2f} to {steps.gate.max():.2f}; β {beta:.2f}, γ {gamma:+.2f}"
    return [
        Panel("Y   luminance", "the input without its colour", _plot(panels.picture, steps.y)),
        Panel("Y¹", "veil off, gain on: [Y−(1−t)v] · [1+a(1−t)]", _plot(panels.picture, steps.y1)),
        Panel("Γ(Y¹)", "through the tone curve", _plot(panels.picture, steps.toned)),
        Panel("Y²", refined, _plot(panels.picture, steps.y2)),
        Panel("q   chroma", "the input's colour alone, at even brightness", _plot(panels.picture, _even(steps.q))),
        Panel("q¹", gated, _plot(panels.picture, _even(steps.q1))),
    ]


def _calibrated(inspection: Inspection) -> list[Panel]:
    steps, theta = inspection.steps, inspection.theta
    mixing, zero = np.column_stack([theta.matrix, theta.bias]), np.zeros((3, 3))
    toward = f"K moves the colours toward the spread G, by α = {theta.blend:.2f} of the way"
    spread = "of all colours, two deviations: blue before K, red after"
    return [
        Panel(
            "M, b   colour matrix",
            "z¹ = M (Y², q¹) + b; tinted where it is not the identity",
            _plot(panels.matrix, mixing, np.eye(3, 4), ("Y", "Cb", "Cr", "b")),
            ROW_NAMES,
        ),
        Panel("z¹", "after the colour matrix", _plot(panels.picture, to_rgb(steps.z1))),
        Panel("covariance", spread, _plot(panels.ellipsoids, inspection), solid=True),
        Panel("covariance, chroma", "from above, with the result's pixels", _plot(panels.projection, inspection), AXIS),
        Panel(
            "G   recolouring",
            toward,
            _plot(panels.matrix, theta.recolor, zero, ("Y", "Cb", "Cr")),
            ROW_NAMES,
        ),
        Panel("z²", "after the calibration K: the result", _plot(panels.picture, to_rgb(steps.z2))),
    ]


def _plot(draw: Callable[..., None], *arguments: Any) -> Callable[[Any], None]:
    return lambda axes: draw(axes, *arguments)


def _even(chroma: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns chroma as a picture of even brightness."""
    return to_rgb(np.dstack([np.full(chroma.shape[:2], 0.55), chroma]))


def _facts(inspection: Inspection) -> list[tuple[str, str]]:
    theta, steps = inspection.theta, inspection.steps
    count = sum(array.size for array in inspection.weights.parameters.values())
    after = np.linalg.eigvalsh(statistics(steps.z2)[1])
    means = [picture.mean(axis=(0, 1)) for picture in (steps.rgb, steps.result)]
    return [
        ("size", f"{inspection.size[1]} × {inspection.size[0]}"),
        ("weights", f"{inspection.weights.short_hash}, {count:,} parameters"),
        ("brightness", f"{steps.y.mean():.2f} → {steps.z2[..., 0].mean():.2f}"),
        ("contrast", f"{steps.y.std():.2f} → {steps.z2[..., 0].std():.2f}"),
        ("mean R G B", f"{_numbers(means[0], '.2f')} → {_numbers(means[1], '.2f')}"),
        ("mean t, v, a", _numbers((theta.t.mean(), theta.v.mean(), theta.a.mean()), ".2f")),
        ("m, mean of z¹", _numbers(steps.mean, "+.3f")),
        ("u, aim of K", _numbers(theta.mean, "+.3f")),
        ("eigenvalues of S", _numbers(steps.eigenvalues, ".4f")),
        ("after K", _numbers(after, ".4f")),
    ]


def _numbers(values: Iterable[float], style: str) -> str:
    return "  ".join(format(float(value), style).replace("-", "−") for value in values)


def _left(column: int) -> float:
    return MARGIN + column * (CELL + GAP)
