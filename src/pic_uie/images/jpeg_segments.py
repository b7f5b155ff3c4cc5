"""The segments of a JPEG, sorted: for the decoder, kept as they are, taken apart, left out.

One pass over the file, in time linear in its size: a run of fill bytes and the compressed pixels are skipped by one
search each, however long they are.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from pic_uie.images import ifd, iptc, xmp
from pic_uie.images.exif import PREFIX as EXIF_PREFIX

_XMP = b"http://ns.adobe.com/xap/1.0/\0"
_XMP_EXTENSION = b"http://ns.adobe.com/xmp/extension/\0"
_ICC = b"ICC_PROFILE\0"
_MULTI_PICTURE, _MP_ENTRIES, _MULTI_VIEW = b"MPF\0", 0xB002, 2  # CIPA DC-007
_GAIN_MAP = b"urn:iso:std:iso:ts:21496:-1\0"
_STANDALONE = {0x01, *range(0xD0, 0xD8)}
FRAMES = {0xC0, 0xC1, 0xC2, 0xC3, 0xC5, 0xC6, 0xC7, 0xC9, 0xCA, 0xCB, 0xCD, 0xCE, 0xCF}
_START, _END, _SCAN, _TABLES, _COMMENT = 0xD8, 0xD9, 0xDA, 0xDB, 0xFE
_MAX_EXTENSIONS = xmp.MAX_BYTES // 65_000 + 1  # segments

_MAX_KEPT, _MAX_COMMENTS = 4096, 256  # a FLIR camera writes a few hundred segments

_NOT_FILL = re.compile(rb"[^\xff]")
_MARKER = re.compile(rb"\xff[\x01-\xcf\xd8-\xfe]")  # in compressed pixels: anything but stuffing, restarts and fill
_APPLICATION = range(0xE0, 0xF0)


@dataclass
class Contents:
    """What the segments of a JPEG say.

    Attributes:
        pixels: A JPEG with all that a decoder needs and nothing else.
        is_whole: Whether the file has an end.
        precision: Bits per sample.
        factors: Sampling factors of the components.
        first_table: The first segment of quantisation tables.
        exif: The EXIF block.
        exif_place: Where it lies in the file.
        xmp: The XMP packet.
        xmp_extension: The contents of the segments of extended XMP.
        profile: The ICC profile.
        photoshop: The parts of Photoshop's block.
        comments: The comments.
        dpi: The resolution of the JFIF header.
        views: Views of a stereo pair or panorama.
        kept: Application segments that go into the result as they are.
        left_out: Parts that do not, in words.
    """

    pixels: bytes = b""
    is_whole: bool = False
    precision: int | None = None
    factors: list[int] | None = None
    first_table: bytes | None = None
    exif: bytes | None = None
    exif_place: int = 0
    xmp: bytes | None = None
    xmp_extension: list[bytes] = field(default_factory=list)
    profile: bytes | None = None
    photoshop: list[bytes] = field(default_factory=list)
    comments: list[bytes] = field(default_factory=list)
    dpi: tuple[float, float] | None = None
    views: int = 1
    kept: list[tuple[int, bytes]] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def read_segments(data: bytes) -> Contents:
    """Sorts the segments of a JPEG."""
    found = Contents()
    view = memoryview(data)
    pieces: list[bytes | memoryview] = [data[:2]]
    icc: dict[int, bytes] = {}
    colours: set[bytes] = set()  # the headers that say what the components are, once each
    for marker, start, end in _segments(data):
        payload = data[start + 4 : end] if marker != _SCAN else b""
        if marker == _END:
            found.is_whole = True
            found.left_out += _behind(data, end)
            break
        if marker == _COMMENT:
            if len(found.comments) < _MAX_COMMENTS:
                found.comments.append(payload)
            else:
                found.left_out.append(f"comments beyond {_MAX_COMMENTS}")
        elif marker in _APPLICATION:
            kind = payload[:5]
            if (marker, kind) in ((0xE0, b"JFIF\0"), (0xEE, b"Adobe")) and kind not in colours:
                colours.add(kind)
                pieces.append(view[start:end])
            _sort(found, marker, payload, start, icc)
        else:
            pieces.append(view[start:end])
            _note_coding(found, marker, payload)
    if found.is_whole:
        pieces.append(b"\xff\xd9")
    found.pixels = b"".join(pieces)
    if icc and len(icc) == max(icc):
        found.profile = b"".join(icc[number] for number in sorted(icc))
    elif icc:
        found.profile = b"incomplete"
    return found


def _sort(found: Contents, marker: int, payload: bytes, start: int, icc: dict[int, bytes]) -> None:
    """Enters one application segment."""
    if marker == 0xE0 and payload.startswith((b"JFIF\0", b"JFXX\0")):
        if payload.startswith(b"JFIF\0") and len(payload) >= 12:
            unit, x, y = struct.unpack_from(">BHH", payload, 7)
            scale = {1: 1.0, 2: 2.54}.get(unit)
            found.dpi = (x * scale, y * scale) if scale and x and y else None
    elif marker == 0xE1 and payload.startswith(EXIF_PREFIX[:5]):
        if found.exif is None:
            found.exif, found.exif_place = payload[len(EXIF_PREFIX) :], start + 4 + len(EXIF_PREFIX)
    elif marker == 0xE1 and payload.startswith(_XMP):
        if found.xmp is None:
            found.xmp = payload.removeprefix(_XMP)
    elif marker == 0xE1 and payload.startswith(_XMP_EXTENSION):
        if len(found.xmp_extension) < _MAX_EXTENSIONS:
            found.xmp_extension.append(payload.removeprefix(_XMP_EXTENSION))
    elif marker == 0xE2 and payload.startswith(_ICC) and len(payload) > len(_ICC) + 2:
        icc.setdefault(payload[len(_ICC)], payload[len(_ICC) + 2 :])
    elif marker == 0xE2 and payload.startswith(_MULTI_PICTURE):
        found.views = max(found.views, _views(payload.removeprefix(_MULTI_PICTURE)))
    elif marker == 0xE2 and payload.startswith(_GAIN_MAP):
        found.left_out.append("gain map")
    elif marker == 0xEB and payload.startswith(b"JP"):
        found.left_out.append("C2PA manifest" if b"c2pa" in payload[:200] else "JUMBF boxes")
    elif marker == 0xEB and payload.startswith(b"HDR_RI"):
        found.left_out.append("gain map")
    elif marker == 0xED and payload.startswith(iptc.PHOTOSHOP):
        found.photoshop.append(payload.removeprefix(iptc.PHOTOSHOP))  # a large block is spread over several segments
    elif marker == 0xE8 and payload.startswith(b"SPIFF\0"):
        found.left_out.append("SPIFF header")
    elif marker != 0xEE or not payload.startswith(b"Adobe"):
        if len(found.kept) < _MAX_KEPT:
            found.kept.append((marker, payload))
        else:
            found.left_out.append(f"application segments beyond {_MAX_KEPT}")


def _note_coding(found: Contents, marker: int, payload: bytes) -> None:
    if marker == _TABLES and found.first_table is None and payload:
        found.first_table = payload
    elif marker in FRAMES and len(payload) >= 6 and len(payload) >= 6 + 3 * payload[5] and found.factors is None:
        found.precision = payload[0]
        found.factors = [payload[7 + 3 * i] for i in range(payload[5])]


def _segments(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Yields marker, start and end of each segment; a scan's end is that of its compressed pixels."""
    at = 2
    while at + 1 < len(data):
        if data[at] != 0xFF:  # rubbish between segments, which decoders skip
            following = _MARKER.search(data, at)
            if following is None:
                return
            at = following.start()
        after_fill = _NOT_FILL.search(data, at)
        if after_fill is None:
            return
        at = after_fill.start() - 1
        marker = data[at + 1]
        if marker == 0:
            at += 2
            continue
        if marker == _END:
            yield marker, at, at + 2
            return
        if marker in _STANDALONE or marker == _START:
            at += 2
            continue
        end = at + 2 + max(2, int.from_bytes(data[at + 2 : at + 4], "big"))
        if marker == _SCAN:
            following = _MARKER.search(data, min(end, len(data)))
            end = following.start() if following else len(data)
        yield marker, at, min(end, len(data))
        at = end


def _behind(data: bytes, end: int) -> list[str]:
    """Names what follows the picture: other pictures, a video, a camera's trailer."""
    rest = data[end : end + 64].lstrip(b"\0")
    if not rest and not data[end:].strip(b"\0"):
        return []
    if b"ftyp" in rest[:16]:
        return ["video"]
    if b"\xff\xd8\xff" in rest:
        is_gain_map = b"hdrgm:" in data[end:] or _GAIN_MAP in data[end:] or b"HDRGainMap" in data[end:]
        return ["gain map"] if is_gain_map else ["other pictures behind the picture"]
    if data.find(b"ftyp", end) >= 0:
        return ["video"]
    return [f"{len(data) - end} bytes behind the picture"]


def _views(index: bytes) -> int:
    """Counts the views of a stereo pair or panorama; previews and gain maps, which many cameras add, are none."""
    try:
        layout, offset = ifd.read_header(index)
        entries = ifd.read_directory(index, offset, layout)[0][_MP_ENTRIES].data
    except (ifd.IfdError, KeyError):
        return 1
    attributes = (struct.unpack_from(layout.order + "I", entries, at)[0] for at in range(0, len(entries) - 15, 16))
    return max(1, [attribute >> 16 & 0xFF for attribute in attributes].count(_MULTI_VIEW))
