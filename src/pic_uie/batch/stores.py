"""Where pictures are: on a disk, or in a store that fsspec knows (`s3://`, `gs://`, `az://`, `sftp://`, `https://`).

A place is a `Path` or a `Url`; both answer to list, stat, read, put and delete parts. What is put appears whole or not
at all. Credentials come from the environment, as for every tool for such a store; no message shows them.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from pic_uie.batch import results
from pic_uie.batch.results import State
from pic_uie.batch.urls import Url
from pic_uie.errors import ImageError
from pic_uie.files import DEFAULT_MODE, remove_stale_parts
from pic_uie.images.files import read_bytes, read_head, size_limit

Place = Path | Url

interrupted = threading.Event()  # ends the pauses between attempts


class Store(Protocol):
    """What is asked of a store; names are those of its objects, without scheme and host."""

    def list(self, prefix: str) -> Iterator[tuple[str, int]]:
        """Yields name and size of every object below a prefix, as the pages come."""

    def stat(self, name: str) -> int | None:
        """Returns the size of an object; None if there is none."""

    def read(self, name: str, size: int | None) -> bytes:
        """Returns an object, of which `size` is known from a listing or not."""

    def head(self, name: str, size: int) -> bytes:
        """Returns the first bytes of an object."""

    def put(self, name: str, data: bytes) -> None:
        """Makes an object appear in one step."""

    def delete_parts(self, folder: str) -> int:
        """Removes what killed runs left in a folder; returns how many."""

    @property
    def is_sorted(self) -> bool:
        """Whether `list` goes by the bytes of the names."""


def read(place: Place, max_pixels: int, size: int | None = None) -> bytes:
    """Returns the content of a picture's file.

    Raises:
        ImageError: Missing, unreadable, or larger than any picture of `max_pixels` is.
    """
    if isinstance(place, Path):
        return read_bytes(place, max_pixels)
    store = of(place)
    if size is None:
        size = store.stat(place.name)
    if size is not None and size > size_limit(max_pixels):
        raise ImageError(
            f"{size / 1e6:.0f} MB, more than any picture of {max_pixels / 1e6:.0f} megapixels needs; "
            "if you trust the object, raise --max-pixels"
        )
    return store.read(place.name, size)


def head(place: Place, size: int) -> bytes | None:
    """Returns the first bytes of a file, or None if they cannot be had."""
    if isinstance(place, Path):
        return read_head(place, size)
    try:
        return of(place).head(place.name, size)
    except ImageError:
        return None


def put(place: Place, data: bytes, overwrite: bool, mode: int = DEFAULT_MODE) -> None:
    """Writes a result in one step, and its folder if need be.

    Raises:
        UnwritableError: No result can be written there: no space, no bucket, no permission.
        ImageError: This one cannot be written.
    """
    if isinstance(place, Path):
        results.write(place, data, overwrite, mode)
    else:
        of(place).put(place.name, data)


def state(place: Place) -> State:
    """Looks at the place of a result; in a store, where objects appear whole, only an empty one is unfinished."""
    if isinstance(place, Path):
        return results.state(place)
    size = of(place).stat(place.name)
    return "absent" if size is None else "whole" if size else "unfinished"


def exists(place: Place) -> bool:
    """Returns whether there is anything at a place."""
    return os.path.lexists(place) if isinstance(place, Path) else of(place).stat(place.name) is not None


def delete_parts(folder: Place) -> int:
    """Removes what killed runs left in a folder; returns how many."""
    return remove_stale_parts(folder) if isinstance(folder, Path) else of(folder).delete_parts(folder.name)


_opening = threading.Lock()


def of(url: Url) -> Store:
    """Returns the store of a URL.

    Raises:
        EnvironmentMissingError: The package for such stores is missing.
        ConfigError: There are no such stores.
    """
    with _opening:
        return _opened(url.root)


@functools.cache
def _opened(root: str) -> Store:
    from pic_uie.batch.opening import open_store

    return open_store(root)
