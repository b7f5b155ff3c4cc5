"""HCLR-Net (Zhou et al., IJCV 2024): a U-Net with attention along rows and columns, plus a branch at full resolution.

The counts come out with attention at the four scales of the encoder, in the shared block and once in the decoder,
with two learned mixes in each and two more on the skips. Assumed: what is mixed (the product with the sum of the two
directions; the weighted features with the features themselves), and the objective: L1, and the contrast of VGG-19
features with the target (near) and the input (far), weighted over five layers as contrastive regularisation usually
is, times 0.1.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pic_uie.paper.baselines.base import Baseline, Given, Terms

LAYERS = {1: 1 / 32, 6: 1 / 16, 11: 1 / 8, 20: 1 / 4, 29: 1.0}  # relu1_1 .. relu5_1
CONTRAST = 0.1
REPEATS, DETAIL_REPEATS = 6, 5  # times that one block is applied


class HclrNet(Baseline):
    """4,871,460 parameters."""

    name = "hclr-net"
    title = "HCLR-Net"
    multiple = 8
    vgg = (19, LAYERS)

    def __init__(self) -> None:
        super().__init__()
        self.structure = Structure()
        self.detail = Detail()

    def enhance(self, rgb: Tensor) -> Tensor:
        """(B, 3, H, W) to (B, 3, H, W): the sum of both branches."""
        enhanced: Tensor = self.structure(rgb) + self.detail(rgb)
        return enhanced

    def objective(self, given: Given) -> Terms:
        """L1 and the contrast: near to the target, far from the input."""
        enhanced = self.padded(given.inputs)
        terms = {"l1": F.l1_loss(enhanced, given.targets)}
        if given.perceptual is not None:
            found, near, far = (given.perceptual.maps(picture) for picture in (enhanced, given.targets, given.inputs))
            ratios = [
                weight * F.l1_loss(here, good) / (F.l1_loss(here, bad) + 1e-7)
                for weight, here, good, bad in zip(LAYERS.values(), found, near, far, strict=True)
            ]
            terms["contrast"] = CONTRAST * torch.stack(ratios).sum()
        return terms


class Structure(nn.Module):
    """Four scales; at the smallest, one block with attention is applied six times."""

    def __init__(self) -> None:
        super().__init__()
        widths = ((3, 64), (64, 64), (64, 128), (128, 256))
        self.down = nn.ModuleList(
            nn.Conv2d(before, after, 3, stride=2 if place else 1, padding=1)
            for place, (before, after) in enumerate(widths)
        )
        self.down_attention = nn.ModuleList(Attention(after) for _, after in widths)
        self.block = Block(256)
        self.up = nn.ModuleList(
            nn.ConvTranspose2d(before, after, 3, stride=2, padding=1, output_padding=1)
            for before, after in ((256, 128), (128, 64), (128, 64))
        )
        self.up_attention = Attention(128)
        self.mixes = nn.Parameter(torch.zeros(2))
        self.last = nn.Conv2d(128, 3, 3, padding=1)

    def forward(self, rgb: Tensor) -> Tensor:
        """(B, 3, H, W) to (B, 3, H, W) in [-1, 1]."""
        skips, value = [], rgb
        for convolution, attention in zip(self.down, self.down_attention, strict=True):
            value = attention(convolution(value).relu())
            skips.append(value)
        for _ in range(REPEATS):
            value = self.block(value)
        value = mixed(value, skips[3], self.mixes[0])
        value = mixed(self.up_attention(self.up[0](value).relu()), skips[2], self.mixes[1])
        value = torch.cat([self.up[1](value).relu(), skips[1]], dim=1)
        value = torch.cat([self.up[2](value).relu(), skips[0]], dim=1)
        picture: Tensor = self.last(value)
        return picture.tanh()


class Block(nn.Module):
    """Two convolutions with attention, added to their input."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(width, width, 3, padding=1)
        self.second = nn.Conv2d(width, width, 3, padding=1)
        self.attention = Attention(width)

    def forward(self, features: Tensor) -> Tensor:
        """(B, C, H, W) to the same."""
        value: Tensor = self.attention(self.second(self.first(features).relu() + features))
        return value + features


class Attention(nn.Module):
    """A weight for every place out of what its row and its column look like."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.narrow = nn.Conv2d(width, width // 2, 1)
        self.rows = nn.Conv2d(width // 2, width, 3, padding=1, bias=False)
        self.columns = nn.Conv2d(width // 2, width, 3, padding=1, bias=False)
        self.mixes = nn.Parameter(torch.zeros(2))

    def forward(self, features: Tensor) -> Tensor:
        """(B, C, H, W) to the same."""
        rows = self.rows(self.narrow(features.mean(dim=3, keepdim=True)).relu())  # (B, C, H, 1)
        columns = self.columns(self.narrow(features.amax(dim=2, keepdim=True)).relu())  # (B, C, 1, W)
        weights = mixed(rows * columns, rows + columns, self.mixes[0]).sigmoid()
        return mixed(features * weights, features, self.mixes[1])


class Detail(nn.Module):
    """256 channels at full resolution; one residual block with squeeze and excitation is applied five times."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 256, 3, padding=1)
        self.convolutions = nn.Sequential(
            nn.Conv2d(256, 256, 3, padding=1), nn.ReLU(), nn.Conv2d(256, 256, 3, padding=1)
        )
        self.excitation = nn.Sequential(nn.Conv2d(256, 16, 1), nn.ReLU(), nn.Conv2d(16, 256, 1), nn.Sigmoid())
        self.last = nn.Conv2d(256, 3, 3, padding=1)

    def forward(self, rgb: Tensor) -> Tensor:
        """(B, 3, H, W) to (B, 3, H, W)."""
        features = self.first(rgb)
        for _ in range(DETAIL_REPEATS):
            value = self.convolutions(features)
            features = features + value * self.excitation(value.mean(dim=(2, 3), keepdim=True))
        picture: Tensor = self.last(features)
        return picture


def mixed(one: Tensor, other: Tensor, weight: Tensor) -> Tensor:
    """Returns a learned share of one and the rest of the other."""
    return torch.lerp(other, one, weight.sigmoid())
