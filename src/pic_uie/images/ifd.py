"""Image file directories: the tables of tags that EXIF blocks and TIFF files are made of.

Reading is linear in the size of the data: a directory's values together take no more bytes than the data has, and a
chain of directories has no more rows than fit into it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

TYPE_SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4, 16: 8, 17: 8, 18: 8}
_SWAP_UNITS = TYPE_SIZES | {5: 4, 10: 4}  # a rational is two 32-bit numbers
_NUMBER_CODES = {1: "B", 3: "H", 4: "I", 5: "II", 6: "b", 8: "h", 9: "i", 10: "ii", 13: "I", 16: "Q", 17: "q", 18: "Q"}
MAX_ENTRIES = 4096
MAX_DIRECTORIES = 4096
_MAX_NUMBERS = 64  # of one tag: all that anybody asks for

ASCII, SHORT, LONG, RATIONAL, UNDEFINED, LONG8 = 2, 3, 4, 5, 7, 16


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
    offset: int = field(default=0, compare=False)

    def numbers(self, order: str) -> list[int]:
        """Decodes whole numbers of at most 64 elements; rationals give numerator and denominator in turn."""
        code = _NUMBER_CODES.get(self.kind)
        if code is None:
            raise IfdError(f"a tag of type {self.kind} where a number is expected")
        count = min(self.count, _MAX_NUMBERS)
        try:
            return list(struct.unpack_from(order + code * count, self.data))
        except struct.error as error:
            raise IfdError("a tag with too few bytes") from error


Directory = dict[int, Entry]
Row = tuple[int, int, int, int, int]  # tag, type, count, place of the value, its length in bytes


def read_header(data: bytes) -> tuple[Layout, int]:
    """Returns the layout of a TIFF structure and the offset of its first directory."""
    order = {b"II": "<", b"MM": ">"}.get(bytes(data[:2]))
    if order is None or len(data) < 8:
        raise IfdError("no TIFF header")
    (magic,) = struct.unpack_from(order + "H", data, 2)
    if magic == 43 and len(data) >= 16:
        return Layout(order, big=True), int(struct.unpack_from(order + "Q", data, 8)[0])
    if magic != 42:
        raise IfdError(f"TIFF magic number 42 expected, got {magic}")
    return Layout(order), int(struct.unpack_from(order + "I", data, 4)[0])


def read_rows(data: bytes, offset: int, layout: Layout) -> tuple[list[Row], int]:
    """Reads the table at `offset` without its values; returns its rows and the offset of the next one (0: none).

    Raises:
        IfdError: The table lies outside `data`, or is longer than any.
    """
    head, row, tail = ("Q", "HHQ8s", "Q") if layout.big else ("H", "HHI4s", "I")
    try:
        (count,) = struct.unpack_from(layout.order + head, data, offset)
        if count > MAX_ENTRIES:
            raise IfdError(f"a directory of {count} entries")
        at = offset + struct.calcsize("=" + head)
        size = struct.calcsize("=" + row)
        raw = [struct.unpack_from(layout.order + row, data, at + size * i) for i in range(count)]
        after = at + size * count
        has_tail = after + struct.calcsize("=" + tail) <= len(data)
        following = struct.unpack_from(layout.order + tail, data, after)[0] if has_tail else 0
    except (struct.error, OverflowError) as error:
        raise IfdError(f"a directory at byte {offset} lies outside the data") from error
    rows: list[Row] = []
    for index, (tag, kind, number, inline) in enumerate(raw):
        length = TYPE_SIZES.get(kind, 0) * number
        position = at + size * index + (12 if layout.big else 8)
        if length > layout.inline_bytes:
            position = int.from_bytes(inline, "little" if layout.order == "<" else "big")
        rows.append((tag, kind, number, position, length))
    return rows, int(following)


def entries(data: bytes, rows: list[Row]) -> Directory:
    """Returns the values of rows; those outside `data` or of an unknown type are left out.

    Tags that share their bytes must not add up to more than there are: what goes beyond that is left out as well. The
    first of several entries with one tag counts, as for other readers.
    """
    found: Directory = {}
    budget = len(data)
    for tag, kind, number, position, length in rows:
        if tag not in found and 0 < length <= budget and position + length <= len(data):
            budget -= length
            found[tag] = Entry(kind, number, bytes(data[position : position + length]), position)
    return found


def read_directory(data: bytes, offset: int, layout: Layout) -> tuple[Directory, int]:
    """Reads the directory at `offset`; returns its entries by tag and the offset of the next directory (0: none).

    Raises:
        IfdError: The table lies outside `data`.
    """
    rows, following = read_rows(data, offset, layout)
    return entries(data, rows), following


def walk(data: bytes, offset: int, layout: Layout) -> Iterator[list[Row]]:
    """Yields the rows of a chain of directories, each once; stops where the rows exceed what `data` can hold.

    Raises:
        IfdError: A table lies outside `data`.
    """
    seen: set[int] = set()
    budget = len(data) // 12 + MAX_ENTRIES
    while offset and offset not in seen and len(seen) < MAX_DIRECTORIES and budget > 0:
        seen.add(offset)
        rows, offset = read_rows(data, offset, layout)
        budget -= len(rows) + 1
        yield rows


def swapped(entry: Entry) -> Entry:
    """Returns the entry in the other byte order."""
    unit = _SWAP_UNITS[entry.kind]
    if unit == 1:
        return Entry(entry.kind, entry.count, entry.data)
    whole = len(entry.data) - len(entry.data) % unit
    turned = bytearray(entry.data)
    for byte in range(unit):
        turned[byte:whole:unit] = entry.data[unit - 1 - byte : whole : unit]
    return Entry(entry.kind, entry.count, bytes(turned))


def write_directory(
    entries: Directory, start: int, layout: Layout | str, pinned: dict[int, int] | None = None
) -> bytes:
    """Returns a directory that begins at byte `start`, followed by the values that do not fit into it.

    Args:
        entries: The tags.
        start: Where the directory will lie in the file.
        layout: Byte order, and whether it is a BigTIFF's.
        pinned: Tags whose bytes lie elsewhere already, with the place.
    """
    layout = Layout(layout) if isinstance(layout, str) else layout
    head, row, word, inline = ("Q", "HHQ", "Q", 8) if layout.big else ("H", "HHI", "I", 4)
    order, pinned = layout.order, pinned or {}
    rows = [struct.pack(order + head, len(entries))]
    cell_bytes = struct.calcsize("=" + row) + inline
    value_at = start + struct.calcsize("=" + head) + cell_bytes * len(entries) + inline
    values = bytearray()
    for tag in sorted(entries):
        entry = entries[tag]
        if len(entry.data) <= inline:
            cell = entry.data.ljust(inline, b"\0")
        elif tag in pinned:
            cell = struct.pack(order + word, pinned[tag])
        else:
            cell = struct.pack(order + word, value_at + len(values))
            values += entry.data + b"\0" * (len(entry.data) % 2)  # values begin at even bytes
        rows.append(struct.pack(order + row, tag, entry.kind, entry.count) + cell)
    return b"".join(rows) + bytes(inline) + bytes(values)


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
