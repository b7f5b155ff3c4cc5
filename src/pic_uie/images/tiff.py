"""TIFF: pages, compression, and EXIF and IPTC, which libvips neither hands out nor writes soundly."""

from __future__ import annotations

import struct
from dataclasses import replace

from pic_uie.errors import ImageError
from pic_uie.images import exif as exif_tree
from pic_uie.images import ifd, iptc
from pic_uie.images.exif import Exif
from pic_uie.images.picture import Coding, Facts, Metadata

_SUBFILE, _COMPRESSION, _IPTC, _PHOTOSHOP, _DNG_VERSION = 254, 259, 33723, 34377, 50706
_COMPRESSIONS = {1: "none", 5: "lzw", 7: "jpeg", 8: "deflate", 32946: "deflate", 32773: "packbits", 50000: "zstd"}
_MAX_PAGES = 4096


def facts(data: bytes) -> Facts:
    """Walks the pages; thumbnails and pyramid levels ("reduced resolution") do not count as pages."""
    try:
        layout, offset = ifd.read_header(data)
        main: ifd.Directory = {}
        full: list[int] = []
        seen: set[int] = set()
        while offset and offset not in seen and len(seen) < _MAX_PAGES:
            seen.add(offset)
            page, offset = ifd.read_directory(data, offset, layout)
            if _DNG_VERSION in page:
                raise ImageError("a camera raw file (DNG): develop it to TIFF or JPEG first")
            if not _number(page, _SUBFILE, layout) & 1:
                full.append(len(seen) - 1)
                main = main or page
    except ifd.IfdError as error:
        raise ImageError(f"damaged TIFF: {error}") from error
    if not full:
        raise ImageError("a TIFF with nothing but a preview (a camera raw file?): develop it to TIFF or JPEG first")
    tree = exif_tree.unpinned(exif_tree.from_directory(data, main, layout))
    block = exif_tree.serialise(tree) if tree.main or tree.photo or tree.gps else None
    bare, resources = (main[tag].data if tag in main else None for tag in (_IPTC, _PHOTOSHOP))
    compression = _COMPRESSIONS.get(_number(main, _COMPRESSION, layout))
    metadata = Metadata(exif=block, iptc=iptc.joined(bare, resources), dpi=tree.dpi)
    return Facts(len(full), full[0], metadata, Coding(compression=compression))


def with_exif(data: bytes, tree: Exif, described: bytes | None) -> bytes:
    """Returns the TIFF that libvips wrote with a new main directory at its end: libvips's tags, EXIF and IPTC."""
    layout, offset = ifd.read_header(data)
    if layout.big and tree == Exif() and described is None:
        return data
    if layout.big:
        raise ImageError("EXIF cannot be kept in a TIFF beyond 4 GB; use --strip-metadata or --format png")
    written, _ = ifd.read_directory(data, offset, layout)
    if tree.order != layout.order:
        tree = _reordered(tree, layout.order)
    # libvips's own word on resolution and orientation is replaced; all the rest of what it wrote stands.
    replaced = {exif_tree.ORIENTATION, exif_tree.X_RESOLUTION, exif_tree.Y_RESOLUTION, exif_tree.RESOLUTION_UNIT}
    own = {tag: entry for tag, entry in written.items() if tag not in replaced or tag not in tree.main}
    if exif_tree.X_RESOLUTION not in tree.main:  # libvips must write one; 1:1 without a unit says "unknown"
        unknown = ifd.rational(1, layout.order)
        own |= {exif_tree.X_RESOLUTION: unknown, exif_tree.Y_RESOLUTION: unknown}
        own[exif_tree.RESOLUTION_UNIT] = ifd.short(1, layout.order)
    if described is not None and (bare := iptc.records(described)) is not None:
        own[_IPTC] = ifd.raw(bare)
    if described is not None and iptc.has_more_than_records(described):
        own[_PHOTOSHOP] = ifd.raw(iptc.photoshop_block(described).removeprefix(iptc.PHOTOSHOP))
    start = len(data) + len(data) % 2
    body = exif_tree.tables(tree, start, own, {tag: entry.offset for tag, entry in own.items() if entry.offset})
    head = data[:4] + struct.pack(layout.order + "I", start)
    return b"".join((head, memoryview(data)[8:], b"\0" * (start - len(data)), body))


def _reordered(tree: Exif, order: str) -> Exif:
    directories = {
        name: {tag: ifd.swapped(entry) for tag, entry in getattr(tree, name).items()}
        for name in ("main", "photo", "gps", "interop")
    }
    return replace(tree, order=order, **directories)


def _number(page: ifd.Directory, tag: int, layout: ifd.Layout) -> int:
    try:
        return page[tag].numbers(layout.order)[0] if tag in page else 0
    except (ifd.IfdError, struct.error, IndexError):
        return 0
