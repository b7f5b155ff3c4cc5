"""What each slider does: the enhanced picture beside those that lack one group, with how far luma and chroma move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image

from pic_uie.enhancer import Enhancer
from pic_uie.images import RGB8
from pic_uie.paper.figures.canvas import INK, QUIET, new_figure
from pic_uie.reference import to_ycbcr
from pic_uie.strengths import GROUPS

SIDE = 720  # pixels of a picture in the figure
_WIDTH, _TITLE, _CAPTION, _GAP = 2.1, 0.3, 0.3, 0.06  # inches


def versions(picture: RGB8, enhancer: Enhancer) -> dict[str, RGB8]:
    """Returns the input, the enhanced picture, and it with each group at 0, by name."""
    look = enhancer.look(picture)
    found = {"input": picture, "all at 1": enhancer.apply(picture, look)}
    return found | {f"{name} 0": enhancer.apply(picture, look.scaled(**{name: 0.0})) for name in GROUPS}


def moved(picture: RGB8, full: RGB8) -> tuple[float, float]:
    """Returns how far luma and chroma of two pictures are apart on average, in levels of 255."""
    difference = np.abs(to_ycbcr(picture / 1.0) - to_ycbcr(full / 1.0)).reshape(-1, 3).mean(axis=0)
    return float(difference[0]), float(np.hypot(difference[1], difference[2]))


def draw(pictures: Sequence[RGB8], enhancer: Enhancer) -> Any:
    """Returns the figure: one row per picture, one column per version."""
    rows = [versions(picture, enhancer) for picture in pictures]
    heights = [_WIDTH * picture.shape[0] / picture.shape[1] for picture in pictures]
    columns = len(rows[0])
    total_width = columns * (_WIDTH + _GAP) + _GAP
    total_height = _TITLE + sum(height + _CAPTION for height in heights)
    figure = new_figure(total_width, total_height)
    figure.set_layout_engine("none")
    top = _TITLE
    for number, (row, height) in enumerate(zip(rows, heights, strict=True)):
        for column, (name, pixels) in enumerate(row.items()):
            left = _GAP + column * (_WIDTH + _GAP)
            place = (left / total_width, 1 - (top + height) / total_height, _WIDTH / total_width, height / total_height)
            axes = figure.add_axes(place)
            axes.imshow(_shrunk(pixels), aspect="auto", interpolation="lanczos")
            axes.set_axis_off()
            if not number:
                y = 1 - 0.08 / total_height
                figure.text(left / total_width, y, name, fontsize=11, weight="bold", color=INK, va="top")
            if column > 1:
                luma, chroma = moved(pixels, row["all at 1"])
                y = 1 - (top + height + 0.04) / total_height
                text = f"luma ±{luma:.1f}, chroma ±{chroma:.1f}"
                figure.text(left / total_width, y, text, fontsize=8, color=QUIET, va="top")
        top += height + _CAPTION
    return figure


def _shrunk(pixels: RGB8) -> RGB8:
    height, width = pixels.shape[:2]
    factor = SIDE / max(height, width)
    if factor >= 1:
        return pixels
    return np.asarray(Image.fromarray(pixels).resize((round(width * factor), round(height * factor))))
