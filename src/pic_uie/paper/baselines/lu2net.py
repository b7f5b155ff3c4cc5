"""LU2Net (Yang et al., arXiv 2024): a U-shaped network of axial depthwise convolutions with channel attention.

The count comes out when the channel attention belongs to every axial convolution: encoder, bottleneck and decoder.
Assumed: the attention looks at the mean of each channel; skips are taken behind the normalisation, before the
channels widen; the objective is L1 and VGG, the weight 0.05 and layer 8 of VGG-16 (relu2_2) are ours.
"""

from __future__ import annotations

import itertools

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pic_uie.paper.baselines.base import Baseline

WIDTHS = (16, 64, 256)


class Lu2Net(Baseline):
    """175,571 parameters."""

    name = "lu2net"
    title = "LU2Net"
    multiple = 4
    vgg = (16, {8: 1.0})
    vgg_weight = 0.05

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, WIDTHS[0], 7, padding=3)
        self.down = nn.ModuleList(Down(*pair) for pair in itertools.pairwise(WIDTHS))
        self.bottleneck = Bottleneck(WIDTHS[-1])
        self.up = nn.ModuleList(Up(*pair) for pair in itertools.pairwise(WIDTHS[::-1]))
        self.last = nn.Conv2d(WIDTHS[0], 3, 1)

    def enhance(self, rgb: Tensor) -> Tensor:
        """(B, 3, H, W) to (B, 3, H, W)."""
        features, skips = self.first(rgb), []
        for stage in self.down:
            features, skip = stage(features)
            skips.append(skip)
        features = self.bottleneck(features)
        for stage, skip in zip(self.up, reversed(skips), strict=True):
            features = stage(features, skip)
        enhanced: Tensor = self.last(features)
        return enhanced


class Axial(nn.Module):
    """A column, a row and the input itself, added; then each channel weighted by what all channels' means say."""

    def __init__(self, width: int, size: int, dilation: int = 1) -> None:
        super().__init__()
        reach = dilation * (size // 2)
        self.column = nn.Conv2d(width, width, (size, 1), padding=(reach, 0), groups=width, dilation=dilation)
        self.row = nn.Conv2d(width, width, (1, size), padding=(0, reach), groups=width, dilation=dilation)
        self.squeeze = nn.Conv2d(width, width, 1, bias=False)
        self.excite = nn.Conv2d(width, width, 1, bias=False)

    def forward(self, features: Tensor) -> Tensor:
        """(B, C, H, W) to the same."""
        mixed = features + self.column(features) + self.row(features)
        means = mixed.mean(dim=(2, 3), keepdim=True)
        weighted: Tensor = mixed * self.excite(self.squeeze(means).relu()).sigmoid()
        return weighted


class Down(nn.Module):
    """Half the size, more channels; the skip is what the decoder gets."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.axial = Axial(before, 7)
        self.norm = nn.BatchNorm2d(before)
        self.widen = nn.Conv2d(before, after, 1)

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """(B, C, H, W) to (B, C', H/2, W/2) and the skip (B, C, H, W)."""
        skip = self.norm(self.axial(features))
        return F.gelu(F.max_pool2d(self.widen(skip), 2)), skip


class Bottleneck(nn.Module):
    """Three dilations side by side on a quarter of the channels."""

    def __init__(self, width: int) -> None:
        super().__init__()
        quarter = width // 4
        self.narrow = nn.Conv2d(width, quarter, 1)
        self.branches = nn.ModuleList(Axial(quarter, 3, dilation) for dilation in (1, 2, 3))
        self.norm = nn.BatchNorm2d(width)
        self.join = nn.Conv2d(width, width, 1)

    def forward(self, features: Tensor) -> Tensor:
        """(B, C, H, W) to the same."""
        narrow = self.narrow(features)
        joined = torch.cat([narrow, *(branch(narrow) for branch in self.branches)], dim=1)
        return F.gelu(self.join(self.norm(joined)))


class Up(nn.Module):
    """Twice the size, fewer channels, with the encoder's skip."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.narrow = nn.Conv2d(before + after, after, 1)
        self.norm = nn.BatchNorm2d(after)
        self.axial = Axial(after, 7)
        self.mix = nn.Conv2d(after, after, 1)

    def forward(self, features: Tensor, skip: Tensor) -> Tensor:
        """(B, C, H, W) and (B, C', 2H, 2W) to (B, C', 2H, 2W)."""
        joined = torch.cat([F.interpolate(features, scale_factor=2.0, mode="nearest"), skip], dim=1)
        return F.gelu(self.mix(self.axial(self.norm(self.narrow(joined)))))
