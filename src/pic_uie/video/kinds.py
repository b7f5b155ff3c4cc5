"""Which files are videos, by their first bytes; what their container is; whether the end of a file is missing."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import PurePath

from pic_uie.images.files import read_head
from pic_uie.video import boxes

HEAD_BYTES = 600  # three packets of a transport stream
_PICTURE_BRANDS = frozenset({b"heic", b"heix", b"hevc", b"hevx", b"heim", b"heis", b"mif1", b"msf1", b"avif", b"avis"})
_PICTURE_BRANDS |= {b"jpx ", b"jp2 ", b"crx "}
_QUICKTIME = frozenset({b"moov", b"mdat", b"wide", b"free", b"skip", b"pnot"})
_PACKET, _PACKET_M2TS, _SYNC = 188, 192, 0x47


@dataclass(frozen=True)
class Kind:
    """A container.

    Attributes:
        name: What FFmpeg calls the format to write.
        title: For people.
        suffixes: Of its files; results have the source's own.
        written: Name of the container of results.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    written: str | None = None


MP4 = Kind("mp4", "MP4", (".mp4", ".m4v", ".360", ".lrv", ".insv"))
MOV = Kind("mov", "QuickTime", (".mov", ".qt"))
MATROSKA = Kind("matroska", "Matroska", (".mkv",))
WEBM = Kind("webm", "WebM", (".webm",), "matroska")  # which holds VP8, VP9 and AV1 alone
AVI = Kind("avi", "AVI", (".avi",))
TS = Kind("mpegts", "MPEG-TS", (".ts", ".mts", ".m2ts", ".m2t"))
KINDS = (MP4, MOV, MATROSKA, WEBM, AVI, TS)
_SUFFIXES = {suffix: kind for kind in KINDS for suffix in kind.suffixes}


def sniff(head: bytes) -> Kind | None:
    """Returns the container, from the first `HEAD_BYTES` of a file; None: not a video that we know."""
    if head[4:8] == b"ftyp":
        brand = head[8:12]
        return None if brand in _PICTURE_BRANDS else MOV if brand == b"qt  " else MP4
    if head[4:8] in _QUICKTIME:
        return MOV
    if head[:4] == b"\x1aE\xdf\xa3":
        return WEBM if b"webm" in head[:64] else MATROSKA
    if head[:4] == b"RIFF" and head[8:12] == b"AVI ":
        return AVI
    for size, at in ((_PACKET, 0), (_PACKET_M2TS, 4)):
        places = range(at, min(len(head), 3 * size), size)
        if len(head) > size + at and all(head[place] == _SYNC for place in places):
            return TS
    return None


def sniff_file(path: str | PurePath) -> Kind | None:
    """Returns the container of a file; None if it is not a video or cannot be read."""
    head = read_head(str(path), HEAD_BYTES)
    return sniff(head) if head else None


def by_suffix(path: str | PurePath) -> Kind | None:
    """Returns the container that a name's suffix stands for."""
    return _SUFFIXES.get(PurePath(path).suffix.lower())


def is_video(path: str | PurePath) -> bool:
    """Returns whether a file is a video: by its content, or by its name where its content says nothing."""
    from pic_uie.images import formats

    head = read_head(str(path), HEAD_BYTES)
    if head is None:
        return by_suffix(path) is not None
    if sniff(head) is not None:
        return True
    return by_suffix(path) is not None and formats.sniff(head) is None


def result_of(kind: Kind) -> Kind:
    """Returns the container of results."""
    return next(known for known in KINDS if known.name == (kind.written or kind.name))


def belies(path: str | PurePath, kind: Kind) -> bool:
    """Returns whether a name's suffix stands for another container, or for a picture."""
    from pic_uie.images import formats

    named = by_suffix(path)
    return named != kind if named is not None else formats.by_suffix(path) is not None


def missing_bytes(path: str | PurePath, kind: Kind) -> int:
    """Returns how many bytes that a header or a packet of a stream promises are not there; 0 if nothing says so.

    Of MP4 and QuickTime files, the sample tables say more.
    """
    size = os.stat(path).st_size
    with open(path, "rb") as file:
        head = file.read(4096)
    if kind is AVI:
        return max(0, int.from_bytes(head[4:8], "little") + 8 - size)
    if kind is TS:
        packet = _PACKET if head[0] == _SYNC else _PACKET_M2TS
        return -size % packet
    if kind in (MATROSKA, WEBM):
        length, at = _element_size(head, 4)
        at += length
        if head[at : at + 4] == b"\x18S\x80g":
            length, content = _element_size(head, at + 4)
            return 0 if length < 0 else max(0, content + length - size)
    return 0


def is_whole(path: str | PurePath, kind: Kind) -> bool:
    """Returns whether a result is all there, as far as its headers say."""
    return boxes.is_whole(path) if kind in (MP4, MOV) else missing_bytes(path, kind) == 0


def _element_size(data: bytes, at: int) -> tuple[int, int]:
    """Returns an EBML size (-1: unknown) and where the content begins."""
    first = data[at] if at < len(data) else 0
    if first == 0:
        return -1, at + 1
    width = 9 - first.bit_length()
    value = int.from_bytes(data[at : at + width], "big") & ((1 << 7 * width) - 1)
    return (-1 if value == (1 << 7 * width) - 1 else value), at + width
