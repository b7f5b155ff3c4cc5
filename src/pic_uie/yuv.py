"""A frame of video as its planes: 4:2:0, 8 to 16 bits, in the matrix and range that the file says."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Plane = NDArray[Any]
Matrix = Literal["bt601", "bt709", "bt2020"]

LUMA_WEIGHTS: dict[str, tuple[float, float]] = {  # of red and blue
    "bt601": (0.299, 0.114),
    "bt709": (0.2126, 0.0722),
    "bt2020": (0.2627, 0.0593),
}


@dataclass(frozen=True, eq=False)
class Yuv:
    """Planes of one frame; a sample of `cb` and `cr` belongs to 2x2 samples of `y`.

    Attributes:
        y: (H, W), uint8 for 8 bits, uint16 for more; rows are contiguous, with any distance between them.
        cb: ((H + 1) // 2, (W + 1) // 2), of the same type; may be every second sample of an interleaved plane.
        cr: As `cb`, with the same strides.
        matrix: What turns R, G, B into luma and chroma.
        full_range: Whether luma runs from 0 to the largest value, instead of 16 to 235 (times 2^(bits - 8)).
        bits: 8 to 16, in the low bits of each sample.
    """

    y: Plane
    cb: Plane
    cr: Plane
    matrix: Matrix = "bt709"
    full_range: bool = False
    bits: int = 8

    def __post_init__(self) -> None:
        """Checks types and shapes.

        Raises:
            ValueError: Planes that do not belong together, with what was seen.
        """
        if self.matrix not in LUMA_WEIGHTS:
            raise ValueError(f"matrix must be one of {', '.join(LUMA_WEIGHTS)}, got {self.matrix!r}")
        if not 8 <= self.bits <= 16:
            raise ValueError(f"bits must be 8 to 16, got {self.bits}")
        wanted = np.dtype(np.uint8 if self.bits == 8 else np.uint16)
        for name in ("y", "cb", "cr"):
            plane = getattr(self, name)
            if not isinstance(plane, np.ndarray) or plane.dtype != wanted or plane.ndim != 2:
                seen = f"{plane.dtype} {plane.shape}" if isinstance(plane, np.ndarray) else type(plane).__name__
                raise ValueError(f"{name} must be a plane of {wanted} for {self.bits} bits, got {seen}")
        if self.y.size == 0:
            raise ValueError(f"expected at least one pixel, got shape {self.y.shape}")
        half = ((self.y.shape[0] + 1) // 2, (self.y.shape[1] + 1) // 2)
        if self.cb.shape != half or self.cr.shape != half:
            raise ValueError(
                f"cb and cr must have shape {half} for y of {self.y.shape}, got {self.cb.shape}, {self.cr.shape}"
            )

    @property
    def luma_weights(self) -> tuple[float, float]:
        """The shares of red and blue in luma."""
        return LUMA_WEIGHTS[self.matrix]

    @classmethod
    def i420(
        cls,
        frame: Plane,
        width: int,
        height: int,
        *,
        matrix: Matrix = "bt709",
        full_range: bool = False,
        bits: int = 8,
    ) -> Yuv:
        """Views one frame of planar samples, Y then Cb then Cr, without copying."""
        samples, columns, rows = _samples(frame, width, height)
        area = rows * columns
        chroma = samples[width * height :].reshape(2, area)
        cb, cr = (plane.reshape(rows, columns) for plane in chroma)
        return cls(samples[: width * height].reshape(height, width), cb, cr, matrix, full_range, bits)

    @classmethod
    def nv12(
        cls,
        frame: Plane,
        width: int,
        height: int,
        *,
        matrix: Matrix = "bt709",
        full_range: bool = False,
        bits: int = 8,
    ) -> Yuv:
        """Views one frame of semi-planar samples, Y then Cb and Cr in turn, without copying."""
        samples, columns, rows = _samples(frame, width, height)
        chroma = samples[width * height :].reshape(rows, columns, 2)
        y = samples[: width * height].reshape(height, width)
        return cls(y, chroma[:, :, 0], chroma[:, :, 1], matrix, full_range, bits)

    def empty_like(self) -> Yuv:
        """Returns planar memory for a frame of the same kind."""
        y, cb, cr = (np.empty(plane.shape, plane.dtype) for plane in (self.y, self.cb, self.cr))
        return replace(self, y=y, cb=cb, cr=cr)


def _samples(frame: Plane, width: int, height: int) -> tuple[Plane, int, int]:
    if width < 1 or height < 1:
        raise ValueError(f"expected at least one pixel, got {width}x{height}")
    columns, rows = (width + 1) // 2, (height + 1) // 2
    count = width * height + 2 * columns * rows
    samples = np.asarray(frame).reshape(-1)
    if samples.size != count:
        raise ValueError(f"a 4:2:0 frame of {width}x{height} has {count} samples, got {samples.size}")
    return samples, columns, rows
