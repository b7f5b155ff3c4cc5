"""PNG: chunks read in one pass; the decoder sees only those that hold pixels; everything else is ours."""

from __future__ import annotations

import struct
import zlib

from pic_uie.errors import ImageError
from pic_uie.images import exif as exif_tree
from pic_uie.images import exif_write, iptc, png_text, vips, xmp
from pic_uie.images.damage import Reader
from pic_uie.images.description import CodePoints, Description, Gamma
from pic_uie.images.ifd import IfdError
from pic_uie.images.interface import Format, Opened, Stored
from pic_uie.images.picture import Metadata, Space
from pic_uie.images.png_text import SIGNATURE, Chunks, chunk, chunks

_INCH = 0.0254
_COMPRESSION = 4  # a third faster than zlib's 6 for 2 % more bytes
_FOR_PIXELS = {b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND"}
_SPACES: dict[str, Space] = {"b-w": "grey", "grey16": "grey", "srgb": "rgb", "rgb16": "rgb"}
_MAX_PROFILE_BYTES = 16 << 20
_FIVE_DECIMALS = 100_000
_LEFT_OUT = {b"caBX": "C2PA manifest", b"bKGD": "background colour", b"tIME": "time of the last change"}
_LEFT_OUT |= {b"sPLT": "suggested palette", b"hIST": "histogram", b"oFFs": "position on a page"}
_LEFT_OUT |= {b"sBIT": "number of significant bits"}
_IDLE = {b"acTL", b"fcTL", b"fdAT"}  # of no meaning for a result


def sniff(head: bytes) -> bool:
    """Recognises a PNG by its signature."""
    return head.startswith(SIGNATURE)


def open_png(data: bytes, salvage: bool) -> Opened:
    """Reads the chunks, and the header of what is left for the decoder."""
    found: Chunks = {}
    view = memoryview(data)
    pieces: list[memoryview] = [view[: len(SIGNATURE)]]
    unknown: dict[str, None] = {}
    for name, start, end in chunks(data):
        if name in _FOR_PIXELS:
            pieces.append(view[start - 8 : end + 4])
        elif end <= len(data):
            found.setdefault(name, []).append((start, end))
            if name not in _KNOWN and name not in _LEFT_OUT and not name[:1].isupper():
                unknown[name.decode("latin-1")] = None
    frames = found.get(b"acTL")
    if frames and int.from_bytes(data[frames[0][0] : frames[0][0] + 4], "big") > 1:
        raise ImageError(
            "a PNG with several frames (an animation): only single pictures can be enhanced; extract them first"
        )
    reader = Reader("pngload", b"".join(pieces), title="PNG", salvage=salvage)
    metadata, notes, stale = _metadata(data, found)
    if _is_cut_behind_pixels(data):
        notes.append("it is cut short: what lay behind its pixels is lost")
    profile, said = _colours(data, found, notes)
    left_out = [words for name, words in _LEFT_OUT.items() if name in found]
    left_out += [f"chunks {', '.join(sorted(unknown))}"] if unknown else []
    exif = metadata.exif
    return Opened(
        reader.width,
        reader.height,
        reader.samples,
        _SPACES.get(reader.image.interpretation, "rgb"),
        profile,
        said,
        metadata,
        orientation=exif.orientation if exif else 1,
        left_out=(*left_out, *stale),
        notes=tuple(notes),
        damage=reader.damage,
    )


def save(stored: Stored) -> bytes:
    """Writes a PNG with everything that the source had."""
    image = vips.from_array(stored.pixels, stored.space)
    data = bytes(image.pngsave_buffer(compression=_COMPRESSION, keep="none"))
    header_end = len(SIGNATURE) + 25
    kept = stored.metadata
    parts = [data[:header_end], *_colour_chunks(stored)]
    if kept.dpi:
        per_metre = (max(1, min(round(value / _INCH), 2**31 - 1)) for value in kept.dpi)
        parts.append(chunk(b"pHYs", struct.pack(">IIB", *per_metre, 1)))
    if kept.exif is not None:
        parts.append(chunk(b"eXIf", exif_write.serialise(kept.exif)))
    if kept.xmp is not None:
        parts.append(png_text.xmp_chunk(kept.xmp))
    if kept.iptc is not None:
        parts.append(png_text.raw_profile("iptc", iptc.resources(kept.iptc)))
    parts += [png_text.text_chunk(text) for text in kept.texts]
    for name, start, end in chunks(data):
        if name in (b"PLTE", b"tRNS"):
            parts.append(data[start - 8 : end + 4])
        elif name == b"IDAT":
            return b"".join([*parts, memoryview(data)[start - 8 :]])
    raise ImageError("cannot encode PNG: no pixels were written")


def _is_cut_behind_pixels(data: bytes) -> bool:
    """Returns whether a PNG has no end, and yet more than a part of its pixels in its last chunk."""
    last, last_end = b"IEND", 0
    for name, _, end in chunks(data):
        last, last_end = name, end
    return last != b"IEND" and (last not in _FOR_PIXELS or last_end + 4 <= len(data))


def _metadata(data: bytes, found: Chunks) -> tuple[Metadata, list[str], tuple[str, ...]]:
    notes = list[str]()
    said = png_text.read_texts(data, found, notes)
    block, place = said.exif, 0
    for start, end in found.get(b"eXIf", [])[-1:]:
        block, place = data[start:end], start
    exif = None
    if block is not None:
        try:
            exif = exif_tree.parse(block.removeprefix(exif_tree.PREFIX), place)
        except IfdError as error:
            notes.append(f"its EXIF is damaged ({error}) and was dropped")
    dpi = None
    for start, end in found.get(b"pHYs", [])[:1]:
        if end - start == 9:
            x, y, unit = struct.unpack_from(">IIB", data, start)
            dpi = (x * _INCH, y * _INCH) if unit == 1 and x and y else None
    packet, stale = xmp.cleaned(said.xmp) if said.xmp is not None else (None, ())
    return Metadata(exif, packet, iptc=said.iptc, dpi=dpi, texts=tuple(said.texts)), notes, stale


def _colours(data: bytes, found: Chunks, notes: list[str]) -> tuple[bytes | None, Description | None]:
    """Returns profile and description by the rank of their chunks: cICP, iCCP, sRGB, gAMA with cHRM."""
    for start, end in found.get(b"cICP", [])[:1]:
        matrix_and_range = data[start + 2 : start + 4] if end - start == 4 else b""
        if matrix_and_range == b"\0\1":
            return None, CodePoints(data[start], data[start + 1])
        if matrix_and_range == b"\0\0":
            raise ImageError(
                "a PNG of narrow range (its cICP chunk says that black and white are not the least and the largest "
                "sample), which cannot be read here: convert it to full range first"
            )
        notes.append("its cICP chunk makes no sense and was ignored")
    for start, end in found.get(b"iCCP", [])[:1]:
        _, _, rest = data[start:end].partition(b"\0")
        profile = png_text.inflated(rest[1:], _MAX_PROFILE_BYTES)
        return profile or b"damaged", None
    if found.get(b"sRGB"):
        return None, Gamma(is_srgb=True)
    exponent = None
    for start, end in found.get(b"gAMA", [])[:1]:
        value = int.from_bytes(data[start:end], "big") if end - start == 4 else 0
        exponent = value / _FIVE_DECIMALS if 1_000 <= value <= 1_000_000 else None
        if exponent is None:
            notes.append("its gAMA chunk makes no sense and was ignored")
    chromaticities = None
    for start, end in found.get(b"cHRM", [])[:1]:
        if end - start == 32:
            white, red, green, blue = (
                (x / _FIVE_DECIMALS, y / _FIVE_DECIMALS) for x, y in struct.iter_unpack(">II", data[start:end])
            )
            sound = all(y > 0 and x + y <= 1.01 for x, y in (white, red, green, blue) if (x, y) != (0, 0))
            chromaticities = (white, red, green, blue) if sound and white[1] > 0 else None
        if chromaticities is None:
            notes.append("its cHRM chunk makes no sense and was ignored")
    if exponent is None and chromaticities is None:
        return None, None
    return None, Gamma(exponent, chromaticities)


def _colour_chunks(stored: Stored) -> list[bytes]:
    if stored.profile is not None:
        return [chunk(b"iCCP", b"ICC profile\0\0" + zlib.compress(stored.profile))]
    said = stored.description
    if isinstance(said, CodePoints):
        return [chunk(b"cICP", bytes((said.primaries, said.transfer, 0, 1)))]
    if not isinstance(said, Gamma):
        return []
    if said.is_srgb:
        return [chunk(b"sRGB", b"\0")]
    parts = []
    if said.exponent is not None:
        parts.append(chunk(b"gAMA", struct.pack(">I", round(said.exponent * _FIVE_DECIMALS))))
    if said.chromaticities is not None:
        numbers = (round(value * _FIVE_DECIMALS) for point in said.chromaticities for value in point)
        parts.append(chunk(b"cHRM", struct.pack(">8I", *numbers)))
    return parts


_KNOWN = {b"cICP", b"iCCP", b"sRGB", b"gAMA", b"cHRM", b"pHYs", b"eXIf", b"tEXt", b"zTXt", b"iTXt", *_IDLE}

FORMAT = Format(
    "png",
    "PNG",
    (".png",),
    sniff,
    open_png,
    save,
    depth=16,
    describes=(CodePoints, Gamma),
    keeps=frozenset({"EXIF", "XMP", "IPTC", "Photoshop", "texts"}),
    converts="palettes to colours",
    refuses="animations, HDR (PQ, HLG)",
)
