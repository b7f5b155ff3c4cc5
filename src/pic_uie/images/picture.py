"""A picture in memory: pixels for the model, and all that its file said besides."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pic_uie.images.description import Description
from pic_uie.images.exif import Exif

Pixels = NDArray[np.unsignedinteger[Any]]  # (H, W, 1 to 4), uint8 or uint16: what a `Picture` has
RGB8 = NDArray[np.uint8]  # (H, W, 3): what training and evaluation take
Space = Literal["grey", "rgb", "cmyk", "lab"]
Resolution = tuple[float, float]  # dots per inch, horizontal and vertical


def plausible(dpi: Resolution | None) -> Resolution | None:
    """Returns a resolution that a picture can have, or None for what only a damaged header says."""
    return dpi if dpi is not None and all(0.1 <= value <= 100_000.0 for value in dpi) else None


@dataclass(frozen=True)
class Text:
    """A text with a keyword, as PNG has them; a JPEG's comment has the keyword "Comment"."""

    keyword: str
    value: str
    language: str = ""
    translated: str = ""  # the keyword in that language


@dataclass(frozen=True)
class Metadata:
    """What travels with the pixels.

    Attributes:
        exif: The tree of tags.
        xmp: The XMP packet.
        xmp_extension: What continues where a JPEG's packet has no more room.
        iptc: The IPTC records, bare or among the resources of a block of Photoshop's.
        dpi: Horizontal and vertical dots per inch, where the file gives them.
        texts: Title, author, comment, ... as plain text.
        segments: A JPEG's application segments that are kept as they are (GoPro, FLIR, ...): marker and content.
    """

    exif: Exif | None = None
    xmp: bytes | None = None
    xmp_extension: bytes | None = None
    iptc: bytes | None = None
    dpi: Resolution | None = None
    texts: tuple[Text, ...] = ()
    segments: tuple[tuple[int, bytes], ...] = ()


@dataclass(frozen=True)
class Colour:
    """How the file stores colour; `pixels` are always sRGB.

    Attributes:
        space: The channels of the file.
        profile: The ICC profile that describes them, or says the same as the file does (None: sRGB is meant).
        converted: Whether `pixels` were converted from that profile and must be converted back.
        implied: Whether the file says nothing and the profile was assumed: the result says nothing either.
        has_way_back: Whether the profile also converts from sRGB; the result is sRGB where it does not.
        description: What the file says of its colours where it has no profile.
        own: If they were converted, the colour channels as the file has them.
        remainder: The share of what the way to sRGB and back changes in `own` that `encode` adds to the result.
    """

    space: Space = "rgb"
    profile: bytes | None = None
    converted: bool = False
    implied: bool = False
    has_way_back: bool = True
    description: Description | None = None
    own: Pixels | None = field(default=None, compare=False, repr=False)
    remainder: float = field(default=0.0, compare=False, repr=False)


@dataclass(frozen=True)
class Coding:
    """How the file was compressed, so that the result can be compressed alike.

    Attributes:
        quality: The JPEG quality that matches the file's quantisation.
        subsampled: Whether a JPEG or AVIF stores chroma at half resolution.
        lossless: Whether a WebP or AVIF is lossless.
        compression: Name of a TIFF's compression.
        bits: Bits per channel of an AVIF, HEIC or raw file (8 to 16).
        bytes_per_pixel: Size of the file by its pixels.
    """

    quality: int | None = None
    subsampled: bool | None = None
    lossless: bool = False
    compression: str | None = None
    bits: int | None = None
    bytes_per_pixel: float | None = None


@dataclass(frozen=True)
class Picture:
    """Pixels and what came with them.

    Attributes:
        pixels: (H, W, C), sRGB-encoded, uint8 or uint16; C is 1 grey, 2 grey + alpha, 3 RGB, 4 RGB + alpha; upright.
        format: Name of the file's format.
        bits: Bits per channel in the file, 8 or 16 (8-bit files in another colour space have 16-bit `pixels`).
        metadata: EXIF, XMP, IPTC and resolution.
        colour: The file's own colour space.
        coding: The file's compression.
        notes: What was odd about the file but did not stop us, and what of it the result does not have.
        scale: The file's samples that are 0 and 65535 in `pixels`, where it does not use all of its 16 bits.
    """

    pixels: Pixels
    format: str = "png"
    bits: int = 8
    metadata: Metadata = field(default_factory=Metadata)
    colour: Colour = field(default_factory=Colour)
    coding: Coding = field(default_factory=Coding)
    notes: tuple[str, ...] = ()
    scale: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        """Refuses pixels that no file can hold."""
        seen = f"{getattr(self.pixels, 'dtype', type(self.pixels).__name__)} {getattr(self.pixels, 'shape', '')}"
        if not isinstance(self.pixels, np.ndarray) or self.pixels.dtype not in (np.uint8, np.uint16):
            raise ValueError(f"pixels must be uint8 or uint16 samples, got {seen}")
        if self.pixels.ndim != 3 or not 1 <= self.pixels.shape[2] <= 4 or not self.pixels.size:
            raise ValueError(f"pixels must have shape (H, W, 1 to 4) and not be empty, got {seen}")
        if self.bits not in (8, 16):
            raise ValueError(f"bits must be 8 or 16, got {self.bits}")

    @property
    def width(self) -> int:
        """Pixels across."""
        return int(self.pixels.shape[1])

    @property
    def height(self) -> int:
        """Pixels down."""
        return int(self.pixels.shape[0])

    @property
    def has_alpha(self) -> bool:
        """Whether the last channel is alpha."""
        return self.pixels.shape[2] in (2, 4)

    def with_pixels(self, pixels: Pixels) -> Picture:
        """Returns the same picture with other pixels of the same shape and type."""
        if pixels.shape != self.pixels.shape or pixels.dtype != self.pixels.dtype:
            raise ValueError(
                f"pixels must stay {self.pixels.shape} {self.pixels.dtype}, got {pixels.shape} {pixels.dtype}"
            )
        return replace(self, pixels=pixels)
