"""File → pixels: header first, then the limits, then the pixels; colour to sRGB; upright."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pic_uie.errors import ImageError
from pic_uie.images import bmp, colour, formats, jpeg, png, tiff, vips, webp
from pic_uie.images import exif as exif_tree
from pic_uie.images.formats import Format
from pic_uie.images.ifd import IfdError
from pic_uie.images.jpeg import EXIF_PREFIX
from pic_uie.images.picture import Coding, Colour, Facts, Metadata, Picture, Pixels, Space, plausible

MAX_PIXELS = 268_435_456  # 16384 x 16384

_LOADERS = {"jpeg": "jpegload", "png": "pngload", "tiff": "tiffload", "webp": "webpload"}
_LOADERS |= {"avif": "heifload", "heic": "heifload"}
_SPACES: dict[str, Space] = {"b-w": "grey", "grey16": "grey", "srgb": "rgb", "rgb16": "rgb", "cmyk": "cmyk"}
_SEQUENCE_BRANDS = (b"avis", b"msf1", b"hevc", b"hevx")
_SEVERAL = {"tiff": "several pages", "jpeg": "several views (a stereo pair or panorama)"}
_COLOUR_CHANNELS: dict[Space, int] = {"grey": 1, "rgb": 3, "cmyk": 4}


@dataclass(frozen=True)
class Undecoded:
    """A picture whose header was read and found acceptable; `decode` reads its pixels."""

    format: Format
    width: int
    height: int
    decode: Callable[[], Picture]


def inspect(data: bytes, *, max_pixels: int = MAX_PIXELS) -> Undecoded:
    """Reads the header of a picture of an allowed format.

    Raises:
        ImageError: Not a picture of ours, a damaged header, animated, of several pages, or larger than `max_pixels`.
    """
    head = data[: formats.HEAD_BYTES]
    kind = formats.sniff(head)
    if kind is None:
        raise ImageError(f"{formats.describe(head)}, not a picture that can be read ({formats.titles()})")
    if kind is formats.BMP:
        width, height = bmp.size(data)
        check_size(width, height, max_pixels)
        return Undecoded(kind, width, height, lambda: bmp.decode(data))
    facts = _FACTS.get(kind.name, _no_facts)(data)
    if facts.frames > 1 or head[8:12] in _SEQUENCE_BRANDS:
        what = _SEVERAL.get(kind.name, "several frames (an animation)")
        raise ImageError(f"a {kind.title} with {what}: only single pictures can be enhanced; extract them first")
    with vips.errors_as_image_errors(f"damaged {kind.title}", kind.name):
        image = _open(kind, data, facts)
        check_size(image.width, image.height, max_pixels)
    return Undecoded(kind, image.width, image.height, lambda: _decode(kind, image, facts))


def decode(data: bytes, *, max_pixels: int = MAX_PIXELS) -> Picture:
    """Decodes a picture of an allowed format.

    Raises:
        ImageError: What `inspect` raises, or damaged pixels.
    """
    return inspect(data, max_pixels=max_pixels).decode()


def check_size(width: int, height: int, max_pixels: int) -> None:
    """Raises ImageError for an empty picture or one beyond the limit."""
    if width < 1 or height < 1:
        raise ImageError(f"a picture without pixels ({width} x {height})")
    if width * height > max_pixels:
        raise ImageError(
            f"{width} x {height} = {width * height / 1e6:.0f} megapixels, beyond the limit of {max_pixels / 1e6:.0f}; "
            f"if you trust the file: --max-pixels {width * height}"
        )


def _open(kind: Format, data: bytes, facts: Facts) -> Any:
    loader = _LOADERS[kind.name]
    if not vips.has_operation(loader):
        raise ImageError(f"{kind.title} needs a libvips with {loader}; convert the file to JPEG, PNG or TIFF first")
    options = {"page": facts.page} if kind is formats.TIFF else {}
    try:
        image = vips.open_lazily(loader, data, **options)
    except vips.library().Error as error:
        if kind is formats.HEIC and re.search("decod|[Uu]nsupported|codec", str(error.detail)):
            raise ImageError(
                "HEIC, but this build of libvips has no HEVC decoder; convert the file to JPEG, PNG or TIFF first, "
                "or install a libvips with libde265 and pip install --no-binary :all: pyvips"
            ) from error
        raise
    if kind is not formats.TIFF and image.get_typeof("n-pages") and image.get("n-pages") > 1:
        raise ImageError(f"a {kind.title} with several pictures: extract one first")
    return image


def _decode(kind: Format, image: Any, facts: Facts) -> Picture:
    space = _SPACES.get(image.interpretation)
    channels = _COLOUR_CHANNELS.get(space, 0) if space else 0
    extra = image.bands - channels
    if space is None or image.format not in ("uchar", "ushort") or not 0 <= extra <= 1:
        raise ImageError(
            f"a {kind.title} with {image.bands} channels of type {image.format} ({image.interpretation}); "
            "8 or 16 bits of grey, RGB or CMYK with at most one alpha channel can be read"
        )
    exif, notes = _exif(kind, vips.block(image, "exif-data"), facts)
    found = facts.metadata
    xmp = found.xmp or vips.block(image, "xmp-data")
    profile = vips.block(image, "icc-profile-data")
    coding = facts.coding
    if kind in (formats.AVIF, formats.HEIC) and image.get_typeof("bits-per-sample"):
        coding = replace(coding, bits=int(image.get("bits-per-sample")))

    with vips.errors_as_image_errors(f"damaged {kind.title}", kind.name):
        pixels = vips.to_array(image)
    bits = 8 * pixels.itemsize
    # libheif turns the picture itself; everyone else leaves it to us
    orientation = exif.orientation if exif and kind not in (formats.AVIF, formats.HEIC) else 1
    pixels, own_colour, colour_notes = _managed(upright(pixels, orientation), channels, space, profile, exif)
    dpi = plausible(found.dpi) or plausible(exif.dpi if exif else None)
    if dpi and orientation > 4:
        dpi = dpi[1], dpi[0]
    block = exif_tree.serialise(exif) if exif else None
    metadata = Metadata(block, xmp, found.xmp_extension if xmp else (), found.iptc, dpi)
    return Picture(pixels, kind.name, bits, metadata, own_colour, coding, notes + colour_notes)


def upright(pixels: Pixels, orientation: int) -> Pixels:
    """Applies an EXIF orientation (1 to 8) to (H, W, C)."""
    if orientation > 4:  # stored on its side
        pixels = pixels.swapaxes(0, 1)
    if orientation in (2, 3, 6, 7):
        pixels = pixels[:, ::-1]
    if orientation in (3, 4, 7, 8):
        pixels = pixels[::-1]
    return np.ascontiguousarray(pixels)


def _managed(
    pixels: Pixels, channels: int, space: Space, profile: bytes | None, exif: exif_tree.Exif | None
) -> tuple[Pixels, Colour, tuple[str, ...]]:
    """Returns sRGB pixels, the file's colour space, and notes."""
    notes: tuple[str, ...] = ()
    if profile is not None and (fault := colour.fault(profile, space)) is not None:
        profile, notes = None, (fault,)
    if profile is None and space == "rgb" and exif and exif.is_adobe_rgb:
        profile = colour.ADOBE_RGB
    if profile is None and space == "cmyk":
        profile = colour.default_cmyk_profile()
    if profile is None or colour.is_srgb(profile, space):
        return pixels, Colour(space, profile), notes
    own, alpha = np.ascontiguousarray(pixels[:, :, :channels]), pixels[:, :, channels:]
    converted = colour.to_srgb(own, space, profile)
    if alpha.shape[2]:
        converted = np.concatenate([converted, colour.deepened(alpha)], axis=2)
    return converted, Colour(space, profile, converted=True, own=own), notes


def _exif(kind: Format, block: bytes | None, facts: Facts) -> tuple[exif_tree.Exif | None, tuple[str, ...]]:
    block = facts.metadata.exif or block
    if block is None:
        return None, ()
    if kind in (formats.AVIF, formats.HEIC) and block[4:10] == EXIF_PREFIX:
        block = block[4:]
    try:
        return exif_tree.parse(block.removeprefix(EXIF_PREFIX)), ()
    except IfdError as error:
        return None, (f"its EXIF is damaged ({error}) and was dropped",)


def _no_facts(data: bytes) -> Facts:
    return Facts(coding=Coding())


_FACTS: dict[str, Callable[[bytes], Facts]] = {
    "jpeg": jpeg.facts,
    "png": png.facts,
    "tiff": tiff.facts,
    "webp": webp.facts,
}
