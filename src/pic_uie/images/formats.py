"""The formats we read and write, told by their first bytes; everything else is named and refused."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath

HEAD_BYTES = 64  # what `sniff` wants to see


@dataclass(frozen=True)
class Format:
    """One file format and what it can hold."""

    name: str
    suffixes: tuple[str, ...]  # the first one is written
    alpha: bool = True
    deep: bool = False  # 16 bits per channel
    cmyk: bool = False

    @property
    def title(self) -> str:
        """The name as people write it."""
        return {"webp": "WebP"}.get(self.name, self.name.upper())


JPEG = Format("jpeg", (".jpg", ".jpeg", ".jpe", ".jfif"), alpha=False, cmyk=True)
PNG = Format("png", (".png",), deep=True)
TIFF = Format("tiff", (".tif", ".tiff"), deep=True, cmyk=True)
WEBP = Format("webp", (".webp",))
BMP = Format("bmp", (".bmp", ".dib"))
AVIF = Format("avif", (".avif",), deep=True)
HEIC = Format("heic", (".heic", ".heif", ".hif"), deep=True)

FORMATS = {f.name: f for f in (JPEG, PNG, TIFF, WEBP, BMP, AVIF, HEIC)}
SUFFIXES = {suffix: f for f in FORMATS.values() for suffix in f.suffixes}

_AVIF_BRANDS = {b"avif", b"avis"}
_HEIC_BRANDS = {b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"}
_RAW = "a camera raw file ({}; develop it to TIFF or JPEG first)"
_STRANGERS = (  # first bytes -> what people call it
    (b"GIF8", "a GIF picture"),
    (b"%PDF", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\xff\x0a", "a JPEG XL picture"),
    (b"\x00\x00\x00\x0cJXL ", "a JPEG XL picture"),
    (b"\x00\x00\x00\x0cjP  ", "a JPEG 2000 picture"),
    (b"8BPS", "a Photoshop document"),
    (b"v/1\x01", "an OpenEXR picture"),
    (b"FUJIFILMCCD-RAW", _RAW.format("Fujifilm RAF")),
    (b"IIRO", _RAW.format("Olympus ORF")),
    (b"IIU\x00", _RAW.format("Panasonic RW2")),
    (b"\x1aE\xdf\xa3", "a Matroska video"),
    (b"<svg", "an SVG drawing"),
    (b"<?xml", "an XML text"),
)


def sniff(head: bytes) -> Format | None:
    """Tells the format from the first `HEAD_BYTES` of a file, or None if it is not one of ours."""
    if head.startswith(b"\xff\xd8\xff"):
        return JPEG
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return PNG
    if head[:4] in (b"II*\x00", b"MM\x00*", b"II+\x00", b"MM\x00+") and head[8:10] != b"CR":  # CR: a Canon raw file
        return TIFF
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return WEBP
    if head[:2] == b"BM" and head[14:18] in _BMP_HEADER_SIZES:
        return BMP
    if head[4:8] == b"ftyp":
        return _sniff_iso_media(head)
    return None


def describe(head: bytes) -> str:
    """Says in words what a file is that `sniff` did not know."""
    if not head:
        return "an empty file"
    for magic, words in _STRANGERS:
        if head.startswith(magic):
            return words
    if head[4:8] == b"ftyp":
        return _RAW.format("Canon CR3") if head[8:11] == b"crx" else "a video"
    if head[:4] in (b"II*\x00", b"MM\x00*"):
        return _RAW.format("Canon CR2")
    if not any(byte < 9 or 13 < byte < 32 for byte in head):
        return "a text file"
    return "a file of an unknown kind"


def by_suffix(path: str | PurePath) -> Format | None:
    """Returns the format that a name's suffix stands for."""
    return SUFFIXES.get(PurePath(path).suffix.lower())


def titles(formats: Iterable[Format] = FORMATS.values()) -> str:
    """Returns the names of formats for a message."""
    return ", ".join(f.title for f in formats)


def _sniff_iso_media(head: bytes) -> Format | None:
    brands = {head[8:12]} | {head[i : i + 4] for i in range(16, min(int.from_bytes(head[:4], "big"), len(head)), 4)}
    if brands & _AVIF_BRANDS:
        return AVIF
    return HEIC if head[8:12] in _HEIC_BRANDS else None


_BMP_HEADER_SIZES = {size.to_bytes(4, "little") for size in (12, 40, 52, 56, 64, 108, 124)}
