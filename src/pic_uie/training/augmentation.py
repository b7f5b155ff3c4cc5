"""From stored pairs to a batch: the same geometry for input, target and depth, seeded by place and not by history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from pic_uie.training.config import Augmentation, Recipe
from pic_uie.training.grain import grainy
from pic_uie.training.pairs import Pairs
from pic_uie.training.unlabelled import Answered
from pic_uie.training.untouched import untouched

Pictures = tuple[Tensor, Tensor, Tensor]  # input and target (3, S, S), depth (1, S, S) or nothing (0, S, S)


class Batch(NamedTuple):
    """What one step sees."""

    inputs: Tensor  # (B, 3, S, S) in [0, 1]
    targets: Tensor  # (B, 3, S, S) in [0, 1]
    depths: Tensor | None  # (B, 1, S, S), larger = farther
    unanswered: list[int]  # samples whose target the teachers give

    def to(self, device: str) -> Batch:
        """Moves the batch."""
        depths = None if self.depths is None else self.depths.to(device)
        return Batch(self.inputs.to(device), self.targets.to(device), depths, self.unanswered)


def epoch_order(count: int, seed: int, epoch: int) -> list[int]:
    """The order in which an epoch visits the pairs."""
    return [int(index) for index in np.random.default_rng([seed, epoch, 0]).permutation(count)]


def make_batch(pairs: Pairs, indices: Sequence[int], recipe: Recipe, epoch: int, real: Answered | None = None) -> Batch:
    """Collects and augments pairs; each draws from its own generator, so a batch may be split over processes."""
    generators = [np.random.default_rng([recipe.seed, epoch, 1, index]) for index in indices]
    samples = [_sample(pairs, index, recipe, real, rng) for index, rng in zip(indices, generators, strict=True)]
    pictures, has_target = zip(*samples, strict=True)
    inputs, targets, depths = (torch.stack(kind) for kind in zip(*pictures, strict=True))
    unanswered = [place for place, known in enumerate(has_target) if not known]
    return Batch(inputs, targets, depths if recipe.uses_depth else None, unanswered)


def _sample(
    pairs: Pairs, index: int, recipe: Recipe, real: Answered | None, rng: np.random.Generator
) -> tuple[Pictures, bool]:
    """Returns input, target and depth, and whether the target is an answer to the input."""
    teaching = recipe.teaching
    if not teaching.share or rng.random() >= teaching.share:
        return _augmented(pairs, index, recipe, recipe.augmentation, rng), True
    if real is not None and rng.random() < teaching.real:
        return _real(real, recipe, rng), True
    pictures = _augmented(pairs, index, recipe, teaching.augmentation, rng)
    if rng.random() < teaching.mixture:
        others = _augmented(pairs, int(rng.integers(len(pairs))), recipe, teaching.augmentation, rng)
        weight = rng.uniform(0.0, 0.5)
        picture, target, depth = (one.lerp(other, weight) for one, other in zip(pictures, others, strict=True))
        pictures = picture, target, depth
    return pictures, False


def _real(real: Answered, recipe: Recipe, rng: np.random.Generator) -> Pictures:
    index = real.draw(recipe.teaching.agreement, rng)
    stack = torch.cat([_planes(real.pictures.inputs[index]), _planes(real.answers[index])])
    stack = _turn(stack, recipe.teaching.augmentation, rng)
    depth = torch.zeros((1 if recipe.uses_depth else 0, *stack.shape[1:]))  # a flat depth has no gradient
    return grainy(stack[:3], recipe.teaching.augmentation, rng), stack[3:], depth


def _augmented(
    pairs: Pairs, index: int, recipe: Recipe, augmentation: Augmentation, rng: np.random.Generator
) -> Pictures:
    planes = [_planes(pairs.inputs[index]), _planes(pairs.targets[index])]
    if recipe.uses_depth:
        planes.append(_depth(pairs, index, recipe, rng))
    stack = torch.cat(planes)  # (6 or 7, S, S)
    stack = _turn(stack, augmentation, rng)
    stack = _crop(stack, augmentation, rng)
    picture, target, depth = stack[:3], stack[3:6], stack[6:]
    if augmentation.untouched and rng.random() < augmentation.untouched:
        kept, has_depth = untouched(target, augmentation.kinds, rng)
        return kept, kept, depth if has_depth else torch.zeros_like(depth)  # a flat depth has no gradient
    picture = _worsen(picture, target, augmentation, rng)
    return grainy(_relight(picture, augmentation, rng), augmentation, rng), target, depth


def _depth(pairs: Pairs, index: int, recipe: Recipe, rng: np.random.Generator) -> Tensor:
    if pairs.depths is None or recipe.depth_target == "noise":
        return torch.tensor(rng.random((1, *pairs.inputs.shape[1:3]), dtype=np.float32))
    if recipe.depth_target == "shuffled":
        index = (index + 1 + int(np.random.default_rng([recipe.seed, 2]).integers(len(pairs) - 1))) % len(pairs)
    return _planes(pairs.depths[index][:, :, None])


def _planes(pixels: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(pixels.transpose(2, 0, 1))).float() / 255.0


def _turn(stack: Tensor, augmentation: Augmentation, rng: np.random.Generator) -> Tensor:
    if augmentation.flips:
        axes = [axis for axis in (1, 2) if rng.random() < 0.5]
        stack = stack.flip(axes)
    if augmentation.rotations:
        stack = stack.rot90(int(rng.integers(4)), (1, 2))
    return stack


def _crop(stack: Tensor, augmentation: Augmentation, rng: np.random.Generator) -> Tensor:
    if augmentation.crop == 1.0:
        return stack
    size = stack.shape[-1]
    side = round(size * rng.uniform(augmentation.crop, 1.0))
    top, left = (int(rng.integers(size - side + 1)) for _ in range(2))
    window = stack[None, :, top : top + side, left : left + side]
    resized = F.interpolate(window, (size, size), mode="bicubic", align_corners=False)[0]
    return resized.clamp(0.0, 1.0)


def _worsen(picture: Tensor, target: Tensor, augmentation: Augmentation, rng: np.random.Generator) -> Tensor:
    if augmentation.severity == 0.0:
        return picture
    severity = rng.uniform(1.0 - augmentation.severity, 1.0 + augmentation.severity)
    return (target + severity * (picture - target)).clamp(0.0, 1.0)


def _relight(picture: Tensor, augmentation: Augmentation, rng: np.random.Generator) -> Tensor:
    if augmentation.exposure == 0.0 and augmentation.cast == 0.0:
        return picture
    exposure = rng.uniform(-augmentation.exposure, augmentation.exposure)
    stops = exposure + rng.uniform(-augmentation.cast, augmentation.cast, 3)
    gains = torch.tensor(2.0**stops, dtype=picture.dtype)
    return (picture * gains[:, None, None]).clamp(0.0, 1.0)
