"""Adds colours and metadata to a HEIF file that an encoder wrote: properties of the picture, and items beside it."""

from __future__ import annotations

import struct

from pic_uie.images.boxes import Box, Item, Meta, boxes, read_meta

_NCLX = ">4s3HB"
_ESSENTIAL = (b"av1C", b"hvcC", b"irot", b"imir", b"clap")


def code_points(primaries: int, transfer: int, matrix: int = 6, full_range: bool = True) -> bytes:
    """Returns a colour property with code points."""
    return box(b"colr", struct.pack(_NCLX, b"nclx", primaries, transfer, matrix, 0x80 if full_range else 0))


def profile_property(profile: bytes) -> bytes:
    """Returns a colour property with an ICC profile."""
    return box(b"colr", b"prof" + profile)


def exif_item(block: bytes) -> tuple[bytes, bytes]:
    """Returns an item with EXIF: the place of its TIFF header, then the block."""
    return b"Exif\0", bytes(4) + block


def xmp_item(packet: bytes) -> tuple[bytes, bytes]:
    """Returns an item with XMP."""
    return b"mime\0application/rdf+xml\0", packet


def box(name: bytes, payload: bytes) -> bytes:
    """Returns a box."""
    return struct.pack(">I", 8 + len(payload)) + name + payload


def with_parts(data: bytes, properties: list[bytes], items: list[tuple[bytes, bytes]]) -> bytes:
    """Returns the file with more properties of its primary item, and more items that describe it.

    Args:
        data: A file as libheif or libavif write it, with `meta` in front of `mdat`.
        properties: Boxes.
        items: Type (as in an `infe` box, behind the item's number) and content of each.
    """
    if not properties and not items:
        return data
    meta = read_meta(data)
    numbers = [max(meta.items) + 1 + i for i in range(len(items))]
    old = meta.box.end - meta.box.start
    new_meta = b""
    for _ in range(2):  # sizes do not depend on places: the first pass finds out how far everything moves
        moved = len(new_meta) - old
        behind = len(data) + moved + 8
        places = dict(zip(numbers, _places(items, behind), strict=True))
        new_meta = _meta(data, meta, properties, items, places, moved)
    tail = box(b"mdat", b"".join(content for _, content in items)) if items else b""
    return b"".join((data[: meta.box.start], new_meta, data[meta.box.end :], tail))


def _places(items: list[tuple[bytes, bytes]], start: int) -> list[tuple[int, int]]:
    places = []
    for _, content in items:
        places.append((start, len(content)))
        start += len(content)
    return places


def _meta(
    data: bytes,
    meta: Meta,
    properties: list[bytes],
    items: list[tuple[bytes, bytes]],
    places: dict[int, tuple[int, int]],
    moved: int,
) -> bytes:
    parts, references = [data[meta.box.content : meta.box.content + 4]], b""
    for number in places:
        references += box(b"cdsc", struct.pack(">3H", number, 1, meta.primary))
    has_references = False
    for child in boxes(data, meta.box.content + 4, meta.box.end):
        content = data[child.content : child.end]
        if child.name == b"iinf":
            infos = [
                box(b"infe", struct.pack(">IHH", 2 << 24, n, 0) + kind)
                for n, (kind, _) in zip(places, items, strict=True)
            ]
            (count,) = struct.unpack_from(">H", content, 4)
            content = content[:4] + struct.pack(">H", count + len(infos)) + content[6:] + b"".join(infos)
        elif child.name == b"iloc":
            content = _iloc(meta, places, moved)
        elif child.name == b"iref":
            has_references, content = True, content + references
        elif child.name == b"iprp":
            content = _iprp(data, child, meta, properties)
        parts.append(box(child.name, content))
    if references and not has_references:
        parts.append(box(b"iref", bytes(4) + references))
    return box(b"meta", b"".join(parts))


def _iloc(meta: Meta, places: dict[int, tuple[int, int]], moved: int) -> bytes:
    located = {n: item for n, item in meta.items.items() if item.extents}
    located |= {n: Item(extents=[place]) for n, place in places.items()}
    rows = b""
    for number, item in located.items():
        shift = 0 if item.in_box or number in places else moved
        rows += struct.pack(">4H", number, int(item.in_box), 0, len(item.extents))
        rows += b"".join(struct.pack(">II", place + shift, length) for place, length in item.extents)
    return struct.pack(">IBBH", 1 << 24, 0x44, 0, len(located)) + rows


def _iprp(data: bytes, child: Box, meta: Meta, properties: list[bytes]) -> bytes:
    """Returns the box of properties with more of them, tied to the primary item; associations are written anew."""
    parts = b""
    for part in boxes(data, child.content, child.end):
        if part.name == b"ipco":
            parts += box(b"ipco", data[part.content : part.end] + b"".join(properties))
    new = [len(meta.properties) + 1 + i for i in range(len(properties))]
    names = [found.name for found in meta.properties] + [added[4:8] for added in properties]
    essential = {index for index, name in enumerate(names, 1) if name in _ESSENTIAL}
    stale = {index for index, found in enumerate(meta.properties, 1) if found.name == b"colr"}
    tied = {n: item.properties for n, item in meta.items.items()}
    tied[meta.primary] = [index for index in tied[meta.primary] if index not in stale] + new
    tied = {number: indices for number, indices in tied.items() if indices}
    rows = b""
    for number, indices in sorted(tied.items()):
        rows += struct.pack(">HB", number, len(indices))
        rows += bytes(index | (0x80 if index in essential else 0) for index in indices)
    return parts + box(b"ipma", struct.pack(">II", 0, len(tied)) + rows)
