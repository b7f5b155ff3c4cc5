"""Camera raw files: distinguished from TIFF, developed with the extra `raw` (LibRaw), refused in one way without it."""

from __future__ import annotations

import importlib.util
import io
from dataclasses import replace
from typing import Any

from pic_uie.errors import ImageError
from pic_uie.images import exif as exif_tree
from pic_uie.images import ifd, jpeg_segments
from pic_uie.images.chatter import silenced
from pic_uie.images.exif import Exif
from pic_uie.images.interface import Format, Opened
from pic_uie.images.picture import Coding, Metadata

_SUBFILE, _COMPRESSION, _PHOTOMETRIC, _SUB_DIRECTORIES, _MAKE, _DNG_VERSION = 254, 259, 262, 330, 271, 50706
_SENSOR = {32803, 34892}  # a colour filter array, linear raw: what no picture has as its colours
_RAW_CODECS = {32767, 32769, 32770, 34713, 65000, 65535}  # of Sony, Epson, Samsung, Nikon, Kodak, Pentax
_HEAD_BYTES = 64
_MAX_SUB_DIRECTORIES = 16
_BITS = 16
_SRGB_CURVE = (2.4, 12.92)
_CHATTER = b"unknown file: "  # how LibRaw's own lines on standard error begin

_MAGIC = (
    (b"FUJIFILMCCD-RAW", "Fujifilm RAF"),
    (b"IIRO", "Olympus ORF"),
    (b"IIRS", "Olympus ORF"),
    (b"MMOR", "Olympus ORF"),
    (b"IIU\0", "Panasonic RW2"),
    (b"FOVb", "Sigma X3F"),
    (b"\0MRM", "Minolta MRW"),
)
_MAKERS = (
    (b"NIKON", "Nikon NEF"),
    (b"PENTAX", "Pentax PEF"),
    (b"RICOH", "Pentax PEF"),
    (b"SONY", "Sony ARW"),
    (b"SAMSUNG", "Samsung SRW"),
    (b"HASSELBLAD", "Hasselblad 3FR"),
    (b"LEAF", "Leaf MOS"),
    (b"KODAK", "Kodak DCR"),
)


def kind_of(data: bytes) -> str | None:
    """Names the kind of a raw file from its bytes; the first 64 are enough for some of them."""
    for magic, name in _MAGIC:
        if data.startswith(magic):
            return name
    if data[4:11] == b"ftypcrx":
        return "Canon CR3"
    if data[6:14] == b"HEAPCCDR":
        return "Canon CRW"
    if data[:4] not in (b"II*\0", b"MM\0*"):
        return None
    if data[8:10] == b"CR":
        return "Canon CR2"
    if data[8:12] in (b"IIII", b"MMMM"):
        return "Phase One IIQ"
    return _kind_of_tiff(data) if len(data) > _HEAD_BYTES else None


def sniff(data: bytes) -> bool:
    """Recognises a raw file."""
    return kind_of(data) is not None


def missing() -> str | None:
    """Says what must be installed to develop raw files."""
    return None if importlib.util.find_spec("rawpy") else "pip install 'pic-uie[raw]'"


def open_raw(data: bytes, salvage: bool) -> Opened:
    """Reads the header with LibRaw."""
    name = kind_of(data) or "unknown"
    try:
        import rawpy
    except ImportError as error:
        raise ImageError(
            f"a camera raw file ({name}): pip install 'pic-uie[raw]' to develop it, or develop it to TIFF or JPEG first"
        ) from error
    try:
        with silenced(_CHATTER):
            opened = rawpy.imread(io.BytesIO(data))
    except rawpy.LibRawError as error:
        raise _undevelopable(name, error) from error
    sizes = opened.sizes
    turned = sizes.flip in (5, 6)
    width, height = (sizes.iheight, sizes.iwidth) if turned else (sizes.iwidth, sizes.iheight)
    exif, left_out = _exif(data, opened)
    return Opened(
        width,
        height,
        lambda: _developed(opened, name),
        metadata=Metadata(exif),
        coding=Coding(bits=_BITS),
        left_out=left_out,
        notes=(f"developed from {name} to 16 bits in sRGB, white balance as shot",),
    )


def _developed(opened: Any, name: str) -> Any:
    import rawpy

    try:
        with silenced(_CHATTER):
            opened.unpack()  # all of the file that `postprocess` needs
        return opened.postprocess(
            use_camera_wb=True,
            output_bps=_BITS,
            output_color=rawpy.ColorSpace.sRGB,
            gamma=_SRGB_CURVE,
            no_auto_bright=True,  # pictures of one dive keep their exposures
        )
    except rawpy.LibRawError as error:
        raise _undevelopable(name, error) from error
    finally:
        opened.close()


def _exif(data: bytes, opened: Any) -> tuple[Exif | None, tuple[str, ...]]:
    """Returns EXIF from the file's own directories or, where it has none, from the preview in it."""
    tree = _of_directories(data)
    if tree is None:
        tree = _of_preview(opened)
    if tree is None:
        return None, ("EXIF, which was not found",)
    note = exif_tree.MAKER_NOTE in tree.photo
    upright = exif_tree.refreshed(exif_tree.without_maker_note(tree), (0, 0), dpi=tree.dpi)
    photo = {tag: e for tag, e in upright.photo.items() if tag not in (exif_tree.PIXEL_X, exif_tree.PIXEL_Y)}
    return replace(upright, photo=photo, block=None), ("maker note, which may not be moved",) if note else ()


def _of_directories(data: bytes) -> Exif | None:
    order = data[:2]
    if order not in (b"II", b"MM"):
        return None
    patched = order + (b"*\0" if order == b"II" else b"\0*") + data[4:8]  # ORF and RW2 have their own number here
    try:
        layout, offset = ifd.read_header(patched)
        main, _ = ifd.read_directory(data, offset, layout)
    except ifd.IfdError:
        return None
    tree = exif_tree.from_directory(data, main, layout)
    return tree if tree.photo or tree.gps else None


def _of_preview(opened: Any) -> Exif | None:
    import rawpy

    try:
        with silenced(_CHATTER):
            preview = opened.extract_thumb()
        if preview.format != rawpy.ThumbFormat.JPEG:
            return None
        found = jpeg_segments.read_segments(bytes(preview.data))
        return exif_tree.parse(found.exif) if found.exif else None
    except (rawpy.LibRawError, ifd.IfdError):
        return None


def _kind_of_tiff(data: bytes) -> str | None:
    """Returns the kind of a TIFF that is a raw file: its first directory or one below it has a sensor's data."""
    try:
        layout, offset = ifd.read_header(data)
        rows, _ = ifd.read_rows(data, offset, layout)
        main = _few(data, rows)
        if _DNG_VERSION in main:
            return "DNG"
        below = main[_SUB_DIRECTORIES].numbers(layout.order) if _SUB_DIRECTORIES in main else []
    except ifd.IfdError:
        return None
    directories = [main]
    for place in below[:_MAX_SUB_DIRECTORIES]:
        try:
            directories.append(_few(data, ifd.read_rows(data, place, layout)[0]))
        except ifd.IfdError:
            continue
    for directory in directories:
        if _first(directory, _PHOTOMETRIC, layout) in _SENSOR or _first(directory, _COMPRESSION, layout) in _RAW_CODECS:
            make = main[_MAKE].data.upper() if _MAKE in main else b""
            return next((name for maker, name in _MAKERS if make.startswith(maker)), "TIFF with a sensor's data")
    return None


def _first(directory: ifd.Directory, tag: int, layout: ifd.Layout) -> int:
    try:
        return directory[tag].numbers(layout.order)[0] if tag in directory else 0
    except (ifd.IfdError, IndexError):
        return 0


def _few(data: bytes, rows: list[ifd.Row]) -> ifd.Directory:
    wanted = (_SUBFILE, _COMPRESSION, _PHOTOMETRIC, _SUB_DIRECTORIES, _MAKE, _DNG_VERSION)
    return ifd.entries(data, [row for row in rows if row[0] in wanted])


def _undevelopable(name: str, error: Exception) -> ImageError:
    """Returns the error for a file that LibRaw refuses, with the remedy."""
    import rawpy

    if isinstance(error, rawpy.LibRawIOError):
        return ImageError(f"damaged raw file ({name}): it ends too early; copy it from the camera or card again")
    text = error.args[0] if error.args else error
    words = text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)
    return ImageError(
        f"a camera raw file ({name}) that LibRaw cannot develop ({words}); develop it to TIFF or JPEG first"
    )


FORMAT = Format(
    "raw",
    "camera raw",
    (
        *(
            ".dng",
            ".gpr",
            ".cr2",
            ".cr3",
            ".crw",
            ".nef",
            ".nrw",
            ".arw",
            ".sr2",
            ".srf",
            ".orf",
            ".raf",
            ".rw2",
            ".rwl",
        ),
        *(".pef", ".srw", ".iiq", ".3fr", ".fff", ".erf", ".mef", ".mos", ".mrw", ".x3f", ".kdc", ".dcr"),
    ),
    sniff,
    open_raw,
    result="tiff",
    missing=missing,
    depth=16,
    keeps=frozenset({"EXIF"}),
    converts="developed to 16 bits in sRGB, white balance as shot",
    refuses="without the extra `raw`",
)
