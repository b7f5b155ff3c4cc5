"""What the user named → files: files, folders, globs and lists."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pic_uie.errors import ConfigError
from pic_uie.images.files import read_head
from pic_uie.images.formats import HEAD_BYTES, by_suffix, sniff


@dataclass(frozen=True)
class Source:
    """A file to enhance.

    Attributes:
        path: The file.
        relative: Its place below the folder, glob or list that named it: what a mirrored tree repeats.
    """

    path: Path
    relative: Path


@dataclass
class Found:
    """What the arguments led to.

    Attributes:
        sources: The files, each once, in the order of the arguments and of their names.
        ignored: Files in folders that are no pictures, neither by content nor by name.
    """

    sources: list[Source] = field(default_factory=list)
    ignored: list[Path] = field(default_factory=list)


def find(arguments: Iterable[str], *, recursive: bool = False, outside: Path | None = None) -> Found:
    """Resolves SRC arguments.

    Args:
        arguments: Files, folders, globs, `@list.txt`.
        recursive: Whether folders are searched to the bottom.
        outside: The folder for results: nothing in it is a source, even when it lies in a source folder.

    Raises:
        ConfigError: A list cannot be read, or a name is empty.
    """
    found, seen = Found(), set[str]()
    excluded = Path(os.path.realpath(outside)) if outside is not None else None
    for source, named in _expand(arguments, recursive, excluded):
        key = location(source.path)
        if key in seen:
            continue
        seen.add(key)
        if named or _looks_like_a_picture(source.path):
            found.sources.append(source)
        else:
            found.ignored.append(source.path)
    return found


def is_folder(path: Path) -> bool:
    """Tells whether there is a folder; a path that cannot be looked at is none."""
    try:
        return path.is_dir()
    except OSError:
        return False


def is_taken(path: Path) -> bool:
    """Tells whether a result is there already; a folder of its name is none, but stands in its way."""
    return os.path.lexists(path) and not is_folder(path)


def location(path: Path) -> str:
    """Returns one spelling for all names of a directory entry: links in front of the last part are resolved."""
    return os.path.normcase(Path(os.path.realpath(path.parent), path.name))


def _expand(arguments: Iterable[str], recursive: bool, excluded: Path | None) -> Iterator[tuple[Source, bool]]:
    """Yields files, with whether the user named the very file: such a file is never passed over in silence."""
    for argument in arguments:
        if not argument:
            raise ConfigError("a source is an empty name; . stands for the folder you are in")
        path = Path(argument)
        if is_folder(path):
            for file, must_tell in _walk(path, recursive, excluded):
                yield Source(file, file.relative_to(path)), must_tell
        elif argument.startswith("@") and not os.path.lexists(path):
            yield from _expand_list(Path(argument[1:]), recursive, excluded)
        elif glob.has_magic(argument) and not os.path.lexists(path):
            yield from _expand_glob(argument, recursive, excluded)
        else:
            yield Source(path, Path(path.name)), True


def _expand_list(path: Path, recursive: bool, excluded: Path | None) -> Iterator[tuple[Source, bool]]:
    try:
        lines = path.read_text(encoding="utf-8-sig", errors="surrogateescape").splitlines()
    except OSError as error:
        raise ConfigError(f"cannot read the list {path}: {error.strerror}") from error
    for line in lines:
        entry = line.strip()
        if not entry or entry.startswith("#"):
            continue
        if is_folder(Path(entry)):
            yield from _expand([entry], recursive, excluded)
            continue
        file = Path(entry)
        stays_inside = not file.is_absolute() and ".." not in file.parts
        yield Source(file, file if stays_inside else Path(file.name)), True


def _expand_glob(pattern: str, recursive: bool, excluded: Path | None) -> Iterator[tuple[Source, bool]]:
    fixed = _fixed_part(Path(pattern))
    for match in sorted(glob.glob(pattern, recursive=True)):
        path = Path(match)
        files = [(path, False)] if not is_folder(path) else _walk(path, recursive, excluded) if recursive else []
        for file, must_tell in files:
            if not _inside(file, excluded):
                yield Source(file, file.relative_to(fixed)), must_tell


def _walk(folder: Path, recursive: bool, excluded: Path | None) -> Iterator[tuple[Path, bool]]:
    """Yields the files of a folder by name; hidden ones are passed over, links to folders are not followed (loops).

    A folder that cannot be read comes at the end, marked: reading it as a picture will fail with the reason.
    """
    unreadable: list[Path] = []
    for base, folders, files in os.walk(folder, onerror=lambda error: unreadable.append(Path(error.filename))):
        folders[:] = sorted(name for name in folders if recursive and not name.startswith("."))
        if _inside(Path(base), excluded) and not _inside(folder, excluded):
            folders.clear()
            continue
        for name in sorted(files):
            if not name.startswith("."):
                yield Path(base, name), False
    yield from ((path, True) for path in unreadable)


def _fixed_part(pattern: Path) -> Path:
    # the leading folders of a glob that hold no wildcard
    fixed = Path()
    for part in pattern.parent.parts:
        if glob.has_magic(part):
            break
        fixed /= part
    return fixed


def _inside(path: Path, folder: Path | None) -> bool:
    return folder is not None and Path(os.path.realpath(path)).is_relative_to(folder)


def _looks_like_a_picture(path: Path) -> bool:
    if by_suffix(path) is not None:
        return True
    head = read_head(path, HEAD_BYTES)
    return head is not None and sniff(head) is not None
