"""Shallow-UWnet (Naik et al., AAAI 2021): three dense blocks at full resolution, the picture joined to each.

Assumed: the order convolution, dropout, ReLU in the repeated layer; layer 8 of VGG-16 (relu2_2) for the perceptual
term.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pic_uie.paper.baselines.base import Baseline, Given, Terms

WIDTH = 64
DROPOUT = 0.2


class ShallowUwnet(Baseline):
    """219,456 parameters, no biases."""

    name = "shallow-uwnet"
    title = "Shallow-UWnet"
    vgg = (16, {8: 1.0})

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, WIDTH, 3, padding=1, bias=False)
        self.blocks = nn.ModuleList(Block() for _ in range(3))
        self.last = nn.Conv2d(WIDTH, 3, 3, padding=1, bias=False)

    def enhance(self, rgb: Tensor) -> Tensor:
        """(B, 3, H, W) to (B, 3, H, W)."""
        features = self.first(rgb).relu()
        for block in self.blocks:
            features = block(features, rgb)
        enhanced: Tensor = self.last(features)
        return enhanced

    def objective(self, given: Given) -> Terms:
        """Mean squared error, and the squared distance of VGG features."""
        enhanced = self.padded(given.inputs)
        terms = {"mse": F.mse_loss(enhanced, given.targets)}
        if given.perceptual is not None:
            terms["vgg"] = given.perceptual(enhanced, given.targets, squared=True)
        return terms


class Block(nn.Module):
    """One convolution applied twice with the same weights, one to 61 channels, and the picture beside them."""

    def __init__(self) -> None:
        super().__init__()
        self.repeated = nn.Conv2d(WIDTH, WIDTH, 3, padding=1, bias=False)
        self.dropout = nn.Dropout2d(DROPOUT)
        self.narrow = nn.Conv2d(WIDTH, WIDTH - 3, 3, padding=1, bias=False)

    def forward(self, features: Tensor, rgb: Tensor) -> Tensor:
        """(B, 64, H, W) and the picture to (B, 64, H, W)."""
        for _ in range(2):
            features = self.dropout(self.repeated(features)).relu()
        return torch.cat([self.narrow(features).relu(), rgb], dim=1)
