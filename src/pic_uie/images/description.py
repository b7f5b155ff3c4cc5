"""How a file says what its numbers mean, where it has no ICC profile: code points (cICP, nclx), or gamma and primaries.

Each becomes an ICC profile for the way to sRGB and back; the file keeps its own words.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pic_uie.errors import ImageError
from pic_uie.images.profiles import Chromaticity, Curve, grey_profile, matrix_profile

_D65: Chromaticity = (0.3127, 0.3290)
_C: Chromaticity = (0.310, 0.316)
_REC_709 = ((0.640, 0.330), (0.300, 0.600), (0.150, 0.060))
_PAL, _NTSC = ((0.64, 0.33), (0.29, 0.60), (0.15, 0.06)), ((0.630, 0.340), (0.310, 0.595), (0.155, 0.070))
Primaries = tuple[Chromaticity, Chromaticity, Chromaticity]

# ITU-T H.273, table 2: primaries and white point of each code; 2 is "unspecified", which means Rec. 709 in pictures.
PRIMARIES: dict[int, tuple[Primaries, Chromaticity]] = {
    1: (_REC_709, _D65),
    2: (_REC_709, _D65),
    4: (((0.67, 0.33), (0.21, 0.71), (0.14, 0.08)), _C),
    5: (_PAL, _D65),
    6: (_NTSC, _D65),
    7: (_NTSC, _D65),
    8: (((0.681, 0.319), (0.243, 0.692), (0.145, 0.049)), _C),
    9: (((0.708, 0.292), (0.170, 0.797), (0.131, 0.046)), _D65),
    11: (((0.680, 0.320), (0.265, 0.690), (0.150, 0.060)), (0.314, 0.351)),
    12: (((0.680, 0.320), (0.265, 0.690), (0.150, 0.060)), _D65),
    22: (((0.630, 0.340), (0.295, 0.605), (0.155, 0.077)), _D65),
}
_HDR = {16: "PQ", 18: "HLG"}


@dataclass(frozen=True)
class CodePoints:
    """Primaries and transfer function by their numbers in ITU-T H.273."""

    primaries: int = 1
    transfer: int = 13

    @property
    def means_srgb(self) -> bool:
        """Whether these are sRGB's, or unspecified."""
        return self.primaries in (1, 2) and self.transfer in (2, 13)


@dataclass(frozen=True)
class Gamma:
    """A PNG's exponent and chromaticities: white, red, green, blue; None: those of sRGB.

    A gamma of None is sRGB's curve; `is_srgb` marks the chunk that says sRGB outright.
    """

    exponent: float | None = None  # stored = light ** exponent
    chromaticities: tuple[Chromaticity, Chromaticity, Chromaticity, Chromaticity] | None = None
    is_srgb: bool = False


Description = CodePoints | Gamma


def refuse_hdr(description: Description | None) -> None:
    """Raises ImageError for transfer functions of high dynamic range, which the model has never seen."""
    if isinstance(description, CodePoints) and (name := _HDR.get(description.transfer)) is not None:
        raise ImageError(
            f"an HDR picture ({name}): only standard dynamic range can be enhanced; "
            "export it as SDR (sRGB or Display P3) first"
        )


@lru_cache(maxsize=64)
def profile_of(description: Description, space: Literal["grey", "rgb"]) -> bytes | None:
    """Returns the ICC profile that says the same; None for sRGB.

    Raises:
        ImageError: An HDR transfer function, or codes that have no meaning here.
        ValueError: Chromaticities that span no colours.
    """
    refuse_hdr(description)
    if isinstance(description, Gamma):
        return _of_gamma(description, space)
    if description.means_srgb:
        return None
    name = f"H.273 primaries {description.primaries}, transfer {description.transfer}"
    curve = _curve(description.transfer)
    if description.primaries not in PRIMARIES or curve is None:
        raise ImageError(f"colours that are not understood ({name}); convert the picture to sRGB first")
    if space == "grey":
        return grey_profile(name, curve)
    primaries, white = PRIMARIES[description.primaries]
    return matrix_profile(name, primaries, curve, white)


def _of_gamma(gamma: Gamma, space: Literal["grey", "rgb"]) -> bytes | None:
    if gamma.is_srgb or (gamma.exponent is None and (gamma.chromaticities is None or space == "grey")):
        return None
    curve: Curve | float = _srgb if gamma.exponent is None else 1.0 / gamma.exponent
    name = f"gamma {gamma.exponent:.5f}" if gamma.exponent is not None else "sRGB curve"
    if space == "grey":
        return grey_profile(name, curve)
    if gamma.chromaticities is None:
        return matrix_profile(name, _REC_709, curve)
    white, *rest = gamma.chromaticities
    return matrix_profile(name + ", own primaries", (rest[0], rest[1], rest[2]), curve, white)


def _curve(transfer: int) -> Curve | float | None:
    """Returns what turns stored values into light: H.273, table 3, inverted."""
    exponents: dict[int, float] = {4: 2.2, 5: 2.8, 8: 1.0, 17: 2.6}
    if transfer in exponents:
        return exponents[transfer]
    if transfer in (1, 6, 11, 12, 14, 15):
        return _rec709
    return {2: _srgb, 13: _srgb, 7: _smpte240}.get(transfer)


def _srgb(v: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(v <= 0.04045, v / 12.92, ((v + 0.055) / 1.055) ** 2.4)


def _rec709(v: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(v < 4.5 * 0.018053968510807, v / 4.5, ((v + 0.09929682680944) / 1.09929682680944) ** (1 / 0.45))


def _smpte240(v: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(v < 4 * 0.0228, v / 4, ((v + 0.1115) / 1.1115) ** (1 / 0.45))
