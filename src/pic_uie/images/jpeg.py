"""JPEG: quality, subsampling and metadata read from the segments; the decoder sees nothing but what it decodes."""

from __future__ import annotations

import struct
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pic_uie.errors import ImageError
from pic_uie.images import exif as exif_tree
from pic_uie.images import exif_write, iptc, vips, xmp
from pic_uie.images.damage import Reader
from pic_uie.images.ifd import IfdError
from pic_uie.images.interface import DEFAULT_QUALITY, Format, Opened, Stored
from pic_uie.images.jpeg_segments import Contents, read_segments
from pic_uie.images.picture import Coding, Metadata, Space, Text

MAX_SEGMENT = 65533
_EXIF_BYTES = MAX_SEGMENT - len(exif_tree.PREFIX)
_XMP = b"http://ns.adobe.com/xap/1.0/\0"
_XMP_EXTENSION = b"http://ns.adobe.com/xmp/extension/\0"
_EXTENSION_HEAD = 32 + 4 + 4  # name, whole length, offset
_ICC = b"ICC_PROFILE\0"
_FIRST_IN_FILE = 12  # where the EXIF block begins if its segment is the first
_MOST_GROWTH, _LEAST_QUALITY, _MOST_STEPS = 1.5, 30, 30
_SPACES: dict[str, Space] = {"b-w": "grey", "srgb": "rgb", "cmyk": "cmyk"}

# The luminance table of Annex K in zig-zag order, as every libjpeg scales it by the quality.
_ANNEX_K = np.array(
    (
        *(16, 11, 12, 14, 12, 10, 16, 14, 13, 14, 18, 17, 16, 19, 24, 40, 26, 24, 22, 22, 24, 49, 35, 37, 29, 40, 58),
        *(51, 61, 60, 57, 51, 56, 55, 64, 72, 92, 78, 64, 68, 87, 69, 55, 56, 80, 109, 81, 87, 95, 98, 103, 104, 103),
        *(62, 77, 113, 121, 112, 100, 120, 92, 101, 103, 99),
    ),
    np.int64,
)


def sniff(head: bytes) -> bool:
    """Recognises a JPEG by its first bytes."""
    return head.startswith(b"\xff\xd8\xff")


def open_jpeg(data: bytes, salvage: bool) -> Opened:
    """Reads the segments, and the header of what is left for the decoder."""
    found = read_segments(data)
    if found.views > 1:
        raise ImageError(
            "a JPEG with several views (a stereo pair or panorama): only single pictures can be enhanced; "
            "extract them first"
        )
    if found.precision not in (None, 8):
        raise ImageError(f"a JPEG of {found.precision} bits, which cannot be read here: convert it to PNG first")
    reader = Reader("jpegload", found.pixels, title="JPEG", salvage=salvage)
    notes = list[str]()
    exif = None
    if found.exif is not None:
        try:
            exif = exif_tree.parse(found.exif, found.exif_place)
        except IfdError as error:
            notes.append(f"its EXIF is damaged ({error}) and was dropped")
    packet, extension, stale = _clean_xmp(found)
    metadata = Metadata(
        exif=exif,
        xmp=packet,
        xmp_extension=extension,
        iptc=iptc.PHOTOSHOP + b"".join(found.photoshop) if found.photoshop else None,
        dpi=found.dpi,
        texts=tuple(Text("Comment", _decoded(comment)) for comment in found.comments),
        segments=tuple(found.kept),
    )
    return Opened(
        reader.width,
        reader.height,
        reader.samples,
        _SPACES.get(reader.image.interpretation, "rgb"),
        found.profile,
        metadata=metadata,
        coding=_coding(found, reader.width * reader.height),
        orientation=exif.orientation if exif else 1,
        left_out=tuple(dict.fromkeys([*found.left_out, *stale])),
        notes=tuple(notes),
        small=lambda side: _shrunk(found.pixels, max(reader.width, reader.height) // side, salvage),
        damage=reader.damage,
    )


def _shrunk(data: bytes, most: int, salvage: bool) -> NDArray[Any]:
    """Decodes at a half, a quarter or an eighth of the size, which the decoder gets from fewer coefficients."""
    factor = next((factor for factor in (8, 4, 2) if factor <= most), 1)
    image = vips.open_lazily("jpegload", data, title="JPEG", leniently=salvage, shrink=factor)
    return vips.samples(image, "JPEG", "jpegload")


def save(stored: Stored) -> bytes:
    """Writes a JPEG with the source's quality and subsampling, if it was one, and its segments."""
    coding, is_jpeg = stored.coding, stored.source == "jpeg"
    own = coding.quality if is_jpeg else None
    mode = "on" if is_jpeg and coding.subsampled else "off"
    image = vips.from_array(stored.pixels, stored.space)
    quality = stored.quality or own or DEFAULT_QUALITY
    data = bytes(image.jpegsave_buffer(Q=quality, subsample_mode=mode, keep="none"))
    if stored.space == "cmyk" and own and not stored.quality and coding.bytes_per_pixel:
        # four channels that all change grow more than luminance and chroma do
        limit = _MOST_GROWTH * coding.bytes_per_pixel * stored.pixels.shape[0] * stored.pixels.shape[1]
        while len(data) > limit and quality > max(_LEAST_QUALITY, own - _MOST_STEPS):
            quality -= 3
            data = bytes(image.jpegsave_buffer(Q=quality, subsample_mode=mode, keep="none"))
    return with_header(data, stored.metadata, stored.profile)


def nearest_quality(table: NDArray[np.int64]) -> int:
    """Returns the libjpeg quality whose luminance table is nearest to `table` (64,), zig-zag."""
    return 1 + int(np.abs(_tables_by_quality() - table).sum(axis=1).argmin())


def with_header(data: bytes, metadata: Metadata, profile: bytes | None = None) -> bytes:
    """Returns the JPEG that libvips wrote with metadata, and the resolution (or none) in its JFIF header.

    The EXIF block lies where it lay in its source, first or behind the JFIF header: some maker notes count from there.
    """
    has_jfif = data[3] == 0xE0
    first = struct.unpack_from(">H", data, 4)[0] + 4 if has_jfif else 2  # end of the header that libvips wrote
    segments: list[bytes] = [] if data[first + 1] == 0xEE else [_jfif(metadata.dpi)]  # CMYK has Adobe's instead
    if metadata.exif is not None:
        block = _segment(0xE1, exif_tree.PREFIX + _exif_block(metadata.exif))
        segments = [block, *segments] if metadata.exif.place == _FIRST_IN_FILE else [*segments, block]
    if metadata.xmp is not None:
        packet, extension = xmp.split(metadata.xmp, metadata.xmp_extension, MAX_SEGMENT - len(_XMP))
        segments.append(_segment(0xE1, _XMP + packet))
        segments += _extension_segments(extension) if extension is not None else []
    if profile is not None:
        segments += _profile_segments(profile)
    if metadata.iptc is not None:
        resources = iptc.resources(metadata.iptc)
        room = MAX_SEGMENT - len(iptc.PHOTOSHOP)
        parts = (resources[at : at + room] for at in range(0, len(resources), room))
        segments += [_segment(0xED, iptc.PHOTOSHOP + part) for part in parts]
    segments += [_segment(marker, payload) for marker, payload in metadata.segments]
    for text in metadata.texts:
        if text.keyword == "Comment":
            comment = text.value.encode("utf-8", "surrogateescape")
            segments += [_segment(0xFE, comment[at : at + MAX_SEGMENT]) for at in range(0, len(comment), MAX_SEGMENT)]
    return b"".join((data[:2], *segments, memoryview(data)[first:]))


def _clean_xmp(found: Contents) -> tuple[bytes | None, bytes | None, list[str]]:
    """Returns packet and extension without pointers to what is not in the result, and the names of that."""
    if found.xmp is None:
        return None, None, []
    packet, stale = xmp.cleaned(found.xmp)
    extension = _joined(found.xmp_extension)
    if extension is not None:
        cleaned, more = xmp.cleaned(extension)
        stale += more
        is_spent = cleaned != extension and not xmp.has_properties(cleaned)
        extension = cleaned
        if is_spent:
            extension = None
    if extension is None and found.xmp_extension:
        packet = xmp.without_extension(packet)
    return packet, extension, list(stale)


def _joined(parts: list[bytes]) -> bytes | None:
    """Joins the segments of extended XMP by their offsets; None if they are not whole."""
    if not parts or any(len(part) < _EXTENSION_HEAD for part in parts):
        return None
    (length,) = struct.unpack_from(">I", parts[0], 32)
    whole, filled = bytearray(min(length, xmp.MAX_BYTES)), 0
    for part in parts:
        (at,) = struct.unpack_from(">I", part, 36)
        content = part[_EXTENSION_HEAD:]
        if at + len(content) <= len(whole):
            whole[at : at + len(content)] = content
            filled += len(content)
    return bytes(whole) if filled >= length > 0 else None


def _extension_segments(extension: bytes) -> list[bytes]:
    room = MAX_SEGMENT - len(_XMP_EXTENSION) - _EXTENSION_HEAD
    head = _XMP_EXTENSION + xmp.guid(extension) + struct.pack(">I", len(extension))
    places = range(0, len(extension), room)
    return [_segment(0xE1, head + struct.pack(">I", at) + extension[at : at + room]) for at in places]


def _profile_segments(profile: bytes) -> list[bytes]:
    room = MAX_SEGMENT - len(_ICC) - 2
    parts = [profile[at : at + room] for at in range(0, len(profile), room)]
    if len(parts) > 255:
        raise ImageError("an ICC profile that is too large for a JPEG; try --format png")
    return [_segment(0xE2, _ICC + bytes((i, len(parts))) + part) for i, part in enumerate(parts, 1)]


def _exif_block(tree: exif_tree.Exif) -> bytes:
    try:
        return exif_write.serialise(tree, limit=_EXIF_BYTES)
    except IfdError as error:
        raise ImageError(
            f"{error}: JPEG has no more room; try --format png, --format tiff or --strip-metadata"
        ) from error


def _jfif(dpi: tuple[float, float] | None) -> bytes:
    x, y = (min(max(round(value), 1), 65535) for value in dpi) if dpi else (1, 1)
    return _segment(0xE0, b"JFIF\0" + struct.pack(">HBHHBB", 0x0101, 1 if dpi else 0, x, y, 0, 0))


def _segment(marker: int, payload: bytes) -> bytes:
    return struct.pack(">BBH", 0xFF, marker, 2 + len(payload)) + payload


def _decoded(comment: bytes) -> str:
    return comment.rstrip(b"\0").decode("utf-8", "surrogateescape")


def _coding(found: Contents, area: int) -> Coding:
    # 4:2:2 counts as full resolution: libvips writes 4:2:0 or 4:4:4, and chroma is what we correct.
    factors = found.factors
    subsampled = None if factors is None else factors == [0x22, 0x11, 0x11]
    table = _first_table(found.first_table) if found.first_table else None
    quality = None if table is None else nearest_quality(table)
    return Coding(quality, subsampled, bytes_per_pixel=len(found.pixels) / max(1, area))


def _first_table(payload: bytes) -> NDArray[np.int64] | None:
    """Returns the first quantisation table of a segment, if it is whole."""
    size = 128 if payload[0] >> 4 else 64
    content = payload[1 : 1 + size]
    if len(content) < size:
        return None
    return np.frombuffer(content, ">u2" if size == 128 else np.uint8).astype(np.int64)


@cache
def _tables_by_quality() -> NDArray[np.int64]:
    quality = np.arange(1, 101)
    scale = np.where(quality < 50, 5000 // quality, 200 - 2 * quality)
    tables: NDArray[np.int64] = np.clip((_ANNEX_K * scale[:, None] + 50) // 100, 1, 255)
    return tables  # (100, 64)


FORMAT = Format(
    "jpeg",
    "JPEG",
    (".jpg", ".jpeg", ".jpe", ".jfif"),
    sniff,
    open_jpeg,
    save,
    alpha=False,
    cmyk=True,
    keeps=frozenset({"EXIF", "XMP", "extended XMP", "IPTC", "Photoshop", "comments", "segments"}),
    exif_bytes=_EXIF_BYTES,
    converts="4:2:2 to 4:4:4",
    refuses="12 bits, stereo pairs",
)
