"""FUnIE-GAN (Islam et al., RA-L 2020): a U-Net generator against a PatchGAN discriminator.

The generator works in [-1, 1]. The objective is the least-squares adversarial term, 7 L1 and 3 VGG (the authors'
weights, in [-1, 1]); assumed: layer 30 of VGG-19 (conv5_2), the convolution that the authors name, behind its ReLU
(31).
"""

from __future__ import annotations

import itertools

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pic_uie.paper.baselines.base import Baseline, Given, Terms

DOWN = (3, 32, 128, 256, 256, 256)
UP = ((256, 256), (512, 256), (512, 128), (256, 32))
JUDGE = (6, 32, 64, 128, 256)
MOMENTUM = 0.8
L1, PERCEPTUAL = 7.0, 3.0


class FunieGan(Baseline):
    """7,019,587 parameters in the generator."""

    name = "funie-gan"
    title = "FUnIE-GAN"
    multiple = 32
    vgg = (19, {31: 1.0})

    def __init__(self) -> None:
        super().__init__()
        last = len(DOWN) - 2
        self.down = nn.ModuleList(
            halve(before, after, norm=place not in (0, last), bias=False)
            for place, (before, after) in enumerate(itertools.pairwise(DOWN))
        )
        self.up = nn.ModuleList(double(before, after) for before, after in UP)
        self.last = nn.Conv2d(2 * DOWN[1], 3, 4, padding=1)
        for module in self.modules():
            _initialise(module)

    def enhance(self, rgb: Tensor) -> Tensor:
        """(B, 3, H, W) to (B, 3, H, W)."""
        features, skips = 2.0 * rgb - 1.0, []
        for stage in self.down:
            features = stage(features)
            skips.append(features)
        for stage, skip in zip(self.up, skips[-2::-1], strict=True):
            features = torch.cat([stage(features), skip], dim=1)
        enlarged = F.pad(F.interpolate(features, scale_factor=2.0, mode="nearest"), (1, 0, 1, 0))
        enhanced: Tensor = 0.5 * self.last(enlarged).tanh() + 0.5
        return enhanced

    def objective(self, given: Given) -> Terms:
        """What fools the discriminator, L1 and VGG."""
        enhanced = self.padded(given.inputs)
        terms = {"l1": L1 * 2.0 * F.l1_loss(enhanced, given.targets)}  # twice: the authors measure in [-1, 1]
        if given.rival is not None:
            terms["adversarial"] = (given.rival(enhanced, given.inputs) - 1.0).square().mean()
        if given.perceptual is not None:
            terms["vgg"] = PERCEPTUAL * given.perceptual(enhanced, given.targets)
        return terms

    def make_rival(self) -> nn.Module:
        """Returns the discriminator."""
        return Judge()

    def rival_objective(self, given: Given) -> Terms:
        """Targets are 1, what the generator made is 0."""
        if given.rival is None:
            raise ValueError("the discriminator's objective needs the discriminator")
        with torch.no_grad():
            enhanced = self.padded(given.inputs)
        real = (given.rival(given.targets, given.inputs) - 1.0).square().mean()
        fake = given.rival(enhanced, given.inputs).square().mean()
        return {"rival": 5.0 * (real + fake)}  # half of both, times 10: the authors' weight


class Judge(nn.Module):
    """PatchGAN: one verdict for each patch of 16x16 pixels."""

    def __init__(self) -> None:
        super().__init__()
        self.stages = nn.Sequential(
            *(
                halve(before, after, norm=place > 0, bias=True)
                for place, (before, after) in enumerate(itertools.pairwise(JUDGE))
            )
        )
        self.last = nn.Conv2d(JUDGE[-1], 1, 4, padding=1, bias=False)
        for module in self.modules():
            _initialise(module)

    def forward(self, picture: Tensor, degraded: Tensor) -> Tensor:
        """A picture and what it was made from, (B, 3, H, W) each in [0, 1], to (B, 1, H/16, W/16)."""
        features = self.stages(2.0 * torch.cat([picture, degraded], dim=1) - 1.0)
        verdicts: Tensor = self.last(F.pad(features, (1, 0, 1, 0)))
        return verdicts


def halve(before: int, after: int, *, norm: bool, bias: bool) -> nn.Sequential:
    """Returns a 4x4 convolution of stride 2, batch normalisation, LeakyReLU."""
    layers: list[nn.Module] = [nn.Conv2d(before, after, 4, stride=2, padding=1, bias=bias)]
    if norm:
        layers.append(nn.BatchNorm2d(after, momentum=MOMENTUM))
    return nn.Sequential(*layers, nn.LeakyReLU(0.2))


def double(before: int, after: int) -> nn.Sequential:
    """Returns a transposed 4x4 convolution of stride 2, batch normalisation, ReLU."""
    convolution = nn.ConvTranspose2d(before, after, 4, stride=2, padding=1, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(after, momentum=MOMENTUM), nn.ReLU())


def _initialise(module: nn.Module) -> None:
    """Normal values of deviation 0.02, as image-to-image GANs start."""
    if isinstance(module, nn.Conv2d | nn.ConvTranspose2d):
        nn.init.normal_(module.weight, 0.0, 0.02)
    elif isinstance(module, nn.BatchNorm2d):
        nn.init.normal_(module.weight, 1.0, 0.02)
