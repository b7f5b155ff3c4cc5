"""ISO boxes, as HEIC, AVIF and JPEG 2000 files are made of, and the items of a HEIF file's `meta` box.

Reading is linear in the size of the boxes: each byte belongs to one box, tables are read once, and items are looked up.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

_LARGE, _TO_THE_END = 1, 0
_MAX_ITEMS = 65_536


class BoxError(ValueError):
    """A box is cut short."""


class Box(NamedTuple):
    """A box: its name, where it starts, and where its content lies."""

    name: bytes
    start: int
    content: int
    end: int


@dataclass
class Item:
    """An item of a HEIF file: a picture, or metadata of one."""

    kind: bytes = b""
    content_type: bytes = b""
    in_box: bool = False  # its bytes lie in the `idat` box, not at places of the file
    extents: list[tuple[int, int]] = field(default_factory=list)  # place and length
    properties: list[int] = field(default_factory=list)


@dataclass
class Meta:
    """What the `meta` box of a HEIF file says."""

    box: Box
    primary: int = 0
    items: dict[int, Item] = field(default_factory=dict)
    properties: list[Box] = field(default_factory=list)
    references: list[tuple[bytes, int, tuple[int, ...]]] = field(default_factory=list)
    idat: Box | None = None

    def of(self, item: int) -> list[Box]:
        """Returns the properties of an item, those of its tiles included if it is a grid without any of that kind."""
        own = [self.properties[i - 1] for i in self.items.get(item, Item()).properties if i <= len(self.properties)]
        names = {box.name for box in own}
        parts = next((to for kind, at, to in self.references if kind == b"dimg" and at == item), ())
        if parts and parts[0] in self.items:
            first = self.items[parts[0]].properties
            own += [b for i in first if i <= len(self.properties) and (b := self.properties[i - 1]).name not in names]
        return own


def boxes(data: bytes, start: int, end: int) -> Iterator[Box]:
    """Yields the boxes between two places; stops at one that is cut short."""
    at = start
    while at + 8 <= end:
        size, name, content = int.from_bytes(data[at : at + 4], "big"), data[at + 4 : at + 8], at + 8
        if size == _LARGE:
            size, content = int.from_bytes(data[at + 8 : at + 16], "big"), at + 16
        elif size == _TO_THE_END:
            size = end - at
        if size < content - at or at + size > end:
            return
        yield Box(name, at, content, at + size)
        at += size


def read_meta(data: bytes) -> Meta:
    """Reads the `meta` box of a HEIF file.

    Raises:
        BoxError: There is none, or a table in it is cut short.
    """
    box = next((box for box in boxes(data, 0, len(data)) if box.name == b"meta"), None)
    if box is None:
        raise BoxError("no meta box")
    meta = Meta(box)
    try:
        for child in boxes(data, box.content + 4, box.end):
            _read_child(data, child, meta)
    except (struct.error, IndexError) as error:
        raise BoxError("a table is cut short") from error
    return meta


def content(data: bytes, meta: Meta, item: int, limit: int) -> bytes | None:
    """Returns the bytes of an item; None if they lie outside the file or are more than `limit`."""
    found = meta.items[item]
    base = 0
    if found.in_box:
        if meta.idat is None:
            return None
        base = meta.idat.content
    if sum(length for _, length in found.extents) > limit or len(found.extents) > 1024:
        return None
    if any(base + place + length > len(data) for place, length in found.extents):
        return None
    return b"".join(data[base + place : base + place + length] for place, length in found.extents)


def _read_child(data: bytes, child: Box, meta: Meta) -> None:
    at, version = child.content + 4, data[child.content] if child.content < child.end else 0
    if child.name == b"pitm":
        meta.primary = int.from_bytes(data[at : at + (2 if version == 0 else 4)], "big")
    elif child.name == b"iinf":
        for entry in boxes(data, at + (2 if version == 0 else 4), child.end):
            _read_info(data, entry, meta)
    elif child.name == b"iloc":
        _read_places(data, child, version, meta)
    elif child.name == b"idat":
        meta.idat = child
    elif child.name == b"iref":
        for entry in boxes(data, at, child.end):
            word = "H" if version == 0 else "I"
            origin, count = struct.unpack_from(f">{word}H", data, entry.content)
            first = entry.content + struct.calcsize(f">{word}H")
            targets = struct.unpack_from(f">{count}{word}", data[first : entry.end])
            meta.references.append((entry.name, origin, targets))
    elif child.name == b"iprp":
        for part in boxes(data, child.content, child.end):
            if part.name == b"ipco":
                meta.properties = list(boxes(data, part.content, part.end))
            elif part.name == b"ipma":
                _read_associations(data, part, meta)


def _read_info(data: bytes, entry: Box, meta: Meta) -> None:
    version = data[entry.content]
    if entry.name != b"infe" or version < 2 or len(meta.items) >= _MAX_ITEMS:
        return
    word = "H" if version == 2 else "I"
    (number,) = struct.unpack_from(f">{word}", data, entry.content + 4)
    at = entry.content + 4 + struct.calcsize(word) + 2
    item = meta.items.setdefault(number, Item())
    item.kind = data[at : at + 4]
    if item.kind == b"mime":
        item.content_type = data[at + 4 : entry.end].split(b"\0")[1:2][0] if b"\0" in data[at + 4 : entry.end] else b""


def _read_places(data: bytes, child: Box, version: int, meta: Meta) -> None:
    at = child.content + 4
    sizes = data[at] >> 4, data[at] & 15, data[at + 1] >> 4, data[at + 1] & 15  # of offset, length, base, index
    word = 2 if version < 2 else 4
    count = int.from_bytes(data[at + 2 : at + 2 + word], "big")
    at += 2 + word

    def number(size: int) -> int:
        nonlocal at
        if at + size > child.end:
            raise BoxError("a table is cut short")
        at += size
        return int.from_bytes(data[at - size : at], "big")

    for _ in range(min(count, _MAX_ITEMS)):
        item = meta.items.setdefault(number(word), Item())
        item.in_box = version > 0 and number(2) & 15 == 1
        number(2)
        base = number(sizes[2])
        for _ in range(number(2)):
            if version > 0:
                number(sizes[3])
            place, length = number(sizes[0]), number(sizes[1])
            item.extents.append((base + place, length))
            if not sizes[0] + sizes[1]:
                break


def _read_associations(data: bytes, part: Box, meta: Meta) -> None:
    version, wide = data[part.content], data[part.content + 3] & 1
    (count,) = struct.unpack_from(">I", data, part.content + 4)
    at = part.content + 8
    for _ in range(min(count, _MAX_ITEMS)):
        size = 2 if version < 1 else 4
        number = int.from_bytes(data[at : at + size], "big")
        amount, at = data[at + size], at + size + 1
        for _ in range(amount):
            index = int.from_bytes(data[at : at + 1 + wide], "big") & (0x7FFF if wide else 0x7F)
            at += 1 + wide
            if index and number in meta.items:
                meta.items[number].properties.append(index)
        if at > part.end:
            raise BoxError("a table is cut short")
