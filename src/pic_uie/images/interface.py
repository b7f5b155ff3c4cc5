"""What a format module says of itself, and what it exchanges with the rest: `Format`, `Opened`, `Stored`.

One module per format knows everything about it: how its files begin, what they hold, how they are read and written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pic_uie.images.damage import Damage
from pic_uie.images.description import Description
from pic_uie.images.exif import Exif
from pic_uie.images.picture import Coding, Metadata, Pixels, Space

# What a format can keep, as `losses` names it.
Kept = Literal["EXIF", "XMP", "extended XMP", "IPTC", "Photoshop", "texts", "comments", "segments"]

DEFAULT_QUALITY = 95


@dataclass(frozen=True)
class Opened:
    """A file whose header was read.

    Attributes:
        width: Pixels across, as stored.
        height: Pixels down, as stored.
        samples: Decodes the file's own channels, (H, W, C) with at most one alpha channel at the end.
        space: What the colour channels are.
        profile: The ICC profile.
        description: What the file says of its colours where it has no profile.
        metadata: What travels with the pixels.
        coding: How they were compressed.
        orientation: The EXIF orientation that is still to be applied.
        left_out: Parts of the file that the result does not have, because they describe the source alone.
        notes: What else was odd.
        small: Decodes them with at least so many pixels on the longer side but fewer than there are; None: cannot.
        damage: Says, once the samples were decoded, what of them was lost; None: nothing.
    """

    width: int
    height: int
    samples: Callable[[], NDArray[Any]]
    space: Space = "rgb"
    profile: bytes | None = None
    description: Description | None = None
    metadata: Metadata = field(default_factory=Metadata)
    coding: Coding = field(default_factory=Coding)
    orientation: int = 1
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    small: Callable[[int], NDArray[Any]] | None = None
    damage: Callable[[], Damage | None] = lambda: None


@dataclass(frozen=True)
class Stored:
    """A picture as it goes into a file.

    Attributes:
        pixels: (H, W, C), contiguous, of the depth and channels that the format has.
        space: What the colour channels are.
        profile: The ICC profile to embed.
        description: What to say of the colours instead, where the format can say it.
        metadata: What travels along, brought up to date; empty where it is stripped.
        coding: How the source was compressed.
        source: Name of the source's format.
        quality: What the user asked for.
    """

    pixels: Pixels
    space: Space = "rgb"
    profile: bytes | None = None
    description: Description | None = None
    metadata: Metadata = field(default_factory=Metadata)
    coding: Coding = field(default_factory=Coding)
    source: str = "png"
    quality: int | None = None

    @property
    def size(self) -> tuple[int, int]:
        """Width and height."""
        return int(self.pixels.shape[1]), int(self.pixels.shape[0])

    @property
    def bits(self) -> int:
        """8 or 16."""
        return 8 * self.pixels.itemsize

    @property
    def has_alpha(self) -> bool:
        """Whether the last channel is alpha."""
        return self.space != "cmyk" and self.pixels.shape[2] in (2, 4)


@dataclass(frozen=True)
class Format:
    """One file format and what it can hold.

    Attributes:
        name: As `--format` has it.
        title: As people write it.
        suffixes: Of its files; the first one is written.
        sniff: Returns whether a file is one, from its first bytes (or all of them).
        open: Reads the header; arguments are the file and whether to read what a damaged one has.
        save: Writes a file; None: the format is only read.
        result: Name of the format of results, where this one is only read.
        alpha: Whether it has transparency.
        depth: Most bits per channel.
        cmyk: Whether it has CMYK.
        profile: Whether it has ICC profiles.
        describes: Which descriptions of colour it has beside ICC profiles.
        keeps: Which metadata it has a place for.
        exif_bytes: How much EXIF it has room for.
        moves_maker_note: Whether it cannot leave a maker note at its byte that may not move.
        missing: Says what must be installed to read it; None where nothing is.
        converts: What becomes something else, for the table of formats in the docs.
        refuses: What is refused, for that table.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    sniff: Callable[[bytes], bool]
    open: Callable[[bytes, bool], Opened]
    save: Callable[[Stored], bytes] | None = None
    result: str = ""
    alpha: bool = True
    depth: int = 8
    cmyk: bool = False
    profile: bool = True
    describes: tuple[type, ...] = ()
    keeps: frozenset[Kept] = frozenset()
    exif_bytes: int | None = None
    moves_maker_note: Callable[[Exif], bool] = lambda tree: False
    missing: Callable[[], str | None] = lambda: None
    converts: str = ""
    refuses: str = ""


def as_array(samples: Any) -> NDArray[np.unsignedinteger[Any]]:
    """Returns samples as (H, W, C)."""
    pixels = np.asarray(samples)
    return pixels[:, :, None] if pixels.ndim == 2 else pixels
