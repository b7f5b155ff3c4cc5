"""SS-UIE (Peng and Bian, AAAI 2025): a memory network whose units scan space and weight the spectrum.

The spectral weights are tied to a 64x64 spectrum, so the system takes 256x256 only. The count is published as 20.6 M,
and ours is 20,563,789; the cost is 24.4 GFLOPs instead of the 24.2 printed. Assumed: a spectral block is a 3x3
convolution, a complex filter and a complex gate on its spectrum and a 1x1 convolution; the objective is L1 in space
and of the amplitude spectrum, weight 0.1 (the authors weight by frequency).
"""

from __future__ import annotations

import itertools

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pic_uie.paper.baselines.base import Baseline, Given, Terms
from pic_uie.paper.baselines.selective_scan import SpatialScan
from pic_uie.paper.baselines.watermamba import channels_last

WIDTHS = (3, 16, 32, 64)
WIDTH, SIDE = 64, 64  # of the memory blocks
MEMORIES, UNITS = 4, 4
SPECTRUM = 0.1


class SsUie(Baseline):
    """20.6 M parameters, 17.3 M of them spectral weights."""

    name = "ss-uie"
    title = "SS-UIE"
    fixed = 256

    def __init__(self, memories: int = MEMORIES, units: int = UNITS) -> None:
        super().__init__()
        self.extract = nn.ModuleList(layer(*pair, 3) for pair in itertools.pairwise(WIDTHS))
        self.memories = nn.ModuleList(Memory(earlier, units) for earlier in range(1, memories + 1))
        self.rebuild = nn.ModuleList(layer(*pair, 3) for pair in itertools.pairwise(WIDTHS[::-1]))
        self.shares = nn.Parameter(torch.full((memories,), 1.0 / memories))

    def enhance(self, rgb: Tensor) -> Tensor:
        """(B, 3, 256, 256) to (B, 3, 256, 256)."""
        wide = self.extract[0](rgb)  # (B, 16, 256, 256)
        half = self.extract[1](F.max_pool2d(wide, 2))  # (B, 32, 128, 128)
        quarter = self.extract[2](F.max_pool2d(half, 2))  # (B, 64, 64, 64)
        memories = [quarter]
        for memory in self.memories:
            memories.append(memory(memories))
        weighted = [share * memory for share, memory in zip(self.shares, memories[1:], strict=True)]
        value = self.rebuild[0](torch.stack(weighted).sum(dim=0) + quarter)
        value = self.rebuild[1](_larger(value) + half)
        enhanced: Tensor = rgb + self.rebuild[2](_larger(value) + wide)
        return enhanced

    def objective(self, given: Given) -> Terms:
        """L1 of pixels and of amplitudes."""
        enhanced = self.padded(given.inputs)
        amplitudes = [torch.fft.rfft2(picture, norm="ortho").abs() for picture in (enhanced, given.targets)]
        return {"l1": F.l1_loss(enhanced, given.targets), "spectrum": SPECTRUM * F.l1_loss(*amplitudes)}


class Memory(nn.Module):
    """Residual units, and a gate that chooses from their results and from all earlier memories."""

    def __init__(self, earlier: int, units: int) -> None:
        super().__init__()
        self.units = nn.ModuleList(Unit() for _ in range(units))
        self.gate = layer((units + earlier) * WIDTH, WIDTH, 1)

    def forward(self, earlier: list[Tensor]) -> Tensor:
        """Earlier memories, (B, 64, 64, 64) each, to the next."""
        value, short_term = earlier[-1], []
        for unit in self.units:
            value = unit(value)
            short_term.append(value)
        gated: Tensor = self.gate(torch.cat([*short_term, *earlier], dim=1))
        return gated


class Unit(nn.Module):
    """Two blocks, each a scan of space and attention to the spectrum, added to their input."""

    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(2))
        self.scans = nn.ModuleList(SpatialScan(WIDTH) for _ in range(2))
        self.spectra = nn.ModuleList(Spectral() for _ in range(2))

    def forward(self, features: Tensor) -> Tensor:
        """(B, 64, 64, 64) to the same."""
        value = features
        for norm, scan, spectral in zip(self.norms, self.scans, self.spectra, strict=True):
            normed = channels_last(norm, value)
            value = value + scan(normed) + spectral(normed)
        return features + value


class Spectral(nn.Module):
    """Attention to frequencies: a filter of its own for every channel and frequency, opened by a gate."""

    def __init__(self) -> None:
        super().__init__()
        self.before = nn.Conv2d(WIDTH, WIDTH, 3, padding=1)
        self.filter = nn.Parameter(0.02 * torch.randn(WIDTH, SIDE, SIDE // 2 + 1, 2))
        self.gate = nn.Parameter(0.02 * torch.randn(WIDTH, SIDE, SIDE // 2 + 1, 2))
        self.after = nn.Conv2d(WIDTH, WIDTH, 1)

    def forward(self, features: Tensor) -> Tensor:
        """(B, 64, 64, 64) to the same."""
        spectrum = torch.fft.rfft2(self.before(features), norm="ortho")
        opened = (spectrum * torch.view_as_complex(self.gate)).abs().sigmoid()
        filtered = torch.fft.irfft2(
            spectrum * torch.view_as_complex(self.filter) * opened, s=(SIDE, SIDE), norm="ortho"
        )
        result: Tensor = self.after(filtered)
        return result


def layer(before: int, after: int, size: int) -> nn.Sequential:
    """Returns batch normalisation, ReLU, convolution."""
    return nn.Sequential(nn.BatchNorm2d(before), nn.ReLU(), nn.Conv2d(before, after, size, padding=size // 2))


def _larger(features: Tensor) -> Tensor:
    return F.interpolate(features, scale_factor=2.0, mode="nearest")
