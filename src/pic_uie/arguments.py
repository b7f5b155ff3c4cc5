"""What an Enhancer takes and what it refuses: pictures, frames, outputs, corrections, strengths and threads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pic_uie import _native
from pic_uie.corrections import Corrections
from pic_uie.yuv import Yuv

Array = NDArray[Any]  # (H, W) or (H, W, 1, 3 or 4); uint8, uint16 or float32
Input = TypeVar("Input", bound="Array | Yuv")  # the result is of the same kind

DTYPES = (np.dtype(np.uint8), np.dtype(np.uint16), np.dtype(np.float32))
MAX_THREADS = 256


def check_threads(threads: int) -> int:
    """Returns a number of threads that the engine can use."""
    if not isinstance(threads, (int, np.integer)) or not 1 <= threads <= MAX_THREADS:
        raise ValueError(f"threads must be a whole number from 1 to {MAX_THREADS}, got {threads!r}")
    return int(threads)


def threads_or_0(threads: int | None) -> int:
    """Returns the threads of one call; 0 for the engine's own."""
    return 0 if threads is None else check_threads(threads)


def check_strength(strength: float) -> float:
    """Returns a strength from 0 to 1."""
    if not isinstance(strength, (int, float, np.number)) or not 0.0 <= strength <= 1.0:
        raise ValueError(f"strength must be in [0, 1], got {strength!r}")
    return float(strength)


def check_theta(theta: Corrections) -> Corrections:
    """Refuses anything but Corrections."""
    if not isinstance(theta, Corrections):
        raise ValueError(f"theta must be Corrections, got {type(theta).__name__}")
    return theta


def check_picture(img: Input) -> Input:
    """Refuses an array of a type or shape that the engine does not take."""
    if isinstance(img, Yuv):
        return img
    if not isinstance(img, np.ndarray):
        raise ValueError(f"expected a NumPy array or Yuv, got {type(img).__name__}")
    if img.dtype not in DTYPES:
        raise ValueError(f"expected uint8, uint16 or float32 samples, got {img.dtype}")
    if img.ndim not in (2, 3) or (img.ndim == 3 and img.shape[2] not in (1, 3, 4)):
        raise ValueError(f"expected shape (H, W), (H, W, 1), (H, W, 3) or (H, W, 4), got {img.shape}")
    if img.size == 0:
        raise ValueError(f"expected at least one pixel, got shape {img.shape}")
    return img


def check_out(img: Any, out: Any) -> tuple[Any, Any]:
    """Returns the picture to read and where to write; the picture is a copy where writing would spoil reading."""
    if isinstance(img, Yuv):
        return _check_frames(img, out)
    if out is None:
        return img, np.empty(img.shape, img.dtype)
    if not isinstance(out, np.ndarray) or out.shape != img.shape or out.dtype != img.dtype:
        seen = f"{out.dtype} {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise ValueError(f"out must be a {img.dtype} array of shape {img.shape}, got {seen}")
    return _check_memory("out", img, out), out


def _check_frames(img: Yuv, out: Any) -> tuple[Yuv, Yuv]:
    if out is None:
        return img, img.empty_like()
    if not isinstance(out, Yuv) or out.y.shape != img.y.shape:
        seen = f"{out.y.shape}" if isinstance(out, Yuv) else type(out).__name__
        raise ValueError(f"out must be a frame of shape {img.y.shape}, got {seen}")
    planes: dict[str, Any] = {
        name: _check_memory(name, getattr(img, name), getattr(out, name)) for name in ("y", "cb", "cr")
    }
    if any(planes[name] is not getattr(img, name) for name in planes):
        img = replace(img, **planes)
    return img, out


def _check_memory(name: str, source: Array, out: Array) -> Array:
    """Returns `source`, or a copy where writing to `out` would overwrite rows before they are read."""
    if not out.flags.writeable:
        raise ValueError(f"{name} must be writeable, got a read-only array")
    same = out.ctypes.data == source.ctypes.data and out.strides == source.strides
    return source if same or not np.may_share_memory(source, out) else source.copy()


def raise_for(code: int, img: Array | Yuv) -> None:
    """Raises the exception that an error code of the core stands for."""
    if code == 0:
        return
    name, message = _native.errors()[code]
    if name == "out_of_memory":
        raise MemoryError(f"{message}: {img.y.shape if isinstance(img, Yuv) else img.shape}")
    if name == "bad_samples" and isinstance(img, np.ndarray):
        colors = img if img.ndim == 2 else img[..., :3]
        message += f", got {float(colors.min())} .. {float(colors.max())}"
    if name == "overlapping_output":
        message += "; give an array of its own memory, as np.empty_like(img)"
    raise ValueError(message)
