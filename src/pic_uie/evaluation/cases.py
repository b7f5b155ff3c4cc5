"""Which pictures are scored: the folders of a run paired by stem, without a gap."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pic_uie.datasets import lists
from pic_uie.datasets.folders import index
from pic_uie.datasets.names import Names, name_set, read_list
from pic_uie.datasets.stems import few
from pic_uie.errors import ConfigError, DataError
from pic_uie.evaluation.protocols import Protocol


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
            f"protocol {protocol.name!r} needs --list, the names of its pictures: several lists go by one name, "
            f"so a result without one cannot be compared. Known are {', '.join(lists.known())}; or name a file"
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
