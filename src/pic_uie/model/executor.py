"""E: applies θ to the full-size picture in YCbCr. Read it beside Eqs. 2-4 of the paper.

`reference.py` has the same equations in NumPy and `native/` in C++; this copy must be, since PyTorch differentiates it.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pic_uie import constants as c
from pic_uie.config import ModelConfig
from pic_uie.model.calibration import apply_affine, calibrate
from pic_uie.model.color import rgb_to_ycbcr, ycbcr_to_rgb
from pic_uie.model.refiner import Refiner
from pic_uie.model.theta import Theta


class Gate(nn.Module):
    """g(t): how strongly the chroma table acts where the water lets light through (Eq. 3)."""

    def __init__(self) -> None:
        super().__init__()
        self.beta = nn.Parameter(torch.tensor(1.0))
        self.gamma = nn.Parameter(torch.tensor(0.0))

    def forward(self, t: Tensor) -> Tensor:
        """(B, 1, H, W) to (B, 1, H, W) in [0, 1]."""
        return (self.beta + self.gamma * (1.0 - t)).clamp(0.0, 1.0)


class Executor(nn.Module):
    """The correction pipeline; it learns only the gate's two scalars and the refiner."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.gate = Gate() if config.gate else None
        self.refiner = Refiner()

    def forward(self, rgb: Tensor, theta: Theta) -> Tensor:
        """Enhances (B, 3, H, W) in [0, 1]."""
        ycbcr = rgb_to_ycbcr(rgb)
        y, q = ycbcr[:, :1], ycbcr[:, 1:]
        t, v, a = upsample_fields(theta, rgb.shape[-2], rgb.shape[-1])

        y1 = correct_luminance(y, t, v, a)
        toned = apply_tone(y1, theta.tone)
        y2 = (toned + self.refiner(toned)).clamp(0.0, 1.0)  # Eq. 3

        mapped = apply_chroma(q, theta.lut)
        q1 = mapped if self.gate is None else q + self.gate(t) * (mapped - q)  # Eq. 3

        z1 = clip_luminance(apply_affine(torch.cat([y2, q1], dim=1), theta.matrix, theta.bias))  # Eq. 4
        z2 = clip_luminance(calibrate(z1, theta.mean, theta.recolor, theta.blend))  # Eq. 4
        return ycbcr_to_rgb(z2).clamp(0.0, 1.0)


def upsample_fields(theta: Theta, height: int, width: int) -> tuple[Tensor, Tensor, Tensor]:
    """t, v, a at the picture's size: bilinear, half-pixel centres, clamped at the edges."""
    fields = torch.cat([theta.t, theta.v, theta.a], dim=1)
    fields = F.interpolate(fields, (height, width), mode="bilinear", align_corners=False)
    return fields[:, 0:1], fields[:, 1:2], fields[:, 2:3]


def correct_luminance(y: Tensor, t: Tensor, v: Tensor, a: Tensor) -> Tensor:
    """Y¹: takes the veil away, then the gain (Eq. 2)."""
    return ((y - (1.0 - t) * v) * (1.0 + a * (1.0 - t))).clamp(0.0, 1.0)


def apply_tone(y: Tensor, tone: Tensor) -> Tensor:
    """Γ(y) by linear interpolation of its samples: (B, 1, H, W) and (B, n)."""
    intervals = tone.shape[1] - 1
    position = y.flatten(1) * intervals  # (B, H·W)
    left = position.detach().floor().long().clamp(0, intervals - 1)
    below, above = tone.gather(1, left), tone.gather(1, left + 1)
    return (below + (position - left) * (above - below)).view_as(y)


def apply_chroma(q: Tensor, lut: Tensor) -> Tensor:
    """U(q) by bilinear interpolation, corners at ±0.5, clamped at the border: (B, 2, H, W) and (B, 2, g, g)."""
    where = (q / c.CHROMA_LIMIT).permute(0, 2, 3, 1)  # (B, H, W, [Cb, Cr]): Cb runs along the table's last axis
    return c.CHROMA_LIMIT * F.grid_sample(lut, where, mode="bilinear", padding_mode="border", align_corners=True)


def clip_luminance(z: Tensor) -> Tensor:
    """C: clips Y to [0, 1] and leaves chroma alone."""
    return torch.cat([z[:, :1].clamp(0.0, 1.0), z[:, 1:]], dim=1)
