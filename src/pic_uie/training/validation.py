"""How good the averaged weights are on pictures that were not trained on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pic_uie.images import RGB8
from pic_uie.model import PicUie
from pic_uie.model.predictor import make_thumbnail
from pic_uie.training.losses import depth_correlation
from pic_uie.training.pairs import Pairs
from pic_uie.training.structure import structure_means
from pic_uie.training.trainee import Trainee


class Quality(NamedTuple):
    """Means over the pictures, predictions rounded to 8 bits."""

    psnr: float
    ssim: float
    depth_correlation: float  # of -log t with depth; NaN without depth maps
    depth_positive: float  # share of pictures where it is positive


@torch.no_grad()
def validate(model: nn.Module, pairs: Pairs, batch: int = 8) -> Quality:
    """Measures PSNR and SSIM over all pairs."""
    trainee = Trainee(model.eval())
    device = next(model.parameters()).device
    psnr, ssim, correlation = [], [], []
    for start in range(0, len(pairs), batch):
        inputs, targets = (planes(array[start : start + batch], device) for array in (pairs.inputs, pairs.targets))
        enhanced, theta = trainee(inputs)
        rounded = (enhanced * 255.0).round() / 255.0
        psnr += (-10.0 * (rounded - targets).double().square().mean(dim=(1, 2, 3)).log10()).tolist()
        ssim += structure_means(rounded, targets, 1)[:, :, 0, 0].mean(dim=1).tolist()
        if pairs.depths is not None and theta is not None:
            depths = planes(pairs.depths[start : start + batch, :, :, None], device)
            correlation += depth_correlation(theta.t, depths).tolist()
    positive = float(np.mean([value > 0 for value in correlation])) if correlation else float("nan")
    mean_correlation = float(np.mean(correlation)) if correlation else float("nan")
    return Quality(float(np.mean(psnr)), float(np.mean(ssim)), mean_correlation, positive)


@torch.no_grad()
def sample_sheet(model: nn.Module, pairs: Pairs, rows: int = 4) -> RGB8:
    """Input, result and target of the first pictures side by side: (rows · S, 3 · S, 3)."""
    device = next(model.parameters()).device
    inputs, targets = (planes(array[:rows], device) for array in (pairs.inputs, pairs.targets))
    enhanced, _ = Trainee(model.eval())(inputs)
    sheet = torch.cat([torch.cat(list(row), dim=2) for row in zip(inputs, enhanced, targets, strict=True)], dim=1)
    pixels: RGB8 = (sheet * 255.0).round().byte().permute(1, 2, 0).cpu().numpy()
    return pixels


def planes(pixels: NDArray[np.uint8], device: torch.device) -> Tensor:
    """(B, H, W, C) of 8 bits to (B, C, H, W) in [0, 1]."""
    return torch.from_numpy(pixels).to(device).permute(0, 3, 1, 2).contiguous().float() / 255.0


@torch.no_grad()
def depth_correlations(model: PicUie, pairs: Pairs, batch: int = 8) -> dict[str, float]:
    """Returns the correlation of -log t with depth of every picture; empty for models that predict no t.

    Raises:
        ValueError: The pairs have no depth maps.
    """
    if pairs.depths is None:
        raise ValueError("the correlation with depth needs pairs that were loaded with depth")
    if model.config.output != "corrections":
        return {}
    device = next(model.parameters()).device
    values: list[float] = []
    for start in range(0, len(pairs), batch):
        inputs = planes(pairs.inputs[start : start + batch], device)
        depths = planes(pairs.depths[start : start + batch, :, :, None], device)
        theta = model.predictor(make_thumbnail(inputs, model.config.thumbnail))
        values += depth_correlation(theta.t, depths).tolist()
    return dict(zip(pairs.stems, values, strict=True))
