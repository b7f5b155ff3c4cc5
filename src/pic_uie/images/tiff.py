"""TIFF: one directory is ours to read; the decoder gets one with nothing but the layout of the pixels."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pic_uie.errors import ImageError
from pic_uie.images import colour, exif_write, ifd, iptc, vips, xmp
from pic_uie.images import exif as exif_tree
from pic_uie.images.damage import Damage, Reader, worst
from pic_uie.images.exif import Exif
from pic_uie.images.ifd import Directory, Layout
from pic_uie.images.interface import DEFAULT_QUALITY, Format, Opened, Stored
from pic_uie.images.picture import Coding, Metadata, Space

_SUBFILE, _WIDTH, _HEIGHT, _BITS, _COMPRESSION, _PHOTOMETRIC = 254, 256, 257, 258, 259, 262
_STRIPS, _SAMPLES, _STRIP_BYTES, _PLANAR, _TILES, _TILE_BYTES, _EXTRA = 273, 277, 279, 284, 324, 325, 338
_SUB_DIRECTORIES, _MAX_SUB_DIRECTORIES = 330, 64
_XMP, _IPTC, _PHOTOSHOP, _PROFILE, _LAYERS, _C2PA = 700, 33723, 34377, 34675, 37724, 52545
_COMPRESSIONS = {1: "none", 5: "lzw", 7: "jpeg", 8: "deflate", 32946: "deflate", 32773: "packbits", 50000: "zstd"}
_RGB, _LAB = 2, {8: "CIE", 9: "ICC"}
_UNREADABLE = {10: "ITU-T Lab", 32844: "LogL", 32845: "LogLuv", 32803: "colour filter array", 34892: "linear raw"}
_MOST_LIGHTNESS, _MOST_CHROMA = 100.001, 256.0  # what rounding adds to white; wider than any colour
BIGTIFF_BYTES = 4_000_000_000
# What a decoder must know to find and unpack the pixels.
_LAYOUT = frozenset(
    {
        *(_WIDTH, _HEIGHT, _BITS, _COMPRESSION, _PHOTOMETRIC, 263, 266, _STRIPS, _SAMPLES, 278, _STRIP_BYTES, 280),
        *(281, _PLANAR, 292, 293, 317, 320, 322, 323, _TILES, _TILE_BYTES, 332, 334, _EXTRA, 339, 340, 341, 347),
        *(*range(512, 516), *range(517, 522), 529, 530, 531, 532),
    }
)


def sniff(head: bytes) -> bool:
    """Recognises a TIFF by its first bytes."""
    return head[:4] in (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")


def open_tiff(data: bytes, salvage: bool) -> Opened:
    """Finds the one page that is no thumbnail and reads its directory."""
    try:
        layout, main, has_copies = _page(data)
    except ifd.IfdError as error:
        raise ImageError(f"damaged TIFF: {error}") from error
    numbers = {tag: _number(main, tag, layout) for tag in (_WIDTH, _HEIGHT, _COMPRESSION, _PHOTOMETRIC)}
    tree = exif_tree.from_directory(data, main, layout)
    left_out = [name for tag, name in ((_C2PA, "C2PA manifest"), (_LAYERS, "Photoshop layers")) if tag in main]
    left_out += _pictures_beside(data, main, layout, has_copies)
    if tree.maker_note_stays:
        left_out.append("maker note, which may not be moved")
        tree = exif_tree.without_maker_note(tree)
    bare, resources = (main[tag].data if tag in main else None for tag in (_IPTC, _PHOTOSHOP))
    packet, stale = xmp.cleaned(main[_XMP].data) if _XMP in main else (None, ())
    lab = _LAB.get(numbers[_PHOTOMETRIC])
    notes = ("its Lab colours became sRGB",) if lab else ()
    if numbers[_PHOTOMETRIC] in _UNREADABLE:
        raise ImageError(
            f"a TIFF with pixels of a kind that cannot be read here ({_UNREADABLE[numbers[_PHOTOMETRIC]]}): "
            "convert it to RGB first"
        )
    damages = list[Damage | None]()
    return Opened(
        numbers[_WIDTH],
        numbers[_HEIGHT],
        lambda: _samples(data, main, layout, salvage, damages),
        _space(main, layout),
        None if lab else main[_PROFILE].data if _PROFILE in main else None,
        metadata=Metadata(None if tree.is_empty else tree, packet, None, iptc.joined(bare, resources), tree.dpi),
        coding=Coding(compression=_COMPRESSIONS.get(numbers[_COMPRESSION])),
        orientation=tree.orientation,
        left_out=(*left_out, *stale),
        notes=notes,
        damage=lambda: worst(damages),
    )


def save(stored: Stored) -> bytes:
    """Writes a TIFF compressed like the source, if it was one."""
    image = vips.from_array(stored.pixels, stored.space)
    eight_bits, bands = stored.bits == 8, stored.pixels.shape[2]
    compression = stored.coding.compression or "deflate"
    if compression == "jpeg" and not (eight_bits and bands in (1, 3)):
        compression = "deflate"
    big = stored.pixels.nbytes > BIGTIFF_BYTES
    predictor = "horizontal" if compression in ("lzw", "deflate", "zstd") else "none"
    if stored.profile is not None:
        image = vips.with_block(image, "icc-profile-data", stored.profile)
    quality = stored.quality or DEFAULT_QUALITY
    options = {"compression": compression, "Q": quality, "predictor": predictor, "bigtiff": big}
    data = bytes(image.tiffsave_buffer(keep="icc", **options))
    return with_metadata(data, stored.metadata, stored.size)


def with_metadata(data: bytes, metadata: Metadata, size: tuple[int, int]) -> bytes:
    """Returns the TIFF that libvips wrote with a new main directory at its end: libvips's tags and the metadata.

    A maker note that may not move lies at its byte of the EXIF block in the file as well: the block comes first then.
    """
    layout, offset = ifd.read_header(data)
    tree = metadata.exif or exif_tree.refreshed(Exif(layout.order), size, dpi=metadata.dpi)
    if layout.big and tree.is_empty and metadata == Metadata():
        return data
    if layout.big:
        raise ImageError("metadata cannot be kept in a TIFF beyond 4 GB; use --strip-metadata or --format png")
    if moves_maker_note(tree):
        tree = exif_tree.without_maker_note(tree)
    front = b""
    if tree.maker_note_stays and tree.block is not None:
        front = tree.block[8:] + b"\0" * (len(tree.block) % 2)
    tree = exif_tree.reordered(tree, layout.order)
    written, _ = ifd.read_directory(data, offset, layout)
    own = _shifted(written, len(front), layout)
    # libvips's own word on resolution and orientation is replaced; all the rest of what it wrote stands.
    for tag in (exif_tree.ORIENTATION, exif_tree.X_RESOLUTION, exif_tree.Y_RESOLUTION, exif_tree.RESOLUTION_UNIT):
        own.pop(tag, None)
    if exif_tree.X_RESOLUTION not in tree.main:  # TIFF must have one; 1:1 without a unit says "unknown"
        unknown = ifd.rational(1, layout.order)
        own |= {exif_tree.X_RESOLUTION: unknown, exif_tree.Y_RESOLUTION: unknown}
        own[exif_tree.RESOLUTION_UNIT] = ifd.short(1, layout.order)
    own |= _blocks(metadata)
    start = 8 + len(front) + len(data) - 8
    start += start % 2
    places = {tag: entry.offset for tag, entry in own.items() if entry.offset}
    head = data[:4] + struct.pack(layout.order + "I", start)
    placed = head + front
    body = exif_write.tables(tree, start, own, places, placed if front else None)
    return b"".join((placed, memoryview(data)[8:], b"\0" * (start - len(placed) - len(data) + 8), body))


def moves_maker_note(tree: Exif) -> bool:
    """Returns whether a maker note cannot keep its place: it is in the other byte order, or its block is unknown."""
    return tree.maker_note_stays and (tree.order != "<" or tree.block is None)


def _page(data: bytes) -> tuple[Layout, Directory, bool]:
    """Returns the directory of the one page that is no thumbnail or level of a pyramid, and whether there are those."""
    layout, offset = ifd.read_header(data)
    full: list[list[ifd.Row]] = []
    has_copies = False
    for rows in ifd.walk(data, offset, layout):
        if _is_reduced(data, rows, layout):
            has_copies = True
        elif len(full) < 2:
            full.append(rows)
    if len(full) > 1:
        raise ImageError("a TIFF with several pages: only single pictures can be enhanced; extract them first")
    if not full:
        raise ImageError("a TIFF with nothing but a preview: there is no full picture in it")
    return layout, ifd.entries(data, full[0]), has_copies


def _is_reduced(data: bytes, rows: list[ifd.Row], layout: Layout) -> bool:
    """Returns whether a page is a copy "of reduced resolution"."""
    subfile = ifd.entries(data, [row for row in rows if row[0] == _SUBFILE])
    return bool(_number(subfile, _SUBFILE, layout) & 1)


def _pictures_beside(data: bytes, main: Directory, layout: Layout, has_copies: bool) -> list[str]:
    """Names the pictures in other pages and in the directories below this one, which the result does not have."""
    kinds = [True] if has_copies else []
    try:
        places = main[_SUB_DIRECTORIES].numbers(layout.order) if _SUB_DIRECTORIES in main else []
    except ifd.IfdError:
        places = []
    for place in places[:_MAX_SUB_DIRECTORIES]:
        try:
            kinds.append(_is_reduced(data, ifd.read_rows(data, place, layout)[0], layout))
        except ifd.IfdError:
            continue
    return [words for reduced, words in ((True, "reduced copies"), (False, "other pictures")) if reduced in kinds]


def _space(main: Directory, layout: Layout) -> Space:
    photometric, samples = _number(main, _PHOTOMETRIC, layout), _number(main, _SAMPLES, layout) or 1
    if photometric in _LAB:
        return "rgb"
    if photometric == 5 and samples >= 4:
        return "cmyk"
    return "grey" if photometric in (0, 1) else "rgb"


def _samples(data: bytes, main: Directory, layout: Layout, salvage: bool, damages: list[Damage | None]) -> NDArray[Any]:
    """Decodes the pixels of a directory; planes in tiles, which libvips does not read, one by one."""
    samples = _number(main, _SAMPLES, layout) or 1
    if _number(main, _PLANAR, layout) == 2 and _TILES in main and 1 < samples <= 5:
        directories = [_plane(main, plane, samples, layout) for plane in range(samples)]
        return np.concatenate([_decoded(data, one, layout, salvage, damages) for one in directories], axis=2)
    return _decoded(data, main, layout, salvage, damages)


def _decoded(data: bytes, main: Directory, layout: Layout, salvage: bool, damages: list[Damage | None]) -> NDArray[Any]:
    lab = _LAB.get(_number(main, _PHOTOMETRIC, layout))
    if lab:
        main = main | {_PHOTOMETRIC: ifd.short(_RGB, layout.order)}  # the numbers as they are; their meaning is ours
    reader = Reader("tiffload", _bare(data, main, layout), title="TIFF", salvage=salvage)
    samples = reader.samples()
    damages.append(reader.damage())
    return _of_lab(samples, signed=lab == "CIE") if lab else samples


def _of_lab(samples: NDArray[Any], signed: bool) -> NDArray[Any]:
    """Converts L*a*b* to sRGB: L from 0 to 100, a and b in steps of 1 (8 bits) or 1/256 (16 bits), or as they are."""
    kind = samples.dtype
    if kind == np.float32:
        return _of_float_lab(samples)
    if kind not in (np.uint8, np.uint16) or samples.shape[2] < 3:
        raise ImageError(f"a TIFF with Lab colours of type {kind}, which cannot be read here: convert it to RGB first")
    top, step = (255.0, 1.0) if kind == np.uint8 else (65535.0, 256.0)
    chroma = samples[:, :, 1:3]
    offset = 0.0 if signed else 128.0
    numbers = chroma.view(np.int8 if kind == np.uint8 else np.int16) if signed else chroma
    lab = np.empty((*samples.shape[:2], 3), np.float32)
    lab[:, :, 0] = samples[:, :, 0] * (100.0 / top)
    lab[:, :, 1:] = np.asarray(numbers, np.float32) / step - offset
    return np.concatenate([colour.lab_to_srgb(lab), colour.deepened(samples[:, :, 3:])], axis=2)


def _of_float_lab(samples: NDArray[Any]) -> NDArray[Any]:
    """Converts L*a*b* in floating point, which only libvips is known to write: under D65, unlike that of integers."""
    lightness, chroma = samples[:, :, :1], samples[:, :, 1:]
    plausible = samples.shape[2] == 3 and np.isfinite(samples).all() and lightness.min() >= 0.0
    plausible = plausible and lightness.max() <= _MOST_LIGHTNESS and np.abs(chroma).max() <= _MOST_CHROMA
    if not plausible or max(lightness.max(), np.abs(chroma).max()) <= 1.0:
        raise ImageError(
            "a TIFF with Lab colours in floating point that are not L from 0 to 100 with a and b around 0: it is not "
            "clear what they mean; convert it to RGB first"
        )
    return colour.lab_to_srgb(np.ascontiguousarray(samples), white="D65")


def _bare(data: bytes, main: Directory, layout: Layout) -> bytes:
    """Returns the file with another directory at its end, which has the layout of the pixels and nothing else."""
    kept = {tag: entry for tag, entry in main.items() if tag in _LAYOUT}
    start = len(data) + len(data) % 2
    places = {tag: entry.offset for tag, entry in kept.items() if entry.offset}
    table = ifd.write_directory(kept, start, layout, places)
    head = data[:8] + struct.pack(layout.order + "Q", start) if layout.big else b""
    head = head or data[:4] + struct.pack(layout.order + "I", start)
    return b"".join((head, memoryview(data)[len(head) :], b"\0" * (start - len(data)), table))


def _plane(main: Directory, plane: int, samples: int, layout: Layout) -> Directory:
    """Returns the directory of one plane, as a grey picture."""
    one = {tag: entry for tag, entry in main.items() if tag not in (_EXTRA, _PLANAR, 532, 529, 530, 531)}
    for tag in (_TILES, _TILE_BYTES):
        entry = main.get(tag)
        if entry is None or entry.count < samples:
            raise ImageError("damaged TIFF: a table of tiles is missing")
        size, count = ifd.TYPE_SIZES[entry.kind], entry.count // samples
        content = entry.data[plane * count * size : (plane + 1) * count * size]
        one[tag] = ifd.Entry(entry.kind, count, content)
    one[_SAMPLES] = ifd.short(1, layout.order)
    one[_PHOTOMETRIC] = ifd.short(1, layout.order)
    for tag in (_BITS, 339):
        if tag in main:
            one[tag] = ifd.Entry(main[tag].kind, 1, main[tag].data[: ifd.TYPE_SIZES[main[tag].kind]])
    return one


def _shifted(written: Directory, by: int, layout: Layout) -> Directory:
    """Returns the tags of a file whose content moves by so many bytes."""
    moved: Directory = {}
    for tag, entry in written.items():
        content = entry.data
        if tag in (_STRIPS, _TILES) and by:
            places = np.frombuffer(content, layout.order + ("u2" if entry.kind == ifd.SHORT else "u4")) + np.uint32(by)
            moved[tag] = ifd.Entry(ifd.LONG, entry.count, places.astype(layout.order + "u4").tobytes())
        else:
            inline = len(content) <= layout.inline_bytes
            moved[tag] = ifd.Entry(entry.kind, entry.count, content, 0 if inline else entry.offset + by)
    return moved


def _blocks(metadata: Metadata) -> Directory:
    own: Directory = {}
    if metadata.xmp is not None:
        own[_XMP] = ifd.Entry(1, len(metadata.xmp), metadata.xmp)
    if metadata.iptc is not None and (bare := iptc.records(metadata.iptc)) is not None:
        own[_IPTC] = ifd.raw(bare)
    if metadata.iptc is not None and iptc.has_more_than_records(metadata.iptc):
        own[_PHOTOSHOP] = ifd.raw(iptc.resources(metadata.iptc))
    return own


def _number(page: Directory, tag: int, layout: Layout) -> int:
    try:
        return page[tag].numbers(layout.order)[0] if tag in page else 0
    except (ifd.IfdError, IndexError):
        return 0


FORMAT = Format(
    "tiff",
    "TIFF",
    (".tif", ".tiff"),
    sniff,
    open_tiff,
    save,
    depth=16,
    cmyk=True,
    keeps=frozenset({"EXIF", "XMP", "IPTC", "Photoshop"}),
    moves_maker_note=moves_maker_note,
    converts="Lab to sRGB, floating point to 16 bits, planes to pixels",
    refuses="several pages; 16 bits of a narrow range without `--range`",
)
