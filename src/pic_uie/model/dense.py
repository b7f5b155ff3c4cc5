"""The matched-capacity control: a plain network that regresses a residual, without the structured executor."""

from __future__ import annotations

from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pic_uie.config import ModelConfig
from pic_uie.model.color import rgb_to_ycbcr, ycbcr_to_rgb
from pic_uie.weights.layout import DENSE_WIDTHS


class Dense(nn.Module):
    """Five 3x3 convolutions at native resolution; input and residual are both RGB or both YCbCr."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.in_ycbcr = config.output == "ycbcr_residual"
        channels = (3, *DENSE_WIDTHS, 3)
        self.convs = nn.ModuleList(nn.Conv2d(before, after, 3, padding=1) for before, after in pairwise(channels))
        for parameter in self.convs[-1].parameters():
            nn.init.zeros_(parameter)

    def forward(self, rgb: Tensor) -> Tensor:
        """Enhances (B, 3, H, W) in [0, 1]."""
        image = rgb_to_ycbcr(rgb) if self.in_ycbcr else rgb
        # Much the faster layout on a CPU, since none of these widths fills its vectors.
        hidden = image.contiguous(memory_format=torch.channels_last)
        for conv in self.convs[:-1]:
            hidden = F.relu(conv(hidden))
        image = image + self.convs[-1](hidden)
        return (ycbcr_to_rgb(image) if self.in_ycbcr else image).clamp(0.0, 1.0)
