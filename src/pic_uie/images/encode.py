"""Pixels → file: back to the file's own colours, compressed like the source, metadata brought up to date."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pic_uie.errors import ImageError, did_you_mean
from pic_uie.images import bmp, colour, formats, iptc, jpeg, png, tiff, vips, webp
from pic_uie.images import exif as exif_tree
from pic_uie.images.exif import Exif
from pic_uie.images.formats import FORMATS, Format
from pic_uie.images.ifd import IfdError
from pic_uie.images.picture import Colour, Metadata, Picture, Pixels, Space

Samples = NDArray[np.float32]

DEFAULT_QUALITY = 95
_PNG_COMPRESSION = 4  # a third faster than zlib's 6 for 2 % more bytes
_BIGTIFF_BYTES = 4_000_000_000
_HEIF_BITS = 12  # of a picture that had 16
_STRIP_PIXELS = 1 << 21
_JPEG_EXIF_BYTES = jpeg.MAX_SEGMENT - len(jpeg.EXIF_PREFIX)


def encode(
    picture: Picture,
    *,
    file_format: str | None = None,
    quality: int | None = None,
    keep_metadata: bool = True,
    software: str | None = None,
) -> bytes:
    """Encodes a picture.

    Args:
        picture: What `decode` gave, with new pixels.
        file_format: Name of the format; the source's by default.
        quality: Of JPEG, WebP and AVIF; near the source's by default, 95 where that cannot be told.
        keep_metadata: Whether EXIF, XMP, IPTC, ICC profile and resolution go into the file.
        software: The software tag.

    Raises:
        ImageError: The format cannot hold such a picture, or no encoder is present.
        ValueError: An unknown format, or a quality outside 1 to 100.
    """
    kind = _format(file_format or picture.format)
    if quality is not None and not 1 <= quality <= 100:
        raise ValueError(f"quality must be from 1 to 100, got {quality}")
    pixels, own_colour = _stored(picture, kind, keep_metadata)
    dpi = picture.metadata.dpi if keep_metadata else None
    if kind is formats.BMP:
        return bmp.encode(_without_grey_alpha(pixels), dpi)
    image = vips.from_array(pixels, own_colour.space)
    kept = picture.metadata if keep_metadata else Metadata()
    xmp = upright_xmp(kept.xmp) if kept.xmp else None
    if keep_metadata:
        image = _with_blocks(image, own_colour.profile, None if kind in (formats.JPEG, formats.PNG) else xmp)
    exif = _exif(picture, software, kind) if keep_metadata else None
    with vips.errors_as_image_errors(f"cannot encode {kind.title}"):
        if kind in (formats.AVIF, formats.HEIC):
            return _save_heif(kind, image, picture, quality, exif, dpi)
        data = _save(kind, image, picture, quality)
    if kind is formats.JPEG:
        return jpeg.with_header(data, replace(kept, exif=_jpeg_exif(exif), xmp=jpeg.fitting_xmp(xmp) if xmp else None))
    if kind is formats.PNG:
        return png.with_header(data, exif_tree.serialise(exif) if exif else None, xmp, dpi)
    if kind is formats.TIFF:
        return tiff.with_exif(data, exif or Exif(), kept.iptc)
    if exif is None:
        return data
    return webp.with_exif(data, exif_tree.serialise(exif), picture.width, picture.height, picture.has_alpha)


def losses(picture: Picture, file_format: str | None = None, *, keep_metadata: bool = True) -> tuple[str, ...]:
    """Says what of a picture a format has no place for; arguments as for `encode`."""
    kind, metadata = _format(file_format or picture.format), picture.metadata
    described = (metadata.exif, metadata.xmp, metadata.iptc, picture.colour.profile)
    lost = {
        "transparency, which was put on white": picture.has_alpha and not kind.alpha,
        "16 bits, which were rounded to 8": picture.bits > 8 and not kind.deep,
        f"16 bits, which were rounded to {_HEIF_BITS}": (
            kind in (formats.AVIF, formats.HEIC) and picture.bits > 8 and picture.coding.bits is None
        ),
    }
    if keep_metadata and kind is formats.BMP:
        lost["metadata"] = any(described)
    elif keep_metadata:
        block = metadata.iptc if kind not in (formats.JPEG, formats.TIFF) else None
        lost |= {
            "IPTC records": bool(block and iptc.records(block)),
            "Photoshop resources": bool(block and iptc.has_more_than_records(block)),
            "extended XMP": bool(metadata.xmp_extension) and kind is not formats.JPEG,
            "maker note, which is too long": kind is formats.JPEG and _maker_note_is_too_long(picture),
        }
    return tuple(f"{kind.title} has no place for its {what}" for what, is_lost in lost.items() if is_lost)


def with_remainder(picture: Picture, share: float) -> Picture:
    """Returns the picture so that `encode` adds `share` of what the way to sRGB and back changes in its own channels.

    With all of it, and with the same pixels, the file's own samples come back.
    """
    own = picture.colour
    return replace(picture, colour=replace(own, own=own.own if share else None, remainder=share))


def _format(name: str) -> Format:
    if name not in FORMATS:
        raise ValueError(f"unknown format {name!r}: {did_you_mean(name, FORMATS)}")
    return FORMATS[name]


def _stored(picture: Picture, kind: Format, keep_metadata: bool) -> tuple[Pixels, Colour]:
    """Returns the pixels as the file holds them, and their colour space."""
    pixels, own = picture.pixels, picture.colour
    bits = picture.bits if kind.deep else 8
    opacity = None
    if picture.has_alpha and not kind.alpha:
        opacity = pixels[:, :, -1:]
        pixels = _on_white(pixels)
    colours = pixels.shape[2] - (pixels.shape[2] in (2, 4))
    has_profile = keep_metadata and kind is not formats.BMP and (own.space != "cmyk" or kind.cmyk)
    if own.converted and own.profile and has_profile:
        alpha = pixels[:, :, colours:]
        back = colour.from_srgb(np.ascontiguousarray(pixels[:, :, :colours]), own.space, own.profile, bits)
        if own.own is not None and own.remainder:
            lost = partial(colour.lost_in_srgb, space=own.space, profile=own.profile)
            _add_remainder(back, own.own, lost, own.remainder, opacity)
        stored: Pixels = np.concatenate([back, _at(alpha, bits)], axis=2) if alpha.shape[2] else back
        return stored, own
    space: Space = "grey" if colours == 1 else "rgb"
    # sRGB it is: a profile is kept if it means sRGB, and a CMYK picture that became RGB says so
    profile = vips.built_in_profile("srgb") if own.converted else own.profile
    return np.ascontiguousarray(_at(pixels, bits)), Colour(space, profile if has_profile or own.converted else None)


def _add_remainder(
    back: Pixels, own: Pixels, lost: Callable[[Pixels], Samples], share: float, opacity: Pixels | None
) -> None:
    """Adds to `back`, in place and strip by strip, a share of what sRGB has no room for; none where nothing is seen."""
    top = np.iinfo(back.dtype).max
    scale = np.float32(share * top / np.iinfo(own.dtype).max)
    rows = max(1, _STRIP_PIXELS // own.shape[1])
    for start in range(0, own.shape[0], rows):
        strip = slice(start, start + rows)
        remainder = scale * lost(own[strip])
        if opacity is not None:
            remainder *= opacity[strip] / np.float32(np.iinfo(opacity.dtype).max)
        remainder += back[strip]
        back[strip] = np.rint(remainder.clip(0, top))


def _with_blocks(image: Any, profile: bytes | None, xmp: bytes | None) -> Any:
    for name, block in (("icc-profile-data", profile), ("xmp-data", xmp)):
        if block:
            image = vips.with_block(image, name, block)
    return image


def _save(kind: Format, image: Any, picture: Picture, quality: int | None) -> bytes:
    # EXIF and IPTC are ours: libvips would lose maker notes and cut records short
    keep, coding = "icc|xmp", picture.coding
    if kind is formats.JPEG:
        own = coding.quality if picture.format == "jpeg" else None
        subsampled = coding.subsampled if picture.format == "jpeg" else False
        mode = "on" if subsampled else "off"
        return bytes(image.jpegsave_buffer(Q=quality or own or DEFAULT_QUALITY, subsample_mode=mode, keep=keep))
    if kind is formats.PNG:
        return bytes(image.pngsave_buffer(compression=_PNG_COMPRESSION, keep=keep))
    if kind is formats.WEBP:
        lossless = quality is None and (coding.lossless if picture.format == "webp" else picture.format != "jpeg")
        return bytes(image.webpsave_buffer(Q=quality or DEFAULT_QUALITY, lossless=lossless, effort=2, keep=keep))
    return _save_tiff(image, picture, quality, keep)


def _save_tiff(image: Any, picture: Picture, quality: int | None, keep: str) -> bytes:
    compression = picture.coding.compression or "deflate"
    eight_bits = image.format == "uchar"
    if compression == "jpeg" and not (eight_bits and image.bands in (1, 3)):
        compression = "deflate"
    big = image.width * image.height * image.bands * (1 if eight_bits else 2) > _BIGTIFF_BYTES
    predictor = "horizontal" if compression in ("lzw", "deflate", "zstd") else "none"
    return bytes(
        image.tiffsave_buffer(
            compression=compression, Q=quality or DEFAULT_QUALITY, predictor=predictor, bigtiff=big, keep=keep
        )
    )


def _save_heif(
    kind: Format, image: Any, picture: Picture, quality: int | None, exif: Exif | None, dpi: tuple[float, float] | None
) -> bytes:
    if not vips.has_operation("heifsave"):
        raise ImageError(f"{kind.title} cannot be written by this build of libvips; use --format jpeg, png or tiff")
    if exif:  # here libvips writes EXIF itself, and wants to know the resolution
        image = vips.with_block(image, "exif-data", jpeg.EXIF_PREFIX + exif_tree.serialise(exif))
        x, y = dpi or (72.0, 72.0)
        image = image.copy(xres=x / 25.4, yres=y / 25.4)
    bits = 8 if image.format == "uchar" else (picture.coding.bits or _HEIF_BITS)
    compression = "av1" if kind is formats.AVIF else "hevc"
    keep = "icc|xmp|exif" if exif else "icc|xmp"
    options = {"bitdepth": bits, "Q": quality or DEFAULT_QUALITY, "effort": 2, "keep": keep}
    try:
        return bytes(image.heifsave_buffer(compression=compression, **options))
    except vips.library().Error as error:
        if kind is formats.HEIC:
            raise ImageError(
                "HEIC cannot be written by this build of libvips; use --format jpeg, png or tiff"
            ) from error
        raise


def _exif(picture: Picture, software: str | None, kind: Format) -> Exif | None:
    block = picture.metadata.exif
    if block is None and software is None and kind is not formats.TIFF:
        return None
    tree = exif_tree.parse(block) if block else Exif()
    return exif_tree.refreshed(tree, picture.width, picture.height, software, picture.metadata.dpi)


def _maker_note_is_too_long(picture: Picture) -> bool:
    block = picture.metadata.exif
    if block is None or len(block) <= jpeg.MAX_SEGMENT // 2:
        return False
    tree = exif_tree.parse(block)
    try:
        kept = exif_tree.parse(exif_tree.serialise(tree, limit=_JPEG_EXIF_BYTES))
    except IfdError:  # `encode` will tell
        return False
    return exif_tree.MAKER_NOTE in tree.photo and exif_tree.MAKER_NOTE not in kept.photo


def _jpeg_exif(exif: Exif | None) -> bytes | None:
    if exif is None:
        return None
    try:
        return exif_tree.serialise(exif, limit=_JPEG_EXIF_BYTES)
    except IfdError as error:
        raise ImageError(
            f"{error}: JPEG has no more room; try --format png, --format tiff or --strip-metadata"
        ) from error


def upright_xmp(packet: bytes) -> bytes:
    """Returns an XMP packet that says that the picture is upright, which it now is."""
    packet = re.sub(rb'(tiff:Orientation\s*=\s*["\'])[2-8](["\'])', rb"\g<1>1\g<2>", packet)
    return re.sub(rb"(<tiff:Orientation>\s*)[2-8](\s*</tiff:Orientation>)", rb"\g<1>1\g<2>", packet)


def _at(pixels: Pixels, bits: int) -> Pixels:
    return colour.flattened(pixels) if bits == 8 else colour.deepened(pixels)


def _on_white(pixels: Pixels) -> Pixels:
    top = np.iinfo(pixels.dtype).max
    alpha = pixels[:, :, -1:].astype(np.float32) / top
    blended = pixels[:, :, :-1] * alpha + top * (1 - alpha)
    return np.rint(blended).astype(pixels.dtype)


def _without_grey_alpha(pixels: Pixels) -> Pixels:
    return pixels[:, :, [0, 0, 0, 1]] if pixels.shape[2] == 2 else pixels
