"""The objective, term by term."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from pic_uie.config import ModelConfig
from pic_uie.model.theta import Theta
from pic_uie.training.config import LossWeights
from pic_uie.training.structure import ms_ssim, ssim, structure_means

SMALLEST_T = 1e-3
DEVIATION_EPS = 1e-6


def objective(
    enhanced: Tensor,
    target: Tensor,
    theta: Theta | None,
    depth: Tensor | None,
    weights: LossWeights,
    model: ModelConfig,
) -> dict[str, Tensor]:
    """Returns each term in use, weighted, and their sum under "total"."""
    terms: dict[str, Tensor] = {}
    if weights.l1:
        terms["l1"] = weights.l1 * F.l1_loss(enhanced, target)
    if weights.red:
        terms["red"] = weights.red * F.l1_loss(enhanced[:, 0], target[:, 0])
    if weights.ssim or weights.ms_ssim:
        means = structure_means(enhanced, target, 5 if weights.ms_ssim else 1)
        if weights.ssim:
            terms["ssim"] = weights.ssim * (1.0 - ssim(means))
        if weights.ms_ssim:
            terms["ms_ssim"] = weights.ms_ssim * (1.0 - ms_ssim(means))
    if theta is not None:
        if weights.depth and depth is not None:
            terms["depth"] = weights.depth * depth_loss(theta.t, depth)
        if weights.lut_smoothness and model.chroma == "lut":
            terms["lut_smoothness"] = weights.lut_smoothness * lut_smoothness(theta.lut)
        if weights.lut_monotonicity and model.chroma == "lut":
            terms["lut_monotonicity"] = weights.lut_monotonicity * lut_monotonicity(theta.lut)
    terms["total"] = torch.stack([term.to(enhanced.dtype) for term in terms.values()]).sum()
    return terms


def depth_loss(t: Tensor, depth: Tensor) -> Tensor:
    """ℓ_d = 1 - ρ(-log t, d), mean over the batch (Eq. 5)."""
    return (1.0 - depth_correlation(t, depth)).mean()


def depth_correlation(t: Tensor, depth: Tensor) -> Tensor:
    """ρ of each picture: (B, 1, h, w) and (B, 1, H, W) to (B,)."""
    depth = F.interpolate(depth, t.shape[-2:], mode="bilinear", align_corners=False)
    return (_standardised(-t.clamp(SMALLEST_T, 1.0).log()) * _standardised(depth)).mean(dim=(1, 2, 3))


def _standardised(field: Tensor) -> Tensor:
    centred = field - field.mean(dim=(1, 2, 3), keepdim=True)
    variance = centred.square().mean(dim=(1, 2, 3), keepdim=True)
    varied = variance > 0  # a flat field has no gradient through its deviation
    deviation = torch.where(varied, torch.where(varied, variance, 1.0).sqrt(), 0.0)
    return centred / (deviation + DEVIATION_EPS)


def lut_smoothness(lut: Tensor) -> Tensor:
    """L_S: mean squared finite difference along each axis of U, summed over the axes."""
    return lut.diff(dim=-1).square().mean() + lut.diff(dim=-2).square().mean()


def lut_monotonicity(lut: Tensor) -> Tensor:
    """L_M: where Cb' falls along Cb, and Cr' along Cr."""
    return (-lut[:, 0].diff(dim=-1)).relu().mean() + (-lut[:, 1].diff(dim=-2)).relu().mean()
