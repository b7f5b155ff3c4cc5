"""Pictures that use a small part of their 16 bits: 12 bits in 16, scientific and thermal cameras, floating point.

The model needs to know what is black and what is white. Where the file does not say, such a picture is refused unless
`--range` says it; its samples are then scaled for the model, and back for the file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pic_uie.errors import ConfigError, ImageError
from pic_uie.images.picture import Pixels

_TOP = 65535
_LOWEST_PEAK = _TOP // 4  # 14 bits or fewer in 16: a photograph whose brightest spot is that dark is hardly one
_LEAST_SPREAD = _TOP // 16


@dataclass(frozen=True)
class SampleRange:
    """Which samples are black and white; None: the darkest and brightest of each picture."""

    low: float | None = None
    high: float | None = None

    @classmethod
    def parse(cls, text: str) -> SampleRange:
        """Reads `auto` or `MIN:MAX`.

        Raises:
            ConfigError: Anything else.
        """
        if text == "auto":
            return cls()
        low, _, high = text.partition(":")
        try:
            limits = float(low), float(high)
        except ValueError:
            limits = (0.0, 0.0)
        if not (np.isfinite(limits).all() and limits[0] < limits[1]):
            raise ConfigError(f"--range is auto or MIN:MAX, such as 0:4095, got {text!r}")
        return cls(*limits)


def full_scale(
    samples: NDArray[Any], colours: int, asked: SampleRange | None, *, says_colour: bool
) -> tuple[Pixels, tuple[int, int] | None, tuple[str, ...]]:
    """Returns uint8 or uint16 samples that use their whole range, what 0 and 65535 stand for, and notes.

    Args:
        samples: (H, W, C) as the file has them.
        colours: How many channels are colour; alpha is not scaled.
        asked: What `--range` says.
        says_colour: Whether the file says what its numbers mean: then they are taken at their word.

    Raises:
        ImageError: A range far below full scale, or outside [0, 1] in floating point, and none was given.
    """
    if samples.dtype == np.uint8:
        return samples, None, () if asked is None else ("its samples have 8 bits: --range does nothing to it",)
    colour = samples[:, :, :colours]
    low, high = float(colour.min()), float(colour.max())
    if not np.isfinite([low, high]).all():
        raise ImageError("samples that are no numbers (NaN or infinite): replace them first")
    whole = samples.dtype == np.uint16
    if asked is None:
        if not whole:
            return _unit_samples(samples, low, high)
        is_narrow = high < _LOWEST_PEAK or high - low < _LEAST_SPREAD
        if is_narrow and high > low and not says_colour:
            raise ImageError(
                f"16 bits per channel, but all samples lie between {low:.0f} and {high:.0f} of {_TOP}: it is not clear "
                f"what is black and white. Give --range auto, --range 0:{_guess(high)}, "
                f"or --range 0:{_TOP} if the picture is really that dark"
            )
        return samples, None, ()
    black = low if asked.low is None else asked.low
    white = high if asked.high is None else asked.high
    if whole and (black, white) == (0, _TOP):
        return samples, None, ()
    if white <= black:
        return (samples if whole else _unit_samples(samples, 0.0, 0.0)[0]), None, ()
    notes: tuple[str, ...] = ()
    outside = (colour < black) | (colour > white)
    if outside.any():
        notes = (f"{np.count_nonzero(outside)} samples outside the range {black:g}:{white:g} were clipped",)
    scaled = np.empty(samples.shape, np.uint16)
    unit = (np.clip(colour, black, white).astype(np.float64) - black) / (white - black)
    scaled[:, :, :colours] = np.rint(unit * _TOP)
    scaled[:, :, colours:] = samples[:, :, colours:] if whole else _opacity(samples[:, :, colours:])
    if whole and black >= 0 and white <= _TOP and black == int(black) and white == int(white):
        return scaled, (int(black), int(white)), notes
    return scaled, None, (*notes, f"its samples from {black:g} to {white:g} became 0 to {_TOP}")


def own_scale(pixels: Pixels, colours: int, scale: tuple[int, int]) -> Pixels:
    """Returns 16-bit samples in the file's own range again."""
    black, white = scale
    own = pixels.copy()
    own[:, :, :colours] = np.rint(pixels[:, :, :colours] * ((white - black) / _TOP) + black)
    return own


def _unit_samples(samples: NDArray[Any], low: float, high: float) -> tuple[Pixels, None, tuple[str, ...]]:
    if samples.dtype.kind != "f" or low < 0.0 or high > 1.0:
        raise ImageError(
            f"samples of type {samples.dtype} between {low:g} and {high:g}: it is not clear what is black and white; "
            f"give --range auto or --range {low:g}:{high:g}"
        )
    note = f"its {8 * samples.itemsize}-bit floating point samples were rounded to 16 bits"
    return np.rint(np.clip(samples, 0.0, 1.0).astype(np.float64) * _TOP).astype(np.uint16), None, (note,)


def _opacity(alpha: NDArray[Any]) -> NDArray[Any]:
    top = 1.0 if alpha.dtype.kind == "f" else np.iinfo(alpha.dtype).max
    return np.rint(np.clip(alpha.astype(np.float64) / top, 0.0, 1.0) * _TOP)


def _guess(high: float) -> int:
    """Returns the full scale of the fewest bits that hold a sample."""
    return (1 << max(8, int(high).bit_length())) - 1
