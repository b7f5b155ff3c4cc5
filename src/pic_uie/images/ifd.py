"""Image file directories: the tables of tags that EXIF blocks and TIFF files are made of."""

from __future__ import annotations

import struct
from dataclasses import dataclass

TYPE_SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4, 16: 8, 17: 8, 18: 8}
_SWAP_UNITS = TYPE_SIZES | {5: 4, 10: 4}  # a rational is two 32-bit numbers
MAX_ENTRIES = 4096
MAX_VALUE_BYTES = 16 << 20

ASCII, SHORT, LONG, RATIONAL, UNDEFINED = 2, 3, 4, 5, 7


class IfdError(ValueError):
    """A directory points outside its file, or is no directory at all."""


@dataclass(frozen=True)
class Layout:
    """Byte order and word size of a TIFF structure."""

    order: str  # "<" or ">"
    big: bool = False  # BigTIFF: 64-bit offsets

    @property
    def inline_bytes(self) -> int:
        """Values up to this size live in the entry itself."""
        return 8 if self.big else 4


@dataclass(frozen=True)
class Entry:
    """One tag's value: type code, number of elements, raw bytes in the file's order; where the bytes were found."""

    kind: int
    count: int
    data: bytes
    offset: int = 0

    def numbers(self, order: str) -> list[int]:
        """Decodes whole numbers; rationals give numerator and denominator in turn."""
        code = {1: "B", 3: "H", 4: "I", 5: "II", 13: "I", 16: "Q", 18: "Q"}.get(self.kind)
        if code is None:
            raise IfdError(f"a tag of type {self.kind} where a number is expected")
        return list(struct.unpack(order + code * self.count, self.data))


Directory = dict[int, Entry]


def read_header(data: bytes) -> tuple[Layout, int]:
    """Returns the layout of a TIFF structure and the offset of its first directory."""
    order = {b"II": "<", b"MM": ">"}.get(data[:2])
    if order is None or len(data) < 8:
        raise IfdError("no TIFF header")
    (magic,) = struct.unpack_from(order + "H", data, 2)
    if magic == 43 and len(data) >= 16:
        return Layout(order, big=True), int(struct.unpack_from(order + "Q", data, 8)[0])
    if magic != 42:
        raise IfdError(f"TIFF magic number 42 expected, got {magic}")
    return Layout(order), int(struct.unpack_from(order + "I", data, 4)[0])


def read_directory(data: bytes, offset: int, layout: Layout) -> tuple[Directory, int]:
    """Reads the directory at `offset`; returns its entries by tag and the offset of the next directory (0: none).

    Entries with a value outside `data` or of an unknown type are left out, and so are values that add up to more bytes
    than `data` has; a table outside `data` raises IfdError.
    """
    head, row, tail = ("Q", "HHQ8s", "Q") if layout.big else ("H", "HHI4s", "I")
    try:
        (count,) = struct.unpack_from(layout.order + head, data, offset)
        if count > MAX_ENTRIES:
            raise IfdError(f"a directory of {count} entries")
        at = offset + struct.calcsize("=" + head)
        size = struct.calcsize("=" + row)
        rows = [struct.unpack_from(layout.order + row, data, at + size * i) for i in range(count)]
        after = at + size * count
        following = struct.unpack_from(layout.order + tail, data, after)[0] if after + 4 <= len(data) else 0
    except (struct.error, OverflowError) as error:
        raise IfdError(f"a directory at byte {offset} lies outside the data") from error
    entries: Directory = {}
    budget = len(data)  # tags that share their bytes must not add up to more than there are
    for index, (tag, kind, number, inline) in enumerate(rows):
        length = TYPE_SIZES.get(kind, 0) * number
        position = at + size * index + (12 if layout.big else 8)
        if length > layout.inline_bytes:
            position = int.from_bytes(inline, "little" if layout.order == "<" else "big")
        if 0 < length <= min(MAX_VALUE_BYTES, budget) and position + length <= len(data):
            budget -= length
            entries[tag] = Entry(kind, number, data[position : position + length], position)
    return entries, int(following)


def swapped(entry: Entry) -> Entry:
    """Returns the entry in the other byte order."""
    unit = _SWAP_UNITS[entry.kind]
    chunks = (entry.data[i : i + unit][::-1] for i in range(0, len(entry.data), unit))
    return Entry(entry.kind, entry.count, b"".join(chunks))


def write_directory(entries: Directory, start: int, order: str, pinned: dict[int, int] | None = None) -> bytes:
    """Returns a classic directory that begins at byte `start`, followed by the values that do not fit into it.

    Args:
        entries: The tags.
        start: Where the directory will lie in the file.
        order: Byte order.
        pinned: Tags whose bytes lie elsewhere already, with the place.
    """
    pinned = pinned or {}
    table = struct.pack(order + "H", len(entries))
    value_at = start + 2 + 12 * len(entries) + 4
    values = bytearray()
    for tag in sorted(entries):
        entry = entries[tag]
        if len(entry.data) <= 4:
            cell = entry.data.ljust(4, b"\0")
        elif tag in pinned:
            cell = struct.pack(order + "I", pinned[tag])
        else:
            cell = struct.pack(order + "I", value_at + len(values))
            values += entry.data + b"\0" * (len(entry.data) % 2)  # values begin at even bytes
        table += struct.pack(order + "HHI", tag, entry.kind, entry.count) + cell
    return table + struct.pack(order + "I", 0) + bytes(values)


def text(value: str) -> Entry:
    """Returns an ASCII entry."""
    data = value.encode("ascii", "replace") + b"\0"
    return Entry(ASCII, len(data), data)


def raw(value: bytes) -> Entry:
    """Returns an entry of plain bytes."""
    return Entry(UNDEFINED, len(value), value)


def short(value: int, order: str) -> Entry:
    """Returns a 16-bit entry."""
    return Entry(SHORT, 1, struct.pack(order + "H", value))


def long(value: int, order: str) -> Entry:
    """Returns a 32-bit entry."""
    return Entry(LONG, 1, struct.pack(order + "I", value))


def rational(value: float, order: str) -> Entry:
    """Returns a positive fraction to four decimal places."""
    return Entry(RATIONAL, 1, struct.pack(order + "II", round(value * 10000), 10000))
