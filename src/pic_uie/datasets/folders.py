"""Folders of pictures: the one reader for training, evaluation, depth and data sets."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pic_uie.errors import DataError
from pic_uie.images import formats

SUFFIXES = frozenset(formats.SUFFIXES)  # a picture is what `images` can read

Index = Mapping[str, Path]  # stem -> file


class NoPicturesError(DataError):
    """A folder has no pictures at all."""


def is_picture_name(name: str | Path) -> bool:
    """Returns whether a name has the suffix of a picture."""
    return Path(name).suffix.lower() in SUFFIXES


def pictures_in(folder: Path) -> list[Path]:
    """Returns the pictures of a folder in the order of their names; hidden files are ignored.

    Raises:
        DataError: It cannot be read.
    """
    try:
        return sorted(path for path in folder.iterdir() if _is_picture(path))
    except OSError as error:
        raise DataError(f"cannot read the folder {folder}: {error.strerror}") from error


def pictures_below(folder: Path) -> list[Path]:
    """Returns the pictures of a folder and of all folders in it, in the order of their names."""
    return sorted(path for path in folder.rglob("*") if _is_picture(path))


def index(folder: Path) -> Index:
    """Returns the pictures of a folder by stem.

    Raises:
        NoPicturesError: The folder has none.
        DataError: It cannot be read, or two of its pictures have one stem.
    """
    files = pictures_in(folder)
    if not files:
        raise NoPicturesError(f"{folder} has no pictures ({formats.titles(formats.readable())})")
    found: dict[str, Path] = {}
    for path in files:
        if path.stem in found:
            raise DataError(f"{folder} has two pictures named {path.stem!r}: {found[path.stem].name} and {path.name}")
        found[path.stem] = path
    return found


def _is_picture(path: Path) -> bool:
    return is_picture_name(path) and not path.name.startswith(".") and path.is_file()
