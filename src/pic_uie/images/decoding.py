"""File → pixels: header first, then the limits, then the pixels; full scale; colour to sRGB; upright."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from pic_uie.errors import ImageError
from pic_uie.images import colour, description, formats, ranges
from pic_uie.images.interface import Format, Opened, as_array
from pic_uie.images.picture import Colour, Picture, Pixels, Resolution, Space, plausible
from pic_uie.images.ranges import SampleRange

MAX_PIXELS = 268_435_456  # 16384 x 16384


@dataclass(frozen=True)
class Undecoded:
    """A picture whose header was read and found acceptable.

    Attributes:
        format: Its format.
        width: Pixels across, as stored.
        height: Pixels down, as stored.
        decode: Reads its pixels.
        decode_small: The same with at least so many pixels on the longer side, faster where the format can.
    """

    format: Format
    width: int
    height: int
    decode: Callable[[], Picture]
    decode_small: Callable[[int], Picture]


def read_header(
    data: bytes, *, max_pixels: int = MAX_PIXELS, salvage: bool = False, sample_range: SampleRange | None = None
) -> Undecoded:
    """Reads the header of a picture.

    Args:
        data: The file.
        max_pixels: The largest picture to read.
        salvage: Whether what can be decoded of a damaged file is enough.
        sample_range: Which samples are black and white in a file of more than 8 bits that does not use them all.

    Raises:
        ImageError: Not a picture of ours, a damaged header, animated, of several pages, or larger than `max_pixels`.
    """
    kind = formats.sniff(data)
    if kind is None:
        head = data[: formats.HEAD_BYTES]
        raise ImageError(
            f"{formats.describe(head)}, not a picture that can be read ({formats.titles(formats.readable())})"
        )
    opened = kind.open(data, salvage)
    check_size(opened.width, opened.height, max_pixels)
    description.refuse_hdr(opened.description)

    def small(side: int) -> Picture:
        shrinks = opened.small
        samples = opened.samples if shrinks is None else lambda: shrinks(side)
        return _decode(kind, replace(opened, samples=samples), sample_range)

    return Undecoded(kind, opened.width, opened.height, lambda: _decode(kind, opened, sample_range), small)


def decode(
    data: bytes, *, max_pixels: int = MAX_PIXELS, salvage: bool = False, sample_range: SampleRange | None = None
) -> Picture:
    """Decodes a picture; arguments as for `read_header`.

    Raises:
        ImageError: What `read_header` raises, damaged pixels, or samples whose black and white are not known.
    """
    return read_header(data, max_pixels=max_pixels, salvage=salvage, sample_range=sample_range).decode()


def check_size(width: int, height: int, max_pixels: int) -> None:
    """Raises ImageError for an empty picture or one beyond the limit."""
    if width < 1 or height < 1:
        raise ImageError(f"a picture without pixels ({width} x {height})")
    if width * height > max_pixels:
        raise ImageError(
            f"{width} x {height} = {width * height / 1e6:.0f} megapixels, beyond the limit of {max_pixels / 1e6:.0f}; "
            f"if you trust the file: --max-pixels {width * height}"
        )


def _decode(kind: Format, opened: Opened, sample_range: SampleRange | None) -> Picture:
    samples = as_array(opened.samples())
    channels = colour.CHANNELS[opened.space]
    if not 0 <= samples.shape[2] - channels <= 1:
        raise ImageError(
            f"a {kind.title} with {samples.shape[2]} channels of type {samples.dtype}; "
            "grey, RGB or CMYK with at most one alpha channel can be read"
        )
    says_colour = bool(opened.profile or opened.description or opened.coding.bits)
    knows_range = opened.coding.bits is not None  # AVIF, HEIC and raw files know what is black and white
    asked = None if knows_range else sample_range
    pixels, scale, range_notes = ranges.full_scale(samples, channels, asked, says_colour=says_colour)
    if knows_range and sample_range is not None:
        range_notes += (f"{kind.title} says what is black and white: --range does nothing to it",)
    pixels, own, colour_notes = _managed(upright(pixels, opened.orientation), channels, opened)
    metadata, exif = opened.metadata, opened.metadata.exif
    dpi = _resolution(plausible(metadata.dpi), plausible(exif.dpi if exif else None))
    if dpi and opened.orientation > 4:
        dpi = dpi[1], dpi[0]
    damage = opened.damage()
    left_out = (f"left out: its {_listed(opened.left_out)}",) if opened.left_out else ()
    return Picture(
        pixels,
        kind.name,
        8 if samples.dtype == np.uint8 else 16,
        replace(metadata, dpi=dpi),
        own,
        opened.coding,
        ((str(damage),) if damage else ()) + opened.notes + range_notes + colour_notes + left_out,
        scale,
    )


def upright(pixels: Pixels, orientation: int) -> Pixels:
    """Applies an EXIF orientation (1 to 8) to (H, W, C)."""
    if orientation > 4:  # stored on its side
        pixels = pixels.swapaxes(0, 1)
    if orientation in (2, 3, 6, 7):
        pixels = pixels[:, ::-1]
    if orientation in (3, 4, 7, 8):
        pixels = pixels[::-1]
    return np.ascontiguousarray(pixels)


def _resolution(container: Resolution | None, exif: Resolution | None) -> Resolution | None:
    """Returns the container's resolution, or EXIF's where it says the same more exactly."""
    if container is None or exif is None:
        return container or exif
    agree = all(abs(a - b) <= 0.002 * a for a, b in zip(container, exif, strict=True))
    return exif if agree else container


def _managed(pixels: Pixels, channels: int, opened: Opened) -> tuple[Pixels, Colour, tuple[str, ...]]:
    """Returns sRGB pixels, the file's colour space, and notes."""
    space, profile, said, notes = opened.space, opened.profile, opened.description, list[str]()
    if profile is not None and (fault := colour.fault(profile, space)) is not None:
        profile = None
        notes.append(fault)
    if profile is not None:
        said = None
    elif said is not None:
        profile, said, notes = _said(said, space, notes)
    exif = opened.metadata.exif
    if profile is None and said is None and space == "rgb" and exif and exif.is_adobe_rgb:
        profile = colour.ADOBE_RGB
    implied = profile is None and space == "cmyk"
    if implied:
        profile = colour.default_cmyk_profile()
    if profile is None or colour.is_srgb(profile, space):
        return pixels, Colour(space, None if said else profile, description=said), tuple(notes)
    own, alpha = np.ascontiguousarray(pixels[:, :, :channels]), pixels[:, :, channels:]
    converted = colour.to_srgb(own, space, profile)
    if alpha.shape[2]:
        converted = np.concatenate([converted, colour.deepened(alpha)], axis=2)
    back = colour.has_way_back(profile, space)
    if not back:
        notes.append("its colour profile converts in one direction only: the result is in sRGB")
    described = Colour(space, profile, True, implied, back, said, own if back else None)
    return converted, described, tuple(notes)


def _said(
    said: description.Description, space: Space, notes: list[str]
) -> tuple[bytes | None, description.Description | None, list[str]]:
    """Returns the profile that says the same as a description, and the description if it makes sense."""
    try:
        return description.profile_of(said, "grey" if space == "grey" else "rgb"), said, notes
    except ValueError:
        return None, None, [*notes, "its description of colours makes no sense and was ignored"]


def _listed(parts: tuple[str, ...]) -> str:
    unique = list(dict.fromkeys(parts))
    return unique[0] if len(unique) == 1 else ", ".join(unique[:-1]) + " and " + unique[-1]
