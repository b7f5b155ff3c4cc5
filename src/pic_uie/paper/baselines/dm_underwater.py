"""DM-underwater (Tang et al., ACM MM 2023): a conditional diffusion model, with a sampler that skips most of its steps.

The denoiser sees the degraded picture beside the noisy one. Its blocks are not published in detail; among the
readings that fit the facts, this one has the count: one block a scale, three 3x3 convolutions and one depthwise in
each, efficient channel attention of size 3, 192 values of time. Assumed: 10 steps of the skipping sampler without
fresh noise, L1 on the noise, steps drawn evenly.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pic_uie.paper.baselines.base import Baseline, Given, Terms

WIDTHS = (48, 96, 192, 384)
TIME = 192
STEPS, FIRST_BETA, LAST_BETA = 2000, 1e-6, 1e-2
SAMPLED = 10  # steps that the sampler takes of them
SEED = 0


class DmUnderwater(Baseline):
    """10,705,563 parameters."""

    name = "dm-underwater"
    title = "DM-underwater"
    multiple = 8
    passes = SAMPLED
    signal: Tensor

    def __init__(self) -> None:
        super().__init__()
        betas = torch.linspace(FIRST_BETA, LAST_BETA, STEPS, dtype=torch.float64)
        self.register_buffer("signal", (1.0 - betas).cumprod(0).float(), persistent=False)  # share of the picture
        self.denoiser = Denoiser()

    def enhance(self, rgb: Tensor) -> Tensor:
        """(B, 3, H, W) to (B, 3, H, W): from seeded noise to a picture in few steps."""
        condition = 2.0 * rgb - 1.0
        generator = torch.Generator("cpu").manual_seed(SEED)  # the same picture has the same result
        noisy = torch.randn(rgb.shape[1:], generator=generator).to(rgb).expand_as(rgb)
        times = torch.linspace(STEPS - 1, 0, SAMPLED).round().long().tolist()
        for time, following in zip(times, [*times[1:], None], strict=True):
            now = self.signal[time]
            noise = self.denoiser(condition, noisy, torch.full((len(rgb),), time, device=rgb.device))
            clean = ((noisy - (1.0 - now).sqrt() * noise) / now.sqrt()).clamp(-1.0, 1.0)
            if following is None:
                noisy = clean
                break
            later = self.signal[following]
            noise = (noisy - now.sqrt() * clean) / (1.0 - now).sqrt()  # what fits the clipped picture
            noisy = later.sqrt() * clean + (1.0 - later).sqrt() * noise
        return 0.5 * noisy + 0.5

    def one_pass(self, rgb: Tensor) -> Tensor:
        """One step of the sampler."""
        noise: Tensor = self.denoiser(rgb, rgb, torch.zeros(len(rgb), dtype=torch.long, device=rgb.device))
        return noise

    def objective(self, given: Given) -> Terms:
        """L1 between the noise that was added and the noise that is seen."""
        condition, clean = 2.0 * given.inputs - 1.0, 2.0 * given.targets - 1.0
        time = torch.randint(STEPS, (len(clean),), device=clean.device)
        noise = torch.randn_like(clean)
        signal = self.signal[time].view(-1, 1, 1, 1)
        noisy = signal.sqrt() * clean + (1.0 - signal).sqrt() * noise
        return {"noise": F.l1_loss(self.denoiser(condition, noisy, time), noise)}


class Denoiser(nn.Module):
    """A U-Net of one block a scale that predicts the noise."""

    def __init__(self) -> None:
        super().__init__()
        self.time = nn.Linear(TIME // 2, TIME, bias=False)
        self.first = nn.Conv2d(6, WIDTHS[0], 3, padding=1, bias=False)
        self.encoder = nn.ModuleList(Block(width) for width in WIDTHS)
        self.shrink = nn.ModuleList(nn.Conv2d(w, w // 2, 3, padding=1, bias=False) for w in WIDTHS[:-1])
        self.grow = nn.ModuleList(nn.Conv2d(w, 2 * w, 3, padding=1, bias=False) for w in WIDTHS[:0:-1])
        self.join = nn.ModuleList(nn.Conv2d(2 * w, w, 1) for w in WIDTHS[-2::-1])
        self.decoder = nn.ModuleList(Block(width) for width in WIDTHS[-2::-1])
        self.refinement = Block(WIDTHS[0])
        self.last = nn.Conv2d(WIDTHS[0], 3, 1)

    def forward(self, condition: Tensor, noisy: Tensor, time: Tensor) -> Tensor:
        """(B, 3, H, W) twice and (B,) steps to the noise (B, 3, H, W)."""
        moment = F.silu(self.time(sinusoids(time, TIME // 2)))
        features, skips = self.first(torch.cat([condition, noisy], dim=1)), []
        for block, shrink in zip(self.encoder, self.shrink, strict=False):
            features = block(features, moment)
            skips.append(features)
            features = F.pixel_unshuffle(shrink(features), 2)
        features = self.encoder[-1](features, moment)
        for grow, join, block, skip in zip(self.grow, self.join, self.decoder, reversed(skips), strict=True):
            features = join(torch.cat([F.pixel_shuffle(grow(features), 2), skip], dim=1))
            features = block(features, moment)
        noise: Tensor = self.last(self.refinement(features, moment))
        return noise


class Block(nn.Module):
    """Normalised features through four convolutions with the time and channel attention, added to themselves."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(1, width)
        self.depthwise = nn.Conv2d(width, width, 3, padding=1, groups=width)
        self.convolutions = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for _ in range(3))
        self.time = nn.Linear(TIME, width)
        self.attention = nn.Conv1d(1, 1, 3, padding=1, bias=False)  # over neighbouring channels

    def forward(self, features: Tensor, moment: Tensor) -> Tensor:
        """(B, C, H, W) and (B, 192) to (B, C, H, W)."""
        value = F.silu(self.convolutions[0](self.depthwise(self.norm(features))))
        value = value + self.time(moment)[:, :, None, None]
        value = self.convolutions[2](F.silu(self.convolutions[1](value)))
        weights = self.attention(value.mean(dim=(2, 3))[:, None]).sigmoid()  # (B, 1, C)
        added: Tensor = features + value * weights[:, 0, :, None, None]
        return added


def sinusoids(time: Tensor, count: int) -> Tensor:
    """Returns (B, count) sines and cosines of the step at falling frequencies."""
    rates = torch.exp(torch.arange(count // 2, device=time.device) * (-math.log(1e4) / (count // 2)))
    angles = time.float()[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()], dim=1)
