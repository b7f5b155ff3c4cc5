"""Files ↔ pixels: sniff, decode, colour, metadata, encode, atomic write.

picture = images.read("reef.jpg")
images.write(picture.with_pixels(better), "reef_enhanced.jpg")
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pic_uie.errors import ImageError
from pic_uie.files import atomic_write
from pic_uie.images.colour import flattened
from pic_uie.images.decoding import MAX_PIXELS, Undecoded, decode, read_header
from pic_uie.images.encoding import DEFAULT_QUALITY, encode, with_remainder
from pic_uie.images.files import read_bytes
from pic_uie.images.formats import FORMATS, READABLE, Format, by_suffix, result_of, sniff
from pic_uie.images.losses import losses
from pic_uie.images.picture import RGB8, Colour, Metadata, Picture, Pixels, Text
from pic_uie.images.ranges import SampleRange
from pic_uie.images.resize import fitted

__all__ = [
    "DEFAULT_QUALITY",
    "FORMATS",
    "MAX_PIXELS",
    "READABLE",
    "RGB8",
    "Colour",
    "Format",
    "Metadata",
    "Picture",
    "Pixels",
    "SampleRange",
    "Text",
    "Undecoded",
    "decode",
    "encode",
    "fitted",
    "losses",
    "read",
    "read_header",
    "read_rgb8",
    "result_of",
    "sniff",
    "with_remainder",
    "write",
]


def read(
    source: str | Path | bytes,
    *,
    max_pixels: int = MAX_PIXELS,
    salvage: bool = False,
    sample_range: SampleRange | None = None,
) -> Picture:
    """Reads a picture from a path, or from the bytes of a file; arguments as for `read_header`.

    Raises:
        ImageError: Unreadable, not a picture that we read, damaged, or larger than `max_pixels`; starts with the path.
    """
    if isinstance(source, bytes):
        return decode(source, max_pixels=max_pixels, salvage=salvage, sample_range=sample_range)
    try:
        data = read_bytes(source, max_pixels)
        return decode(data, max_pixels=max_pixels, salvage=salvage, sample_range=sample_range)
    except ImageError as error:
        raise ImageError(f"{source}: {error}") from error


def read_rgb8(path: str | Path) -> RGB8:
    """Reads a picture as plain sRGB: (H, W, 3) uint8; grey becomes three equal channels, alpha is left out."""
    pixels = flattened(read(path).pixels)
    if pixels.shape[2] < 3:
        return np.repeat(pixels[:, :, :1], 3, axis=2).astype(np.uint8)
    return np.ascontiguousarray(pixels[:, :, :3], dtype=np.uint8)


def write(
    picture: Picture,
    path: str | Path,
    *,
    file_format: str | None = None,
    quality: int | None = None,
    keep_metadata: bool = True,
    software: str | None = None,
) -> int:
    """Writes a picture in one step or not at all; returns the size of the file.

    Args:
        picture: Pixels with the metadata of their source.
        path: Where to.
        file_format: Name of the format; by default the one of the path's suffix, else the source's.
        quality: See `encode`.
        keep_metadata: See `encode`.
        software: See `encode`.

    Raises:
        ImageError: The format cannot hold the picture.
        OSError: The folder cannot be written, or the disk is full; an existing file is then as it was.
    """
    path = Path(path)
    named = by_suffix(path)
    chosen = file_format or (named.name if named and named.name in FORMATS else None)
    data = encode(picture, file_format=chosen, quality=quality, keep_metadata=keep_metadata, software=software)
    atomic_write(path, data)
    return len(data)
