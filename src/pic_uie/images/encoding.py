"""Pixels → file: back to the file's own colours, compressed like the source, metadata brought up to date, checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from pic_uie.errors import ImageError, did_you_mean
from pic_uie.images import colour, formats, ranges, vips, xmp
from pic_uie.images import exif as exif_tree
from pic_uie.images.exif import Exif
from pic_uie.images.formats import FORMATS, READABLE, Format
from pic_uie.images.interface import DEFAULT_QUALITY, Stored
from pic_uie.images.losses import into_exif
from pic_uie.images.picture import Colour, Metadata, Picture, Pixels, Space
from pic_uie.images.provenance import with_provenance

Samples = NDArray[np.float32]

__all__ = ["DEFAULT_QUALITY", "encode", "format_for", "with_remainder"]

STRIP_PIXELS = 1 << 21


def encode(
    picture: Picture,
    *,
    file_format: str | None = None,
    quality: int | None = None,
    keep_metadata: bool = True,
    software: str | None = None,
    provenance: Mapping[str, str] | None = None,
) -> bytes:
    """Encodes a picture.

    Args:
        picture: What `decode` gave, with new pixels.
        file_format: Name of the format; by default the source's, or what stands in for it if it is only read.
        quality: Of JPEG, WebP and AVIF; near the source's by default, 95 where that is unknown.
        keep_metadata: Whether EXIF, XMP, IPTC, texts, ICC profile and resolution go into the file.
        software: The software tag.
        provenance: What made it, by names of our own in its XMP, where the format has XMP.

    Raises:
        ImageError: The format cannot hold such a picture, or no encoder is present.
        ValueError: An unknown format, or a quality outside 1 to 100.
    """
    kind = format_for(picture, file_format)
    if quality is not None and not 1 <= quality <= 100:
        raise ValueError(f"quality must be from 1 to 100, got {quality}")
    pixels, own = _stored(picture, kind, keep_metadata)
    became_srgb = picture.colour.converted and not own.converted
    metadata = _brought_up_to_date(picture, kind, software, became_srgb) if keep_metadata else Metadata()
    if provenance and keep_metadata and "XMP" in kind.keeps:
        metadata = replace(metadata, xmp=with_provenance(metadata.xmp, provenance))
    said = own.description if keep_metadata and isinstance(own.description, kind.describes) else None
    profile = own.profile if kind.profile and keep_metadata and said is None and not own.implied else None
    stored = Stored(pixels, own.space, profile, said, metadata, picture.coding, picture.format, quality)
    assert kind.save is not None  # noqa: S101 (for the type checker: FORMATS has only those)
    with vips.errors_as_image_errors(f"cannot encode {kind.title}"):
        data = kind.save(stored)
    _check(data, kind, stored)
    return data


def format_for(picture: Picture, name: str | None) -> Format:
    """Returns the format of a result: the one named, or the source's own or its stand-in.

    Raises:
        ValueError: An unknown name, or of a format that is only read.
    """
    if name is None:
        return formats.result_of(READABLE[picture.format])
    if name not in FORMATS:
        raise ValueError(f"unknown format {name!r}: {did_you_mean(name, FORMATS)}")
    return FORMATS[name]


def with_remainder(picture: Picture, share: float) -> Picture:
    """Returns the picture so that `encode` adds `share` of what the way to sRGB and back changes in its own channels.

    With all of it, and with the same pixels, the file's own samples come back.
    """
    own = picture.colour
    return replace(picture, colour=replace(own, own=own.own if share else None, remainder=share))


def _stored(picture: Picture, kind: Format, keep_metadata: bool) -> tuple[Pixels, Colour]:
    """Returns the pixels as the file holds them, and their colour space."""
    pixels, own = picture.pixels, picture.colour
    bits = picture.bits if kind.depth > 8 else 8
    opacity = None
    if picture.has_alpha and not kind.alpha:
        opacity = pixels[:, :, -1:]
        pixels = _on_white(pixels)
    colours = pixels.shape[2] - (pixels.shape[2] in (2, 4))
    keeps_space = keep_metadata and kind.profile and own.has_way_back and (own.space != "cmyk" or kind.cmyk)
    if own.converted and own.profile and keeps_space:
        alpha = pixels[:, :, colours:]
        back = colour.from_srgb(np.ascontiguousarray(pixels[:, :, :colours]), own.space, own.profile, bits)
        if own.own is not None and own.remainder:
            lost = partial(colour.lost_in_srgb, space=own.space, profile=own.profile)
            _add_remainder(back, own.own, lost, own.remainder, opacity)
        stored: Pixels = np.concatenate([back, _at(alpha, bits)], axis=2) if alpha.shape[2] else back
    else:
        space: Space = "grey" if colours == 1 else "rgb"
        # sRGB it is: a profile is kept if it means sRGB, and a picture that had another one says so
        profile = vips.built_in_profile("srgb") if own.converted else own.profile
        stored = np.ascontiguousarray(_at(pixels, bits))
        own = Colour(space, profile, description=None if own.converted else own.description)
    if picture.scale is not None and kind.depth == 16:
        stored = ranges.own_scale(stored, colour.CHANNELS[own.space], picture.scale)
    return stored, own


def _add_remainder(
    back: Pixels, own: Pixels, lost: Callable[[Pixels], Samples], share: float, opacity: Pixels | None
) -> None:
    """Adds to `back`, in place and strip by strip, a share of what sRGB has no room for; none where nothing is seen."""
    top = np.iinfo(back.dtype).max
    scale = np.float32(share * top / np.iinfo(own.dtype).max)
    rows = max(1, STRIP_PIXELS // own.shape[1])
    for start in range(0, own.shape[0], rows):
        strip = slice(start, start + rows)
        remainder = scale * lost(own[strip])
        if opacity is not None:
            remainder *= opacity[strip] / np.float32(np.iinfo(opacity.dtype).max)
        remainder += back[strip]
        back[strip] = np.rint(remainder.clip(0, top))


def _brought_up_to_date(picture: Picture, kind: Format, software: str | None, became_srgb: bool) -> Metadata:
    """Returns the metadata that is true of the result and that the format has a place for."""
    kept, size = picture.metadata, (picture.width, picture.height)
    tree, texts = into_exif(kept.exif, kept.texts, kind)
    if tree is not None or software:
        tree = exif_tree.refreshed(tree or Exif(), size, software, kept.dpi, became_srgb=became_srgb)
    packet = xmp.upright(kept.xmp, size) if kept.xmp else None
    if packet is not None and kept.xmp_extension is not None and "extended XMP" not in kind.keeps:
        packet = xmp.without_extension(packet)
    return replace(kept, exif=tree, xmp=packet, texts=texts)


def _check(data: bytes, kind: Format, stored: Stored) -> None:
    """Raises ImageError if the header of a result is not whole: such a file must not replace or follow a sound one."""
    try:
        again = kind.open(data, False)
        whole = kind.sniff(data) and (again.width, again.height) == stored.size
        reason = f"{again.width} x {again.height}"
    except ImageError as error:
        whole, reason = False, str(error)
    if not whole:
        raise ImageError(f"the {kind.title} that was written cannot be read back ({reason}); please report it")


def _at(pixels: Pixels, bits: int) -> Pixels:
    return colour.flattened(pixels) if bits == 8 else colour.deepened(pixels)


def _on_white(pixels: Pixels) -> Pixels:
    top = np.iinfo(pixels.dtype).max
    alpha = pixels[:, :, -1:].astype(np.float32) / top
    blended = pixels[:, :, :-1] * alpha + top * (1 - alpha)
    return np.rint(blended).astype(pixels.dtype)
