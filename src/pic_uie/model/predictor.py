"""P_ω: from the thumbnail to θ."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pic_uie import constants as c
from pic_uie.config import ModelConfig
from pic_uie.model.color import rgb_to_ycbcr
from pic_uie.model.heads import Heads
from pic_uie.model.theta import Theta


class Block(nn.Module):
    """Convolution 3x3 with stride 2, affine instance normalisation, ReLU."""

    def __init__(self, channels: int, width: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, width, 3, stride=2, padding=1)
        self.norm = nn.InstanceNorm2d(width, eps=c.NORM_EPS, affine=True)

    def forward(self, x: Tensor) -> Tensor:
        """(B, channels, s, s) to (B, width, s/2, s/2)."""
        return F.relu(self.norm(self.conv(x)))


class Predictor(nn.Module):
    """Eq. 1, left: the body, the statistics beside it, and the heads."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        channels = (config.input_channels, config.width, config.width)
        self.body = nn.Sequential(*(Block(n, config.width) for n in channels))
        if config.statistics == "projected":
            self.statistics = nn.Linear(6, config.width)
            nn.init.zeros_(self.statistics.weight)
            nn.init.zeros_(self.statistics.bias)
        self.heads = Heads(config)

    def forward(self, thumbnail: Tensor) -> Theta:
        """Predicts θ from an RGB thumbnail (B, 3, s, s)."""
        return self.read(thumbnail, self.body(self.view(thumbnail)))

    def read(self, thumbnail: Tensor, features: Tensor) -> Theta:
        """Reads θ off the body's features (B, w, s/8, s/8) and the thumbnail's statistics."""
        return self.finish(features, rgb_statistics(thumbnail))

    def finish(self, features: Tensor, statistics: Tensor) -> Theta:
        """The linear end: θ from features (B, w, s/8, s/8) and statistics (B, 6)."""
        descriptor = features.mean(dim=(2, 3))  # (B, w)
        if self.config.statistics == "projected":
            descriptor = descriptor + self.statistics(statistics)
        elif self.config.statistics == "concatenated":
            descriptor = torch.cat([descriptor, statistics], dim=1)
        theta: Theta = self.heads(features, descriptor)
        return theta

    def view(self, thumbnail: Tensor) -> Tensor:
        """Returns the thumbnail in the colour space that the body sees: (B, 3 or 6, s, s)."""
        if self.config.predictor_input == "rgb":
            return thumbnail
        ycbcr = rgb_to_ycbcr(thumbnail)
        return ycbcr if self.config.predictor_input == "ycbcr" else torch.cat([thumbnail, ycbcr], dim=1)


def make_thumbnail(rgb: Tensor, size: int) -> Tensor:
    """R_256: bilinear, half-pixel centres, no antialiasing."""
    if rgb.shape[-2:] == (size, size):
        return rgb
    return F.interpolate(rgb, (size, size), mode="bilinear", align_corners=False)


def rgb_statistics(thumbnail: Tensor) -> Tensor:
    """Returns s = [μ, σ + eps] of each channel, σ with N - 1: (B, 3, s, s) to (B, 6)."""
    mean = thumbnail.mean(dim=(2, 3), keepdim=True)
    pixels = thumbnail.shape[2] * thumbnail.shape[3]
    variance = (thumbnail - mean).square().sum(dim=(2, 3)) / (pixels - 1)  # several times faster than Tensor.var
    varied = variance > 0  # the square root has no finite gradient at 0: a flat channel gets none
    deviation = torch.where(varied, torch.where(varied, variance, 1.0).sqrt(), 0.0)
    return torch.cat([mean[:, :, 0, 0], deviation + c.STD_EPS], dim=1)
