"""PNG chunks: animation and resolution read, EXIF and resolution written."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

from pic_uie.images.picture import Facts

_SIGNATURE_BYTES = 8
_INCH = 0.0254


def facts(data: bytes) -> Facts:
    """Reads the chunks in front of the pixels."""
    frames, dpi = 1, None
    for name, start, length in _chunks(data):
        if name == b"IDAT":
            break
        if name == b"acTL" and length >= 4:
            frames = max(1, int.from_bytes(data[start : start + 4], "big"))
        elif name == b"pHYs" and length == 9:
            x, y, unit = struct.unpack_from(">IIB", data, start)
            dpi = (x * _INCH, y * _INCH) if unit == 1 and x and y else None
    return Facts(frames=frames, dpi=dpi)


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
                parts.append(_chunk(b"iTXt", b"XML:com.adobe.xmp" + bytes(5) + xmp))
    return b"".join(parts)


def _chunks(data: bytes) -> Iterator[tuple[bytes, int, int]]:
    at = _SIGNATURE_BYTES
    while at + 8 <= len(data):
        length = int.from_bytes(data[at : at + 4], "big")
        yield data[at + 4 : at + 8], at + 8, length
        at += 12 + length


def _chunk(name: bytes, payload: bytes) -> bytes:
    return struct.pack(">I", len(payload)) + name + payload + struct.pack(">I", zlib.crc32(name + payload))
