"""JPEG segments: quality, subsampling, resolution and metadata read from the header; metadata written into it."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from functools import cache

import numpy as np
from numpy.typing import NDArray

from pic_uie.errors import ImageError
from pic_uie.images import ifd, iptc
from pic_uie.images.picture import Coding, Facts, Metadata

MAX_SEGMENT = 65533
EXIF_PREFIX = b"Exif\0\0"
_XMP = b"http://ns.adobe.com/xap/1.0/\0"
_PADDING = re.compile(rb"\s+(?=<\?xpacket end)")
_XMP_EXTENSION = b"http://ns.adobe.com/xmp/extension/\0"
_MULTI_PICTURE, _MP_ENTRIES, _MULTI_VIEW = b"MPF\0", 0xB002, 2  # CIPA DC-007
_STANDALONE = {0x01, *range(0xD0, 0xD9)}
_FRAMES = {0xC0, 0xC1, 0xC2, 0xC3, 0xC5, 0xC6, 0xC7, 0xC9, 0xCA, 0xCB, 0xCD, 0xCE, 0xCF}

# The luminance table of Annex K in zig-zag order, as every libjpeg scales it by the quality.
_ANNEX_K = np.array(
    (
        *(16, 11, 12, 14, 12, 10, 16, 14, 13, 14, 18, 17, 16, 19, 24, 40, 26, 24, 22, 22, 24, 49, 35, 37, 29, 40, 58),
        *(51, 61, 60, 57, 51, 56, 55, 64, 72, 92, 78, 64, 68, 87, 69, 55, 56, 80, 109, 81, 87, 95, 98, 103, 104, 103),
        *(62, 77, 113, 121, 112, 100, 120, 92, 101, 103, 99),
    ),
    np.int64,
)


def facts(data: bytes) -> Facts:
    """Reads the segments in front of the pixels."""
    quality: int | None = None
    subsampled: bool | None = None
    dpi: tuple[float, float] | None = None
    frames, photoshop, extension = 1, list[bytes](), list[bytes]()
    for marker, payload in _segments(data):
        if marker == 0xDB and quality is None:
            table = _first_table(payload)
            quality = None if table is None else nearest_quality(table)
        elif marker in _FRAMES and len(payload) >= 6 and len(payload) >= 6 + 3 * payload[5]:
            factors = [payload[7 + 3 * i] for i in range(payload[5])]
            # 4:2:2 counts as full resolution: libvips writes 4:2:0 or 4:4:4, and chroma is what we correct.
            subsampled = len(factors) == 3 and factors[0] == 0x22 and factors[1:] == [0x11, 0x11]
        elif marker == 0xE0 and payload[:5] == b"JFIF\0" and len(payload) >= 12:
            unit, x, y = struct.unpack_from(">BHH", payload, 7)
            scale = {1: 1.0, 2: 2.54}.get(unit)
            dpi = (x * scale, y * scale) if scale and x and y else None
        elif marker == 0xE1 and payload.startswith(_XMP_EXTENSION):
            extension.append(payload)
        elif marker == 0xE2 and payload.startswith(_MULTI_PICTURE):
            frames = max(1, _views(payload.removeprefix(_MULTI_PICTURE)))
        elif marker == 0xED and payload.startswith(iptc.PHOTOSHOP):
            photoshop.append(payload.removeprefix(iptc.PHOTOSHOP))  # a large block is spread over several segments
    block = iptc.PHOTOSHOP + b"".join(photoshop) if photoshop else None
    metadata = Metadata(xmp_extension=tuple(extension), iptc=block, dpi=dpi)
    return Facts(frames, metadata=metadata, coding=Coding(quality=quality, subsampled=subsampled))


def nearest_quality(table: NDArray[np.int64]) -> int:
    """Returns the libjpeg quality whose luminance table is nearest to `table` (64,), zig-zag."""
    return 1 + int(np.abs(_tables_by_quality() - table).sum(axis=1).argmin())


def fitting_xmp(packet: bytes) -> bytes:
    """Returns the packet, without its padding if that leaves no room.

    Raises:
        ImageError: The packet is larger than a segment even so.
    """
    room = MAX_SEGMENT - len(_XMP)
    if len(packet) > room:
        packet = _PADDING.sub(b"\n", packet)
    if len(packet) > room:
        raise ImageError(
            f"XMP of {len(packet)} bytes: JPEG has no more room; try --format png, --format tiff or --strip-metadata"
        )
    return packet


def with_header(data: bytes, metadata: Metadata) -> bytes:
    """Returns the JPEG that libvips wrote with the resolution (or none) in its JFIF header, the rest behind that."""
    dpi = metadata.dpi
    first = struct.unpack_from(">H", data, 4)[0] + 4 if data[3] == 0xE0 else 2  # end of the JFIF segment
    jfif = bytearray(data[2:first])
    if jfif[4:9] == b"JFIF\0":
        x, y = (round(value) for value in dpi) if dpi else (1, 1)
        struct.pack_into(">BHH", jfif, 11, 1 if dpi else 0, min(max(x, 1), 65535), min(max(y, 1), 65535))
    segments: list[bytes] = []
    if metadata.exif is not None:
        segments.append(_segment(0xE1, EXIF_PREFIX + metadata.exif))
    if metadata.xmp is not None:
        segments += [_segment(0xE1, _XMP + metadata.xmp), *(_segment(0xE1, part) for part in metadata.xmp_extension)]
    if metadata.iptc is not None:
        resources = iptc.photoshop_block(metadata.iptc).removeprefix(iptc.PHOTOSHOP)
        room = MAX_SEGMENT - len(iptc.PHOTOSHOP)
        parts = (resources[at : at + room] for at in range(0, len(resources), room))
        segments += [_segment(0xED, iptc.PHOTOSHOP + part) for part in parts]
    return b"".join((data[:2], jfif, *segments, memoryview(data)[first:]))


def _segment(marker: int, payload: bytes) -> bytes:
    return struct.pack(">BBH", 0xFF, marker, 2 + len(payload)) + payload


def _views(index: bytes) -> int:
    """Counts the views of a stereo pair or panorama; previews and gain maps, which many cameras add, are none."""
    try:
        layout, offset = ifd.read_header(index)
        entries = ifd.read_directory(index, offset, layout)[0][_MP_ENTRIES].data
    except (ifd.IfdError, KeyError):
        return 1
    attributes = (struct.unpack_from(layout.order + "I", entries, at)[0] for at in range(0, len(entries) - 15, 16))
    return sum(attribute >> 16 & 0xFF == _MULTI_VIEW for attribute in attributes)


def _segments(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 2
    while at + 4 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF:  # fill byte
            at += 1
            continue
        if marker in _STANDALONE:
            at += 2
            continue
        if marker == 0xDA:
            return
        length = int.from_bytes(data[at + 2 : at + 4], "big")
        yield marker, data[at + 4 : at + 2 + length]
        at += 2 + max(length, 2)


def _first_table(payload: bytes) -> NDArray[np.int64] | None:
    if not payload:
        return None
    wide = payload[0] >> 4
    raw = np.frombuffer(payload[1 : 1 + 64 * (1 + wide)], ">u2" if wide else np.uint8)
    return raw.astype(np.int64) if raw.size == 64 else None


@cache
def _tables_by_quality() -> NDArray[np.int64]:
    quality = np.arange(1, 101)
    scale = np.where(quality < 50, 5000 // quality, 200 - 2 * quality)
    tables: NDArray[np.int64] = np.clip((_ANNEX_K * scale[:, None] + 50) // 100, 1, 255)
    return tables  # (100, 64)
