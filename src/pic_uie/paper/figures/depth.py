"""The depth diagnostic: how the correlation of -log t with depth is spread over pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pic_uie.errors import DataError, EnvironmentMissingError
from pic_uie.paper import tables as paper
from pic_uie.paper.figures.canvas import INK, OURS, PAPER, QUIET, SECOND, new_figure, quiet

COLORS = (OURS, PAPER, SECOND, QUIET)
BINS = np.linspace(-1, 1, 41)


def correlations(path: Path, data: Path, stems: Sequence[str] | None, size: int = 256) -> dict[str, float]:
    """Measures one weights file on pictures with depth maps.

    Raises:
        EnvironmentMissingError: PyTorch is not installed.
        DataError: Pictures or depth maps are missing, or the model predicts no transmission.
    """
    try:
        from pic_uie.model import PicUie
        from pic_uie.training.pairs import find_stems, load_pairs
        from pic_uie.training.validation import depth_correlations
    except ImportError as error:
        raise EnvironmentMissingError("this needs PyTorch: pip install 'pic-uie[train]'") from error
    pairs = load_pairs(data, stems or find_stems(data), size, with_depth=True)
    values = depth_correlations(PicUie.load(path), pairs)
    if not values:
        raise DataError(f"{path} predicts no transmission: a direct residual has no depth to compare")
    return values


def draw(measured: Mapping[str, Mapping[str, float]]) -> Any:
    """Returns the figure: a histogram per method, its mean and median, and the means that the paper reports."""
    figure = new_figure(7.0, 3.7)
    axes = figure.add_subplot()
    several = len(measured) > 1
    for color, (name, values) in zip(COLORS, measured.items(), strict=False):
        array = np.array(list(values.values()))
        mean, median, positive = float(array.mean()), float(np.median(array)), int((array > 0).sum())
        figures = f"mean {mean:.3f}, median {median:.3f}".replace("-", "−")
        label = f"{name}: {figures}, positive on {positive} of {array.size}"
        axes.hist(array, BINS, color=color, alpha=0.35 if several else 0.55, label=label, edgecolor="white", lw=0.6)
        axes.hist(array, BINS, histtype="step", color=color, lw=1.2)
        axes.axvline(mean, color=color, lw=1.8)
    for row in paper.table("depth-controls").rows:
        published = row.group("correlation").get("mean")
        if published is not None:
            axes.axvline(published, color=INK, lw=1.0, ls=(0, (2, 3)))
            text = f"the paper,\n{row.name[:1].lower()}{row.name[1:]}"
            style = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points", "va": "bottom"}
            axes.annotate(text, (published, 1.0), xytext=(0, 3), ha="center", fontsize=8, color=QUIET, **style)
    axes.axvline(0, color=QUIET, lw=0.8)
    axes.set(xlim=(-1, 1), xlabel="correlation of −log t with depth", ylabel="pictures")
    axes.yaxis.get_major_locator().set_params(integer=True)
    quiet(axes, "y")
    figure.legend(loc="outside upper left", fontsize=9, frameon=False, labelcolor=INK)
    return figure
