"""Lists of pictures by stem, as training and evaluation read them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from pic_uie.datasets.folders import is_picture_name
from pic_uie.errors import DataError
from pic_uie.files import read_at_most

_COMMENT = re.compile(r"(^|\s)#.*")
_LIST_BYTES = 64 << 20
SHOWN = 10  # names in one message


def read_stems(path: Path) -> tuple[str, ...]:
    """Reads one name per line, with or without folder and suffix, in the order of the file.

    Empty lines and comments do not count; a comment is # at the start of a line or behind a space, unless it is a
    part of the name of a file (`reef #1.png`).

    Raises:
        DataError: The file cannot be read, is no text, names nothing, or names a picture twice.
    """
    return parse_stems(read_list_bytes(path), path)


def read_list_bytes(path: Path) -> bytes:
    """Reads a list as it is.

    Raises:
        DataError: The file cannot be read.
    """
    try:
        return read_at_most(path, _LIST_BYTES)
    except OSError as error:
        raise DataError(f"cannot read the list {path}: {error.strerror}") from error


def parse_stems(data: bytes, path: Path) -> tuple[str, ...]:
    """Returns the names in what `read_list_bytes` gave, as `read_stems` does; `path` is for messages."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not a text file of names: {error}") from error
    names = (_name(line.strip()) for line in text.splitlines())
    stems = tuple(_stem(name) for name in names if name)
    if not stems:
        raise DataError(f"the list {path} names no picture")
    repeated = sorted(stem for stem, times in Counter(stems).items() if times > 1)
    if repeated:
        raise DataError(f"the list {path} names twice: {few(repeated)}")
    return stems


def few(names: Sequence[str], separator: str = ", ") -> str:
    """Returns the first names for a message, and how many more there are."""
    more = [f"and {len(names) - SHOWN} more"] if len(names) > SHOWN else []
    return separator.join([*names[:SHOWN], *more]) or "none"


def _name(line: str) -> str:
    before = _COMMENT.sub("", line).strip()
    return line if before and is_picture_name(line) and not is_picture_name(before) else before


def _stem(name: str) -> str:
    name = name.replace("\\", "/").rsplit("/", 1)[-1]
    return Path(name).stem if is_picture_name(name) else name
