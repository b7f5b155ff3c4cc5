"""Boxes in Pascal VOC's XML, as URPC is published, brought into YOLO's form: a text file per picture."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from PIL import Image

from pic_uie.datasets.folders import pictures_below
from pic_uie.datasets.published import Found, unreadable
from pic_uie.datasets.stems import few, read_stems
from pic_uie.errors import ConfigError, DataError

CLASSES = ("holothurian", "echinus", "scallop", "starfish")  # URPC's; its fifth, waterweeds, is usually left out
SPLITS = ("train", "val", "test")
SHARES = (0.7, 0.1, 0.2)
LARGEST = 1 << 22  # bytes of one annotation


@dataclass(frozen=True)
class Box:
    """A labelled box: left, top, right, bottom in pixels."""

    label: str
    corners: tuple[float, float, float, float]


@dataclass(frozen=True)
class Annotated:
    """A picture with its annotation."""

    picture: Path
    annotation: Path


def pair_up(folder: Path) -> list[Annotated]:
    """Finds pictures with the annotation of the same stem, at any depth.

    Raises:
        DataError: There are none, or a stem is not unique.
    """
    if not folder.is_dir():
        raise DataError(f"{folder} is not a folder")
    annotations: dict[str, Path] = {}
    for path in sorted(folder.rglob("*.xml")):
        if path.stem in annotations:
            raise DataError(f"two annotations go by the name {path.stem}: {annotations[path.stem]} and {path}")
        annotations[path.stem] = path
    found: dict[str, Annotated] = {}
    for path in pictures_below(folder):
        if path.stem in annotations:
            if path.stem in found:
                raise DataError(f"two pictures go by the name {path.stem}: {found[path.stem].picture} and {path}")
            found[path.stem] = Annotated(path, annotations[path.stem])
    if not found:
        raise DataError(f"{folder} has no picture with a VOC annotation (.xml) of the same name")
    return list(found.values())


def examine(folder: Path) -> Found:
    """Counts the pictures and the boxes of each class."""
    pairs = pair_up(folder)
    counts = count_boxes(pairs)
    facts = [
        f"{len(pairs)} pictures with annotations",
        *(f"{label}: {count} boxes" for label, count in sorted(counts.items())),
    ]
    unknown = sorted(label for label in counts if label not in (*CLASSES, "waterweeds"))
    complaints = [f"classes that URPC does not have: {few(unknown)}"] if unknown else []
    complaints += unreadable([pair.picture for pair in pairs])
    annotated = {pair.picture for pair in pairs}
    bare = [path.name for path in pictures_below(folder) if path not in annotated]
    if bare:
        complaints.append(f"{len(bare)} pictures have no annotation and are left out: {few(bare)}")
    return Found({"all": [pair.picture for pair in pairs]}, complaints, facts)


def count_boxes(pairs: Sequence[Annotated]) -> Counter[str]:
    """Returns how many boxes each class has."""
    return Counter(box.label for pair in pairs for box in read_boxes(pair.annotation))


def read_boxes(annotation: Path) -> list[Box]:
    """Reads the boxes of an annotation.

    Raises:
        DataError: It is not VOC's XML.
    """
    try:
        data = annotation.read_bytes()
        if len(data) > LARGEST or b"<!ENTITY" in data or b"<!DOCTYPE" in data:
            raise ValueError("not a plain annotation")
        root = ElementTree.fromstring(data)  # noqa: S314 (no document type, so no entities)
        boxes = []
        for item in root.iter("object"):
            frame = item.find("bndbox")
            label = (item.findtext("name") or "").strip()
            if frame is None or not label:
                raise ValueError("an object without name or bndbox")
            left, top, right, bottom = (float(frame.findtext(key) or "") for key in ("xmin", "ymin", "xmax", "ymax"))
            if not all(math.isfinite(corner) for corner in (left, top, right, bottom)):
                raise ValueError(f"a box of {label} whose corners are not numbers")
            boxes.append(Box(label, (left, top, right, bottom)))
    except (OSError, ValueError, ElementTree.ParseError) as error:
        raise DataError(f"{annotation} is not a VOC annotation: {error}") from error
    return boxes


def yolo_label(pair: Annotated, classes: Sequence[str]) -> tuple[str, int]:
    """Returns the lines of YOLO's label file, and how many boxes were left out: other classes, or no area.

    VOC counts pixels from 1 and names the last one inside; the box covers xmin - 1 to xmax.
    """
    try:
        with Image.open(pair.picture) as picture:  # the sizes in annotations are not always true
            width, height = picture.size
    except (OSError, ValueError, SyntaxError) as error:
        raise DataError(f"{pair.picture} cannot be read: {error}") from error
    lines, dropped = [], 0
    for box in read_boxes(pair.annotation):
        left, top = max(box.corners[0] - 1, 0), max(box.corners[1] - 1, 0)
        right, bottom = min(box.corners[2], width), min(box.corners[3], height)
        if box.label not in classes or right <= left or bottom <= top:
            dropped += 1
            continue
        shares = (
            (left + right) / 2 / width,
            (top + bottom) / 2 / height,
            (right - left) / width,
            (bottom - top) / height,
        )
        lines.append(" ".join([str(classes.index(box.label)), *(f"{share:.6f}" for share in shares)]))
    return "".join(f"{line}\n" for line in lines), dropped


def split(
    pairs: Sequence[Annotated], folder: Path, shares: Sequence[float] | None = None
) -> tuple[dict[str, list[Annotated]], str]:
    """Divides the pictures, and says by what: ImageSets/Main/*.txt where it is published, else by a hash of the name.

    Raises:
        ConfigError: Shares that do not sum to 1, or where a split is published.
        DataError: A published list names pictures that are not there, or one twice, or there are several.
    """
    every = {name: sorted(folder.rglob(f"ImageSets/Main/{name}.txt")) for name in SPLITS}
    for name, paths in every.items():
        if len(paths) > 1:
            raise DataError(f"two lists go by the name {name}: {paths[0]} and {paths[1]}; prepare each folder alone")
    listed = {name: paths[0] for name, paths in every.items() if paths}
    if set(listed) == set(SPLITS):
        if shares is not None:
            raise ConfigError(f"a split is published in {listed['train'].parent}: leave out the shares")
        parts = _listed(pairs, listed)
        left_out = len(pairs) - sum(len(part) for part in parts.values())
        others = f"; {left_out} pictures are in none of its lists and left out" if left_out else ""
        return parts, f"ImageSets/Main{others}"
    shares = shares or SHARES
    if len(shares) != len(SPLITS) or abs(sum(shares) - 1) > 1e-6 or min(shares) <= 0:
        raise ConfigError(f"three shares that sum to 1 are needed for {', '.join(SPLITS)}, got {shares}")
    ranked = sorted(pairs, key=lambda pair: hashlib.sha256(pair.picture.stem.encode()).hexdigest())
    first, second = round(shares[0] * len(ranked)), round((shares[0] + shares[1]) * len(ranked))
    parts = dict(zip(SPLITS, (ranked[:first], ranked[first:second], ranked[second:]), strict=True))
    empty = [name for name, part in parts.items() if not part]
    if empty:
        raise DataError(f"{len(pairs)} pictures are too few: nothing is left for {', '.join(empty)}")
    lacking = [f"{name}.txt" for name in SPLITS if name not in listed]
    return parts, "a hash of the name" + (f", since ImageSets/Main has no {' and no '.join(lacking)}" if listed else "")


def _listed(pairs: Sequence[Annotated], listed: Mapping[str, Path]) -> dict[str, list[Annotated]]:
    by_stem = {pair.picture.stem: pair for pair in pairs}
    owner: dict[str, str] = {}
    parts: dict[str, list[Annotated]] = {}
    for name, path in listed.items():
        stems = read_stems(path)
        missing = [stem for stem in stems if stem not in by_stem]
        if missing:
            raise DataError(f"{path} names pictures that are not there: {few(missing)}")
        for stem in stems:
            if stem in owner:
                raise DataError(f"{stem} is in two splits: {owner[stem]} and {name}")
            owner[stem] = name
        parts[name] = [by_stem[stem] for stem in stems]
    return parts
