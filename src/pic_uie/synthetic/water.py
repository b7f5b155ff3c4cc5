"""Puts a scene under water with the revised image-formation model of Akkaynak and Treibitz (CVPR 2018, 2019).

    I_c = J_c E_c(d) exp(-β_D,c(z) z)  +  B∞_c (1 - exp(-β_B,c z))

J is the scene, E the light that reaches the depth d, z the distance to the camera. The direct signal and the
backscatter decay with their own coefficients, since they have different spectra: β_D falls with z as the band narrows
to the wavelengths that survive, β_B belongs to light that the water column above has filtered already.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pic_uie.errors import did_you_mean

Array = NDArray[np.floating[Any]]
Triple = tuple[float, float, float]

# Jerlov's transmittance of down-welling light per metre at about 620, 540, 450 nm (R, G, B), and the scattering at
# 550 nm per metre without its forward peak (that light still arrives at the pixel).
_JERLOV: dict[str, tuple[Triple, float]] = {
    "I": ((0.805, 0.961, 0.982), 0.018),
    "IA": ((0.804, 0.955, 0.975), 0.024),
    "IB": ((0.830, 0.950, 0.968), 0.035),
    "II": ((0.800, 0.925, 0.940), 0.065),
    "III": ((0.750, 0.885, 0.890), 0.13),
    "1C": ((0.750, 0.885, 0.875), 0.15),
    "3C": ((0.710, 0.820, 0.800), 0.25),
    "5C": ((0.670, 0.730, 0.670), 0.40),
    "7C": ((0.620, 0.610, 0.500), 0.60),
    "9C": ((0.550, 0.460, 0.290), 0.90),
}
WATER_TYPES = tuple(_JERLOV)
OCEANIC_TYPES = ("I", "IA", "IB", "II", "III")

_SCATTER_SPECTRUM = np.array((0.92, 1.0, 1.15), np.float32)  # (550 nm / λ)^0.7
_MEAN_COSINE = 0.85  # of down-welling light: absorption along a ray is this part of the diffuse attenuation
_BAND_NARROWING = np.array((0.30, 0.12, 0.10), np.float32)  # absorption is steepest across the red band
_BACKSCATTER = 0.42  # part of the scattered light that turns toward the camera


@dataclass(frozen=True)
class Water:
    """The water of one picture; arrays hold R, G, B.

    Attributes:
        name: Jerlov type.
        depth: Metres below the surface.
        downwelling: E, the light that is left at this depth.
        direct: β_D at z = 0, per metre.
        backscatter: β_B, per metre.
        veil: B∞, the radiance of endless water seen horizontally.
    """

    name: str
    depth: float
    downwelling: Array
    direct: Array
    backscatter: Array
    veil: Array


def water(name: str, depth: float) -> Water:
    """Returns the water of a Jerlov type at a depth in metres.

    Raises:
        ValueError: An unknown type or a depth that is negative or not finite.
    """
    if name not in _JERLOV:
        raise ValueError(f"unknown water type {name!r}: {did_you_mean(name, WATER_TYPES)} (Jerlov types)")
    if not (np.isfinite(depth) and depth >= 0):
        raise ValueError(f"depth must be a number of metres >= 0, got {depth}")
    transmittance, scattering = _JERLOV[name]
    diffuse = -np.log(np.array(transmittance, np.float32))  # K_d
    scatter = scattering * _SCATTER_SPECTRUM
    absorb = _MEAN_COSINE * diffuse
    downwelling = np.exp(-diffuse * np.float32(depth))
    direct = absorb + scatter
    filtered = 1 - _BAND_NARROWING * (1 - downwelling)
    backscatter = absorb * filtered + scatter
    veil = _BACKSCATTER * scatter / backscatter * downwelling
    return Water(name, float(depth), downwelling, direct, backscatter, veil)


def draw_water(rng: np.random.Generator, name: str | None = None) -> Water:
    """Draws a depth, and a type if none is given; turbid water is visited at lesser depths."""
    drawn = WATER_TYPES[int(rng.integers(len(WATER_TYPES)))]
    name = drawn if name is None else name
    if name not in _JERLOV:
        raise ValueError(f"unknown water type {name!r}: {did_you_mean(name, WATER_TYPES)} (Jerlov types)")
    strongest = float(-np.log(min(_JERLOV[name][0])))
    return water(name, float(rng.uniform(0.3, 2.3)) / strongest)


def direct_transmission(distance: Array, water: Water) -> Array:
    """Returns exp(-β_D(z) z) as (3, H, W), with β_D falling from its value at 0 as the band narrows."""
    optical = np.multiply.outer(water.direct, distance)
    narrowing = _BAND_NARROWING[:, None, None]
    result: Array = np.exp(-optical * (1 - narrowing * (1 - np.exp(-optical))))
    return result


def submerge(radiance: Array, distance: Array, water: Water, elevation: Array | float = 0.0) -> Array:
    """Returns what the camera sees of `radiance` (3, H, W) at `distance` metres (H, W) through the water.

    `elevation` is the sine of each ray's angle above the horizontal: open water is brighter upward.
    """
    upward = np.exp(1.1 * np.asarray(elevation, np.float32))
    seen = radiance * direct_transmission(distance, water)
    seen *= water.downwelling[:, None, None]
    for plane, veil, coefficient in zip(seen, water.veil, water.backscatter, strict=True):
        plane += (veil * upward) * (1 - np.exp(-coefficient * distance))
    return seen
