"""NU2Net (Guo et al., AAAI 2023): a U-Net that adds its skips and predicts what is missing from the picture.

Its authors train with L1, VGG and a ranker that judges the result. The ranker is a network of its own whose weights
were learned from ratings; without it the objective here is L1 and VGG. Assumed: weight 0.2 and layer 35 of VGG-19
(relu5_4) for the perceptual term, the decoder's normalisation the same as the encoder's.
"""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from pic_uie.paper.baselines.base import Baseline

WIDTHS = (64, 128, 256, 512)


class Nu2Net(Baseline):
    """3,145,923 parameters."""

    name = "nu2net"
    title = "NU2Net"
    multiple = 8
    vgg = (19, {35: 1.0})
    vgg_weight = 0.2

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, WIDTHS[0], 3, padding=1)
        self.down = nn.ModuleList(
            block(before, after) for before, after in zip((WIDTHS[0], *WIDTHS), WIDTHS, strict=False)
        )
        self.up = nn.ModuleList(
            block(before, after) for before, after in zip(WIDTHS[:0:-1], WIDTHS[-2::-1], strict=True)
        )
        self.narrow = block(WIDTHS[0], 16)
        self.last = nn.Conv2d(16, 3, 1)

    def enhance(self, rgb: Tensor) -> Tensor:
        """(B, 3, H, W) to (B, 3, H, W)."""
        features = self.down[0](self.first(rgb))
        skips = []
        for stage in list(self.down)[1:]:
            skips.append(features)
            features = stage(F.max_pool2d(features, 2))
        for stage, skip in zip(self.up, reversed(skips), strict=True):
            narrower = stage(features)
            features = F.interpolate(narrower, scale_factor=2.0, mode="bilinear", align_corners=False) + skip
        return stretched(rgb + self.last(self.narrow(features)).tanh())


def block(before: int, after: int) -> nn.Sequential:
    """Returns convolution, instance normalisation without parameters, ELU."""
    return nn.Sequential(nn.Conv2d(before, after, 3, padding=1), nn.InstanceNorm2d(after), nn.ELU())


def stretched(rgb: Tensor) -> Tensor:
    """Brings the channels that leave [0, 1] back into it, from their smallest to their largest value."""
    low, high = rgb.amin(dim=(2, 3), keepdim=True), rgb.amax(dim=(2, 3), keepdim=True)
    inside = (low >= 0.0) & (high <= 1.0)
    return rgb.where(inside, (rgb - low) / (high - low).clamp_min(1e-6))
