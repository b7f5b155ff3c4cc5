"""libvips behind one door: imported late, one thread per call, arrays in and out, its errors in our words."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pic_uie.errors import EnvironmentMissingError, ImageError
from pic_uie.images.picture import Pixels, Space

_TYPES: dict[str, type] = {"uchar": np.uint8, "char": np.int8, "ushort": np.uint16, "short": np.int16}
_TYPES |= {"uint": np.uint32, "int": np.int32, "float": np.float32, "double": np.float64}
_INTERPRETATION: dict[tuple[Space, int], str] = {
    ("grey", 8): "b-w",
    ("grey", 16): "grey16",
    ("rgb", 8): "srgb",
    ("rgb", 16): "rgb16",
    ("cmyk", 8): "cmyk",
    ("cmyk", 16): "cmyk",
    ("lab", 8): "lab",
    ("lab", 16): "lab",
}

# How libraries say that they are not able to read something that may be sound.
_UNSUPPORTED = (
    *("unsupported", "not supported", "not implemented", "unimplemented", "not been built in", "not configured"),
    *("cannot handle", "can't handle", "unknown compression", "no decoder", "not a supported"),
)

# What the errors of a loader have in common.
_WORDS = {"jpeg": "jpeg", "png": "png", "tiff": "tiff", "webp": "webp", "avif": "heif", "gif": "gif"}
_WORDS |= {"jp2": "jp2k", "jxl": "jxl"}

# What libraries say too briefly.
_PLAIN = {"libpng read error": "its pixels are damaged or cut short"}

_FORMATS = {"jpegload": "jpeg", "pngload": "png", "tiffload": "tiff", "webpload": "webp", "heifload": "avif"}
_FORMATS |= {"gifload": "gif", "jp2kload": "jp2", "jxlload": "jxl"}

_loading = threading.Lock()


def library() -> Any:
    """Returns pyvips, set up once however many threads ask first."""
    with _loading:
        return _load()


@cache
def _load() -> Any:
    """Imports pyvips (30 ms) and sets it up for many pictures side by side.

    One libvips thread per operation: a batch runs one picture per core, and more threads would only wait on each other.
    No operation cache: no picture is decoded twice, and the cache would keep the last hundred of them in memory.
    No warnings: what matters comes as an error, and pyvips prints a traceback for each one that is not UTF-8.
    """
    os.environ.setdefault("VIPS_CONCURRENCY", "1")
    os.environ.setdefault("VIPS_WARNING", "1")
    try:
        import pyvips
    except (ImportError, OSError) as error:
        raise EnvironmentMissingError(
            f"libvips cannot be loaded ({error}); install it with: pip install 'pyvips[binary]'"
        ) from error
    pyvips._remove_log_handler()
    pyvips.cache_set_max(0)
    return pyvips


@contextmanager
def errors_as_image_errors(what: str, file_format: str | None = None) -> Iterator[None]:
    """Turns an error of libvips inside the block into an ImageError that starts with `what`.

    What libvips or its libraries call unsupported is no damage and gets words of its own.
    All threads share libvips's list of errors: what it says of other formats than `file_format` is of other pictures.
    """
    vips_error = library().Error
    try:
        yield
    except vips_error as error:
        raise ImageError(worded(what, _reason(str(error.detail or error.message), file_format))) from error
    except UnicodeDecodeError as error:  # pyvips trips over messages of libvips that quote bytes of the file
        library().vips_lib.vips_error_clear()
        raise ImageError(what) from error


def worded(what: str, reason: str) -> str:
    """Joins what is wrong with a file and why; what cannot be read for want of code is never called damaged."""
    if what.startswith("damaged ") and any(word in reason.lower() for word in _UNSUPPORTED):
        what = f"a {what.removeprefix('damaged ')} of a kind that cannot be read here"
    return f"{what}: {reason}"


def open_lazily(loader: str, data: bytes, *, title: str, leniently: bool = False, **options: Any) -> Any:
    """Reads the header of `data` with one named loader; pixels are decoded only when asked for.

    Args:
        loader: Name of the operation.
        data: The file.
        title: Name of the format for messages.
        leniently: Whether damage is passed over without an error.
        options: More arguments of the operation.

    Raises:
        ImageError: No such loader in this build of libvips, or a header that it does not read.
    """
    if not has_operation(loader):
        raise ImageError(f"{title} needs a libvips with {loader}; convert the file to JPEG, PNG or TIFF first")
    load = getattr(library().Image, f"{loader}_buffer")
    with errors_as_image_errors(f"damaged {title}", _FORMATS[loader]):
        return load(data, access="sequential", fail_on="none" if leniently else "error", **options)


def samples(image: Any, title: str, loader: str) -> NDArray[Any]:
    """Decodes an image that `open_lazily` opened.

    Raises:
        ImageError: Damaged pixels.
    """
    with errors_as_image_errors(f"damaged {title}", _FORMATS[loader]):
        return to_array(image)


def to_array(image: Any) -> NDArray[Any]:
    """Decodes an image into (H, W, C)."""
    kind = _TYPES[image.format]
    return np.ndarray((image.height, image.width, image.bands), kind, image.write_to_memory())


def from_array(pixels: Pixels, space: Space) -> Any:
    """Wraps a contiguous (H, W, C) array without copying; the array must outlive the image."""
    height, width, channels = pixels.shape
    bits = 8 * pixels.itemsize
    image = library().Image.new_from_memory(pixels.data, width, height, channels, "uchar" if bits == 8 else "ushort")
    return image.copy(interpretation=_INTERPRETATION[space, bits])


def with_block(image: Any, name: str, block: bytes) -> Any:
    """Attaches a block of metadata."""
    image = image.copy()
    image.set_type(library().GValue.blob_type, name, block)
    return image


def block(image: Any, name: str) -> bytes | None:
    """Returns a block of metadata."""
    return bytes(image.get(name)) if image.get_typeof(name) else None


@cache
def has_operation(name: str) -> bool:
    """Returns whether this build of libvips has an operation."""
    return bool(library().type_find("VipsOperation", name))


def built_in_profile(name: str) -> bytes:
    """Returns one of libvips's own ICC profiles: srgb, p3 or cmyk."""
    return bytes(library().Operation.call("profile_load", name))


def _reason(detail: str, file_format: str | None = None) -> str:
    lines = [line.strip() for line in detail.splitlines() if line.strip()]
    if file_format is not None:
        word = _WORDS[file_format]
        own = [line for line in lines if word in line.lower()]
        lines = own or [line for line in lines if not any(other in line.lower() for other in _WORDS.values())]
    reasons = [re.sub(r"^\w+:\s*", "", line) for line in lines]
    unique = list(dict.fromkeys(_PLAIN.get(reason, reason) for reason in reasons if reason))
    return "; ".join(unique[:2]) or "libvips gives no reason"
