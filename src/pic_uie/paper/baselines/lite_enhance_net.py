"""LiteEnhanceNet (Zhang et al., ESWA 2024): depthwise-separable convolutions at full resolution.

Assumed: the result is the last convolution itself (no residual, no sigmoid), and L1 with VGG as the objective; the
weight 0.05 and layer 8 of VGG-16 (relu2_2) are ours.
"""

from __future__ import annotations

import itertools

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pic_uie.paper.baselines.base import Baseline

WIDTHS = (16, 32, 64, 32)
JOINED = WIDTHS[0] + WIDTHS[1] + WIDTHS[3]  # 80
SQUEEZED = 24


class LiteEnhanceNet(Baseline):
    """13,688 parameters; convolutions without bias, squeeze and excitation with."""

    name = "lite-enhance-net"
    title = "LiteEnhanceNet"
    vgg = (16, {8: 1.0})
    vgg_weight = 0.05

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, WIDTHS[0], 1, bias=False)
        self.stages = nn.ModuleList(
            nn.Sequential(*depthwise(before), *pointwise(before, after)) for before, after in itertools.pairwise(WIDTHS)
        )
        self.join = nn.Sequential(*depthwise(JOINED), Excitation(), *pointwise(JOINED, WIDTHS[3]))
        self.last = nn.Conv2d(WIDTHS[3], 3, 1, bias=False)

    def enhance(self, rgb: Tensor) -> Tensor:
        """(B, 3, H, W) to (B, 3, H, W)."""
        maps = [self.first(rgb)]
        for stage in self.stages:
            maps.append(stage(maps[-1]))
        joined = torch.cat([maps[0], maps[1], maps[3]], dim=1)  # (B, 80, H, W)
        enhanced: Tensor = self.last(self.join(joined))
        return enhanced


def depthwise(width: int) -> list[nn.Module]:
    """Returns a 3x3 convolution of each channel, batch normalisation, hard swish."""
    return [nn.Conv2d(width, width, 3, padding=1, groups=width, bias=False), nn.BatchNorm2d(width), nn.Hardswish()]


def pointwise(before: int, after: int) -> list[nn.Module]:
    """Returns a 1x1 convolution, batch normalisation, hard swish."""
    return [nn.Conv2d(before, after, 1, bias=False), nn.BatchNorm2d(after), nn.Hardswish()]


class Excitation(nn.Module):
    """Squeeze and excitation with a hard sigmoid."""

    def __init__(self) -> None:
        super().__init__()
        self.squeeze = nn.Conv2d(JOINED, SQUEEZED, 1)
        self.excite = nn.Conv2d(SQUEEZED, JOINED, 1)

    def forward(self, features: Tensor) -> Tensor:
        """Scales each channel by what all channels' means say."""
        means = features.mean(dim=(2, 3), keepdim=True)
        return features * F.hardsigmoid(self.excite(self.squeeze(means).relu()))
