"""A look as a 3-D colour table for editors: what the executor does to an even area of every colour."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pic_uie import constants as c
from pic_uie.errors import LookError

if TYPE_CHECKING:
    from pic_uie.enhancer import Enhancer
    from pic_uie.look import Look

Table = NDArray[np.float32]

MAX_SIZE = 129
_PATCH = 2 * c.HALO + 1  # so large that its middle sees nothing else


def bake(look: Look, size: int, enhancer: Enhancer) -> Table:
    """Returns the output colour of each input colour, (blue, green, red, 3) in [0, 1].

    Every colour is shown to the executor as an even area, under the means of the fields t, v and a.

    Args:
        look: What to apply.
        size: Samples along each side.
        enhancer: Has the weights of the look.

    Raises:
        LookError: A look of other weights, or an impossible size.
    """
    if not isinstance(size, (int, np.integer)) or not 2 <= size <= MAX_SIZE:
        raise LookError(f"the size of a cube must be a whole number from 2 to {MAX_SIZE}, got {size!r}")
    theta = look.theta
    means: dict[str, Any] = {name: np.array([[getattr(theta, name).mean(dtype=np.float64)]]) for name in "tva"}
    even = replace(look, theta=replace(theta, **means))
    axis = np.linspace(0.0, 1.0, size, dtype=np.float32)
    table = np.empty((size, size, size, 3), np.float32)
    green, red = np.meshgrid(axis, axis, indexing="ij")
    for plane, blue in zip(table, axis, strict=True):
        colours = np.stack([red, green, np.full_like(red, blue)], axis=-1)
        areas = np.ascontiguousarray(colours.repeat(_PATCH, axis=0).repeat(_PATCH, axis=1))
        plane[:] = enhancer.apply(areas, even, out=areas)[c.HALO :: _PATCH, c.HALO :: _PATCH]
    return table


def to_text(table: Table, look: Look) -> str:
    """Returns a .cube file as Iridas defined it and Resolve, Premiere, Lightroom's importers and FFmpeg read it."""
    name = "".join(letter if letter.isprintable() and letter != '"' else "?" for letter in look.source.name)
    title = f"pic-uie {name}".strip().encode("ascii", "replace").decode()
    lines = [
        f'TITLE "{title[:120]}"',
        f"# {look.software}, weights {look.weights[:8]}, look {look.sha256[:16]}, {look.strengths}",
        "# Input and output: sRGB as cameras save it, full range (not log, not linear light).",
        "# A table knows colours, not places. It does not hold:",
        "# - where in the picture the water is thicker (the fields of the look, taken at their mean here);",
        "# - the refiner, which looks at neighbouring pixels (taken as on an even area here).",
        f"LUT_3D_SIZE {table.shape[0]}",
        "DOMAIN_MIN 0.0 0.0 0.0",
        "DOMAIN_MAX 1.0 1.0 1.0",
    ]
    lines += [f"{red:.6f} {green:.6f} {blue:.6f}" for red, green, blue in table.reshape(-1, 3)]  # red runs fastest
    return "\n".join(lines) + "\n"


def look_up(table: Table, picture: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """Applies a table to a picture (H, W, 3) in [0, 1], trilinearly."""
    last = table.shape[0] - 1
    position = np.clip(np.asarray(picture, np.float64), 0.0, 1.0) * last
    low = np.minimum(np.floor(position).astype(np.int64), last - 1)
    share = position - low
    result = np.zeros(position.shape)
    for corner in np.ndindex(2, 2, 2):
        weight = np.ones(position.shape[:-1])
        for channel, upper in enumerate(corner):
            weight = weight * (share[..., channel] if upper else 1.0 - share[..., channel])
        red, green, blue = (low[..., channel] + upper for channel, upper in enumerate(corner))
        result += weight[..., None] * table[blue, green, red]
    return result
