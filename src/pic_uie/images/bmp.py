"""BMP, which libvips leaves out: read with Pillow, written here because Pillow loses alpha."""

from __future__ import annotations

import io
import struct

import numpy as np

from pic_uie.errors import ImageError
from pic_uie.images.picture import Colour, Metadata, Picture, Pixels, Space, plausible

_INCH = 0.0254
_HEADER_V4 = 108
_SRGB = 0x73524742


def size(data: bytes) -> tuple[int, int]:
    """Returns width and height from the header."""
    kind = int.from_bytes(data[14:18], "little")
    try:
        width, height = struct.unpack_from("<HH" if kind == 12 else "<ii", data, 18)
    except struct.error as error:
        raise ImageError("damaged BMP: the header is incomplete") from error
    return abs(width), abs(height)


def decode(data: bytes) -> Picture:
    """Decodes a BMP whose size was found acceptable."""
    from PIL import BmpImagePlugin  # not Image.open: its own size limit is lower than ours

    try:
        with BmpImagePlugin.BmpImageFile(io.BytesIO(data)) as image:
            if image.size != size(data):
                raise ImageError("damaged BMP: contradictory sizes")
            dpi = image.info.get("dpi")
            mode = {"1": "L", "L": "L", "RGBA": "RGBA"}.get(image.mode, "RGB")
            pixels = np.array(image.convert(mode))
    except (OSError, ValueError, SyntaxError, EOFError, struct.error, IndexError, TypeError, KeyError) as error:
        raise ImageError(f"damaged BMP: {error}") from error
    if pixels.ndim == 2:
        pixels = pixels[:, :, None]
    resolution = plausible((float(dpi[0]), float(dpi[1])) if dpi else None)
    space: Space = "grey" if pixels.shape[2] == 1 else "rgb"
    return Picture(pixels, "bmp", metadata=Metadata(dpi=resolution), colour=Colour(space))


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
