"""After the last epoch: what must not change is brought back to itself, while pictures keep what they became.

Identity samples among the pairs pull on every weight and cost the pairs. Here only the linear end of the predictor
moves, and every picture holds it where it was: a white sheet lies so far from all pictures that little else follows.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from itertools import islice

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from pic_uie.model import PicUie
from pic_uie.model.predictor import make_thumbnail, rgb_statistics
from pic_uie.model.theta import Theta
from pic_uie.training.config import Settling, UntouchedKinds
from pic_uie.training.untouched import LEVEL, untouched
from pic_uie.weights.layout import global_heads

SIDE = 48  # of the pictures that are compared: global corrections need no more
BATCH = 32
CHUNK = 16
MOST_PICTURES = 1024
FADED = 0.3  # pale copies, for each picture
OTHERS = 0.15  # identity samples that keep their results, for each picture
OTHER_KINDS = UntouchedKinds(good=0.0, land=0.1, dark=0.45, plain=0.45)
STRUCTURE = 0.3  # what a change of local contrast counts beside a change of the pixels
WINDOW = 7
NOISE = 0.0009  # variance of a window in which contrast no longer shows, as in SSIM
Bytes = NDArray[np.uint8]


def settle(
    model: PicUie,
    inputs: Bytes,
    references: Bytes,
    settling: Settling,
    seed: int,
) -> PicUie:
    """Returns a copy of the model that leaves identity samples alone and does to the inputs what the model does.

    Args:
        model: What was trained.
        inputs: Pictures whose results are kept, (N, S, S, 3).
        references: What identity samples are made of, (M, S, S, 3).
        settling: How far, and on which samples.
        seed: Of samples and order.
    """
    settled = copy.deepcopy(model).eval()
    device = next(settled.parameters()).device
    rng = np.random.default_rng((seed, len(inputs), len(references)))
    few = rng.permutation(len(inputs))[:MOST_PICTURES]
    kept = _Looked(settled, _kept(inputs, references, few, rng), device)
    same = _Looked(settled, _made(references, settling.kinds, settling.samples, rng), device)
    kept.wanted = kept.enhance_all(settled)
    same.wanted = same.small

    optimizer = torch.optim.Adam(_linear_end(settled), lr=settling.learning_rate)
    for step in range(settling.steps):
        for group in optimizer.param_groups:
            group["lr"] = settling.learning_rate * (1.0 - step / settling.steps)
        of_pictures, of_contrast = kept.distances(settled, rng)
        of_samples, _ = same.distances(settled, rng)
        loss = of_pictures + STRUCTURE * of_contrast + settling.weight * of_samples
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return settled.train(model.training)


def _kept(inputs: Bytes, references: Bytes, few: NDArray[np.int64], rng: np.random.Generator) -> Iterator[Tensor]:
    """What keeps its result: pictures, and what is as plain or as dark as identity samples and would follow them."""
    yield from (_tensor(inputs[i]) for i in few)
    for i in rng.integers(len(inputs), size=int(FADED * len(few))):
        yield _faded(_tensor(inputs[i]), rng)
    yield from _made(references, OTHER_KINDS, int(OTHERS * len(few)), rng)


def _made(references: Bytes, kinds: UntouchedKinds, count: int, rng: np.random.Generator) -> Iterator[Tensor]:
    for _ in range(count):
        yield untouched(_tensor(references[rng.integers(len(references))]), kinds, rng)[0]


def _faded(picture: Tensor, rng: np.random.Generator) -> Tensor:
    """A picture with little contrast left, at any brightness, nearer to grey."""
    mean = picture.mean(dim=(1, 2), keepdim=True)
    tint = (mean / mean.mean().clamp(min=LEVEL)).clamp(0.7, 1.3)
    veil = 0.3 * mean + 0.7 * rng.uniform(0.25, 0.85) * tint
    return (veil + rng.uniform(0.1, 0.6) * (picture - mean)).div(LEVEL).round().mul(LEVEL).clamp(0.0, 1.0)


class _Looked:
    """Pictures that the body has looked at once: it does not move."""

    wanted: Tensor  # (N, 3, SIDE, SIDE)

    @torch.no_grad()
    def __init__(self, model: PicUie, pictures: Iterator[Tensor], device: torch.device) -> None:
        features, statistics, small = [], [], []
        while chunk := list(islice(pictures, CHUNK)):
            rgb = torch.stack(chunk).to(device)
            thumbnail = make_thumbnail(rgb, model.config.thumbnail)
            features.append(model.predictor.body(model.predictor.view(thumbnail)))
            statistics.append(rgb_statistics(thumbnail))
            small.append(F.interpolate(rgb, (SIDE, SIDE), mode="area"))
        self.features, self.statistics, self.small = torch.cat(features), torch.cat(statistics), torch.cat(small)

    def enhance(self, model: PicUie, chosen: Tensor) -> Tensor:
        """The small pictures of some places, enhanced: (B, 3, SIDE, SIDE)."""
        theta: Theta = model.predictor.finish(self.features[chosen], self.statistics[chosen])
        enhanced: Tensor = model.executor(self.small[chosen], theta)
        return enhanced

    @torch.no_grad()
    def enhance_all(self, model: PicUie) -> Tensor:
        """All of them, enhanced: (N, 3, SIDE, SIDE)."""
        starts = range(0, len(self.small), CHUNK)
        return torch.cat([self.enhance(model, torch.arange(i, min(i + CHUNK, len(self.small)))) for i in starts])

    def distances(self, model: PicUie, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
        """Mean squared error of a random batch, and that of its local contrast beside the contrast that is there."""
        chosen = torch.from_numpy(rng.integers(len(self.small), size=BATCH))
        wanted = self.wanted[chosen]
        error = self.enhance(model, chosen) - wanted
        contrast = (error - _local_mean(error)).square() / (
            _local_mean((wanted - _local_mean(wanted)).square()) + NOISE
        )
        return error.square().mean(), contrast.mean()


def _local_mean(pictures: Tensor) -> Tensor:
    return F.avg_pool2d(pictures, WINDOW, stride=1, padding=WINDOW // 2, count_include_pad=False)


def _linear_end(model: PicUie) -> list[torch.nn.Parameter]:
    heads = [model.predictor.heads[name] for name in global_heads(model.config)]
    projection = [model.predictor.statistics] if model.config.statistics == "projected" else []
    return [parameter for part in (*heads, *projection) for parameter in part.parameters()]


def _tensor(picture: Bytes) -> Tensor:
    return torch.from_numpy(picture).permute(2, 0, 1).float().div(255.0)
