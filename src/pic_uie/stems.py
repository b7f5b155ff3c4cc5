"""Lists of pictures by stem, as training and evaluation read them."""

from __future__ import annotations

import re
from pathlib import Path

from pic_uie.errors import DataError

SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff", ".avif", ".heic", ".heif"})
_COMMENT = re.compile(r"(^|\s)#.*")
SHOWN = 10  # names in one message


def read_stems(path: Path) -> tuple[str, ...]:
    """Reads one name a line, with or without folder and suffix, in the order of the file.

    Empty lines and comments do not count; a comment is # at the start of a line or behind a space.

    Raises:
        DataError: The file cannot be read, is no text, names nothing, or names a picture twice.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise DataError(f"cannot read the list {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not a text file of names: {error}") from error
    names = (_COMMENT.sub("", line).strip() for line in text.splitlines())
    stems = tuple(_stem(name) for name in names if name)
    if not stems:
        raise DataError(f"the list {path} names no picture")
    repeated = sorted({stem for stem in stems if stems.count(stem) > 1})
    if repeated:
        raise DataError(f"the list {path} names twice: {few(repeated)}")
    return stems


def few(stems: tuple[str, ...] | list[str]) -> str:
    """Returns the first names for a message, and how many more there are."""
    more = f" and {len(stems) - SHOWN} more" if len(stems) > SHOWN else ""
    return ", ".join(stems[:SHOWN]) + more if stems else "none"


def _stem(name: str) -> str:
    name = name.replace("\\", "/").rsplit("/", 1)[-1]
    return Path(name).stem if Path(name).suffix.lower() in SUFFIXES else name
