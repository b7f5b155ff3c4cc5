"""The heads: from features and descriptor to θ, each starting near the correction that changes nothing."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pic_uie import constants as c
from pic_uie.config import ModelConfig
from pic_uie.corrections import identity_lut
from pic_uie.model.theta import Theta
from pic_uie.weights.layout import global_heads, spatial_heads

INITIAL_BIAS = {
    "t": [4.0],
    "v": [-4.0],
    "a": [-4.0],
    "affine": [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0],  # M = I, b = 0
    "covariance": [0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0, -4.0],  # u = 0, G = I, blend logit
}


class Heads(nn.ModuleDict):
    """One linear layer per correction; a correction without a head is the identity."""

    def __init__(self, config: ModelConfig) -> None:
        layers: dict[str, nn.Module] = {name: nn.Conv2d(config.width, 1, 1) for name in spatial_heads(config)}
        layers |= {name: nn.Linear(config.descriptor_size, size) for name, size in global_heads(config).items()}
        super().__init__(layers)
        self.config = config
        for name, parameter in self.named_parameters():
            head, _, kind = name.partition(".")
            with torch.no_grad():
                parameter.copy_(torch.tensor(INITIAL_BIAS.get(head, [0.0]) if kind == "bias" else 0.0))

    def forward(self, features: Tensor, descriptor: Tensor) -> Theta:
        """Predicts θ from features (B, w, h, h) and descriptor (B, d)."""
        t = self["t"](features).sigmoid().clamp(c.T_MIN, 1.0)  # (B, 1, h, h)
        v = self["v"](features).sigmoid() if "v" in self else torch.zeros_like(t)
        a = F.softplus(self["a"](features)) if "a" in self else torch.zeros_like(t)
        matrix, bias = self._affine(descriptor)
        mean, recolor, blend = self._covariance(descriptor)
        return Theta(t, v, a, self._tone(descriptor), self._chroma(descriptor), matrix, bias, mean, recolor, blend)

    def _tone(self, descriptor: Tensor) -> Tensor:
        if "tone" not in self:
            line = torch.linspace(0.0, 1.0, c.TONE_INCREMENTS + 1, dtype=descriptor.dtype, device=descriptor.device)
            return line.expand(len(descriptor), -1)
        return monotone_curve(self["tone"](descriptor))  # (B, 33)

    def _chroma(self, descriptor: Tensor) -> Tensor:
        raw: Tensor = self["chroma"](descriptor)
        if self.config.chroma == "curves":
            return _curves_table(raw)
        if self.config.chroma == "affine":
            return _affine_table(raw)
        grid = self.config.lut_grid
        return _identity(grid, raw) + raw.view(-1, 2, grid, grid)

    def _affine(self, descriptor: Tensor) -> tuple[Tensor, Tensor]:
        if "affine" not in self:
            eye = torch.eye(3, dtype=descriptor.dtype, device=descriptor.device)
            return eye.expand(len(descriptor), 3, 3), descriptor.new_zeros(len(descriptor), 3)
        raw = self["affine"](descriptor)
        return raw[:, :9].view(-1, 3, 3), raw[:, 9:]

    def _covariance(self, descriptor: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        if "covariance" not in self:
            eye = torch.eye(3, dtype=descriptor.dtype, device=descriptor.device)
            mean = descriptor.new_zeros(len(descriptor), 3)
            return mean, eye.expand(len(descriptor), 3, 3), descriptor.new_zeros(len(descriptor))
        raw = self["covariance"](descriptor)
        g00, g10, g11, g20, g21, g22 = raw[:, 3:9].unbind(1)
        zero = torch.zeros_like(g00)
        recolor = torch.stack([g00, zero, zero, g10, g11, zero, g20, g21, g22], dim=1).view(-1, 3, 3)
        return raw[:, :3], recolor, raw[:, 9].sigmoid()


def monotone_curve(raw: Tensor) -> Tensor:
    """Turns (..., n) raw values into n + 1 samples of a strictly increasing curve from 0 to 1."""
    cumulative = (F.softplus(raw) + c.TONE_FLOOR).cumsum(-1)
    return F.pad(cumulative / cumulative[..., -1:], (1, 0))


def _curves_table(raw: Tensor) -> Tensor:
    """Two independent curves as a table: bilinear lookup of a separable table is the two curves, exactly."""
    curves = 2.0 * monotone_curve(raw.view(-1, 2, c.CURVE_INCREMENTS)) - 1.0  # (B, 2, 17)
    size = curves.shape[-1]
    cb = curves[:, 0, None, :].expand(-1, size, -1)
    cr = curves[:, 1, :, None].expand(-1, -1, size)
    return torch.stack([cb, cr], dim=1)


def _affine_table(raw: Tensor) -> Tensor:
    """One affine map of (Cb, Cr), identity plus residual, as the 2x2 table of its corners: bilinear lookup is exact."""
    corners = _identity(2, raw)  # (2, 2, 2)
    change = torch.einsum("bij,jkl->bikl", raw[:, :4].view(-1, 2, 2), corners)
    return corners + change + raw[:, 4:, None, None]


def _identity(grid: int, like: Tensor) -> Tensor:
    return torch.from_numpy(identity_lut(grid)).to(like)
