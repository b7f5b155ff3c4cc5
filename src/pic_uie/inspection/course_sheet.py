"""The sheet of a video: its frames before and after, θ over time, and where scenes begin."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pic_uie.inspection import panels
from pic_uie.inspection.course import Course, columns
from pic_uie.inspection.page import MARGIN, QUIET, Page

WIDTH = 15.0  # inches, as all lengths here
TITLE, STRIP_GAP, SECTION = 1.15, 0.06, 0.5
LEFT, RIGHT = 2.4, 0.9  # beside the curves: what they are, and which is which
CURVES, SPACE, AXIS = 1.25, 0.22, 0.55
COLOURS = ("#2a7f9e", "#d1495b", "#e0a030")
CUT = "#22303a"


@dataclass(frozen=True)
class _Row:
    """One group of θ over time: (symbol, name in `Numbers`) of each curve."""

    title: str
    caption: str
    curves: tuple[tuple[str, str], ...]


ROWS = (
    _Row("haze", "t transmission,\nv veil, a gain", (("t", "t"), ("v", "v"), ("a", "a"))),
    _Row(
        "contrast",
        "the tone curve Γ at\n¼, ½ and ¾",
        (("Γ(¼)", "tone_low"), ("Γ(½)", "tone_mid"), ("Γ(¾)", "tone_high")),
    ),
    _Row("colour", "how far the table U\nmoves colours", (("U", "chroma_shift"),)),
    _Row(
        "balance",
        "u, the colour that K\naims at, and how far",
        (("u of Cb", "aim_cb"), ("u of Cr", "aim_cr"), ("α", "blend")),
    ),
)


def render(course: Course, kind: str = "png", dpi: int = 120) -> bytes:
    """Returns the sheet as a file of the given kind: png, pdf or svg.

    Raises:
        EnvironmentMissingError: matplotlib is not installed.
    """
    inner = WIDTH - LEFT - RIGHT - MARGIN
    count = max(len(course.stills), 1)
    cell = (WIDTH - 2 * MARGIN - (count - 1) * STRIP_GAP) / count
    still = course.stills[0].source if course.stills else None
    cell_height = 0.0 if still is None else min(cell * still.shape[0] / still.shape[1], 2.4)
    strip = 2 * cell_height + STRIP_GAP + 0.3
    height = TITLE + strip + SECTION + (len(ROWS) + 1) * (CURVES + SPACE) + AXIS
    page = Page(WIDTH, height)
    name = textwrap.shorten(course.name, 80, placeholder=" …") or "this video"
    page.text(MARGIN, 0.3, f"What PIC-UIE does to {name} over time", size=21, weight="bold")
    page.text(MARGIN, 0.78, _facts(course), size=11, color=QUIET)
    for i, one in enumerate(course.stills):
        left = MARGIN + i * (cell + STRIP_GAP)
        for row, image in enumerate((one.source, one.result)):
            panels.picture(page.axes(left, TITLE + row * (cell_height + STRIP_GAP), cell, cell_height), image / 255.0)
        page.text(left, TITLE + 2 * cell_height + STRIP_GAP + 0.05, _clock(one.time), size=9.5, color=QUIET)
    top = TITLE + strip
    page.rule(top + 0.5 * SECTION, "θ over time: pale as predicted for each frame alone, strong as applied")
    top += SECTION
    predicted, applied = columns(course.predicted), columns(course.applied)
    for line in ROWS:
        axes = _row(page, top, inner, line.title, line.caption)
        for colour, (symbol, key) in zip(COLOURS, line.curves, strict=False):
            axes.plot(*_broken(course, predicted[key]), color=colour, lw=0.8, alpha=0.35)
            axes.plot(*_broken(course, applied[key]), color=colour, lw=2.0, label=symbol)
        axes.legend(loc="upper left", bbox_to_anchor=(1.005, 1.06), frameon=False, fontsize=10.5, handlelength=1.2)
        _finish(axes, course, last=False)
        top += CURVES + SPACE
    axes = _row(page, top, inner, "change", f"from frame to frame;\n{_counted(len(course.cuts), 'cut')} found")
    axes.fill_between(course.times, course.steps, color="#c9d6de", lw=0)
    axes.plot(course.times, course.steps, color=panels.BEFORE, lw=1.0)
    axes.set_ylim(bottom=0.0)
    _finish(axes, course, last=True)
    return page.save(kind, dpi)


def _broken(course: Course, values: Sequence[float]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Times and values with a gap before every cut, so that no line runs across it."""
    places = np.searchsorted(course.times, course.cuts)
    return np.insert(course.times, places, np.nan), np.insert(np.asarray(values, np.float64), places, np.nan)


def _row(page: Page, top: float, width: float, title: str, caption: str) -> Any:
    page.text(MARGIN, top + 0.02, title, size=13, weight="bold")
    page.text(MARGIN, top + 0.3, caption, size=9.5, color=QUIET, linespacing=1.35)
    return page.axes(LEFT, top, width, CURVES)


def _finish(axes: Any, course: Course, *, last: bool) -> None:
    first, end = course.times[0], max(course.times[-1], course.times[0] + 1e-3)
    axes.set_xlim(first, end)
    low, high = axes.get_ylim()
    if high - low < 0.1:  # what hardly moves should look so
        middle = 0.5 * (low + high)
        axes.set_ylim(middle - 0.05 if low != 0.0 else 0.0, middle + 0.05 if low != 0.0 else 0.1)
    for cut in course.cuts:
        axes.axvline(cut, color=CUT, lw=1.1, ls=(0, (4, 2)))
        if last:
            axes.annotate(
                _clock(cut), (cut, 1.0), xycoords=("data", "axes fraction"), xytext=(3, -3), textcoords="offset points",
                va="top", fontsize=9, color=CUT,
            )  # fmt: skip
    axes.tick_params(labelsize=9, length=2, color=panels.PALE, labelcolor=QUIET, labelbottom=last)
    axes.grid(axis="y", color="#edf1f3", lw=0.8)
    axes.set_axisbelow(True)
    axes.locator_params(axis="y", nbins=4)
    for side, spine in axes.spines.items():
        spine.set(color="#c9d1d6", linewidth=0.8, visible=side in ("left", "bottom"))
    if last:
        from matplotlib.ticker import FuncFormatter

        clock: Callable[[float, int], str] = lambda seconds, _: _clock(seconds)  # noqa: E731
        axes.xaxis.set_major_formatter(FuncFormatter(clock))


def _facts(course: Course) -> str:
    width, height = course.size
    frames = _counted(len(course.times), "frame")
    parts = [f"{width} × {height}", frames, f"{course.rate:.4g} frames a second", f"weights {course.weights[:8]}"]
    return "   ·   ".join(parts)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(max(0.0, seconds), 60.0)
    return f"{int(minutes)}:{rest:04.1f}" if minutes else f"{rest:.2f} s"
