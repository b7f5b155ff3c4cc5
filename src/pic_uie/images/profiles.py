"""Writes small ICC profiles: three primaries, a white point, and one curve for all channels."""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Curve = Callable[[NDArray[np.float64]], NDArray[np.float64]]  # stored value in [0, 1] -> light in [0, 1]
_CURVE_POINTS = 4096

Chromaticity = tuple[float, float]

_D65: Chromaticity = (0.3127, 0.3290)
_D50_XYZ = np.array([0.9642, 1.0, 0.8249])  # the white of every profile's connection space
_BRADFORD = np.array([[0.8951, 0.2664, -0.1614], [-0.7502, 1.7135, 0.0367], [0.0389, -0.0685, 1.0296]])


def matrix_profile(
    name: str,
    primaries: tuple[Chromaticity, Chromaticity, Chromaticity],
    gamma: float | Curve,
    white: Chromaticity = _D65,
) -> bytes:
    """Returns an ICC version 2 display profile.

    Args:
        name: What applications show.
        primaries: CIE x, y of red, green and blue.
        gamma: Exponent of all three channels, to 1/256, or the curve itself.
        white: CIE x, y of the white point.

    Raises:
        ValueError: The primaries span no colours.
    """
    columns = np.stack([_xyz(point) for point in primaries], axis=1)  # (3, 3): X, Y, Z down; R, G, B across
    try:
        to_xyz = columns * np.linalg.solve(columns, _xyz(white))
    except np.linalg.LinAlgError as error:
        raise ValueError("primaries that lie on a line") from error
    cone = _BRADFORD @ _xyz(white)
    adaptation = np.linalg.solve(_BRADFORD, np.diag((_BRADFORD @ _D50_XYZ) / cone) @ _BRADFORD)
    red, green, blue = (adaptation @ to_xyz).T
    curve = _curve(gamma)
    tags = {
        b"desc": _description(name),
        b"cprt": b"text" + bytes(4) + b"No rights reserved\0",
        b"wtpt": _xyz_tag(_xyz(white)),
        b"rXYZ": _xyz_tag(red),
        b"gXYZ": _xyz_tag(green),
        b"bXYZ": _xyz_tag(blue),
        b"rTRC": curve,
        b"gTRC": curve,
        b"bTRC": curve,
    }
    return _assemble(b"RGB ", tags)


def grey_profile(name: str, gamma: float | Curve) -> bytes:
    """Returns an ICC version 2 display profile for grey pictures with one exponent or curve."""
    curve = _curve(gamma)
    tags = {
        b"desc": _description(name),
        b"cprt": b"text" + bytes(4) + b"No rights reserved\0",
        b"wtpt": _xyz_tag(_D50_XYZ),
        b"kTRC": curve,
    }
    return _assemble(b"GRAY", tags)


def _curve(gamma: float | Curve) -> bytes:
    if not callable(gamma):
        return b"curv" + struct.pack(">IIHH", 0, 1, round(gamma * 256), 0)
    points = np.rint(np.clip(gamma(np.linspace(0.0, 1.0, _CURVE_POINTS)), 0.0, 1.0) * 65535)
    return b"curv" + struct.pack(">II", 0, _CURVE_POINTS) + points.astype(">u2").tobytes()


def _assemble(space: bytes, tags: dict[bytes, bytes]) -> bytes:
    table, body = struct.pack(">I", len(tags)), b""
    start = 128 + 4 + 12 * len(tags)
    places: dict[bytes, int] = {}  # equal tags share their bytes
    for signature, data in tags.items():
        if data not in places:
            places[data] = start + len(body)
            body += data + bytes(-len(data) % 4)
        table += signature + struct.pack(">II", places[data], len(data))
    size = start + len(body)
    header = struct.pack(">I4sI", size, bytes(4), 0x02100000) + b"mntr" + space + b"XYZ "
    header += struct.pack(">6H", 2026, 1, 1, 0, 0, 0) + b"acsp" + bytes(28) + _fixed(_D50_XYZ)
    return header.ljust(128, b"\0") + table + body


def _description(name: str) -> bytes:
    text = name.encode("ascii") + b"\0"
    return b"desc" + struct.pack(">II", 0, len(text)) + text + bytes(4 + 4 + 2 + 1 + 67)


def _xyz_tag(xyz: NDArray[np.float64]) -> bytes:
    return b"XYZ " + bytes(4) + _fixed(xyz)


def _fixed(xyz: NDArray[np.float64]) -> bytes:
    return struct.pack(">3i", *(round(float(value) * 65536) for value in xyz))


def _xyz(point: Chromaticity) -> NDArray[np.float64]:
    x, y = point
    return np.array([x / y, 1.0, (1.0 - x - y) / y])
