"""The formats, by name; what a file is, detected from its first bytes; whatever is none of them is named."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePath

from pic_uie.images import bmp, gif, heif, jp2, jpeg, jxl, png, raw, tiff, webp
from pic_uie.images.files import read_head
from pic_uie.images.interface import Format

__all__ = ["FORMATS", "HEAD_BYTES", "READABLE", "Format", "by_suffix", "describe", "result_of", "sniff"]
__all__ += ["readable", "sniff_file", "titles", "writable"]

HEAD_BYTES = 64  # what `sniff` wants to see at least

# A new format is a module and a word here. Raw files come first: many of them are TIFF files as well.
READABLE = {
    module.name: module
    for module in (
        *(raw.FORMAT, jpeg.FORMAT, png.FORMAT, tiff.FORMAT, webp.FORMAT, bmp.FORMAT),
        *(heif.AVIF, heif.HEIC, gif.FORMAT, jp2.FORMAT, jxl.FORMAT),
    )
}
FORMATS = {name: kind for name, kind in READABLE.items() if kind.save is not None}
SUFFIXES = {suffix: kind for kind in READABLE.values() for suffix in kind.suffixes}

_STRANGERS = (  # first bytes -> what people call it
    (b"%PDF", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"8BPS", "a Photoshop document"),
    (b"v/1\x01", "an OpenEXR picture"),
    (b"\x1aE\xdf\xa3", "a Matroska video"),
    (b"<svg", "an SVG drawing"),
    (b"<?xml", "an XML text"),
)


def sniff(data: bytes) -> Format | None:
    """Returns the format of a file, from all of it or its first `HEAD_BYTES`; None if it is not one of ours."""
    return next((kind for kind in READABLE.values() if kind.sniff(data)), None)


def sniff_file(path: str | PurePath) -> Format | None:
    """Returns the format of a file, from its first bytes; None if it is not one of ours or cannot be read."""
    head = read_head(str(path), HEAD_BYTES)
    return sniff(head) if head else None


def describe(head: bytes) -> str:
    """Says in words what a file is that `sniff` did not know."""
    if not head:
        return "an empty file"
    for magic, words in _STRANGERS:
        if head.startswith(magic):
            return words
    if head[4:8] == b"ftyp":
        return "a video"
    if not any(byte < 9 or 13 < byte < 32 for byte in head):
        return "a text file"
    return "a file of an unknown kind"


def by_suffix(path: str | PurePath) -> Format | None:
    """Returns the format that a name's suffix stands for, whether it can be written or only read."""
    return SUFFIXES.get(PurePath(path).suffix.lower())


def writable(path: str | PurePath) -> bool:
    """Returns whether a name's suffix stands for a format that can be written."""
    kind = by_suffix(path)
    return kind is not None and kind.save is not None


def result_of(kind: Format) -> Format:
    """Returns the format of results: the source's own, or another one where that is only read."""
    return kind if kind.save is not None else READABLE[kind.result]


def readable() -> list[Format]:
    """Returns all formats, those that can be written first."""
    return sorted(READABLE.values(), key=lambda kind: (kind.save is None, kind.name == "raw"))


def titles(formats: Iterable[Format] | None = None) -> str:
    """Returns the names of formats for a message: by default of those that can be written."""
    return ", ".join(kind.title for kind in (FORMATS.values() if formats is None else formats))
