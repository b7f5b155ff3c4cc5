"""A detection data set in YOLO format: its splits and labels, read as Ultralytics and Roboflow write them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pic_uie.datasets.folders import pictures_below
from pic_uie.datasets.stems import few
from pic_uie.errors import ConfigError, DataError
from pic_uie.evaluation.documents import read_document
from pic_uie.files import atomic_write
from pic_uie.typed_yaml import read_mapping

SPLITS = ("train", "val", "test")
NOTE, FORMAT = "data-set.json", "pic-uie-yolo-set-1"


@dataclass(frozen=True)
class YoloSet:
    """A data set as its YAML file describes it.

    Attributes:
        root: What relative paths are relative to.
        splits: Split -> pictures, as absolute paths.
        facts: All other keys of the file (names, nc, ...), for the copies.
    """

    root: Path
    splits: Mapping[str, Sequence[Path]]
    facts: Mapping[str, Any]

    @property
    def classes(self) -> list[str]:
        """The names of the classes, in the order of their numbers."""
        names = self.facts["names"]
        return [str(names[key]) for key in sorted(names)] if isinstance(names, Mapping) else [str(n) for n in names]


def read(file: Path) -> YoloSet:
    """Reads a data set.

    Args:
        file: YAML with `names` and, under `path` (default: the file's folder), `train`, `val` and `test`: each a
            folder, a text file of pictures, or a list of these. A place that is written ../train/images, as Roboflow
            does, is also looked for without its dots.

    Raises:
        ConfigError: The file is no YAML mapping.
        DataError: A split is missing, empty, or shares a picture with another one.
    """
    values = read_mapping(file)
    if "names" not in values:
        raise DataError(f"{file} has no `names` of classes: not a data set in YOLO format")
    missing = [split for split in SPLITS if not values.get(split)]
    if missing:
        raise DataError(f"{file} has no {', '.join(missing)} split: detectors are compared on a common test split")
    root = Path(os.path.abspath(file.parent / str(values.get("path", "."))))
    splits = {split: _pictures(values[split], root, f"{file}: {split}") for split in SPLITS}
    owner: dict[Path, str] = {}
    for split, pictures in splits.items():
        for picture in pictures:
            if picture in owner:
                raise DataError(f"{picture} is in two splits of {file}: {owner[picture]} and {split}")
            owner[picture] = split
    return YoloSet(root, splits, {key: value for key, value in values.items() if key not in (*SPLITS, "path")})


def label_file(picture: Path) -> Path:
    """Returns where YOLO looks for the labels of a picture: the last folder `images` becomes `labels`."""
    parts = list(picture.parts)
    places = [place for place, part in enumerate(parts[:-1]) if part == "images"]
    if places:
        parts[places[-1]] = "labels"
    return Path(*parts).with_suffix(".txt")


def boxes(label: Path) -> list[tuple[int, float, float, float, float]]:
    """Reads labels: class, then the box as left, top, right, bottom in shares of the picture; none if no file.

    Raises:
        DataError: A line that is not a class and four numbers.
    """
    found = []
    for line in label.read_text(encoding="utf-8").splitlines() if label.is_file() else ():
        if not line.strip():
            continue
        try:
            kind, x, y, width, height = (float(word) for word in line.split()[:5])
        except ValueError:
            raise DataError(f"{label}: {line!r} is not a class and four numbers") from None
        found.append((int(kind), x - width / 2, y - height / 2, x + width / 2, y + height / 2))
    return found


def claim(data: YoloSet, folder: Path) -> None:
    """Notes in a folder which pictures and labels its copies and detectors are of, wherever these lie.

    Raises:
        ConfigError: The folder is of another set, of this one before it changed, or lies among its pictures or labels.
    """
    place = folder.resolve()
    every = [picture for split in data.splits.values() for picture in split]
    for around in {path.parent.resolve() for picture in every for path in (picture, label_file(picture))}:
        if place == around or place in around.parents or around in place.parents:
            raise ConfigError(f"{folder} is a part of the data set, where nothing is written: give -o another name")
    digest = hashlib.sha256()
    for split, pictures in data.splits.items():
        for path in (file for picture in pictures for file in (picture, label_file(picture)) if file.is_file()):
            content = path.read_bytes()
            digest.update(os.fsencode(f"{split}\0{path.name}\0{len(content)}\n") + content)
    facts = {"format": FORMAT, "sha256": digest.hexdigest()}
    note = folder / NOTE
    if note.is_file():
        if read_document(note, "pic-uie evaluate detection", format=FORMAT) != facts:
            raise ConfigError(f"{folder} is of another data set, or this one has changed since: give -o another name")
        return
    folder.mkdir(parents=True, exist_ok=True)
    atomic_write(note, (json.dumps(facts, indent=1) + "\n").encode())


def _pictures(places: Any, root: Path, where: str) -> list[Path]:
    found: list[Path] = []
    for place in places if isinstance(places, list) else [places]:
        path = _locate(root, str(place))
        if path.is_dir():
            found += pictures_below(path)
        elif path.is_file():
            found += _listed(path, where)
        else:
            raise DataError(f"{where} names {path}, which is neither a folder nor a file")
    if not found:
        raise DataError(f"{where} has no pictures")
    return found


def _locate(root: Path, place: str) -> Path:
    """Roboflow's ../train/images lies beside its data.yaml, not above; Ultralytics reads it so too."""
    path = Path(os.path.abspath(root / place))
    if not path.exists() and place.startswith("../"):
        return Path(os.path.abspath(root / place.removeprefix("../")))
    return path


def _listed(file: Path, where: str) -> list[Path]:
    """The pictures that a text file names; those that start with ./ or a plain name are relative to the file."""
    try:
        lines = [line.strip() for line in file.read_text(encoding="utf-8").splitlines()]
    except UnicodeDecodeError as error:
        raise DataError(f"{where}: {file} is not a text file that names pictures: {error}") from error
    paths = [Path(os.path.abspath(file.parent / line)) for line in lines if line]  # links stay: labels lie beside them
    missing = [str(path) for path in paths if not path.is_file()]
    if missing:
        raise DataError(f"{where}: {file} names pictures that do not exist: {few(missing)}")
    return paths
