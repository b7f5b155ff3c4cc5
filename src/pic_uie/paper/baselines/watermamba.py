"""WaterMamba (Guan et al., arXiv 2024): a U-Net that scans space in four directions and channels in two.

Published are the shape of the U-Net, the scans and the three depthwise branches; how a channel becomes a step of the
channel scan is not. Here it is described by its map on a grid of 32x32, both directions sharing their rates; with the
branches on the block's own width this counts 4,227,968 parameters instead of 4,221,472 (0.15 % more) and 14.9 GFLOPs
instead of the 14.6 printed. Assumed as well: the residual on the picture; L1 as the objective. The grid makes any
size possible.
"""

from __future__ import annotations

import itertools

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pic_uie.paper.baselines.base import Baseline
from pic_uie.paper.baselines.selective_scan import Scan, SpatialScan

WIDTHS = (24, 48, 96, 192)
GRID = 32


class WaterMamba(Baseline):
    """4,227,968 parameters."""

    name = "watermamba"
    title = "WaterMamba"
    multiple = 8

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, WIDTHS[0], 3, padding=1, bias=False)
        self.encoder = nn.ModuleList(Block(width) for width in WIDTHS)
        self.shrink = nn.ModuleList(nn.Conv2d(w, w // 2, 3, padding=1, bias=False) for w in WIDTHS[:-1])
        self.grow = nn.ModuleList(nn.Conv2d(w, 2 * w, 3, padding=1, bias=False) for w in WIDTHS[:0:-1])
        self.join = nn.ModuleList(nn.Conv2d(a, b, 1, bias=False) for a, b in itertools.pairwise(WIDTHS[::-1]))
        self.decoder = nn.ModuleList(Block(width) for width in WIDTHS[-2::-1])
        self.last = nn.Conv2d(WIDTHS[0], 3, 3, padding=1, bias=False)

    def enhance(self, rgb: Tensor) -> Tensor:
        """(B, 3, H, W) to (B, 3, H, W)."""
        features, skips = self.first(rgb), []
        for block, shrink in zip(self.encoder, self.shrink, strict=False):
            features = block(features)
            skips.append(features)
            features = F.pixel_unshuffle(shrink(features), 2)
        features = self.encoder[-1](features)
        for grow, join, block, skip in zip(self.grow, self.join, self.decoder, reversed(skips), strict=True):
            features = block(join(torch.cat([F.pixel_shuffle(grow(features), 2), skip], dim=1)))
        enhanced: Tensor = rgb + self.last(features)
        return enhanced


class Block(nn.Module):
    """Both scans of the normalised features, then the feed-forward part; each is added."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.scan_norm = nn.LayerNorm(width, bias=False)
        self.space = SpatialScan(width)
        self.channels = ChannelScan()
        self.feed_norm = nn.LayerNorm(width, bias=False)
        self.feed = FeedForward(width)

    def forward(self, features: Tensor) -> Tensor:
        """(B, C, H, W) to the same."""
        normed = channels_last(self.scan_norm, features)
        features = features + self.space(normed) + self.channels(normed)
        fed: Tensor = features + self.feed(channels_last(self.feed_norm, features))
        return fed


class ChannelScan(nn.Module):
    """A scan along the channels, forwards and backwards; a step is the channel's map on a small grid."""

    def __init__(self) -> None:
        super().__init__()
        self.scan = Scan(GRID * GRID, 2, GRID * GRID // 16, shared=True)

    def forward(self, features: Tensor) -> Tensor:
        """(B, C, H, W) to the same."""
        grid = F.adaptive_avg_pool2d(features, GRID).flatten(2).transpose(1, 2)  # (B, 1024, C)
        scanned = self.scan(torch.stack([grid, grid.flip(-1)], dim=1))
        both = (scanned[:, 0] + scanned[:, 1].flip(-1)).transpose(1, 2).unflatten(-1, (GRID, GRID))
        return F.interpolate(both, features.shape[-2:], mode="bilinear", align_corners=False)


class FeedForward(nn.Module):
    """Depthwise convolutions of size 1, 3 and 5 side by side, mixed by one 1x1 convolution."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.branches = nn.ModuleList(
            nn.Conv2d(width, width, size, padding=size // 2, groups=width, bias=False) for size in (1, 3, 5)
        )
        self.mix = nn.Conv2d(3 * width, width, 1, bias=False)

    def forward(self, features: Tensor) -> Tensor:
        """(B, C, H, W) to the same."""
        mixed: Tensor = self.mix(F.gelu(torch.cat([branch(features) for branch in self.branches], dim=1)))
        return mixed


def channels_last(norm: nn.Module, features: Tensor) -> Tensor:
    """Normalises the channels of each pixel."""
    normed: Tensor = norm(features.permute(0, 2, 3, 1))
    return normed.permute(0, 3, 1, 2)
