"""JPEG XL: read where libvips can; results are PNG."""

from __future__ import annotations

from typing import Any

from pic_uie.errors import ImageError
from pic_uie.images import exif as exif_tree
from pic_uie.images import vips, xmp
from pic_uie.images.ifd import IfdError
from pic_uie.images.interface import Format, Opened
from pic_uie.images.picture import Coding, Metadata, Space

_CODESTREAM, _BOXED = b"\xff\x0a", b"\0\0\0\x0cJXL \r\n\x87\n"
_SPACES: dict[str, Space] = {"b-w": "grey", "grey16": "grey", "srgb": "rgb", "rgb16": "rgb", "cmyk": "cmyk"}


def sniff(head: bytes) -> bool:
    """Recognises a JPEG XL file or codestream by its first bytes."""
    return head.startswith((_CODESTREAM, _BOXED))


def missing() -> str | None:
    """Says what must be installed to read JPEG XL."""
    return None if vips.has_operation("jxlload") else "a libvips with jxlload"


def open_jxl(data: bytes, salvage: bool) -> Opened:
    """Reads the header."""
    if missing():
        raise ImageError("a JPEG XL picture, which this build of libvips cannot read: convert it to PNG or JPEG first")
    image = vips.open_lazily("jxlload", data, title="JPEG XL")
    if image.get_typeof("n-pages") and image.get("n-pages") > 1:
        raise ImageError("a JPEG XL with several frames (an animation): extract one first")
    if image.interpretation not in _SPACES:
        raise ImageError(f"a JPEG XL picture of a kind that cannot be read here ({image.interpretation})")
    bits = int(image.get("bits-per-sample")) if image.get_typeof("bits-per-sample") else None
    return Opened(
        image.width,
        image.height,
        lambda: vips.samples(image, "JPEG XL", "jxlload"),
        _SPACES[image.interpretation],
        vips.block(image, "icc-profile-data"),
        metadata=Metadata(*_blocks(image)),
        coding=Coding(bits=bits),
    )


def _blocks(image: Any) -> tuple[exif_tree.Exif | None, bytes | None]:
    block, packet = vips.block(image, "exif-data"), vips.block(image, "xmp-data")
    try:
        exif = exif_tree.parse(block.removeprefix(exif_tree.PREFIX)) if block else None
    except IfdError:
        exif = None
    return exif, xmp.cleaned(packet)[0] if packet else None


FORMAT = Format(
    "jxl",
    "JPEG XL",
    (".jxl",),
    sniff,
    open_jxl,
    result="png",
    depth=16,
    missing=missing,
    keeps=frozenset({"EXIF", "XMP"}),
    refuses="where libvips cannot read it; animations",
)
