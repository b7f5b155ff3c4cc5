"""DTIUIE (TIP 2026): a U-Net that reads the semantics of a segmentation network, plus a branch at full resolution.

Published are 8,923,734 parameters and 656 GFLOPs of the enhancer, 50.8 M with the segmentation network. Ours are
8,889,257 (0.39 % fewer), 646 GFLOPs (1.5 % fewer) and 50,786,321: the projections within the attentions are not
published. Assumed: the semantic maps are the five scales of the segmentation network's decoder, whose widths fit;
factorised attention weights values by a softmax over places and a softmax over channels. The authors' segmentation
network is trained on labels first; here it learns with the enhancer, by L1 and VGG (weight 0.05, layer 8 of VGG-16,
relu2_2).
"""

from __future__ import annotations

import itertools

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pic_uie.paper.baselines.base import Baseline
from pic_uie.paper.baselines.nu2net import stretched
from pic_uie.paper.baselines.segmentation import Segmentation

WIDTHS = (32, 64, 128, 256)
DETAIL = 256


class Dtiuie(Baseline):
    """50,786,321 parameters, 8,889,257 of them in the enhancer."""

    name = "dtiuie"
    title = "DTIUIE"
    multiple = 32
    vgg = (16, {8: 1.0})
    vgg_weight = 0.05

    def __init__(self) -> None:
        super().__init__()
        self.semantics = Segmentation()
        self.structure = Structure()
        widths = (3, *[DETAIL] * 4, 3)
        self.detail = nn.Sequential(*(Residual(*pair) for pair in itertools.pairwise(widths)))

    def enhance(self, rgb: Tensor) -> Tensor:
        """(B, 3, H, W) to (B, 3, H, W): the sum of both branches, each channel stretched where it leaves [0, 1]."""
        return stretched(self.structure(rgb, self.semantics.features(rgb)) + self.detail(rgb))


class Structure(nn.Module):
    """Four scales; each meets the semantics of its size in an attention."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.ModuleList(double(before, after) for before, after in zip((3, *WIDTHS), WIDTHS, strict=False))
        self.meet = nn.ModuleList(Meeting(width) for width in WIDTHS)
        self.deepest = nn.Conv2d(2 * WIDTHS[-1], WIDTHS[-1], 3, padding=1)
        self.grow = nn.ModuleList(nn.ConvTranspose2d(2 * w, w, 2, stride=2) for w in WIDTHS[-2::-1])
        self.up = nn.ModuleList(double(2 * width, width) for width in WIDTHS[-2::-1])
        self.last = nn.Conv2d(WIDTHS[0], 3, 3, padding=1)

    def forward(self, rgb: Tensor, semantics: list[Tensor]) -> Tensor:
        """(B, 3, H, W) and five semantic maps to (B, 3, H, W)."""
        value, skips = rgb, []
        for place, (stage, meet) in enumerate(zip(self.down, self.meet, strict=True)):
            value = meet(stage(F.max_pool2d(value, 2) if place else value), semantics[place])
            skips.append(value)
        value = value + F.interpolate(self.deepest(semantics[4]), scale_factor=2.0, mode="nearest")
        for grow, stage, skip in zip(self.grow, self.up, skips[-2::-1], strict=True):
            value = stage(torch.cat([grow(value), skip], dim=1))
        picture: Tensor = self.last(value)
        return picture


class Meeting(nn.Module):
    """Features ask, semantics answer: factorised attention, at a cost that grows with the pixels, not their square."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.describe = nn.Conv2d(width, width, 3, padding=1)
        self.query = nn.Conv2d(width, width, 1)
        self.key_value = nn.Conv2d(width, 2 * width, 1)

    def forward(self, features: Tensor, semantics: Tensor) -> Tensor:
        """(B, C, H, W) twice to the same."""
        described = self.describe(semantics)
        query = self.query(features).flatten(2).softmax(dim=1)  # (B, C, L)
        key, value = self.key_value(described).flatten(2).chunk(2, dim=1)
        context = key.softmax(dim=2) @ value.transpose(1, 2)  # (B, C, C)
        answer = (context.transpose(1, 2) @ query).view_as(features)
        met: Tensor = features + answer
        return met


class Residual(nn.Module):
    """Two convolutions beside a 1x1 convolution where the width changes."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        middle = max(before, after)
        self.convolutions = nn.Sequential(
            nn.Conv2d(before, middle, 3, padding=1), nn.ReLU(), nn.Conv2d(middle, after, 3, padding=1)
        )
        self.shortcut = nn.Conv2d(before, after, 1) if before != after else nn.Identity()

    def forward(self, features: Tensor) -> Tensor:
        """(B, C, H, W) to (B, C', H, W)."""
        added: Tensor = self.convolutions(features) + self.shortcut(features)
        return added


def double(before: int, after: int) -> nn.Sequential:
    """Returns two 3x3 convolutions with LeakyReLU."""
    return nn.Sequential(
        nn.Conv2d(before, after, 3, padding=1),
        nn.LeakyReLU(0.2),
        nn.Conv2d(after, after, 3, padding=1),
        nn.LeakyReLU(0.2),
    )
