"""Jobs of sources or results in stores, as a stream: work starts before the listing ends.

What a plan for a disk refuses before any work starts is refused here picture by picture, since nobody can wait for the
end of a listing of millions: the second of two sources for one result fails, whatever machine it is on.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pic_uie.batch import sources, stores
from pic_uie.batch.mapping import Job, with_format
from pic_uie.batch.stores import Place
from pic_uie.batch.urls import Url, is_url
from pic_uie.errors import ConfigError, EnvironmentMissingError, PicUieError
from pic_uie.images.formats import by_suffix


@dataclass(frozen=True)
class Shard:
    """One of several equal shares of the pictures, by a hash of their names: number `index` (from 1) of `count`."""

    index: int
    count: int

    def holds(self, source: Place) -> bool:
        """Returns whether a picture belongs to this share; every machine gives the same answer."""
        digest = hashlib.blake2b(os.fsencode(str(source)), digest_size=8).digest()
        return int.from_bytes(digest, "big") % self.count == self.index - 1


def is_archive(arguments: Sequence[str], output: str | None) -> bool:
    """Returns whether any source or the output is in a store."""
    return any(is_url(text) for text in (*arguments, output or "")) or any(
        argument.startswith("@") and _lists_urls(Path(argument[1:])) for argument in arguments
    )


def stream(
    arguments: Sequence[str],
    output: str | None,
    *,
    recursive: bool = False,
    file_format: str | None = None,
    overwrite: bool = False,
    shard: Shard | None = None,
) -> Iterator[Job]:
    """Checks what was named, and returns the jobs.

    Args:
        arguments: URLs of objects and folders (whole trees), files and folders of the disk, `@list.txt` of any of them.
        output: URL or folder for the results.
        recursive: Whether folders of the disk are searched to the bottom.
        file_format: Name of the format of all results; None: each keeps its own.
        overwrite: Whether results are made again.
        shard: The share of the pictures to take; None: all.

    Raises:
        ConfigError: No place for results, or one that holds sources.
        EnvironmentMissingError: A package or the bucket for results is missing.
    """
    if output is None:
        raise ConfigError("pictures in a store need a place for their results: -o URL or -o FOLDER/")
    target: Place = Url.parse(output) if is_url(output) else Path(output)
    if isinstance(target, Url):
        check = getattr(stores.of(target), "check_output", None)
        if check is not None:
            check()
    elif target.exists() and not target.is_dir():
        raise ConfigError(f"-o {output} is a file; results of an archive go to a folder")
    origins = [Url.parse(text) if is_url(text) else text for text in arguments]
    for origin in origins:
        if isinstance(origin, Url):
            stores.of(origin)  # a missing package is reported before any work starts
            if isinstance(target, Url) and target.holds(origin):
                raise ConfigError(f"{origin} lies in {target}: a source is never overwritten; choose another -o")
    return _jobs(origins, target, recursive, file_format, overwrite, shard)


def _jobs(
    origins: Sequence[Url | str],
    target: Place,
    recursive: bool,
    file_format: str | None,
    overwrite: bool,
    shard: Shard | None,
) -> Iterator[Job]:
    seen = _Seen(in_order=len(origins) == 1 and isinstance(origins[0], Url) and stores.of(origins[0]).is_sorted)
    folders: set[Place] = set()
    for origin in origins:
        there = None
        if not overwrite and file_format is None and isinstance(target, Url):
            there = _Existing.beside(origin, target)
        for source, relative, size, certain in _sources(origin, target, recursive):
            place = _placed(target, relative)
            result = None if place is None else with_format(place, file_format)
            problem = None
            if result is None:
                problem = f"{relative!r} cannot be the name of a file on a disk; write the results to a store"
            elif not seen.first(relative, str(result)):
                problem = f"another source is written to {result} as well; enhance them in two runs to two folders"
            if shard is not None and not shard.holds(source):
                continue
            if result is not None and (folder := _folder(result)) not in folders:
                folders.add(folder)
                stores.delete_parts(folder)
            finished = False if overwrite else there.has(result) if there is not None else None
            yield Job(
                source,
                result if result is not None else target,
                file_format,
                size=size,
                finished=finished,
                certain=certain,
                problem=problem,
            )


def _sources(origin: Url | str, target: Place, recursive: bool) -> Iterator[tuple[Place, str, int | None, bool]]:
    """Yields sources with their name in a mirrored tree, their size, and whether they are pictures for sure."""
    if isinstance(origin, Url):
        yield from _objects(origin, target)
        return
    if origin.startswith("@") and not os.path.lexists(origin):
        for entry in sources.read_list(Path(origin[1:])):
            if is_url(entry):
                url = Url.parse(entry)
                yield url, url.plain_name, None, True
            else:
                yield from _files(entry, target, recursive)
        return
    yield from _files(origin, target, recursive)


def _files(origin: str, target: Place, recursive: bool) -> Iterator[tuple[Place, str, int | None, bool]]:
    found = sources.find([origin], recursive=recursive, outside=target if isinstance(target, Path) else None)
    for source in found.sources:
        yield source.path, source.relative.as_posix(), None, True


def _objects(origin: Url, target: Place) -> Iterator[tuple[Place, str, int | None, bool]]:
    store = stores.of(origin)
    outside = target if isinstance(target, Url) and origin.holds(target) else None
    if origin.is_web:
        yield origin, origin.file_name, None, True
        return
    try:
        listed = False
        for name, size in store.list(origin.name):
            listed = True
            url = Url(origin.root, name)
            relative = name[len(origin.name) + 1 :] if origin.name else name
            if name.endswith("/") or _is_passed_over(relative) or (outside is not None and outside.holds(url)):
                continue
            yield url, relative, size, by_suffix(url.file_name) is not None
        if not listed and origin.name and (size_of_one := store.stat(origin.name)) is not None:
            yield origin, origin.file_name, size_of_one, True
    except FileNotFoundError as error:
        raise ConfigError(f"there is no {origin}") from error
    except PermissionError as error:
        raise EnvironmentMissingError(f"no permission to list {origin}") from error
    except OSError as error:
        raise EnvironmentMissingError(
            f"listing {origin} failed: {error.strerror or error}; run the same command again to continue"
        ) from error


def _is_passed_over(relative: str) -> bool:
    parts = relative.split("/")
    return any(part.startswith(".") and part not in (".", "..") for part in parts) or relative.lower().endswith(".thm")


def _placed(target: Place, relative: str) -> Place | None:
    """Returns where a result goes; None where a disk cannot have such a name."""
    if isinstance(target, Url):
        return target.child(relative)
    parts = relative.split("/")
    if any(part in ("", ".", "..") or "\0" in part or os.sep in part for part in parts):
        return None
    return target / PurePosixPath(relative)


def _folder(place: Place) -> Place:
    return place.parent if isinstance(place, Path) else place.folder


class _Seen:
    """Finds the first of several equal results: `a.heic` and `a.jpg` both become `a.jpg`.

    Names in order need next to no memory: what can still collide begins like the name at hand, up to its suffix. For
    others eight bytes of each name are kept.
    """

    def __init__(self, *, in_order: bool) -> None:
        self._hashes: set[int] | None = None if in_order else set()
        self._recent: dict[str, str] = {}  # result -> the name of its source without suffix

    def first(self, relative: str, result: str) -> bool:
        if self._hashes is not None:
            key = int.from_bytes(hashlib.blake2b(os.fsencode(result), digest_size=8).digest(), "big")
            known = key in self._hashes
            self._hashes.add(key)
            return not known
        self._recent = {name: stem for name, stem in self._recent.items() if relative.startswith(stem)}
        if result in self._recent:
            return False
        self._recent[result] = relative.removesuffix(PurePosixPath(relative).suffix)
        return True


class _Existing:
    """Looks up results in a listing that runs beside the one of the sources: both are in the order of names.

    Memory for two pages, no request per picture. Where a listing turns out to be in another order, nothing is said, and
    the worker asks for every single one.
    """

    def __init__(self, names: Iterator[tuple[str, int]], prefix: str) -> None:
        self._names, self._skip = names, len(prefix) + 1 if prefix else 0
        self._current: tuple[bytes, int] | None = None
        self._last_asked = b""
        self._usable = True
        self._advance()

    @classmethod
    def beside(cls, origin: Url | str, target: Url) -> _Existing | None:
        """Returns the look-up for sources and results in stores that list by name; None for others."""
        if not isinstance(origin, Url) or origin.is_web:
            return None
        store = stores.of(target)
        if not (store.is_sorted and stores.of(origin).is_sorted):
            return None
        return cls(store.list(target.name), target.name)

    def has(self, result: Place | None) -> bool | None:
        """Returns whether a result is there and not empty; None: unknown."""
        if not isinstance(result, Url):
            return None
        name = result.name[self._skip :].encode()
        if name < self._last_asked:
            self._usable = False
        self._last_asked = name
        while self._usable and self._current is not None and self._current[0] < name:
            self._advance()
        if not self._usable:
            return None
        return self._current is not None and self._current[0] == name and self._current[1] > 0

    def _advance(self) -> None:
        before = self._current
        try:
            found = next(self._names, None)
        except (OSError, PicUieError):  # who may write need not be allowed to list
            self._usable = False
            return
        self._current = None if found is None else (found[0][self._skip :].encode(), found[1])
        if before is not None and self._current is not None and self._current[0] < before[0]:
            self._usable = False


def _lists_urls(path: Path) -> bool:
    """Returns whether the first entry of a list is a URL; a pipe, which can be read only once, is not read."""
    return path.is_file() and is_url(next(sources.read_list(path), ""))
