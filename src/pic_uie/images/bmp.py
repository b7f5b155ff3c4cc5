"""BMP, which libvips leaves out: read with Pillow, written here because Pillow loses alpha."""

from __future__ import annotations

import io
import struct

import numpy as np

from pic_uie.errors import ImageError
from pic_uie.images import vips
from pic_uie.images.interface import Format, Opened, Stored
from pic_uie.images.picture import Metadata, Pixels, Space, plausible

_INCH = 0.0254
_HEADER_V4 = 108
_SRGB = 0x73524742
_HEADER_SIZES = {length.to_bytes(4, "little") for length in (12, 40, 52, 56, 64, 108, 124)}
_OLD_HEADER = (12).to_bytes(4, "little")


def sniff(head: bytes) -> bool:
    """Recognises a BMP by its first bytes."""
    return head[:2] == b"BM" and head[14:18] in _HEADER_SIZES


def open_bmp(data: bytes, salvage: bool) -> Opened:
    """Reads the header."""
    width, height = size(data)
    if int.from_bytes(data[10:14], "little") > len(data):
        raise ImageError("damaged BMP: it is cut short")
    bits = int.from_bytes(data[28:30], "little") if int.from_bytes(data[14:18], "little") != 12 else 24
    per_metre = struct.unpack_from("<ii", data, 38) if len(data) >= 46 and data[14:18] != _OLD_HEADER else (0, 0)
    dpi = plausible((per_metre[0] * _INCH, per_metre[1] * _INCH))
    grey = bits <= 8 and _has_grey_palette(data)
    space: Space = "grey" if grey else "rgb"
    return Opened(width, height, lambda: _samples(data, grey), space, metadata=Metadata(dpi=dpi))


def save(stored: Stored) -> bytes:
    """Writes a BMP."""
    pixels = stored.pixels
    return encode(pixels[:, :, [0, 0, 0, 1]] if pixels.shape[2] == 2 else pixels, stored.metadata.dpi)


def size(data: bytes) -> tuple[int, int]:
    """Returns width and height from the header."""
    try:
        width, height = struct.unpack_from("<HH" if data[14:18] == _OLD_HEADER else "<ii", data, 18)
    except struct.error as error:
        raise ImageError("damaged BMP: the header is incomplete") from error
    return abs(width), abs(height)


def _samples(data: bytes, grey: bool) -> Pixels:
    from PIL import BmpImagePlugin  # not Image.open: its own size limit is lower than ours

    try:
        with BmpImagePlugin.BmpImageFile(io.BytesIO(data)) as image:
            if image.size != size(data):
                raise ImageError("damaged BMP: contradictory sizes")
            mode = "L" if grey else "RGBA" if image.mode == "RGBA" else "RGB"
            return np.array(image.convert(mode))
    except (OSError, ValueError, SyntaxError, EOFError, struct.error, IndexError, TypeError, KeyError) as error:
        raise ImageError(vips.worded("damaged BMP", str(error))) from error


def _has_grey_palette(data: bytes) -> bool:
    from PIL import BmpImagePlugin

    try:
        with BmpImagePlugin.BmpImageFile(io.BytesIO(data)) as image:
            return image.mode in ("1", "L")
    except (OSError, ValueError, SyntaxError, EOFError, struct.error, IndexError, TypeError, KeyError) as error:
        raise ImageError(vips.worded("damaged BMP", str(error))) from error


def encode(pixels: Pixels, dpi: tuple[float, float] | None) -> bytes:
    """Encodes uint8 (H, W, 1, 3 or 4): 8-bit grey with a palette, 24-bit, or 32-bit with alpha."""
    height, width, channels = pixels.shape
    palette = b""
    if channels == 1:
        palette = b"".join(bytes((level, level, level, 0)) for level in range(256))
        rows = pixels[:, :, 0]
    else:
        rows = pixels[:, :, [2, 1, 0, 3][:channels]].reshape(height, width * channels)
    stride = -(-rows.shape[1] // 4) * 4
    padded = np.zeros((height, stride), np.uint8)
    padded[:, : rows.shape[1]] = rows[::-1]
    per_metre = [round(value / _INCH) for value in dpi] if dpi else [0, 0]
    offset = 14 + _HEADER_V4 + len(palette)
    header = struct.pack("<2sIHHI", b"BM", offset + padded.nbytes, 0, 0, offset)
    bitfields = 3 if channels == 4 else 0
    header += struct.pack("<IiiHHII", _HEADER_V4, width, height, 1, 8 * channels, bitfields, padded.nbytes)
    header += struct.pack("<iiII", *per_metre, 256 if palette else 0, 0)
    masks = (0xFF0000, 0xFF00, 0xFF, 0xFF000000) if channels == 4 else (0, 0, 0, 0)
    header += struct.pack("<5I", *masks, _SRGB) + bytes(48)
    return header + palette + padded.tobytes()


FORMAT = Format(
    "bmp",
    "BMP",
    (".bmp", ".dib"),
    sniff,
    open_bmp,
    save,
    profile=False,
    converts="other colours to sRGB",
)
