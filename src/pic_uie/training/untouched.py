"""Pictures that need nothing (good, from land, dark, of one colour), to be trained on as their own targets."""

from __future__ import annotations

import math
from dataclasses import fields
from itertools import accumulate

import numpy as np
import torch
from torch import Tensor

from pic_uie.training.config import UntouchedKinds

LEVEL = 1.0 / 255.0
GAMMA = 2.2


def untouched(reference: Tensor, kinds: UntouchedKinds, rng: np.random.Generator) -> tuple[Tensor, bool]:
    """Makes an identity sample, a picture that should not change, out of the reference of a pair.

    Returns:
        The picture, (3, S, S) in steps of 8 bits, and whether the pair's depth map still belongs to it.
    """
    shares = [getattr(kinds, entry.name) for entry in fields(kinds)]
    draw = rng.random() * sum(shares)
    good, land, dark, plain, grey, _ = accumulate(shares)
    if draw < good:
        return reference, True
    if draw < land:
        picture = _from_land(reference, rng)
    elif draw < dark:
        picture = _dark(_from_land(reference, rng) if rng.random() < 0.5 else reference, rng)
    elif draw < plain:
        picture = _plain(reference.shape, rng)
    elif draw < grey:
        picture = _grey(reference.shape, rng)
    else:
        picture = _sheet(reference.shape, rng)
    return picture.div(LEVEL).round().mul(LEVEL).clamp(0.0, 1.0), draw < dark


def _from_land(reference: Tensor, rng: np.random.Generator) -> Tensor:
    """Other colours, in a light that water never has: red strongest, blue weakest."""
    picture = reference[torch.from_numpy(rng.permutation(3))]
    grey = picture.mean(dim=0, keepdim=True)
    picture = grey + rng.uniform(0.0, 1.3) * (picture - grey)
    stops = rng.random() * np.sort(rng.uniform(-1.0, 0.2, 3))[::-1]
    gains = torch.tensor(2.0**stops, dtype=picture.dtype)
    return picture.clamp(0.0, 1.0).pow(rng.uniform(0.7, 1.5)) * gains[:, None, None]


def _dark(picture: Tensor, rng: np.random.Generator) -> Tensor:
    """Exposed 3.5 to 9 stops too short, with the noise of a sensor."""
    exposure = math.exp2(-rng.uniform(3.5, 9.0) / GAMMA)
    return picture.clamp(0.0, 1.0) * exposure + _noise(picture.shape, rng)


def _plain(shape: torch.Size, rng: np.random.Generator) -> Tensor:
    """One colour, grey or not, down to black and up to white; perhaps fading towards another, perhaps with noise."""
    start, end = (_colour(rng)[:, None, None] for _ in range(2))
    share = rng.uniform(0.0, 0.2) if rng.random() < 0.5 else 0.0
    fade = torch.linspace(0.0, share, shape[-1])
    plain = (start + fade * (end - start)).expand(shape)
    return plain + _noise(shape, rng) if rng.random() < 0.7 else plain


def _grey(shape: torch.Size, rng: np.random.Generator) -> Tensor:
    """One grey, half of them a white sheet."""
    if rng.random() < 0.5:
        plain = torch.full(shape, float(np.clip(rng.uniform(-0.2, 1.2), 0.0, 1.0)))
    else:
        plain = _white_sheet(shape, rng, shade=0.2)
    return _perhaps_noisy(plain, rng)


def _sheet(shape: torch.Size, rng: np.random.Generator) -> Tensor:
    """A white sheet, one in four times a black one."""
    black = rng.random() < 0.25
    plain = torch.full(shape, rng.uniform(0.0, 0.02)) if black else _white_sheet(shape, rng, shade=0.1)
    return _perhaps_noisy(plain, rng)


def _white_sheet(shape: torch.Size, rng: np.random.Generator, shade: float) -> Tensor:
    """Half of them plain white, the others darker by up to `shade`, lit from one side and hardly tinted."""
    sheet = 1.0 - shade * rng.random() ** 2 - rng.uniform(0.0, 0.02, 3)
    light = torch.linspace(1.0, 1.0 - rng.uniform(0.0, shade / 2), shape[-1])
    white = (torch.tensor(sheet, dtype=torch.float32)[:, None, None] * light).expand(shape)
    return white if rng.random() < 0.5 else torch.ones(shape)


def _perhaps_noisy(plain: Tensor, rng: np.random.Generator) -> Tensor:
    return plain + _noise(plain.shape, rng) if rng.random() < 0.5 else plain


def _colour(rng: np.random.Generator) -> Tensor:
    channels = rng.uniform(-0.2, 1.2, 3) if rng.random() < 0.7 else np.full(3, rng.uniform(-0.2, 1.2))
    return torch.tensor(channels.clip(0.0, 1.0), dtype=torch.float32)


def _noise(shape: torch.Size, rng: np.random.Generator) -> Tensor:
    return torch.from_numpy(rng.standard_normal(tuple(shape), dtype=np.float32)) * (rng.uniform(0.0, 2.5) * LEVEL)
