"""Detections of separately trained detectors side by side: labels first, then raw, then each method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pic_uie.datasets.folders import index
from pic_uie.errors import ConfigError, DataError
from pic_uie.evaluation import detection, yolo_copy, yolo_set
from pic_uie.evaluation.detection_report import RAW
from pic_uie.images import RGB8, read_rgb8
from pic_uie.paper.figures.canvas import INK, QUIET, new_figure

COLORS = ("#f4d35e", "#ee6c4d", "#52d1dc", "#b5e48c", "#cdb4db", "#ffffff")  # bright: they lie on pictures
LABELS = "labels"
_CELL, _GAP, _TITLE, _LEGEND, _MARGIN = 2.3, 0.05, 0.28, 0.3, 0.04  # inches

Box = Sequence[float]  # class, confidence, left, top, right, bottom in shares


@dataclass(frozen=True)
class Panel:
    """A picture with boxes."""

    picture: RGB8
    boxes: Sequence[Box]


def load(output: Path, stems: Sequence[str], seed: int) -> tuple[list[str], dict[str, dict[str, Panel]]]:
    """Reads what `pic-uie evaluate detection -o OUTPUT` left: classes, and stem -> column -> panel.

    Args:
        output: Its folder.
        stems: Test pictures; none = the three with the most labelled boxes.
        seed: Of the detectors.

    Raises:
        DataError: There is no tested detector of the raw set, or something is damaged.
        ConfigError: A picture that is not in the test split.
    """
    folders = {path.parent.name: path.parent for path in sorted(output.glob(f"*/{yolo_copy.NOTE}"))}
    tested = {name: path for name, path in folders.items() if (path / f"seed-{seed}" / detection.BOXES).is_file()}
    if RAW not in tested:
        raise DataError(f"{output} has no tested detector of seed {seed}: run `pic-uie evaluate detection` first")
    data = yolo_set.read(tested[RAW] / yolo_copy.DESCRIPTION)
    labels = {path.stem: yolo_set.boxes(yolo_set.label_file(path)) for path in data.splits["test"]}
    chosen = list(stems) or sorted(labels, key=lambda stem: (-len(labels[stem]), stem))[:3]
    for stem in chosen:
        if stem not in labels:
            raise ConfigError(f"{stem} is not in the test split of {output}")
    order = [RAW, *(name for name in tested if name != RAW)]
    files = {name: index(tested[name] / "images" / "test") for name in order}
    boxes = {name: detection.read_boxes(tested[name] / f"seed-{seed}") for name in order}
    rows: dict[str, dict[str, Panel]] = {}
    for stem in chosen:
        pictures = {name: read_rgb8(files[name][stem]) for name in order}
        truth = [(kind, 1.0, *corners) for kind, *corners in labels[stem]]
        rows[stem] = {LABELS: Panel(pictures[RAW], truth)}
        rows[stem] |= {name: Panel(pictures[name], boxes[name].get(stem, [])) for name in order}
    return data.classes, rows


def draw(classes: Sequence[str], rows: Mapping[str, Mapping[str, Panel]]) -> Any:
    """Returns the figure: a row per picture, a column per method, a colour per class."""
    columns = list(next(iter(rows.values())))
    heights = [
        _CELL * panel.picture.shape[0] / panel.picture.shape[1]
        for row in rows.values()
        for panel in list(row.values())[:1]
    ]
    width = len(columns) * (_CELL + _GAP) - _GAP + 2 * _MARGIN
    total = _TITLE + sum(heights) + len(heights) * _GAP + _LEGEND
    figure = new_figure(width, total)
    figure.set_layout_engine("none")
    top = _TITLE
    for row, height in zip(rows.values(), heights, strict=True):
        for number, name in enumerate(columns):
            left = _MARGIN + number * (_CELL + _GAP)
            axes = figure.add_axes((left / width, 1 - (top + height) / total, _CELL / width, height / total))
            _panel(axes, row[name], name == LABELS)
            if top == _TITLE:
                axes.set_title(name, fontsize=9.5, color=INK, pad=4, parse_math=False)
        top += height + _GAP
    _legend(figure, classes, _LEGEND / 2 / total)
    return figure


def _panel(axes: Any, panel: Panel, is_truth: bool) -> None:
    from matplotlib.patches import Rectangle

    height, width = panel.picture.shape[:2]
    axes.imshow(panel.picture, aspect="auto")
    for kind, sure, left, top, right, bottom in panel.boxes:
        color = COLORS[int(kind) % len(COLORS)]
        corner, size = (left * width, top * height), ((right - left) * width, (bottom - top) * height)
        axes.add_patch(Rectangle(corner, *size, fill=False, edgecolor="black", linewidth=2.2, alpha=0.5))
        axes.add_patch(Rectangle(corner, *size, fill=False, edgecolor=color, linewidth=1.1))
        if not is_truth and size[0] > 0.12 * width:  # a figure that does not fit would lie on the next box
            style = {"fontsize": 5.5, "color": "black", "va": "top", "ha": "left"}
            axes.text(*corner, f"{sure:.2f}", bbox={"facecolor": color, "edgecolor": "none", "pad": 0.6}, **style)
    axes.set(xticks=[], yticks=[], xlim=(-0.5, width - 0.5), ylim=(height - 0.5, -0.5))
    axes.spines[:].set_visible(False)


def _legend(figure: Any, classes: Sequence[str], middle: float) -> None:
    from matplotlib.patches import Patch

    handles = [Patch(facecolor=COLORS[n % len(COLORS)], edgecolor=QUIET, label=name) for n, name in enumerate(classes)]
    handles.append(Patch(alpha=0, label=f"boxes of a confidence of {detection.CONFIDENCE} or more"))
    style = {"loc": "center", "bbox_to_anchor": (0.5, middle), "ncols": len(handles), "frameon": False}
    figure.legend(handles=handles, fontsize=8, labelcolor=INK, **style)
