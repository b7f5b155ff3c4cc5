"""Full-range BT.601 with centred chroma: T and its inverse."""

from __future__ import annotations

import torch
from torch import Tensor

from pic_uie import constants as c


def rgb_to_ycbcr(rgb: Tensor) -> Tensor:
    """T: (B, 3, H, W) RGB to [Y, Cb, Cr]."""
    r, g, b = rgb.unbind(1)
    y = c.LUMA_R * r + c.LUMA_G * g + c.LUMA_B * b
    return torch.stack([y, c.CB_SCALE * (b - y), c.CR_SCALE * (r - y)], dim=1)


def ycbcr_to_rgb(ycbcr: Tensor) -> Tensor:
    """The inverse of T, not clipped: (B, 3, H, W) [Y, Cb, Cr] to RGB."""
    y, cb, cr = ycbcr.unbind(1)
    r = y + c.R_FROM_CR * cr
    b = y + c.B_FROM_CB * cb
    g = (y - c.LUMA_R * r - c.LUMA_B * b) / c.LUMA_G
    return torch.stack([r, g, b], dim=1)
