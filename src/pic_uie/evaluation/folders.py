"""Which pictures are scored: folders indexed by stem, lists of names with their hash, and pairs without a gap."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pic_uie.errors import ConfigError, DataError
from pic_uie.evaluation.protocols import Protocol
from pic_uie.stems import SUFFIXES, few, parse_stems, read_list_bytes

Index = Mapping[str, Path]  # stem -> file


class NoPicturesError(DataError):
    """A folder has no pictures at all."""


@dataclass(frozen=True)
class Names:
    """The pictures of a result, by content: what makes two results comparable.

    Attributes:
        stems: Names without suffix, sorted.
        sha256: Hash of the sorted stems, one per line: the same for every spelling of the same set.
        file: Name of the list file; None where a whole folder was taken.
        file_sha256: Hash of the list file's bytes, as `sha256sum` prints it.
    """

    stems: tuple[str, ...]
    sha256: str
    file: str | None = None
    file_sha256: str | None = None


@dataclass(frozen=True)
class Case:
    """One picture to score: where its parts are."""

    name: str
    input: Path | None
    reference: Path | None
    prediction: Path | None


@dataclass(frozen=True)
class Folders:
    """Where the pictures of a run are; None = not needed."""

    inputs: Path | None = None
    references: Path | None = None
    predictions: Path | None = None


def gather(
    protocol: Protocol, folders: Folders, list_file: Path | None = None, allow_extra: bool = False
) -> tuple[Names, list[Case]]:
    """Pairs the pictures by stem.

    Args:
        protocol: Says whether a list is needed and how many pictures there must be.
        folders: Where inputs, references and predictions are.
        list_file: A file of names, one per line, with or without suffix; `protocol.list` where not given.
        allow_extra: Ignore predictions that the list does not name, instead of refusing them.

    Raises:
        DataError: A missing, extra or doubled picture, or a list that is not the protocol's, by name.
        ConfigError: The protocol needs a list and none was given.
    """
    parts = {"inputs": folders.inputs, "references": folders.references, "predictions": folders.predictions}
    indexes = {part: index(folder) for part, folder in parts.items() if folder is not None}
    chosen = list_file or (Path(protocol.list) if protocol.list else None)
    if chosen is not None:
        names = read_list(chosen)
    elif protocol.names == "folder":
        names = name_set(next(iter(indexes.values())))
    else:
        raise ConfigError(
            f"protocol {protocol.name!r} needs --list FILE, the names of its pictures: different lists go by the same "
            "name, so a result without one cannot be compared"
        )
    _check_protocol(protocol, names)
    for part, found in indexes.items():
        _refuse(f"{parts[part]} lacks", [stem for stem in names.stems if stem not in found])
        extra = sorted(found.keys() - set(names.stems))
        if chosen is None:
            _refuse(f"{parts[part]} has pictures without a partner:", extra)
        elif part == "predictions" and not allow_extra:  # inputs and references may well be the whole data set
            _refuse(f"{parts[part]} has pictures that {chosen} does not name (--allow-extra ignores them):", extra)
    return names, [Case(stem, *(indexes.get(part, {}).get(stem) for part in parts)) for stem in names.stems]


def index(folder: Path) -> Index:
    """Returns the pictures of a folder by stem.

    Raises:
        NoPicturesError: The folder has none.
        DataError: It cannot be read, or two of its pictures have one stem.
    """
    try:
        files = sorted(path for path in folder.iterdir() if path.suffix.lower() in SUFFIXES and path.is_file())
    except OSError as error:
        raise DataError(f"cannot read the folder {folder}: {error.strerror}") from error
    if not files:
        raise NoPicturesError(f"{folder} has no pictures (looked for {', '.join(sorted(SUFFIXES))})")
    found: dict[str, Path] = {}
    for path in files:
        if path.stem in found:
            raise DataError(f"{folder} has two pictures named {path.stem!r}: {found[path.stem].name} and {path.name}")
        found[path.stem] = path
    return found


def read_list(path: Path) -> Names:
    """Reads a file of names."""
    data = read_list_bytes(path)
    return name_set(parse_stems(data, path), path.name, hashlib.sha256(data).hexdigest())


def name_set(stems: Iterable[str], file: str | None = None, file_sha256: str | None = None) -> Names:
    """Returns the names sorted, with the hash that is the same whatever the order or the line endings were."""
    ranked = tuple(sorted(stems))
    return Names(
        ranked,
        hashlib.sha256("".join(f"{stem}\n" for stem in ranked).encode("utf-8", "surrogateescape")).hexdigest(),
        file,
        file_sha256,
    )


def _check_protocol(protocol: Protocol, names: Names) -> None:
    where = names.file or "the folder"
    if protocol.counts and len(names.stems) not in protocol.counts:
        allowed = " or ".join(str(count) for count in protocol.counts)
        raise DataError(
            f"protocol {protocol.name!r} has {allowed} pictures, {where} has {len(names.stems)}; "
            "score another set with a protocol file of your own"
        )
    expected = protocol.list_sha256
    if expected and expected not in (names.file_sha256, names.sha256):
        raise DataError(
            f"{where} is not the list of protocol {protocol.name!r}: it hashes to {names.file_sha256}, "
            f"expected {expected}"
        )


def _refuse(complaint: str, stems: list[str]) -> None:
    if stems:
        raise DataError(f"{complaint} {few(stems)}")
