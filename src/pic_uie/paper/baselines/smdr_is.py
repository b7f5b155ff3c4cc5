"""SMDR-IS (Zhang et al., AAAI 2024): a U-Net of attention blocks that also sees the picture at three smaller scales.

The blocks a scale, the kinds of the scale changes and of the skips are not published; of the readings that fit, this
one is nearest to both counts: three blocks a scale, bilinear shrinking with a 1x1 convolution, transposed 2x2
convolutions, skips joined by a 3x3 convolution. It has 12,555,136 parameters instead of 12,556,857 (0.014 % fewer:
biases and slopes that we cannot know) and 92.46 GFLOPs instead of 92.36. Assumed as well: the order within a block;
weight 0.05 and layer 8 of VGG-16 (relu2_2).
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pic_uie.paper.baselines.base import Baseline, Given, Terms

WIDTHS = (32, 64, 128, 256)
BLOCKS = 3  # a scale
CHARBONNIER = 1e-3
PERCEPTUAL = 0.05


class SmdrIs(Baseline):
    """12,555,136 parameters."""

    name = "smdr-is"
    title = "SMDR-IS"
    multiple = 128
    vgg = (16, {8: 1.0})

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, WIDTHS[0], 3, padding=1)
        self.encoder = nn.ModuleList(blocks(width) for width in WIDTHS)
        self.widen = nn.ModuleList(nn.Conv2d(w, 2 * w, 1) for w in WIDTHS[:-1])
        self.small = nn.ModuleList(Small(width) for width in WIDTHS[1:])
        self.grow = nn.ModuleList(nn.ConvTranspose2d(2 * w, w, 2, stride=2) for w in WIDTHS[-2::-1])
        self.join = nn.ModuleList(nn.Conv2d(2 * w, w, 3, padding=1) for w in WIDTHS[-2::-1])
        self.decoder = nn.ModuleList(blocks(width) for width in WIDTHS[-2::-1])
        self.last = nn.Conv2d(WIDTHS[0], 3, 3, padding=1)

    def enhance(self, rgb: Tensor) -> Tensor:
        """(B, 3, H, W) to (B, 3, H, W)."""
        return self.scales(rgb)[0]

    def scales(self, rgb: Tensor) -> list[Tensor]:
        """Returns the enhanced picture and its three smaller companions, which training looks at."""
        features = self.encoder[0](self.first(rgb))
        skips, pictures, copy = [features], [], rgb
        for widen, small, stage in zip(self.widen, self.small, list(self.encoder)[1:], strict=True):
            copy = halved(copy)
            features, picture = small(copy, widen(halved(features)))
            pictures.append(picture)
            features = stage(features)
            skips.append(features)
        for grow, join, stage, skip in zip(self.grow, self.join, self.decoder, skips[-2::-1], strict=True):
            features = stage(join(torch.cat([grow(features), skip], dim=1)))
        return [rgb + self.last(features), *pictures]

    def objective(self, given: Given) -> Terms:
        """Charbonnier at all four scales, and VGG at the largest."""
        found, target = self.scales(given.inputs), given.targets
        total = target.new_zeros(())
        for picture in found:
            total = total + ((picture - target).square() + CHARBONNIER**2).sqrt().mean()
            target = halved(target)
        terms = {"charbonnier": total}
        if given.perceptual is not None:
            terms["vgg"] = PERCEPTUAL * given.perceptual(found[0], given.targets)
        return terms


class Small(nn.Module):
    """What a smaller copy of the picture tells the U-Net, and that copy enhanced."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, WIDTHS[0], 3, padding=1)
        self.block = Block(WIDTHS[0])
        self.gate = nn.Conv2d(WIDTHS[0], width, 1)
        self.last = nn.Conv2d(WIDTHS[0], 3, 3, padding=1)

    def forward(self, rgb: Tensor, features: Tensor) -> tuple[Tensor, Tensor]:
        """The copy and the U-Net's features of its size to both, changed."""
        seen = self.block(self.first(rgb))
        return features + features * self.gate(seen).sigmoid(), rgb + self.last(seen)


class Block(nn.Module):
    """Attention to channels and places, gated from half the size, beside a dilated branch."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width, bias=False)
        self.convolutions = nn.Sequential(
            nn.Conv2d(width, width, 3, padding=1), nn.PReLU(), nn.Conv2d(width, width, 3, padding=1)
        )
        self.channels = nn.Sequential(
            nn.Conv2d(width, width // 8, 1), nn.ReLU(), nn.Conv2d(width // 8, width, 1), nn.Sigmoid()
        )
        self.places = nn.Conv2d(2, 1, 5, padding=2)
        self.calm = nn.Conv2d(width, width, 3, padding=1)
        self.dilated = nn.Conv2d(width, width, 3, padding=3, dilation=3)

    def forward(self, features: Tensor) -> Tensor:
        """(B, C, H, W) to the same."""
        normed = self.norm(features.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
        value = self.convolutions(normed)
        extremes = torch.cat([value.mean(dim=1, keepdim=True), value.amax(dim=1, keepdim=True)], dim=1)
        value = value * self.channels(value.mean(dim=(2, 3), keepdim=True)) * self.places(extremes).sigmoid()
        gate = F.interpolate(self.calm(F.avg_pool2d(normed, 2)), scale_factor=2.0, mode="bilinear", align_corners=False)
        added: Tensor = features + value * gate.sigmoid() + self.dilated(normed)
        return added


def blocks(width: int) -> nn.Sequential:
    """Returns the blocks of one scale."""
    return nn.Sequential(*(Block(width) for _ in range(BLOCKS)))


def halved(pictures: Tensor) -> Tensor:
    """Returns half the size, bilinear."""
    return F.interpolate(pictures, scale_factor=0.5, mode="bilinear", align_corners=False)
