"""A smaller picture with all that belongs to it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pic_uie.images import vips
from pic_uie.images.picture import Picture, Pixels, Space

_SPACES: dict[int, Space] = {1: "grey", 2: "grey", 3: "rgb", 4: "rgb"}


def fitted(picture: Picture, long_side: int) -> Picture:
    """Returns the picture with at most `long_side` pixels on its longer side; a smaller one stays as it is."""
    scale = long_side / max(picture.width, picture.height)
    if scale >= 1.0:
        return picture
    size = max(1, round(picture.width * scale)), max(1, round(picture.height * scale))
    channels = picture.pixels.shape[2]
    pixels = _resized(picture.pixels, _SPACES[channels], size, alpha=picture.has_alpha)
    own = picture.colour.own
    if own is not None:
        own = _resized(own, picture.colour.space, size, alpha=False)
    return replace(picture, pixels=pixels, colour=replace(picture.colour, own=own))


def _resized(pixels: Pixels, space: Space, size: tuple[int, int], *, alpha: bool) -> Pixels:
    height, width = pixels.shape[:2]
    image = vips.from_array(np.ascontiguousarray(pixels), space)
    kind, top = image.format, int(np.iinfo(pixels.dtype).max)
    if alpha:  # colours of transparent pixels must not bleed
        image = image.premultiply(max_alpha=top)
    image = image.resize(size[0] / width, vscale=size[1] / height)
    if alpha:
        image = image.unpremultiply(max_alpha=top).rint()
    return vips.to_array(image.cast(kind))
