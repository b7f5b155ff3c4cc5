"""The test lists that come with the package: several go by the name UIEB-90, so each has a name of its own here."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path

from pic_uie.errors import ConfigError, did_you_mean
from pic_uie.typed import from_mapping
from pic_uie.typed_yaml import read_mapping

FOLDER = Path(__file__).with_name("lists")


@dataclass(frozen=True)
class KnownList:
    """A list of the field.

    Attributes:
        sha256: Of its file; the names are sorted there, so it is also the hash of the set of names.
        used_by: Who reports on it.
        held_out: Whether the weights in the package have seen none of it.
    """

    sha256: str = ""
    used_by: str = ""
    held_out: bool = False


@functools.cache
def known() -> dict[str, KnownList]:
    """Returns the lists by name."""
    return {name: from_mapping(KnownList, facts) for name, facts in read_mapping(FOLDER / "lists.yaml").items()}


def path(name: str) -> Path:
    """Returns the file of a known list."""
    return FOLDER / f"{name}.txt"


def find(name_or_file: str) -> Path:
    """Returns the file of a list: a known name, or a file of one's own.

    Raises:
        ConfigError: Neither.
    """
    if name_or_file in known():
        return path(name_or_file)
    file = Path(name_or_file)
    if not file.suffix and not file.exists():
        raise ConfigError(
            f"no list {name_or_file!r}: {did_you_mean(name_or_file, known())} (or the path of a list file)"
        )
    return file


def recognise(sha256: str) -> str | None:
    """Returns the name of the known list whose set of names has this hash, however its file was spelled."""
    return next((name for name, facts in known().items() if facts.sha256 == sha256), None)
