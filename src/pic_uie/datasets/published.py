"""Data sets as their authors publish them: which folders, how many pictures, which pairs; found and checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from PIL import Image

from pic_uie.datasets import lists
from pic_uie.datasets.folders import pictures_below, pictures_in
from pic_uie.datasets.stems import few, read_stems
from pic_uie.errors import ConfigError, DataError, did_you_mean

DEPTH = 4  # folders below the given one that are looked into
SIZES = {"1080p": (1920, 1080), "4k": (3840, 2160)}


@dataclass(frozen=True)
class Part:
    """One folder of a data set.

    Attributes:
        folders: Names under which it is published or usually kept.
        count: How many pictures it has.
    """

    folders: tuple[str, ...]
    count: int


@dataclass(frozen=True)
class Published:
    """A data set.

    Attributes:
        title: What it is.
        parts: Our name of a folder -> the folder as published; empty for sets of another shape.
        notes: What is worth knowing.
    """

    title: str
    parts: Mapping[str, Part] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


SETS: dict[str, Published] = {
    "uieb": Published(
        "UIEB, 890 pictures with references",
        {"input": Part(("raw-890", "input", "raw"), 890), "target": Part(("reference-890", "target", "GT", "gt"), 890)},
        ("which 90 are held out is a list of its own: see `pic-uie data lists`",),
    ),
    "lsui": Published(
        "LSUI, 4,279 pictures with references",
        {"input": Part(("input", "raw"), 4279), "target": Part(("GT", "gt", "target"), 4279)},
        ("the usual test list has 400 of them",),
    ),
    "u45": Published("U45, 45 pictures without reference", {"input": Part(("U45", "input"), 45)}),
    "c60": Published(
        "C60, the 60 challenging pictures of UIEB, without reference",
        {"input": Part(("challenging-60", "C60", "input"), 60)},
    ),
    "uiqad": Published(
        "UIQAD, pictures at native size, without reference",
        notes=(
            "the paper scores 1080p (1920x1080) and 4K (3840x2160) apart and does not say how many pictures of each",
        ),
    ),
    "flsea": Published(
        "FLSea, video frames of twelve scenes",
        notes=("the paper takes five scenes and does not say which: name yours with --scene",),
    ),
    "urpc": Published(
        "URPC, pictures with boxes in VOC form",
        notes=("the paper's test split of URPC2019 is not published with it",),
    ),
}


@dataclass(frozen=True)
class Found:
    """What a folder holds of a data set.

    Attributes:
        pictures: Part -> pictures in the order of their names.
        complaints: What is not as published; empty = all is.
        facts: What was found, for people.
    """

    pictures: Mapping[str, Sequence[Path]]
    complaints: Sequence[str]
    facts: Sequence[str]


def get(name: str) -> Published:
    """Returns a data set by its name.

    Raises:
        ConfigError: An unknown name.
    """
    if name not in SETS:
        raise ConfigError(f"no data set {name!r}: {did_you_mean(name, SETS)}")
    return SETS[name]


def examine_pictures(name: str, folder: Path) -> Found:
    """Looks for the parts of a set of pictures (UIEB, LSUI, U45, C60) and compares them with what is published.

    Raises:
        DataError: The folder is not there, or a part of the set is not in it.
    """
    published = get(name)
    if not folder.is_dir():
        raise DataError(f"{folder} is not a folder")
    pictures = {
        role: _part(folder, part, name, only=len(published.parts) == 1) for role, part in published.parts.items()
    }
    complaints = []
    facts = []
    for role, part in published.parts.items():
        files = pictures[role]
        facts.append(f"{role}: {len(files)} pictures in {files[0].parent}")
        if len(files) != part.count:
            complaints.append(f"{role} has {len(files)} pictures, published are {part.count}")
        complaints += unreadable(files) + _doubled(role, files)
    if len(pictures) == 2:
        complaints += _pairs(*pictures.values())
    if name == "uieb":
        stems = {path.stem for path in pictures["input"]}
        for known in lists.known():
            names = read_stems(lists.path(known))
            facts.append(f"list {known}: {sum(stem in stems for stem in names)} of {len(names)} are here")
    return Found(pictures, complaints, facts)


def examine_sizes(folder: Path) -> Found:
    """Sorts the pictures of UIQAD by size: those of exactly 1920x1080 and of exactly 3840x2160, at any depth."""
    if not folder.is_dir():
        raise DataError(f"{folder} is not a folder")
    pictures: dict[str, list[Path]] = {name: [] for name in SIZES}
    other: list[Path] = []
    for path in pictures_below(folder):
        size = _size(path)
        label = next((name for name, wanted in SIZES.items() if size == wanted), None)
        (pictures[label] if label else other).append(path)
    facts = [f"{name}: {len(found)} pictures of {SIZES[name][0]}x{SIZES[name][1]}" for name, found in pictures.items()]
    complaints = [f"no picture has the size of {name}" for name, found in pictures.items() if not found]
    complaints += unreadable(other)
    for name, found in pictures.items():
        complaints += _doubled(name, found)
    return Found(pictures, complaints, [*facts, f"other sizes: {len(other)} pictures"])


def unreadable(files: Sequence[Path]) -> list[str]:
    """Returns the complaint about pictures whose headers cannot be read, if there are any."""
    bad = [f"{path.parent.name}/{path.name}" for path in files if _size(path) is None]
    return [f"{len(bad)} pictures cannot be read: {few(bad)}"] if bad else []


def _doubled(role: str, files: Sequence[Path]) -> list[str]:
    counts = Counter(path.stem for path in files)
    doubled = sorted(stem for stem, count in counts.items() if count > 1)
    return [f"{role} has several files named {few(doubled)}"] if doubled else []


def _part(folder: Path, part: Part, name: str, only: bool) -> list[Path]:
    """Finds the folder of a part by its names, in their order, the shallowest first; a lone part may be the folder."""
    wanted = [word.lower() for word in part.folders]
    candidates = [folder, *(path for path in folder.rglob("*") if path.is_dir())]
    named = [
        path for path in candidates if path.name.lower() in wanted and len(path.parts) <= len(folder.parts) + DEPTH
    ]
    named.sort(key=lambda path: (wanted.index(path.name.lower()), len(path.parts), path))
    for path in [*named, *([folder] if only else [])]:
        if files := pictures_in(path):
            return files
    raise DataError(f"{folder} has no folder {' or '.join(part.folders)} with pictures: it is not {name} as published")


def _pairs(inputs: Sequence[Path], targets: Sequence[Path]) -> list[str]:
    by_stem = {path.stem: path for path in targets}
    stems = {path.stem for path in inputs}
    complaints = []
    lonely = sorted(stems ^ set(by_stem))
    if lonely:
        complaints.append(f"{len(lonely)} pictures have no partner: {few(lonely)}")
    unlike = [path.stem for path in inputs if path.stem in by_stem and _size(path) != _size(by_stem[path.stem])]
    if unlike:
        complaints.append(f"{len(unlike)} pairs differ in size: {few(unlike)}")
    return complaints


def _size(path: Path) -> tuple[int, int] | None:
    """Returns the size that the header of a picture states; None if it cannot be read."""
    try:
        with Image.open(path) as picture:
            return picture.size
    except (OSError, ValueError, SyntaxError):
        return None
