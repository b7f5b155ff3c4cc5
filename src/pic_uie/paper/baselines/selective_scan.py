"""The selective scan of state-space models in plain PyTorch, and its four-direction form on feature maps.

The state follows h_t = exp(Δ_t A) h_{t-1} + Δ_t B_t x_t, and y_t = C_t h_t + D x_t is read from it. Steps are taken
in chunks: within a chunk all states are found by doubling, between chunks only the last state is carried.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

CHUNK = 16  # steps at once: fewer are slower, more take more memory
STATE = 16  # values of state for each channel


def selective_scan(x: Tensor, delta: Tensor, a: Tensor, b: Tensor, c: Tensor, d: Tensor) -> Tensor:
    """Runs the recurrence over the last axis.

    Args:
        x: (B, G, E, L) inputs: G independent directions of E channels.
        delta: (B, G, E, L) positive step sizes.
        a: (G, E, N) negative rates; G may be 1, as in d.
        b: (B, G, N, L) how inputs enter the state.
        c: (B, G, N, L) how the state is read.
        d: (G, E) how inputs pass by.

    Returns:
        (B, G, E, L).
    """
    if x.is_meta:
        return torch.empty_like(x)  # only shapes are asked for: a million steps have none of their own
    state = x.new_zeros(*x.shape[:3], a.shape[-1])  # (B, G, E, N)
    read = []
    for start in range(0, x.shape[-1], CHUNK):
        part = slice(start, start + CHUNK)
        steps = delta[..., part].transpose(-1, -2)[..., None]  # (B, G, l, E, 1)
        inputs = steps * x[..., part].transpose(-1, -2)[..., None] * b[..., part].transpose(-1, -2)[..., None, :]
        states = _chunk(steps * a[:, None], inputs, state)  # (B, G, l, E, N)
        read.append((states * c[..., part].transpose(-1, -2)[..., None, :]).sum(dim=-1))
        state = states[:, :, -1]
    return torch.cat(read, dim=2).transpose(-1, -2) + d[:, :, None] * x


def _chunk(rates: Tensor, inputs: Tensor, state: Tensor) -> Tensor:
    """Returns the states of a chunk by doubling: after round k every step has seen the 2^k steps before it.

    Decays are below 1 and only multiplied, never divided: nothing overflows, however long a step is.
    """
    length = rates.shape[2]
    decay, value = rates.exp(), inputs.clone()
    value = torch.cat([value[:, :, :1] + decay[:, :, :1] * state[:, :, None], value[:, :, 1:]], dim=2)
    reach = 1
    while reach < length:
        shifted = F.pad(value[:, :, :-reach], (0, 0, 0, 0, reach, 0))
        value = value + decay * shifted
        decay = decay * F.pad(decay[:, :, :-reach], (0, 0, 0, 0, reach, 0), value=1.0)
        reach *= 2
    return value


class Scan(nn.Module):
    """The parameters of `selective_scan`: what step, entry and reading are predicted from each input.

    Args:
        width: Channels E.
        directions: G.
        rank: Size of the bottleneck that predicts the step.
        shared: Whether the directions have their rates, first steps and bypasses in common.
    """

    def __init__(self, width: int, directions: int, rank: int, shared: bool = False) -> None:
        super().__init__()
        self.width, self.directions, self.rank = width, directions, rank
        own = 1 if shared else directions
        self.select = nn.Conv1d(directions * width, directions * (rank + 2 * STATE), 1, groups=directions, bias=False)
        self.step = nn.Conv1d(directions * rank, directions * width, 1, groups=directions, bias=False)
        first = torch.exp(torch.empty(own, width).uniform_(math.log(1e-3), math.log(1e-1)))
        self.step_bias = nn.Parameter(first + torch.log(-torch.expm1(-first)))  # softplus gives `first`
        rates = torch.arange(1, STATE + 1, dtype=torch.float32).log()
        self.log_rates = nn.Parameter(rates.expand(own, width, STATE).clone())
        self.passing = nn.Parameter(torch.ones(own, width))

    def forward(self, x: Tensor) -> Tensor:
        """(B, G, E, L) to the same."""
        groups = (self.directions, -1)
        selected = self.select(x.flatten(1, 2)).unflatten(1, groups)
        step, b, c = selected.split([self.rank, STATE, STATE], dim=2)
        delta = F.softplus(self.step(step.flatten(1, 2)).unflatten(1, groups) + self.step_bias[:, :, None])
        return selective_scan(x, delta, -self.log_rates.exp(), b, c, self.passing)


class SpatialScan(nn.Module):
    """A gated scan of a feature map along rows, along columns, and both ways back.

    Args:
        width: Channels.
        expand: Channels of the scan for each of them.
    """

    def __init__(self, width: int, expand: int = 2) -> None:
        super().__init__()
        inner = expand * width
        self.enter = nn.Linear(width, 2 * inner, bias=False)
        self.depthwise = nn.Conv2d(inner, inner, 3, padding=1, groups=inner)
        self.scan = Scan(inner, 4, math.ceil(width / 16))
        self.norm = nn.LayerNorm(inner)
        self.leave = nn.Linear(inner, width, bias=False)

    def forward(self, features: Tensor) -> Tensor:
        """(B, C, H, W) to the same."""
        height, width = features.shape[-2:]
        value, gate = self.enter(features.permute(0, 2, 3, 1)).chunk(2, dim=-1)  # (B, H, W, E) each
        value = F.silu(self.depthwise(value.permute(0, 3, 1, 2)))
        mixed = four_ways_back(self.scan(four_ways(value)), height, width)  # (B, E, H, W)
        left: Tensor = self.leave(self.norm(mixed.permute(0, 2, 3, 1)) * F.silu(gate))
        return left.permute(0, 3, 1, 2)


def four_ways(features: Tensor) -> Tensor:
    """(B, E, H, W) to (B, 4, E, H * W): row by row, column by column, and both from the end."""
    rows, columns = features.flatten(2), features.transpose(2, 3).flatten(2)
    return torch.stack([rows, columns, rows.flip(-1), columns.flip(-1)], dim=1)


def four_ways_back(scanned: Tensor, height: int, width: int) -> Tensor:
    """Adds the four directions, each back in its place: the reverse of `four_ways`."""
    rows = (scanned[:, 0] + scanned[:, 2].flip(-1)).reshape(*scanned.shape[:1], -1, height, width)
    columns = (scanned[:, 1] + scanned[:, 3].flip(-1)).reshape(*scanned.shape[:1], -1, width, height)
    return rows + columns.transpose(2, 3)
