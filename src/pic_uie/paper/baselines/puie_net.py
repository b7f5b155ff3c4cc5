"""PUIE-Net (Fu et al., ECCV 2022): a conditional variational auto-encoder whose draws are possible enhancements.

The result is the mean of 20 draws (the authors' MC; `draws = 0` takes the means of the distributions, their MP). The
count comes out with the posterior encoder, which only training uses, and with two residual blocks at the bottom of
each U-Net. The paper counts 20 full passes; here the U-Net runs once and only what follows the draw is repeated.
Assumed: slope 0.2 of LeakyReLU; the weights 1, 0.05 and 0.01 of L1, VGG and the two divergences; layer 8 of VGG-16
(relu2_2).
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pic_uie.paper.baselines.base import Baseline, Given, Terms

WIDTH = 64
CODE = 20  # dimensions of a draw
DRAWS = 20
SEED = 0
PERCEPTUAL, DIVERGENCE = 0.05, 0.01


class PuieNet(Baseline):
    """1,401,019 parameters, 568,792 of them in the posterior."""

    name = "puie-net"
    title = "PUIE-Net"
    multiple = 8
    passes = DRAWS
    vgg = (16, {8: 1.0})

    def __init__(self, draws: int = DRAWS) -> None:
        super().__init__()
        self.draws = draws
        self.prior = UNet(3)
        self.posterior = UNet(6)
        self.mean_back = nn.Conv2d(CODE, 2 * WIDTH, 1)
        self.deviation_back = nn.Conv2d(CODE, 2 * WIDTH, 1)
        self.tail = nn.Sequential(conv_block(2 * WIDTH, WIDTH), Residual(), Residual(), nn.Conv2d(WIDTH, 3, 1))

    def enhance(self, rgb: Tensor) -> Tensor:
        """(B, 3, H, W) to (B, 3, H, W): the mean over the draws."""
        features = self.prior.features(rgb)
        means, deviations = self.prior.codes(features)
        if not self.draws:
            return self._decode(features, means.mean, deviations.mean)
        generator = torch.Generator("cpu").manual_seed(SEED)  # the same picture has the same result
        total = torch.zeros_like(rgb)
        for _ in range(self.draws):
            total = total + self._decode(features, means.draw(generator), deviations.draw(generator))
        return total / self.draws

    def one_pass(self, rgb: Tensor) -> Tensor:
        """What one of the passes costs that the paper counts."""
        features = self.prior.features(rgb)
        means, deviations = self.prior.codes(features)
        return self._decode(features, means.mean, deviations.mean)

    def objective(self, given: Given) -> Terms:
        """L1 and VGG of a draw from the posterior, and how far the posterior is from the prior."""
        features = self.prior.features(given.inputs)
        prior = self.prior.codes(features)
        posterior = self.posterior.codes(self.posterior.features(torch.cat([given.inputs, given.targets], dim=1)))
        enhanced = self._decode(features, posterior[0].draw(), posterior[1].draw())
        divergence = torch.stack([one.divergence(other) for one, other in zip(posterior, prior, strict=True)]).sum()
        terms = {"l1": F.l1_loss(enhanced, given.targets), "divergence": DIVERGENCE * divergence}
        if given.perceptual is not None:
            terms["vgg"] = PERCEPTUAL * given.perceptual(enhanced, given.targets)
        return terms

    def _decode(self, features: Tensor, mean: Tensor, deviation: Tensor) -> Tensor:
        """The statistics of the features are replaced by those of the draw."""
        shifted = F.instance_norm(features) * self.deviation_back(deviation).abs() + self.mean_back(mean)
        enhanced: Tensor = self.tail(shifted)
        return enhanced


class Gaussian(NamedTuple):
    """Independent normal values, (B, 20, 1, 1) each."""

    mean: Tensor
    log_deviation: Tensor

    def draw(self, generator: torch.Generator | None = None) -> Tensor:
        """Returns a draw that gradients pass."""
        noise = torch.randn(self.mean.shape, generator=generator, device="cpu" if generator else self.mean.device)
        return self.mean + self.log_deviation.exp() * noise.to(self.mean)

    def divergence(self, other: Gaussian) -> Tensor:
        """Returns KL(self || other), summed over dimensions, mean over the batch."""
        gap = other.log_deviation - self.log_deviation
        squares = (2.0 * -gap).exp() + ((self.mean - other.mean) / other.log_deviation.exp()).square()
        return (gap + 0.5 * squares - 0.5).sum(dim=(1, 2, 3)).mean()


class UNet(nn.Module):
    """Three scales of width 64, and the two Gaussians that the statistics of its features predict."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.down = nn.ModuleList(conv_block(before, WIDTH) for before in (channels, WIDTH, WIDTH))
        self.bottom = nn.Sequential(Residual(), Residual())
        self.up = nn.ModuleList(conv_block(2 * WIDTH, WIDTH) for _ in range(2))
        self.mean_code = nn.Conv2d(2 * WIDTH, 2 * CODE, 1)
        self.deviation_code = nn.Conv2d(2 * WIDTH, 2 * CODE, 1)

    def features(self, pictures: Tensor) -> Tensor:
        """(B, C, H, W) to (B, 128, H, W)."""
        skips, value = [], pictures
        for stage in self.down:
            skips.append(stage(value))
            value = F.max_pool2d(skips[-1], 2)
        value = _beside(self.bottom(value), skips[2])
        for stage, skip in zip(self.up, (skips[1], skips[0]), strict=True):
            value = _beside(stage(value), skip)
        return value

    def codes(self, features: Tensor) -> tuple[Gaussian, Gaussian]:
        """What the mean and the deviation over space say: distributions of the new mean and the new deviation."""
        deviation, mean = torch.std_mean(features, dim=(2, 3), keepdim=True)
        return _gaussian(self.mean_code(mean)), _gaussian(self.deviation_code(deviation))


class Residual(nn.Module):
    """Two convolutions with squeeze and excitation, added to their input."""

    def __init__(self) -> None:
        super().__init__()
        self.convolutions = nn.Sequential(reflected(WIDTH, WIDTH), nn.LeakyReLU(0.2), reflected(WIDTH, WIDTH))
        self.excitation = nn.Sequential(
            nn.Conv2d(WIDTH, WIDTH // 16, 1), nn.ReLU(), nn.Conv2d(WIDTH // 16, WIDTH, 1), nn.Sigmoid()
        )

    def forward(self, features: Tensor) -> Tensor:
        """(B, 64, H, W) to the same."""
        value = self.convolutions(features)
        scaled: Tensor = features + value * self.excitation(value.mean(dim=(2, 3), keepdim=True))
        return scaled


def conv_block(before: int, after: int) -> nn.Sequential:
    """Returns two 3x3 convolutions with LeakyReLU."""
    return nn.Sequential(reflected(before, after), nn.LeakyReLU(0.2), reflected(after, after), nn.LeakyReLU(0.2))


def reflected(before: int, after: int) -> nn.Conv2d:
    """Returns a 3x3 convolution that reflects the border."""
    return nn.Conv2d(before, after, 3, padding=1, padding_mode="reflect")


def _beside(features: Tensor, skip: Tensor) -> Tensor:
    larger = F.interpolate(features, scale_factor=2.0, mode="bilinear", align_corners=False)
    return torch.cat([larger, skip], dim=1)


def _gaussian(values: Tensor) -> Gaussian:
    mean, log_deviation = values.chunk(2, dim=1)
    return Gaussian(mean, log_deviation.clamp(-8.0, 8.0))
