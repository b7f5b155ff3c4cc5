"""F: the only convolutions at native resolution, 465 parameters on one channel."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from pic_uie import constants as c


class Refiner(nn.Module):
    """1 → 16 convolution, depthwise convolution, 16 → 1 convolution, all 3x3; the last one starts at 0."""

    def __init__(self) -> None:
        super().__init__()
        width = c.REFINER_WIDTH
        self.expand = nn.Conv2d(1, width, 3, padding=1)
        self.depthwise = nn.Conv2d(width, width, 3, padding=1, groups=width)
        self.project = nn.Conv2d(width, 1, 3, padding=1)
        nn.init.zeros_(self.project.weight)
        if self.project.bias is not None:
            nn.init.zeros_(self.project.bias)

    def forward(self, y: Tensor) -> Tensor:
        """The change to luminance (B, 1, H, W)."""
        hidden = F.relu(self.expand(y))
        hidden = F.relu(self.depthwise(hidden))
        change: Tensor = self.project(hidden)
        return change
