"""Qualitative grids: pictures down, methods across, marked regions enlarged below each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pic_uie.datasets.folders import Index, index
from pic_uie.errors import ConfigError, DataError
from pic_uie.evaluation.predictions import Enhance
from pic_uie.images import RGB8, read_rgb8
from pic_uie.paper.figures.canvas import INK, OURS, SECOND, new_figure

Crop = tuple[float, float, float, float]  # left, top, width, height as shares of the picture

COLORS = (OURS, SECOND)
_CELL, _GAP, _TITLE, _MARGIN = 2.0, 0.05, 0.3, 0.03  # inches
_LONGEST = 10  # times as long as it is wide
_SHAPE = 0.02  # by which shapes may differ: sizes are rounded
_LARGEST = 900  # pixels across a drawn picture; more is not seen


def parse_crop(text: str) -> Crop:
    """Reads `left,top,width,height`, shares of the picture from 0 to 1.

    Raises:
        ConfigError: Anything else, or a region outside the picture.
    """
    try:
        left, top, width, height = (float(word) for word in text.split(","))
    except ValueError:
        raise ConfigError(f"a crop is left,top,width,height as shares of the picture, got {text!r}") from None
    if not (0 <= left < 1 and 0 <= top < 1 and 0 < width <= 1 - left + 1e-9 and 0 < height <= 1 - top + 1e-9):
        raise ConfigError(f"the crop {text!r} is not inside the picture: shares from 0 to 1 are meant")
    return left, top, width, height


def load(methods: Mapping[str, Path | Enhance], stems: Sequence[str]) -> dict[str, list[RGB8]]:
    """Reads the named pictures of every method, or the first three that all have: stem -> pictures across.

    Args:
        methods: A folder of pictures each, or what makes them from the pictures of the first folder.
        stems: Names; empty for the first three.

    Raises:
        DataError: There is no folder, a method lacks a picture or cannot make it, or sizes differ in shape.
    """
    folders = {name: method for name, method in methods.items() if isinstance(method, Path)}
    if not folders:
        raise DataError("weights are run on the pictures of the first folder: name one, as in input=DIR")
    indexes: dict[str, Index] = {name: index(folder) for name, folder in folders.items()}
    first = next(iter(indexes.values()))
    common = sorted(set.intersection(*(set(found) for found in indexes.values())))
    if not common:
        raise DataError(f"{', '.join(map(str, folders.values()))} have no picture name in common")
    rows = {}
    for stem in stems or common[:3]:
        lacking = [name for name, found in indexes.items() if stem not in found]
        if lacking:
            raise DataError(f"{', '.join(lacking)} lacks the picture {stem}")
        rows[stem] = [
            _drawable(read_rgb8(indexes[name][stem]) if isinstance(method, Path) else _made(name, method, first[stem]))
            for name, method in methods.items()
        ]
        height, width = rows[stem][0].shape[:2]
        for name, picture in zip(methods, rows[stem], strict=True):
            tall, wide = picture.shape[:2]
            if abs(wide * height - width * tall) > _SHAPE * width * tall:
                raise DataError(
                    f"{stem} is {wide}x{tall} in {name} and {width}x{height} in {next(iter(methods))}: "
                    "the same region cannot be shown of pictures of another shape"
                )
        if max(height, width) > _LONGEST * min(height, width):
            raise DataError(f"{stem} is {width}x{height}: too long to be drawn beside others")
    return rows


def _made(name: str, enhance: Enhance, path: Path) -> RGB8:
    try:
        return enhance(read_rgb8(path))
    except (DataError, ValueError) as error:  # a size that the system cannot take
        raise DataError(f"{name} cannot enhance {path.name}: {error}") from error


def busiest(picture: RGB8, share: float = 0.3) -> Crop:
    """Returns the region, of the picture's own shape, with the most fine structure: where methods differ."""
    grey = picture.mean(axis=2)
    edges = np.abs(np.diff(grey, axis=0, prepend=grey[:1])) + np.abs(np.diff(grey, axis=1, prepend=grey[:, :1]))
    height, width = grey.shape
    tall, wide = max(round(share * height), 1), max(round(share * width), 1)
    sums = np.pad(edges.cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))
    windows = sums[tall:, wide:] - sums[:-tall, wide:] - sums[tall:, :-wide] + sums[:-tall, :-wide]
    top, left = np.unravel_index(int(windows.argmax()), windows.shape)
    return left / width, top / height, wide / width, tall / height


def draw(names: Sequence[str], rows: Mapping[str, Sequence[RGB8]], crops: Mapping[str, Sequence[Crop]]) -> Any:
    """Returns the figure.

    Args:
        names: The methods, across.
        rows: Stem -> one picture per method.
        crops: Stem -> one or two regions to enlarge.
    """
    heights = []  # of a row: its picture, then its crops side by side below
    for stem, pictures in rows.items():
        aspect = pictures[0].shape[0] / pictures[0].shape[1]
        heights.append((_CELL * aspect, _crop_height(crops[stem], aspect)))
    width = len(names) * _CELL + (len(names) - 1) * _GAP + 2 * _MARGIN
    height = _TITLE + sum(picture + crop + _GAP + 2.5 * _GAP for picture, crop in heights)
    figure = new_figure(width, height)
    figure.set_layout_engine("none")
    top = _TITLE
    for (stem, pictures), (tall, crop_tall) in zip(rows.items(), heights, strict=True):
        for column, picture in enumerate(pictures):
            left = _MARGIN + column * (_CELL + _GAP)
            axes = _show(figure, (left, top, _CELL, tall), picture)
            if top == _TITLE:
                axes.set_title(names[column], fontsize=10, color=INK, pad=4)
            share = (_CELL - (len(crops[stem]) - 1) * _GAP) / len(crops[stem])
            for number, crop in enumerate(crops[stem]):
                region = fit(picture, crop, share / crop_tall)
                _mark(axes, region, COLORS[number])
                place = (left + number * (share + _GAP), top + tall + _GAP, share, crop_tall)
                inset = _show(figure, place, picture[region])
                inset.spines[:].set(visible=True, color=COLORS[number], linewidth=1.8)
        top += tall + crop_tall + 3.5 * _GAP
    return figure


def _crop_height(crops: Sequence[Crop], aspect: float) -> float:
    share = (_CELL - (len(crops) - 1) * _GAP) / len(crops)
    _, _, width, height = crops[0]
    return float(np.clip(share * aspect * height / width, 0.4 * share, 1.2 * share))


def _show(figure: Any, box: tuple[float, float, float, float], picture: RGB8) -> Any:
    width, height = figure.get_size_inches()
    left, top, wide, tall = box
    axes = figure.add_axes((left / width, 1 - (top + tall) / height, wide / width, tall / height))
    axes.imshow(picture, aspect="auto", interpolation="antialiased")
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_visible(False)
    return axes


def fit(picture: RGB8, crop: Crop, aspect: float) -> tuple[slice, slice]:
    """Returns rows and columns of a region, narrowed about its middle to `aspect` (width : height)."""
    rows, columns = picture.shape[:2]
    left, top, width, height = crop[0] * columns, crop[1] * rows, crop[2] * columns, crop[3] * rows
    wide, tall = min(width, height * aspect), min(height, width / aspect)
    left, top = left + (width - wide) / 2, top + (height - tall) / 2
    return _span(top, tall, rows), _span(left, wide, columns)


def _span(start: float, length: float, size: int) -> slice:
    first = min(round(start), size - 1)
    return slice(first, max(round(start + length), first + 1))


def _mark(axes: Any, region: tuple[slice, slice], color: str) -> None:
    from matplotlib.patches import Rectangle

    rows, columns = region
    size = (columns.stop - columns.start, rows.stop - rows.start)
    corner = (columns.start - 0.5, rows.start - 0.5)
    axes.add_patch(Rectangle(corner, *size, fill=False, edgecolor=color, linewidth=1.6))


def _drawable(picture: RGB8) -> RGB8:
    from PIL import Image

    longest = max(picture.shape[:2])
    if longest <= 3 * _LARGEST:
        return picture
    size = (round(picture.shape[1] * 3 * _LARGEST / longest), round(picture.shape[0] * 3 * _LARGEST / longest))
    return np.asarray(Image.fromarray(picture).resize(size, Image.Resampling.LANCZOS))
