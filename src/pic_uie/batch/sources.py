"""What the user named → files: files, folders, globs and lists."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pic_uie.errors import ConfigError
from pic_uie.images.files import read_head
from pic_uie.images.formats import by_suffix, sniff
from pic_uie.video import kinds

_BY_PRODUCTS = (".thm", ".lrv")  # small pictures and small copies that cameras put beside their videos
_LIST_LINE_BYTES = 32 << 10  # twice what any system takes for a path, in four-byte characters
_LIST_LINES = 20_000_000


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
        ignored: Files in folders that are no pictures or videos, by content or name, and by-products of cameras.
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
        if named or _looks_like_a_source(source.path):
            found.sources.append(source)
        else:
            found.ignored.append(source.path)
    sidecars = {file for source in found.sources for file in sidecar_names(source.path)}
    found.ignored = [path for path in found.ignored if path not in sidecars]
    return found


def is_folder(path: Path) -> bool:
    """Returns whether there is a folder; a path that cannot be looked at is none."""
    try:
        return path.is_dir()
    except OSError:
        return False


def sidecar_names(picture: Path) -> tuple[Path, ...]:
    """Returns the names that an XMP sidecar of a picture may have: reef.xmp (Lightroom), reef.jpg.xmp (darktable)."""
    return tuple(picture.with_name(base + end) for base in (picture.stem, picture.name) for end in (".xmp", ".XMP"))


def location(path: Path) -> str:
    """Returns one spelling for all names of a directory entry: links in front of the last part are resolved."""
    return os.path.normcase(Path(os.path.realpath(path.parent), path.name))


def _expand(arguments: Iterable[str], recursive: bool, excluded: Path | None) -> Iterator[tuple[Source, bool]]:
    """Yields files, with whether the user named the very file: such a file is never passed over in silence."""
    for argument in arguments:
        if not argument:
            raise ConfigError("a source is an empty name; for the current folder write .")
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
    for entry in read_list(path):
        if is_folder(Path(entry)):
            yield from _expand([entry], recursive, excluded)
            continue
        file = Path(entry)
        stays_inside = not file.is_absolute() and ".." not in file.parts
        yield Source(file, file if stays_inside else Path(file.name)), True


def read_list(path: Path) -> Iterator[str]:
    """Yields the entries of a list, one per line; empty lines and those that start with # are ignored.

    Raises:
        ConfigError: The list cannot be read, or is no list: a line is longer than any path, or there is no end.
    """
    try:
        with open(path, "rb") as file:
            for number in range(_LIST_LINES + 1):
                line = file.readline(_LIST_LINE_BYTES + 1)
                if not line:
                    return
                if len(line) > _LIST_LINE_BYTES or number == _LIST_LINES:
                    raise ConfigError(
                        f"{path} is not a list of names: line {number + 1} has more than {_LIST_LINE_BYTES} bytes"
                        if number < _LIST_LINES
                        else f"{path} has more than {_LIST_LINES} lines; split it"
                    )
                encoding = "utf-8-sig" if number == 0 else "utf-8"
                entry = line.decode(encoding, "surrogateescape").strip()
                if entry and not entry.startswith("#"):
                    yield entry
    except OSError as error:
        raise ConfigError(f"cannot read the list {path}: {error.strerror}") from error


def _expand_glob(pattern: str, recursive: bool, excluded: Path | None) -> Iterator[tuple[Source, bool]]:
    fixed = _fixed_part(Path(pattern))
    if ".." in Path(pattern).relative_to(fixed).parts:
        raise ConfigError(f"{pattern!r} has .. after a wildcard, which leads out of the tree; leave it out")
    try:
        matches = sorted(glob.glob(pattern, recursive=True))
    except RecursionError as error:
        raise ConfigError(f"{pattern!r} leads too deep; name the folder, with --recursive") from error
    for match in matches:
        path = Path(match)
        files = [(path, False)] if not is_folder(path) else _walk(path, recursive, excluded) if recursive else []
        for file, must_tell in files:
            if not _inside(file, excluded):
                yield Source(file, file.relative_to(fixed)), must_tell


def _walk(folder: Path, recursive: bool, excluded: Path | None) -> Iterator[tuple[Path, bool]]:
    """Yields the files of a folder by name; hidden ones are passed over, links to folders are not followed (loops).

    A folder that cannot be read comes at the end, marked: reading it as a picture will fail with the reason. The depth
    is limited by the system alone (`os.walk` ends at a thousand levels).
    """
    unreadable: list[Path] = []
    # links are not followed, so that what is true of the first folder's name is true of all names below it; asking the
    # system for each folder takes time with the cube of the depth
    real = os.path.realpath(folder)
    passed_over = None if excluded is None or _inside(folder, excluded) else str(excluded)
    todo = [(folder, real)]
    while todo:
        base, real = todo.pop()
        if real == passed_over:
            continue
        try:
            with os.scandir(base) as entries:
                found = sorted((entry.name, _kind(entry)) for entry in entries)
        except OSError:
            unreadable.append(base)
            continue
        visible = [(name, kind) for name, kind in found if not name.startswith(".")]
        if recursive:
            folders = [name for name, kind in visible if kind == "folder"]
            todo += [(base / name, os.path.join(real, name)) for name in reversed(folders)]
        yield from ((base / name, False) for name, kind in visible if kind == "file")
    yield from ((path, True) for path in unreadable)


def _kind(entry: os.DirEntry[str]) -> str:
    """Returns "folder", "link" (to a folder) or "file"; everything else is tried as a file, and reported."""
    try:
        if not entry.is_dir():
            return "file"
        return "link" if entry.is_symlink() else "folder"
    except OSError:
        return "file"


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


def _looks_like_a_source(path: Path) -> bool:
    if path.suffix.lower() in _BY_PRODUCTS:
        return False
    if by_suffix(path) is not None or kinds.by_suffix(path) is not None:
        return True
    head = read_head(path, kinds.HEAD_BYTES)
    return head is not None and (sniff(head) is not None or kinds.sniff(head) is not None)
