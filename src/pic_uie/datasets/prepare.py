"""Brings a published data set into the shape that the other commands read: links to its pictures, or copies."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from pic_uie.datasets import published, sequences, voc
from pic_uie.datasets.published import Found
from pic_uie.errors import ConfigError, DataError
from pic_uie.files import atomic_write


@dataclass(frozen=True)
class Wishes:
    """How a set is brought into shape.

    Attributes:
        copy: Copies instead of links.
        scenes: Of FLSea: only these.
        classes: Of URPC: the classes to keep, in the order of their numbers.
        shares: Of URPC: train, val and test, where no split is published; the default is `voc.SHARES`.
    """

    copy: bool = False
    scenes: Sequence[str] = ()
    classes: Sequence[str] = voc.CLASSES
    shares: Sequence[float] | None = None


def check(name: str, folder: Path) -> Found:
    """Checks a folder against the data set as published.

    Raises:
        ConfigError: An unknown name.
        DataError: It is not that data set at all.
    """
    published.get(name)
    if name == "uiqad":
        return published.examine_sizes(folder)
    if name == "urpc":
        return voc.examine(folder)
    if name == "flsea":
        return _scenes(folder)
    return published.examine_pictures(name, folder)


def prepare(name: str, folder: Path, output: Path, wishes: Wishes | None = None) -> list[str]:
    """Writes a data set in our shape; returns what was done, for people. Nothing is left behind if it fails.

    Raises:
        ConfigError: The output is there already, or lies in the data set; a wish that cannot be fulfilled.
        DataError: The folder is not the data set, or something in it cannot be read.
    """
    wishes = wishes or Wishes()
    found = check(name, folder)
    _refuse(folder, output)
    place = _copy if wishes.copy else _link
    output = Path(os.path.abspath(output))
    building = output.parent / f".{output.name}.part-{os.getpid()}"
    building.mkdir(parents=True)
    try:
        if name == "urpc":
            done = _urpc(folder, building, wishes, place)
        elif name == "flsea":
            done = _place_all(sequences.find(folder, scenes=wishes.scenes), building, place)
        else:
            groups = {part: list(files) for part, files in found.pictures.items() if files}
            if not groups:
                raise DataError(f"{folder} has nothing of {name}: {'; '.join(found.complaints)}")
            done = _place_all(groups, building, place)
        output.mkdir(exist_ok=True)
        for path in building.iterdir():
            os.replace(path, output / path.name)
    finally:
        shutil.rmtree(building)
    return [*done, f"all of it is in {output}"]


def _scenes(folder: Path) -> Found:
    found = sequences.find(folder)
    known = [name for name in found if set(name.split("/")) & set(sequences.FLSEA)]
    facts = [f"{name}: {len(files)} frames" for name, files in found.items()]
    complaints = [] if len(known) >= 5 else [f"{len(known)} scenes of FLSea are here, the paper takes five"]
    return Found(found, complaints, facts)


def _place_all(groups: dict[str, list[Path]], building: Path, place: Callable[[Path, Path], None]) -> list[str]:
    for name, files in groups.items():
        _place(files, building / name, place)
    return [f"{name}: {len(files)} pictures" for name, files in groups.items()]


def _place(files: Iterable[Path], folder: Path, place: Callable[[Path, Path], None]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    taken: dict[str, Path] = {}
    for file in files:
        if file.stem in taken:
            raise DataError(f"two pictures would be {file.stem} in {folder.name}: {taken[file.stem]} and {file}")
        taken[file.stem] = file
        place(file, folder / file.name)


def _urpc(folder: Path, building: Path, wishes: Wishes, place: Callable[[Path, Path], None]) -> list[str]:
    every = voc.pair_up(folder)
    counts = voc.count_boxes(every)
    absent = [label for label in wishes.classes if not counts[label]]
    if absent and (tuple(wishes.classes) != voc.CLASSES or len(absent) == len(wishes.classes)):
        raise ConfigError(f"no box is labelled {', '.join(absent)}: there are {', '.join(sorted(counts)) or 'none'}")
    parts, by = voc.split(every, folder, wishes.shares)
    dropped = 0
    done = [f"split by {by}"]
    for split, pairs in parts.items():
        _place((pair.picture for pair in pairs), building / "images" / split, place)
        labels = building / "labels" / split
        labels.mkdir(parents=True, exist_ok=True)
        for pair in pairs:
            text, left_out = voc.yolo_label(pair, wishes.classes)
            dropped += left_out
            (labels / f"{pair.picture.stem}.txt").write_text(text, encoding="utf-8")
        done.append(f"images/{split}: {len(pairs)} pictures")
    facts = {split: f"images/{split}" for split in voc.SPLITS} | {"names": dict(enumerate(wishes.classes))}
    atomic_write(building / "data.yaml", yaml.safe_dump(facts, sort_keys=False).encode())
    if dropped:
        done.append(f"{dropped} boxes left out: classes other than {', '.join(wishes.classes)}, or without area")
    return [*done, "data.yaml: for `pic-uie evaluate detection`"]


def _refuse(folder: Path, output: Path) -> None:
    inside, outside = output.resolve(), folder.resolve()
    if inside == outside or outside in inside.parents:
        raise ConfigError(f"{output} lies in the data set, where nothing is written: give -o another name")
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise ConfigError(f"{output} is there already and not empty: give -o another name")


def _link(source: Path, target: Path) -> None:
    try:
        os.symlink(source.resolve(), target)
    except (OSError, NotImplementedError) as error:
        raise DataError(f"cannot make a link at {target} ({error}): use --copy") from error


def _copy(source: Path, target: Path) -> None:
    shutil.copyfile(source, target)
