"""WebP chunks: animation and compression read, EXIF written."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from pic_uie.images.picture import Coding, Facts

_ALPHA, _EXIF, _ANIMATION = 0x10, 0x08, 0x02


def facts(data: bytes) -> Facts:
    """Reads which chunks there are."""
    frames, lossless = 1, False
    for name, payload in _chunks(data):
        if name == b"VP8X" and payload and payload[0] & _ANIMATION:
            frames = 2  # at least: frames are not counted, they are refused
        lossless |= name == b"VP8L"
    return Facts(frames=frames, coding=Coding(lossless=lossless))


def with_exif(data: bytes, exif: bytes, width: int, height: int, alpha: bool) -> bytes:
    """Returns the WebP that libvips wrote with an EXIF chunk, in the extended format if it was in the simple one."""
    chunks = list(_chunks(data))
    extended = bool(chunks) and chunks[0][0] == b"VP8X"
    flags = chunks.pop(0)[1][0] if extended else _ALPHA * alpha
    sizes = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    header = struct.pack("<I", flags | _EXIF) + sizes
    behind = [chunk for chunk in chunks if chunk[0] == b"XMP "]  # the order that the format asks for: EXIF, then XMP
    before = [chunk for chunk in chunks if chunk[0] not in (b"XMP ", b"EXIF")]
    body = b"WEBP" + b"".join(_chunk(*c) for c in ((b"VP8X", header), *before, (b"EXIF", exif), *behind))
    return b"RIFF" + struct.pack("<I", len(body)) + body


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = 12
    while at + 8 <= len(data):
        length = int.from_bytes(data[at + 4 : at + 8], "little")
        yield data[at : at + 4], data[at + 8 : at + 8 + length]
        at += 8 + length + length % 2


def _chunk(name: bytes, payload: bytes) -> bytes:
    return name + struct.pack("<I", len(payload)) + payload + b"\0" * (len(payload) % 2)
