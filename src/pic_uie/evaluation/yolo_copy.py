"""Copies of a detection data set, one per method: the same labels and splits, the method's pictures.

The raw set is copied too. Ultralytics writes caches beside the labels and repairs damaged JPEG files in place; in a
copy neither touches what the user has.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import yaml
from PIL import Image

from pic_uie.datasets.folders import pictures_below
from pic_uie.datasets.stems import few
from pic_uie.errors import ConfigError, DataError, ImageError
from pic_uie.evaluation.documents import read_document
from pic_uie.evaluation.predictions import Enhance, Method
from pic_uie.evaluation.yolo_set import YoloSet, label_file
from pic_uie.files import atomic_write
from pic_uie.images import read_rgb8

NOTE, FORMAT = "method.json", "pic-uie-yolo-copy-1"
DESCRIPTION = "data.yaml"


@dataclass(frozen=True)
class Maker:
    """How a method's file of a raw picture comes about.

    Attributes:
        suffix: Raw picture -> suffix of the copy.
        content: Raw picture -> bytes of the copy.
        facts: What the copies are made by; a folder of copies belongs to one of them.
    """

    suffix: Callable[[Path], str]
    content: Callable[[Path], bytes]
    facts: Mapping[str, str]


def raw() -> Maker:
    """The pictures as they are."""
    return Maker(lambda path: path.suffix, lambda path: path.read_bytes(), {"kind": "raw"})


def of(method: Method, data: YoloSet) -> Maker:
    """The pictures of a method.

    Raises:
        DataError: Its folder lacks some.
    """
    if method.enhance is not None:
        return Maker(lambda path: ".png", enhanced(method.enhance), method.description)
    folder = method.folder or Path()
    found = finished(folder, data)
    digest = hashlib.sha256()
    for path in sorted(found.values()):
        digest.update(os.fsencode(path.name) + path.read_bytes())
    facts = {**method.description, "sha256": digest.hexdigest()}
    return Maker(lambda path: found[path].suffix, lambda path: found[path].read_bytes(), facts)


def enhanced(enhance: Enhance) -> Callable[[Path], bytes]:
    """Returns a function that enhances a file into a PNG: no method's pictures are compressed a second time."""

    def content(path: Path) -> bytes:
        buffer = io.BytesIO()
        Image.fromarray(enhance(read_rgb8(path))).save(buffer, "PNG", compress_level=1)
        return buffer.getvalue()

    return content


def finished(folder: Path, data: YoloSet) -> dict[Path, Path]:
    """Finds a method's picture for every picture of the set: at the same place below the folder, or by its stem alone.

    Raises:
        DataError: Some are missing, or a stem that is needed stands for several files.
    """
    by_place: dict[Path, Path] = {}
    by_stem: dict[str, list[Path]] = {}
    for path in pictures_below(folder):
        by_place[path.relative_to(folder).with_suffix("")] = path
        by_stem.setdefault(path.stem, []).append(path)
    found: dict[Path, Path] = {}
    missing: list[str] = []
    for picture in (picture for pictures in data.splits.values() for picture in pictures):
        place = Path(os.path.relpath(picture, data.root)).with_suffix("")
        candidates = [by_place[place]] if place in by_place else by_stem.get(picture.stem, [])
        if len(candidates) == 1:
            found[picture] = candidates[0]
        else:
            missing.append(f"{place} ({len(candidates)} files of that stem)" if candidates else str(place))
    if missing:
        raise DataError(f"{folder} lacks {few(missing)}")
    return found


def write(data: YoloSet, folder: Path, maker: Maker, on_done: Callable[[], None] = lambda: None, jobs: int = 1) -> Path:
    """Writes a copy of the set; pictures that are there already are kept.

    Returns:
        The copy's YAML, written last.

    Raises:
        ConfigError: The folder holds the copy of another method.
        DataError: Pictures could not be made; they are named.
    """
    _claim(folder, maker)
    copies: dict[str, list[Path]] = {}
    work: list[tuple[Path, Path]] = []
    for split, pictures in data.splits.items():
        names = [f"{stem}{maker.suffix(picture)}" for picture, stem in zip(pictures, _stems(pictures), strict=True)]
        copies[split] = [folder / "images" / split / name for name in names]
        work += zip(pictures, copies[split], strict=True)
    failures: list[str] = []
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        for failure in pool.map(lambda pair: _copy(pair[0], pair[1], maker), work):
            failures += failure
            on_done()
    if failures:
        listed = few(failures, "\n  ")
        raise DataError(f"{len(failures)} pictures could not be made:\n  {listed}")
    return _describe(data, copies, folder)


def _claim(folder: Path, maker: Maker) -> None:
    note, facts = folder / NOTE, {"format": FORMAT, **maker.facts}
    if note.is_file():
        if read_document(note, "pic-uie evaluate detection", format=FORMAT) != facts:
            raise ConfigError(
                f"{folder} holds pictures of another method of that name: rename the method, or give -o another name"
            )
        return
    folder.mkdir(parents=True, exist_ok=True)
    atomic_write(note, (json.dumps(facts, indent=1) + "\n").encode())


def _copy(picture: Path, copy: Path, maker: Maker) -> list[str]:
    """Makes one picture and its label; returns what went wrong."""
    failures = []
    for target in (copy, label_file(copy)):
        target.parent.mkdir(parents=True, exist_ok=True)
    if not copy.exists():
        try:
            atomic_write(copy, maker.content(picture))
        except (ImageError, ValueError) as error:
            failures.append(f"{picture}: {error}")
    label = label_file(picture)
    if label.is_file():  # a picture without objects has none
        atomic_write(label_file(copy), label.read_bytes())
    return failures


def _stems(pictures: Sequence[Path]) -> list[str]:
    """Stems within a split: the plain ones, or numbered where folders of a split repeat one (labels go by stem)."""
    stems = [picture.stem for picture in pictures]
    if len(set(stems)) == len(stems):
        return stems
    return [f"{number:06d}-{stem}" for number, stem in enumerate(stems)]


def _describe(data: YoloSet, splits: Mapping[str, Sequence[Path]], folder: Path) -> Path:
    root = folder.resolve()
    for split, pictures in splits.items():
        lines = "".join(f"{os.path.abspath(picture)}\n" for picture in pictures)
        atomic_write(root / f"{split}.txt", os.fsencode(lines))
    values = {"path": str(root), **{split: f"{split}.txt" for split in splits}, **data.facts}
    file = root / DESCRIPTION
    atomic_write(file, yaml.safe_dump(values, sort_keys=False, allow_unicode=True).encode())
    return file
