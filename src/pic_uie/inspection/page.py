"""A page of a sheet: where things go, and how it becomes a file."""

from __future__ import annotations

import io
from typing import Any

from pic_uie.errors import EnvironmentMissingError
from pic_uie.inspection import panels

MARGIN = 0.45  # inches
QUIET = "#5a6871"


class Page:
    """A figure that is laid out in inches from its top left corner.

    Args:
        width: In inches.
        height: In inches.

    Raises:
        EnvironmentMissingError: matplotlib is not installed.
    """

    def __init__(self, width: float, height: float) -> None:
        try:
            from matplotlib.figure import Figure
        except ImportError as error:
            raise EnvironmentMissingError("the sheet needs matplotlib: pip install 'pic-uie[figures]'") from error
        self.figure: Any = Figure(figsize=(width, height), facecolor="white")
        self.width, self.height = width, height

    def axes(self, x: float, y: float, width: float, height: float, solid: bool = False) -> Any:
        """Returns axes with their top left corner at (x, y); `solid` for 3-D."""
        if solid:  # 3-D axes keep much air around themselves
            x, y, width, height = x - 0.2, y - 0.1, width, min(height, 2.2) + 0.3
        box = (x / self.width, 1 - (y + height) / self.height, width / self.width, height / self.height)
        return self.figure.add_axes(box, projection="3d" if solid else None, anchor="N" if solid else "NW")

    def text(self, x: float, y: float, text: str, size: float, **style: Any) -> None:
        """Writes text below and to the right of (x, y)."""
        style = {"color": panels.INK, "va": "top", "parse_math": False} | style
        self.figure.text(x / self.width, 1 - y / self.height, text, fontsize=size, **style)

    def rule(self, y: float, heading: str) -> None:
        """Draws a line across the page, with a heading on it."""
        from matplotlib.lines import Line2D

        level = 1 - y / self.height
        ends = [MARGIN / self.width, 1 - MARGIN / self.width]
        self.figure.add_artist(Line2D(ends, [level, level], color="#d5dce0", linewidth=1))
        box = {"facecolor": "white", "edgecolor": "none", "pad": 5}
        self.text(MARGIN, y, f"{heading} ", 11.5, color=panels.AFTER, va="center", weight="bold", bbox=box)

    def save(self, kind: str, dpi: int) -> bytes:
        """Returns the page as a file: png, pdf or svg."""
        buffer = io.BytesIO()
        undated = {"png": {"Software": "pic-uie"}, "pdf": {"CreationDate": None}, "svg": {"Date": None}}[kind]
        self.figure.savefig(buffer, format=kind, dpi=dpi, metadata=undated)
        return buffer.getvalue()
