"""WebP: chunks read and written here; the decoder sees only pixels."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from pic_uie.errors import ImageError
from pic_uie.images import exif as exif_tree
from pic_uie.images import exif_write, vips, xmp
from pic_uie.images.ifd import IfdError
from pic_uie.images.interface import DEFAULT_QUALITY, Format, Opened, Stored
from pic_uie.images.picture import Coding, Metadata

_ICC, _ALPHA, _EXIF, _XMP, _ANIMATION = 0x20, 0x10, 0x08, 0x04, 0x02
_FOR_PIXELS = (b"VP8 ", b"VP8L", b"ALPH")
_MAX_ALPHA_CHUNKS = 2
_LOSSY = ("jpeg", "heic", "avif")  # sources whose pixels are not worth a lossless file


def sniff(head: bytes) -> bool:
    """Recognises a WebP by its first bytes."""
    return head[:4] == b"RIFF" and head[8:12] == b"WEBP"


def open_webp(data: bytes, salvage: bool) -> Opened:
    """Reads the chunks, and the header of what is left for the decoder."""
    is_cut = int.from_bytes(data[4:8], "little") + 8 > len(data) + 1  # the last padding may be missing
    if is_cut:
        _refuse_cut_pixels(data, salvage)
    found: dict[bytes, bytes] = {}
    pixels: list[tuple[bytes, bytes]] = []
    for name, payload in _chunks(data):
        if name in _FOR_PIXELS and len(pixels) < _MAX_ALPHA_CHUNKS:
            pixels.append((name, payload))
        else:
            found.setdefault(name, payload)
    header = found.get(b"VP8X", b"")
    if (header and header[0] & _ANIMATION) or b"ANMF" in found:
        raise ImageError(
            "a WebP with several frames (an animation): only single pictures can be enhanced; extract them first"
        )
    if len(header) >= 10:
        pixels.insert(0, (b"VP8X", bytes((header[0] & _ALPHA,)) + header[1:]))
    image = vips.open_lazily("webpload", _riff(pixels), title="WebP")
    notes = ["it is cut short: what lay behind its pixels is lost"] if is_cut else []
    exif = None
    if b"EXIF" in found:
        try:
            exif = exif_tree.parse(found[b"EXIF"].removeprefix(exif_tree.PREFIX))
        except IfdError as error:
            notes.append(f"its EXIF is damaged ({error}) and was dropped")
    packet, stale = xmp.cleaned(found[b"XMP "][: xmp.MAX_BYTES]) if b"XMP " in found else (None, ())
    lossless = any(name == b"VP8L" for name, _ in pixels)
    return Opened(
        image.width,
        image.height,
        lambda: vips.samples(image, "WebP", "webpload"),
        "rgb",
        found.get(b"ICCP"),
        metadata=Metadata(exif, packet),
        coding=Coding(lossless=lossless),
        orientation=exif.orientation if exif else 1,
        left_out=(*(("C2PA manifest",) if b"C2PA" in found else ()), *stale),
        notes=tuple(notes),
    )


def _refuse_cut_pixels(data: bytes, salvage: bool) -> None:
    """Raises ImageError for a file that was cut, unless its pixels are whole and that is enough."""
    ends = [end for name, end in _ends(data) if name in (b"VP8 ", b"VP8L")]
    if not ends or ends[0] > len(data):
        raise ImageError("damaged WebP: it is cut short, and no part of its pixels can be decoded; copy it again")
    if not salvage:
        raise ImageError("damaged WebP: it is cut short behind its pixels; --salvage enhances these")


def save(stored: Stored) -> bytes:
    """Writes a WebP, lossless if the source was and nobody asks for a quality."""
    by_source = stored.coding.lossless if stored.source == "webp" else stored.source not in _LOSSY
    lossless = stored.quality is None and by_source
    image = vips.from_array(stored.pixels, stored.space)
    data = image.webpsave_buffer(Q=stored.quality or DEFAULT_QUALITY, lossless=lossless, effort=2, keep="none")
    return with_header(bytes(data), stored)


def with_header(data: bytes, stored: Stored) -> bytes:
    """Returns the WebP that libvips wrote with profile, EXIF and XMP, in the order that the format asks for."""
    kept, pixels = stored.metadata, [chunk for chunk in _chunks(data) if chunk[0] in _FOR_PIXELS]
    blocks = {
        b"ICCP": (_ICC, stored.profile),
        b"EXIF": (_EXIF, exif_write.serialise(kept.exif) if kept.exif else None),
        b"XMP ": (_XMP, kept.xmp),
    }
    flags = sum(flag for flag, block in blocks.values() if block is not None)
    if not flags:
        return data
    width, height = stored.size
    sizes = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    header = struct.pack("<I", flags | (_ALPHA if stored.has_alpha else 0)) + sizes
    named = {name: [(name, block)] if block is not None else [] for name, (_, block) in blocks.items()}
    return _riff([(b"VP8X", header), *named[b"ICCP"], *pixels, *named[b"EXIF"], *named[b"XMP "]])


def _riff(chunks: list[tuple[bytes, bytes]]) -> bytes:
    body = b"WEBP" + b"".join(_chunk(*chunk) for chunk in chunks)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = 12
    while at + 8 <= len(data):
        length = int.from_bytes(data[at + 4 : at + 8], "little")
        yield data[at : at + 4], data[at + 8 : at + 8 + length]
        at += 8 + length + length % 2


def _ends(data: bytes) -> Iterator[tuple[bytes, int]]:
    """Yields name and end of every chunk, beyond the end of the file for one that was cut."""
    at = 12
    while at + 8 <= len(data):
        length = int.from_bytes(data[at + 4 : at + 8], "little")
        yield data[at : at + 4], at + 8 + length
        at += 8 + length + length % 2


def _chunk(name: bytes, payload: bytes) -> bytes:
    return name + struct.pack("<I", len(payload)) + payload + b"\0" * (len(payload) % 2)


FORMAT = Format(
    "webp",
    "WebP",
    (".webp",),
    sniff,
    open_webp,
    save,
    keeps=frozenset({"EXIF", "XMP"}),
    refuses="animations",
)
