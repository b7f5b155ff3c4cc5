"""JPEG 2000: read with libvips if it can, else with Pillow; results are PNG."""

from __future__ import annotations

import io
import struct
from dataclasses import replace
from typing import Any

import numpy as np

from pic_uie.errors import ImageError
from pic_uie.images import boxes, vips, xmp
from pic_uie.images import exif as exif_tree
from pic_uie.images.ifd import IfdError
from pic_uie.images.interface import Format, Opened
from pic_uie.images.picture import Metadata, Space, Text

_CODESTREAM, _BOXED = b"\xff\x4f\xff\x51", b"\0\0\0\x0cjP  \r\n\x87\n"
_MODES: dict[str, Space] = {"L": "grey", "LA": "grey", "I;16": "grey", "RGB": "rgb", "RGBA": "rgb", "CMYK": "cmyk"}
_XMP = bytes.fromhex("be7acfcb97a942e89c71999491e3afac")
_IPTC = bytes.fromhex("33c7a4d2b81d4723a0baf1a3e097ad38")
_EXIF = b"JpgTiffExif->JP2"
_COMMENT, _END_OF_HEADER, _LATIN = 0x64, (0x90, 0xD9), b"\0\1"  # markers: start of a tile, end of the codestream
_MAX_COMMENTS = 64
_SIZE_FIELDS = ">IIII"  # of the SIZ segment, behind marker, length and capabilities: right, bottom, left, top


def sniff(head: bytes) -> bool:
    """Recognises a JPEG 2000 file or codestream by its first bytes."""
    return head.startswith((_CODESTREAM, _BOXED))


def open_jp2(data: bytes, salvage: bool) -> Opened:
    """Reads size and depth from the codestream's first segment."""
    at = data.find(_CODESTREAM)
    if at < 0 or at + 42 > len(data):
        raise ImageError("damaged JPEG 2000: it has no codestream")
    right, bottom, left, top = struct.unpack_from(_SIZE_FIELDS, data, at + 8)
    depth = (data[at + 42] & 0x7F) + 1 if at + 42 < len(data) else 8
    if vips.has_operation("jp2kload"):
        image = vips.open_lazily("jp2kload", data, title="JPEG 2000")
        space: Space = "grey" if image.bands < 3 else "rgb"
        header = Opened(image.width, image.height, lambda: vips.samples(image, "JPEG 2000", "jp2kload"), space)
    else:
        mode = _header(data, (right - left, bottom - top))
        header = Opened(right - left, bottom - top, lambda: _samples(data), _MODES[mode])
        if depth > 8 and mode != "I;16":
            words = f"its {depth} bits per channel were read as 8 (for more, a libvips with jp2kload is needed)"
            header = replace(header, notes=(words,))
    metadata, left_out = _metadata(data)
    texts, others = _comments(data, at)
    metadata = replace(metadata, texts=texts)
    left_out += ("comment that is no text",) if others else ()
    return replace(header, profile=_profile(data), metadata=metadata, left_out=left_out)


def _header(data: bytes, size: tuple[int, int]) -> str:
    with _opened(data) as image:
        mode = str(image.mode)
        if image.size != size:
            raise ImageError("damaged JPEG 2000: contradictory sizes")
    if mode not in _MODES:
        raise ImageError(f"a JPEG 2000 picture of a kind that cannot be read here ({mode}): convert it to PNG first")
    return mode


def _samples(data: bytes) -> Any:
    with _opened(data) as image:
        try:
            return np.array(image)
        except (OSError, ValueError, OverflowError, MemoryError, struct.error) as error:
            raise ImageError(vips.worded("damaged JPEG 2000", str(error))) from error


def _opened(data: bytes) -> Any:
    from PIL import Jpeg2KImagePlugin  # not Image.open: its own size limit is lower than ours

    try:
        return Jpeg2KImagePlugin.Jpeg2KImageFile(io.BytesIO(data))
    except (OSError, ValueError, SyntaxError, EOFError, OverflowError, struct.error, IndexError, TypeError) as error:
        raise ImageError(vips.worded("damaged JPEG 2000", str(error))) from error


def _metadata(data: bytes) -> tuple[Metadata, tuple[str, ...]]:
    """Returns what the boxes of a JP2 file say, and what of it is not kept."""
    exif, packet, iptc, left_out = None, None, None, list[str]()
    for box in boxes.boxes(data, 0, len(data)) if data.startswith(_BOXED) else ():
        kind, content = data[box.content : box.content + 16], data[box.content + 16 : box.end]
        if box.name == b"uuid" and kind == _XMP and len(content) <= xmp.MAX_BYTES:
            packet, stale = xmp.cleaned(content)
            left_out += stale
        elif box.name == b"uuid" and kind == _EXIF:
            try:
                exif = exif_tree.parse(content.removeprefix(exif_tree.PREFIX))
            except IfdError:
                left_out.append("EXIF, which is damaged")
        elif box.name == b"uuid" and kind == _IPTC:
            iptc = content
        elif box.name in (b"uuid", b"xml ", b"jumb", b"asoc"):
            left_out.append("C2PA manifest" if b"c2pa" in data[box.content : box.content + 200] else "other boxes")
    return Metadata(exif, packet, iptc=iptc), tuple(dict.fromkeys(left_out))


def _comments(data: bytes, codestream: int) -> tuple[tuple[Text, ...], int]:
    """Returns the comments in front of the first tile, and how many of them are no text."""
    texts, others, at = list[Text](), 0, codestream + 2
    while at + 4 <= len(data) and data[at] == 0xFF and data[at + 1] not in _END_OF_HEADER:
        end = at + 2 + max(2, int.from_bytes(data[at + 2 : at + 4], "big"))
        if data[at + 1] == _COMMENT and end <= len(data):
            if data[at + 4 : at + 6] == _LATIN:
                texts.append(Text("Comment", data[at + 6 : end].rstrip(b"\0").decode("latin-1")))
            else:
                others += 1
        at = end
    return tuple(texts[:_MAX_COMMENTS]), others + len(texts[_MAX_COMMENTS:])


def _profile(data: bytes) -> bytes | None:
    """Returns the ICC profile of the colour box (method 2)."""
    at = data.find(b"colr", 0, data.find(_CODESTREAM))
    if at < 4 or data[at + 4 : at + 5] != b"\2":
        return None
    length = int.from_bytes(data[at - 4 : at], "big")
    return data[at + 7 : at - 4 + length] or None


FORMAT = Format(
    "jp2",
    "JPEG 2000",
    (".jp2", ".j2k", ".jpx", ".j2c", ".jpc"),
    sniff,
    open_jp2,
    result="png",
    keeps=frozenset({"EXIF", "XMP", "IPTC", "comments"}),
    depth=16,
    converts="colours to 8 bits unless libvips has jp2kload",
)
