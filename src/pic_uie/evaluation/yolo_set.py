"""A detection data set in YOLO format: its splits, its labels, and an enhanced copy of all of it."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from pic_uie.batch.mapping import Job
from pic_uie.batch.process import ArrayEnhancer, Settings, process
from pic_uie.errors import ConfigError, DataError
from pic_uie.evaluation.documents import read_document
from pic_uie.files import atomic_write, identity
from pic_uie.stems import SUFFIXES, few
from pic_uie.typed_yaml import read_mapping

SPLITS = ("train", "val", "test")
NOTE, FORMAT = "data-set.json", "pic-uie-yolo-set-1"


@dataclass(frozen=True)
class YoloSet:
    """A data set as its YAML file describes it.

    Attributes:
        splits: Split -> pictures, as absolute paths.
        facts: All other keys of the file (names, nc, ...), for the copy.
        files: The YAML and the lists that it names.
    """

    splits: Mapping[str, Sequence[Path]]
    facts: Mapping[str, Any]
    files: Sequence[Path]


def read(file: Path) -> YoloSet:
    """Reads a data set.

    Args:
        file: YAML with `names` and, under `path` (default: the file's folder), `train`, `val` and `test`: each a
            folder, a text file of pictures, or a list of these.

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
    files = [file]
    splits = {split: _pictures(values[split], root, f"{file}: {split}", files) for split in SPLITS}
    owner: dict[Path, str] = {}
    for split, pictures in splits.items():
        for picture in pictures:
            if picture in owner:
                raise DataError(f"{picture} is in two splits of {file}: {owner[picture]} and {split}")
            owner[picture] = split
    return YoloSet(splits, {key: value for key, value in values.items() if key not in (*SPLITS, "path")}, files)


def label_file(picture: Path) -> Path:
    """Returns where YOLO looks for the labels of a picture: the last folder `images` becomes `labels`."""
    parts = list(picture.parts)
    places = [place for place, part in enumerate(parts[:-1]) if part == "images"]
    if places:
        parts[places[-1]] = "labels"
    return Path(*parts).with_suffix(".txt")


def claim(data: YoloSet, folder: Path) -> None:
    """Notes in a folder which pictures and labels its copies and detectors are of, wherever these lie.

    Raises:
        ConfigError: The folder is of another set, or of this one before it changed.
    """
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


def write_as_is(data: YoloSet, folder: Path) -> Path:
    """Writes a YAML and lists that name the pictures where they are; returns the YAML."""
    return _describe(data, data.splits, folder)


def write_enhanced(
    data: YoloSet,
    folder: Path,
    enhancer: ArrayEnhancer,
    on_done: Callable[[], None] = lambda: None,
) -> Path:
    """Writes an enhanced copy with the same labels and splits; pictures that are there already are kept.

    Returns:
        The copy's YAML, written last.

    Raises:
        DataError: Pictures could not be enhanced; they are named.
    """
    copies: dict[str, list[Path]] = {}
    failures: list[str] = []
    for split, pictures in data.splits.items():
        copies[split] = []
        for picture, name in zip(pictures, _names(pictures), strict=True):
            copy = folder / "images" / split / name
            copies[split].append(copy)
            if not copy.exists():
                outcome = process(Job(picture, copy), enhancer, Settings())
                if outcome.error:
                    failures.append(f"{picture}: {outcome.error}")
            _copy_label(label_file(picture), label_file(copy))
            on_done()
    if failures:
        listed = few(failures, "\n  ")
        raise DataError(f"{len(failures)} pictures could not be enhanced:\n  {listed}")
    return _describe(data, copies, folder)


def _names(pictures: Sequence[Path]) -> list[str]:
    """Names within a split: the plain ones, or numbered where folders of a split repeat a stem (labels go by stem)."""
    stems = [picture.stem for picture in pictures]
    if len(set(stems)) == len(stems):
        return [picture.name for picture in pictures]
    return [f"{number:06d}-{picture.name}" for number, picture in enumerate(pictures)]


def _copy_label(source: Path, target: Path) -> None:
    if not source.is_file():  # a picture without objects
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(target, source.read_bytes())


def _describe(data: YoloSet, splits: Mapping[str, Sequence[Path]], folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    root = folder.resolve()
    sources = {identity(path) for path in data.files}
    for path in (root / "data.yaml", *(root / f"{split}.txt" for split in splits)):
        if path.exists() and identity(path) in sources:
            raise ConfigError(f"{path} is a part of the data set and would be overwritten: give -o another name")
    for split, pictures in splits.items():
        lines = "".join(f"{os.path.abspath(picture)}\n" for picture in pictures)
        atomic_write(root / f"{split}.txt", os.fsencode(lines))
    values = {"path": str(root), **{split: f"{split}.txt" for split in splits}, **data.facts}
    file = root / "data.yaml"
    atomic_write(file, yaml.safe_dump(values, sort_keys=False, allow_unicode=True).encode())
    return file


def _pictures(places: Any, root: Path, where: str, files: list[Path]) -> list[Path]:
    found: list[Path] = []
    for place in places if isinstance(places, list) else [places]:
        path = Path(os.path.abspath(root / str(place)))
        if path.is_dir():
            found += sorted(file for file in path.rglob("*") if file.suffix.lower() in SUFFIXES and file.is_file())
        elif path.is_file():
            found += _listed(path, where)
            files.append(path)
        else:
            raise DataError(f"{where} names {path}, which is neither a folder nor a file")
    if not found:
        raise DataError(f"{where} has no pictures")
    return found


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
