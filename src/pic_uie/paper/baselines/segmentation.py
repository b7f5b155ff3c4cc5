"""A segmentation network whose semantics DTIUIE reads: a U-Net with VGG-16 and batch normalisation as its encoder."""

from __future__ import annotations

import torch
from torch import Tensor, nn

ENCODER = ((3, 64, 2), (64, 128, 2), (128, 256, 3), (256, 512, 3), (512, 512, 3))  # in, out, convolutions
BOTTOM = 1024
DECODER = ((512, 512), (256, 512), (128, 256), (64, 128), (32, 64))  # out, channels of the skip


class Segmentation(nn.Module):
    """41.9 M parameters; classes are learned from labels, which this package has none of."""

    def __init__(self, classes: int = 8) -> None:
        super().__init__()
        self.encoder = nn.ModuleList(stage(*shape) for shape in ENCODER)
        self.bottom = stage(ENCODER[-1][1], BOTTOM, 2)
        befores = (BOTTOM, *(after for after, _ in DECODER))
        self.grow = nn.ModuleList(
            nn.ConvTranspose2d(before, after, 2, stride=2) for before, (after, _) in zip(befores, DECODER, strict=False)
        )
        self.decoder = nn.ModuleList(stage(after + skip, after, 2) for after, skip in DECODER)
        self.classes = nn.Conv2d(DECODER[-1][0], classes, 1).requires_grad_(False)

    def features(self, rgb: Tensor) -> list[Tensor]:
        """(B, 3, H, W) to five maps, large ones first: 32 channels at full size to 512 at a sixteenth."""
        value, skips = rgb, []
        for encode in self.encoder:
            skips.append(encode(value))
            value = torch.max_pool2d(skips[-1], 2)
        value, found = self.bottom(value), []
        for grow, decode, skip in zip(self.grow, self.decoder, reversed(skips), strict=True):
            value = decode(torch.cat([grow(value), skip], dim=1))
            found.append(value)
        return found[::-1]

    def forward(self, rgb: Tensor) -> Tensor:
        """(B, 3, H, W) to the score of every class at every pixel."""
        scores: Tensor = self.classes(self.features(rgb)[0])
        return scores


def stage(before: int, after: int, count: int) -> nn.Sequential:
    """Returns so many convolutions, each with batch normalisation and ReLU."""
    layers: list[nn.Module] = []
    for place in range(count):
        layers += [nn.Conv2d(after if place else before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU()]
    return nn.Sequential(*layers)
