"""EXIF as a tree of tags: read once, carried along, brought up to date for the enhanced picture."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field, replace

from pic_uie.images import ifd, makernote
from pic_uie.images.ifd import Directory

PREFIX = b"Exif\0\0"  # in front of the block in a JPEG, and by habit elsewhere
ORIENTATION, X_RESOLUTION, Y_RESOLUTION, RESOLUTION_UNIT, SOFTWARE = 0x0112, 0x011A, 0x011B, 0x0128, 0x0131
PROCESSING_SOFTWARE = 0x000B
EXIF_POINTER, GPS_POINTER, INTEROP_POINTER = 0x8769, 0x8825, 0xA005
MAKER_NOTE, COLOUR_SPACE, PIXEL_X, PIXEL_Y = 0x927C, 0xA001, 0xA002, 0xA003
INTEROP_INDEX = 0x0001
_THUMBNAIL, _THUMBNAIL_BYTES = 0x0201, 0x0202
_LAST_CLASSIC_TYPE = 13  # BigTIFF's 64-bit types have no place in an EXIF block
_SRGB, _ADOBE_RGB, _NO_UNIT = 1, 2, 1

# How a TIFF lays out its own pixels, blocks that travel apart (XMP, IPTC, Photoshop, ICC), pointers to other places.
STRUCTURAL = frozenset(
    {
        *(*range(254, 260), 262, 263, 264, 265, 266, 273, *range(277, 282), 284, *range(288, 294), 297, 301, 317),
        *(*range(320, 329), 330, *range(332, 335), *range(336, 348), 351, *range(512, 516), *range(517, 522)),
        *(529, 530, 532, 559, 700, 33421, 33422, 33723, 34377, 34675, 37398, 37399, 37724, 52545),
        *(EXIF_POINTER, GPS_POINTER, INTEROP_POINTER),
        *range(50706, 51200),  # a raw file's: how to develop it
        *range(52525, 52600),
    }
)


@dataclass(frozen=True)
class Exif:
    """The directories of an EXIF block, without the thumbnail's.

    Attributes:
        order: Byte order.
        main: What TIFF calls the picture's own directory.
        photo: The EXIF directory.
        gps: The GPS directory.
        interop: The interoperability directory.
        block: The bytes that the tree was read from, with the thumbnail blanked; None where they were a file's.
        place: Where the block lay in its file.
    """

    order: str = "<"
    main: Directory = field(default_factory=dict)
    photo: Directory = field(default_factory=dict)
    gps: Directory = field(default_factory=dict)
    interop: Directory = field(default_factory=dict)
    block: bytes | None = field(default=None, compare=False, repr=False)
    place: int = field(default=0, compare=False)

    @property
    def orientation(self) -> int:
        """1 to 8; 1 where the block says nothing sensible."""
        values = self._numbers(self.main, ORIENTATION)
        return values[0] if values and 1 <= values[0] <= 8 else 1

    @property
    def dpi(self) -> tuple[float, float] | None:
        """Dots per inch, where the block gives them."""
        x, y, unit = (self._numbers(self.main, tag) for tag in (X_RESOLUTION, Y_RESOLUTION, RESOLUTION_UNIT))
        scale = {2: 1.0, 3: 2.54}.get(unit[0] if unit else 2)
        if scale is None or len(x) != 2 or len(y) != 2 or not x[0] * x[1] * y[0] * y[1]:
            return None
        return scale * x[0] / x[1], scale * y[0] / y[1]

    @property
    def is_adobe_rgb(self) -> bool:
        """Cameras set to Adobe RGB embed no profile; they say R03 (DCF 2.0), a few write 2 as colour space."""
        index = self.interop.get(INTEROP_INDEX)
        by_number = self._numbers(self.photo, COLOUR_SPACE)[:1] == [_ADOBE_RGB]
        return by_number or (index is not None and index.data.startswith(b"R03"))

    @property
    def maker_note_stays(self) -> bool:
        """Whether there is a maker note that may not move."""
        note = self.photo.get(MAKER_NOTE)
        return note is not None and note.offset >= 8 and len(note.data) > 4 and makernote.must_stay(note.data)

    @property
    def is_empty(self) -> bool:
        """Whether no directory has a tag."""
        return not (self.main or self.photo or self.gps or self.interop)

    def _numbers(self, directory: Directory, tag: int) -> list[int]:
        try:
            return directory[tag].numbers(self.order) if tag in directory else []
        except ifd.IfdError:
            return []


def parse(block: bytes, place: int = 0) -> Exif:
    """Reads an EXIF block; a damaged sub-directory is left out.

    Args:
        block: From the TIFF header on.
        place: Where it lies in its file.

    Raises:
        IfdError: No TIFF structure at all.
    """
    layout, offset = ifd.read_header(block)
    main, following = ifd.read_directory(block, offset, layout)
    tree = from_directory(block, main, layout)
    if not 0 < following < len(block):
        return replace(tree, block=block, place=place)
    try:
        second, _ = ifd.read_directory(block, following, layout)
    except ifd.IfdError:
        return replace(tree, block=block, place=place)
    beside = from_directory(block, second, layout)  # some cameras hang the directories on the thumbnail's as well
    return replace(
        tree,
        photo=tree.photo or beside.photo,
        gps=tree.gps or beside.gps,
        interop=tree.interop or beside.interop,
        block=_without_thumbnail(block, second, layout),
        place=place,
    )


def from_directory(data: bytes, main: Directory, layout: ifd.Layout) -> Exif:
    """Gathers the tree that hangs on a main directory."""
    photo = _follow(data, main, EXIF_POINTER, layout)
    gps = _follow(data, main, GPS_POINTER, layout)
    interop = _follow(data, photo, INTEROP_POINTER, layout)
    descriptive = {tag: entry for tag, entry in main.items() if tag not in STRUCTURAL}
    photo.pop(INTEROP_POINTER, None)
    return Exif(layout.order, _classic(descriptive), _classic(photo), _classic(gps), _classic(interop))


def refreshed(
    exif: Exif,
    size: tuple[int, int],
    software: str | None = None,
    dpi: tuple[float, float] | None = None,
    *,
    became_srgb: bool = False,
) -> Exif:
    """Returns what is true of the result: upright, its size and colours, the resolution, made by `software`."""
    order = exif.order
    main, photo, interop = dict(exif.main), dict(exif.photo), exif.interop
    if ORIENTATION in main:
        main[ORIENTATION] = ifd.short(1, order)
    if software:
        if SOFTWARE in main and main[SOFTWARE] != ifd.text(software):
            main.setdefault(PROCESSING_SOFTWARE, main[SOFTWARE])  # a camera's firmware, which some programs ask for
        main[SOFTWARE] = ifd.text(software)
    if dpi:
        main |= {X_RESOLUTION: ifd.rational(dpi[0], order), Y_RESOLUTION: ifd.rational(dpi[1], order)}
        main[RESOLUTION_UNIT] = ifd.short(2, order)
    elif exif._numbers(main, RESOLUTION_UNIT) != [_NO_UNIT]:
        for tag in (X_RESOLUTION, Y_RESOLUTION, RESOLUTION_UNIT):
            main.pop(tag, None)  # a unit or a value that does not exist, which some readers refuse
    for tag, pixels in ((PIXEL_X, size[0]), (PIXEL_Y, size[1])):
        if tag in photo:
            photo[tag] = ifd.long(pixels, order)
    if became_srgb and COLOUR_SPACE in photo:
        photo[COLOUR_SPACE] = ifd.short(_SRGB, order)
    if became_srgb and INTEROP_INDEX in interop:
        interop = interop | {INTEROP_INDEX: ifd.text("R98")}
    return replace(exif, main=main, photo=photo, interop=interop)


def without_maker_note(exif: Exif) -> Exif:
    """Returns the tree without its maker note."""
    return replace(exif, photo={tag: entry for tag, entry in exif.photo.items() if tag != MAKER_NOTE})


def reordered(exif: Exif, order: str) -> Exif:
    """Returns the tree in a byte order; the block is given up, since it has the other one."""
    if exif.order == order:
        return exif
    main, photo, gps, interop = (
        {tag: ifd.swapped(entry) for tag, entry in directory.items()}
        for directory in (exif.main, exif.photo, exif.gps, exif.interop)
    )
    return Exif(order, main, photo, gps, interop)


def _without_thumbnail(block: bytes, second: Directory, layout: ifd.Layout) -> bytes:
    try:
        (start,) = second[_THUMBNAIL].numbers(layout.order)
        (size,) = second[_THUMBNAIL_BYTES].numbers(layout.order)
    except (KeyError, ValueError):
        return block
    if not 8 <= start < len(block) or size < 1:
        return block
    end = min(start + size, len(block))
    if end >= len(block) - 8:
        return block[:start]
    return block[:start] + bytes(end - start) + block[end:]


def _classic(directory: Directory) -> Directory:
    return {tag: entry for tag, entry in directory.items() if entry.kind <= _LAST_CLASSIC_TYPE}


def _follow(data: bytes, directory: Directory, pointer: int, layout: ifd.Layout) -> Directory:
    """Reads the directory that a pointer of any integer type leads to."""
    entry = directory.get(pointer)
    if entry is None:
        return {}
    code = {4: "I", 8: "Q"}.get(len(entry.data)) if entry.kind == ifd.UNDEFINED else None
    try:
        (offset,) = struct.unpack(layout.order + code, entry.data) if code else entry.numbers(layout.order)
        return ifd.read_directory(data, offset, layout)[0] if offset > 0 else {}
    except ValueError:
        return {}
