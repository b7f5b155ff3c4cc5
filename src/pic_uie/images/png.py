"""PNG chunks: animation, EXIF, XMP and resolution read and written."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

from pic_uie.images.picture import Facts, Metadata

_SIGNATURE_BYTES = 8
_INCH = 0.0254
_XMP_KEYWORD = b"XML:com.adobe.xmp\0"
_MAX_TEXT_BYTES = 16 << 20


def facts(data: bytes) -> Facts:
    """Reads the chunks in front of the pixels and, where libvips does not look for EXIF and XMP, those behind them."""
    frames, dpi, exif, xmp = 1, None, None, None
    for name, start, length in _chunks(data):
        if start + length > len(data):
            break
        if name == b"acTL" and length >= 4:
            frames = max(1, int.from_bytes(data[start : start + 4], "big"))
        elif name == b"pHYs" and length == 9:
            x, y, unit = struct.unpack_from(">IIB", data, start)
            dpi = (x * _INCH, y * _INCH) if unit == 1 and x and y else None
        elif name == b"eXIf":
            exif = data[start : start + length]
        elif name == b"iTXt" and data.startswith(_XMP_KEYWORD, start):
            xmp = _text(data[start + len(_XMP_KEYWORD) : start + length])
    return Facts(frames=frames, metadata=Metadata(exif=exif, xmp=xmp, dpi=dpi))


def with_header(data: bytes, exif: bytes | None, xmp: bytes | None, dpi: tuple[float, float] | None) -> bytes:
    """Returns the PNG that libvips wrote with EXIF, XMP, and with `dpi` (or none) instead of libvips's guess."""
    parts: list[bytes | memoryview] = [data[:_SIGNATURE_BYTES]]
    for name, start, length in _chunks(data):
        if name == b"IDAT":
            parts.append(memoryview(data)[start - 8 :])
            break
        if name != b"pHYs":
            parts.append(data[start - 8 : start + length + 4])
        if name == b"IHDR":
            if dpi:
                per_metre = (max(1, min(round(value / _INCH), 2**31 - 1)) for value in dpi)
                parts.append(_chunk(b"pHYs", struct.pack(">IIB", *per_metre, 1)))
            if exif is not None:
                parts.append(_chunk(b"eXIf", exif))
            if xmp is not None:  # not compressed, as XMP's standard asks; libvips would compress it
                parts.append(_chunk(b"iTXt", _XMP_KEYWORD + bytes(4) + xmp))
    return b"".join(parts)


def _text(payload: bytes) -> bytes | None:
    """Returns the text of an iTXt chunk from behind its keyword: flag, method, language, translated keyword, text."""
    compressed, parts = payload[:1] == b"\1", payload[2:].split(b"\0", 2)
    if len(parts) < 3:
        return None
    if not compressed:
        return parts[2]
    try:
        return zlib.decompressobj().decompress(parts[2], _MAX_TEXT_BYTES)
    except zlib.error:
        return None


def _chunks(data: bytes) -> Iterator[tuple[bytes, int, int]]:
    at = _SIGNATURE_BYTES
    while at + 8 <= len(data):
        length = int.from_bytes(data[at : at + 4], "big")
        yield data[at + 4 : at + 8], at + 8, length
        at += 12 + length


def _chunk(name: bytes, payload: bytes) -> bytes:
    return struct.pack(">I", len(payload)) + name + payload + struct.pack(">I", zlib.crc32(name + payload))
