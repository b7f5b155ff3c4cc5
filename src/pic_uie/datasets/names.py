"""Sets of pictures by their names, with a hash that is the same for every spelling of the same set."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pic_uie.datasets import lists
from pic_uie.datasets.stems import parse_stems, read_list_bytes


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

    def facts(self) -> dict[str, str | int | None]:
        """Returns what a result says of its pictures; `list` is the known list that they are, whatever the file."""
        hashes = {"sha256": self.sha256, "file": self.file, "file_sha256": self.file_sha256}
        return {"count": len(self.stems), "list": lists.recognise(self.sha256), **hashes}


def read_list(path: Path) -> Names:
    """Reads a file of names."""
    data = read_list_bytes(path)
    return name_set(parse_stems(data, path), path.name, hashlib.sha256(data).hexdigest())


def called(names: Mapping[str, Any]) -> str:
    """Returns how tables call the pictures of a result: the known list, the file, or the whole folder."""
    if names.get("list"):
        return f"list {names['list']}"
    return f"list {names['file']}" if names.get("file") else "the whole folder"


def name_set(stems: Iterable[str], file: str | None = None, file_sha256: str | None = None) -> Names:
    """Returns the names sorted, with the hash that is the same whatever the order or the line endings were."""
    ranked = tuple(sorted(stems))
    return Names(
        ranked,
        hashlib.sha256("".join(f"{stem}\n" for stem in ranked).encode("utf-8", "surrogateescape")).hexdigest(),
        file,
        file_sha256,
    )
