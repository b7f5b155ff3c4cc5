"""AVIF's codec: 8 bits with Pillow (libavif), which is fast, the rest with libvips (libheif)."""

from __future__ import annotations

import io
import math
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pic_uie.errors import ImageError
from pic_uie.images import vips
from pic_uie.images.heif_file import HeifFile
from pic_uie.images.interface import Stored
from pic_uie.images.picture import Pixels

DEFAULT_QUALITY = 85  # of AVIF's own scale, where nothing is known of the source
_LEAST_QUALITY = 20
_MOST_GROWTH, _WANTED_GROWTH = 1.5, 1.3  # of the file's size; a result has more contrast than its source
_SMALL_BYTES = 8192
_STEPS_PER_OCTAVE = 20  # so many steps of quality halve the size
_BOXES_BYTES = 350  # of a file without metadata
_TILE, _SAMPLE_SHARE = 64, 16  # one tile in so many is encoded to learn the size
_EFFORT = 0  # libvips: six times faster than its default for a tenth more bytes
# libavif: the fastest speed; trellis quantisation takes a fifth of the time and gains nothing at that speed
_FAST: dict[str, Any] = {"speed": 10, "max_threads": 1, "advanced": {"disable-trellis-quant": "1"}}


def opened_by_pillow(found: HeifFile) -> Any:
    """Returns Pillow's image of an 8-bit AVIF, or None where libvips must read it."""
    if found.bits != 8 or found.is_grey or b"clap" in found.properties or not pillow_has_avif():
        return None
    from PIL import AvifImagePlugin  # not Image.open: its own size limit is lower than ours

    try:
        image = AvifImagePlugin.AvifImageFile(io.BytesIO(found.without_metadata()))
    except (OSError, ValueError, SyntaxError, RuntimeError, TypeError):
        return None
    return image if image.mode in ("RGB", "RGBA") and getattr(image, "n_frames", 1) == 1 else None


def samples(image: Any) -> NDArray[Any]:
    """Decodes an image that `opened_by_pillow` gave."""
    try:
        return np.array(image)
    except (OSError, ValueError, SyntaxError, RuntimeError, EOFError, MemoryError) as error:
        raise ImageError(vips.worded("damaged AVIF", str(error))) from error


def encoded(pixels: Pixels, stored: Stored, bits: int) -> bytes:
    """Encodes as coarsely as the source was, and more coarsely where the result would be much larger than that."""
    encode = partial(_encoded, stored=stored, bits=bits)
    if stored.quality is not None:
        return encode(pixels, stored.quality)
    is_avif = stored.source == "avif"
    quality = (stored.coding.quality if is_avif else None) or DEFAULT_QUALITY
    if not is_avif or stored.coding.bytes_per_pixel is None:
        return encode(pixels, quality)
    area = pixels.shape[0] * pixels.shape[1]
    source = max(stored.coding.bytes_per_pixel * area, _SMALL_BYTES)
    tiles = _some_tiles(pixels)
    if tiles is not None:
        expected = (len(encode(tiles, quality)) - _BOXES_BYTES) * area / (tiles.shape[0] * tiles.shape[1])
        quality = _lower(quality, expected / (_WANTED_GROWTH * source))
    data = encode(pixels, quality)
    while len(data) > _MOST_GROWTH * source and quality > _LEAST_QUALITY:
        quality = min(_lower(quality, len(data) / (_WANTED_GROWTH * source)), quality - 3)
        data = encode(pixels, max(quality, _LEAST_QUALITY))
    return data


def _encoded(pixels: Pixels, quality: int, stored: Stored, bits: int) -> bytes:
    subsampled = bool(stored.coding.subsampled)
    if bits == 8 and pixels.shape[2] >= 3 and pillow_has_avif():
        from PIL import Image

        buffer = io.BytesIO()
        chroma = "4:2:0" if subsampled else "4:4:4"
        Image.fromarray(pixels).save(buffer, "AVIF", quality=quality, subsampling=chroma, **_FAST)
        return buffer.getvalue()
    image = vips.from_array(pixels, stored.space)
    mode = "on" if subsampled else "off"
    options = {"bitdepth": bits, "Q": quality, "effort": _EFFORT, "subsample_mode": mode, "keep": "none"}
    return bytes(image.heifsave_buffer(compression="av1", **options))


def _lower(quality: int, excess: float) -> int:
    """Returns the quality at which a file is smaller by a factor; the same if it is small enough."""
    return quality if excess <= 1 else max(_LEAST_QUALITY, quality - math.ceil(_STEPS_PER_OCTAVE * math.log2(excess)))


def _some_tiles(pixels: Pixels) -> Pixels | None:
    """Returns evenly spread tiles of a large picture in one column, or None for a small one."""
    height, width = pixels.shape[:2]
    places = [(y, x) for y in range(0, height - _TILE, _TILE) for x in range(0, width - _TILE, _TILE)]
    chosen = places[_SAMPLE_SHARE // 2 :: _SAMPLE_SHARE + 1]  # a step that no width of a row hides
    if len(chosen) < 4:
        return None
    return np.ascontiguousarray(np.concatenate([pixels[y : y + _TILE, x : x + _TILE] for y, x in chosen]))


@cache
def pillow_has_avif() -> bool:
    """Whether this Pillow was built with AVIF."""
    from PIL import features

    return bool(features.check("avif"))
