"""HEIF files: AVIF read and written, HEIC read with libheif (pi-heif, which has no encoder)."""

from __future__ import annotations

import importlib.util
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pic_uie.errors import EnvironmentMissingError, ImageError
from pic_uie.images import avif, exif_write, heif_write, vips
from pic_uie.images.description import CodePoints
from pic_uie.images.heif_file import SEQUENCES, HeifFile
from pic_uie.images.interface import Format, Opened, Stored
from pic_uie.images.picture import Pixels

_AVIF_BRANDS = {b"avif"}
_HEIC_BRANDS = {b"heic", b"heix", b"heim", b"heis", b"mif1"}
_DEPTH = 12  # bits of a picture that had 16


def sniff_avif(head: bytes) -> bool:
    """Recognises an AVIF by its brands."""
    return bool(_brands(head) & (_AVIF_BRANDS | {b"avis"}))


def sniff_heic(head: bytes) -> bool:
    """Recognises a HEIC by its brands."""
    return not sniff_avif(head) and head[8:12] in _HEIC_BRANDS | SEQUENCES


def open_avif(data: bytes, salvage: bool) -> Opened:
    """Reads the boxes, and the header with Pillow (8 bits: four times faster) or libvips."""
    found = HeifFile(data, "AVIF")
    if (image := avif.opened_by_pillow(found)) is not None:
        width, height = image.size
        return found.opened(width, height, lambda: avif.samples(image), 8, orientation=found.orientation)
    image = vips.open_lazily("heifload", found.without_metadata(), title="AVIF")
    bits = int(image.get("bits-per-sample")) if image.get_typeof("bits-per-sample") else 8
    return found.opened(image.width, image.height, lambda: _full(vips.samples(image, "AVIF", "heifload"), bits), bits)


def missing() -> str | None:
    """Says what must be installed to read HEIC."""
    return None if importlib.util.find_spec("pi_heif") else "pip install pi-heif"


def open_heic(data: bytes, salvage: bool) -> Opened:
    """Reads the boxes, and the header with libheif."""
    found = HeifFile(data, "HEIC")
    image = _with_libheif(lambda pi_heif: pi_heif.open_heif(data, convert_hdr_to_8bit=False))
    width, height = image.size
    bits = int(image.info.get("bit_depth", 8))

    def samples() -> NDArray[Any]:
        pixels = _with_libheif(lambda _: np.array(image))
        return _full(pixels, bits)

    return found.opened(width, height, samples, bits, image.mode.startswith("L"))


def save(stored: Stored) -> bytes:
    """Writes an AVIF: chroma and depth like the source, fast, and of about its size."""
    if not vips.has_operation("heifsave"):
        raise ImageError("AVIF cannot be written by this build of libvips; use --format jpeg, png or tiff")
    bits = 8 if stored.bits == 8 else min(stored.coding.bits or _DEPTH, _DEPTH)
    pixels = stored.pixels if bits == 8 else _at_depth(stored.pixels, bits)
    data = avif.encoded(pixels, stored, bits)
    said = stored.description if isinstance(stored.description, CodePoints) else None
    properties: list[bytes] = []
    if stored.profile is not None:
        properties.append(heif_write.profile_property(stored.profile))
    properties.append(heif_write.code_points(*((said.primaries, said.transfer) if said else _unsaid(stored))))
    kept, items = stored.metadata, list[tuple[bytes, bytes]]()
    if kept.exif is not None:
        items.append(heif_write.exif_item(exif_write.serialise(kept.exif)))
    if kept.xmp is not None:
        items.append(heif_write.xmp_item(kept.xmp))
    return heif_write.with_parts(data, properties, items)


def _unsaid(stored: Stored) -> tuple[int, int]:
    return (2, 2) if stored.profile is not None else (1, 13)


def _full(samples: NDArray[Any], bits: int) -> NDArray[Any]:
    """Scales samples that libheif shifted up to 16 bits so that white is white."""
    return samples if samples.dtype == np.uint8 else _up(bits)[samples]


def _at_depth(pixels: Pixels, bits: int) -> Pixels:
    """Rounds 16 bits to fewer, and shifts them up as libheif wants them."""
    return _down(bits)[pixels]


@cache
def _up(bits: int) -> Pixels:
    levels = np.arange(65536, dtype=np.uint32) >> (16 - bits)
    return (levels * 65535 // ((1 << bits) - 1)).astype(np.uint16)


@cache
def _down(bits: int) -> Pixels:
    rounded = (np.arange(65536, dtype=np.uint32) * ((1 << bits) - 1) + 32767) // 65535
    return (rounded << (16 - bits)).astype(np.uint16)


def _with_libheif(action: Any) -> Any:
    try:
        import pi_heif
    except ImportError as error:
        raise EnvironmentMissingError("HEIC needs pi-heif: pip install pi-heif") from error
    try:
        return action(pi_heif)
    except SyntaxError as error:
        raise ImageError(f"a HEIC of a kind that cannot be read here: {error}") from error
    except (ValueError, EOFError, RuntimeError, OSError) as error:
        raise ImageError(vips.worded("damaged HEIC", str(error))) from error


def _brands(head: bytes) -> set[bytes]:
    if head[4:8] != b"ftyp":
        return set()
    end = min(int.from_bytes(head[:4], "big"), len(head), 64)
    return {head[8:12]} | {head[at : at + 4] for at in range(16, end, 4)}


AVIF = Format(
    "avif",
    "AVIF",
    (".avif",),
    sniff_avif,
    open_avif,
    save,
    depth=_DEPTH,
    describes=(CodePoints,),
    keeps=frozenset({"EXIF", "XMP"}),
    converts="16 bits to 12",
    refuses="sequences, HDR (PQ, HLG)",
)
HEIC = Format(
    "heic",
    "HEIC",
    (".heic", ".heif", ".hif"),
    sniff_heic,
    open_heic,
    result="jpeg",
    missing=missing,
    depth=_DEPTH,
    keeps=frozenset({"EXIF", "XMP"}),
    describes=(CodePoints,),
    converts="10 bits to 8 (`--format avif` keeps them)",
    refuses="sequences, HDR (PQ, HLG)",
)
