"""SSIM and MS-SSIM, from one set of local statistics: Gaussian window 11, σ 1.5, valid region, data range 1."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from pic_uie import _training

WINDOW, SIGMA = 11, 1.5
C1, C2 = 0.01**2, 0.03**2
SCALE_WEIGHTS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)  # Wang et al. 2003


def ssim(means: Tensor) -> Tensor:
    """Mean SSIM, from what `structure_means` returns."""
    return means[:, :, 0, 0].mean()


def ms_ssim(means: Tensor) -> Tensor:
    """Mean MS-SSIM, from what `structure_means` returns for five scales; negative factors count as 0."""
    factors = torch.cat([means[:, :, :-1, 1], means[:, :, -1:, 0]], dim=2).relu()  # (B, C, 5)
    return (factors ** means.new_tensor(SCALE_WEIGHTS)).prod(dim=2).mean()


def structure_means(x: Tensor, y: Tensor, scales: int = len(SCALE_WEIGHTS)) -> Tensor:
    """Means over the map of SSIM and of its contrast-structure factor at each scale: (B, C, scales, 2), in double.

    Args:
        x: (B, C, H, W) in [0, 1].
        y: Like x; has no gradient.
        scales: 1 for SSIM alone, 5 for MS-SSIM.
    """
    if x.device.type == "cpu" and not y.requires_grad:
        means: Tensor = _StructureMeans.apply(x, y, scales)  # type: ignore[no-untyped-call]
        return means
    return portable_structure_means(x, y, scales)


class _StructureMeans(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, scales: int) -> Tensor:
        shape = x.shape
        x, y = x.contiguous().flatten(0, 1), y.contiguous().flatten(0, 1)
        means = x.new_empty(len(x), scales, 2, dtype=torch.float64)
        _training.structure(x.detach().numpy(), y.numpy(), scales, means.numpy(), torch.get_num_threads())
        ctx.save_for_backward(x, y)
        ctx.shape = shape
        return means.view(*shape[:2], scales, 2)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        x, y = ctx.saved_tensors
        coefficients = gradients[0].contiguous().flatten(0, 1)
        dx = torch.zeros_like(x)
        arrays = (x.numpy(), y.numpy(), coefficients.shape[1], coefficients.numpy(), dx.numpy())
        _training.structure_backward(*arrays, torch.get_num_threads())
        return dx.view(ctx.shape), None, None


def portable_structure_means(x: Tensor, y: Tensor, scales: int) -> Tensor:
    """`structure_means` in plain PyTorch, for any device: filters as products with banded matrices."""
    means = []
    for scale in range(scales):
        if scale:
            padding = [size % 2 for size in x.shape[-2:]]
            x, y = (F.avg_pool2d(image, 2, padding=padding) for image in (x, y))
        means.append(_scale_means(x, y))
    return torch.stack(means, dim=2).double()


def _scale_means(x: Tensor, y: Tensor) -> Tensor:
    rows, columns = _band(x.shape[-2]).to(x), _band(x.shape[-1]).to(x)
    moments = rows @ torch.stack([x, y, x * x, y * y, x * y]) @ columns.mT
    mx, my, xx, yy, xy = moments
    contrast = (2.0 * (xy - mx * my) + C2) / (xx - mx * mx + yy - my * my + C2)
    luminance = (2.0 * mx * my + C1) / (mx * mx + my * my + C1)
    return torch.stack([(luminance * contrast).mean((-2, -1)), contrast.mean((-2, -1))], dim=-1)  # (B, C, 2)


@lru_cache(maxsize=32)
def _band(size: int) -> Tensor:
    """The (size - 10, size) matrix that filters along one axis."""
    offsets = torch.arange(WINDOW) - WINDOW // 2
    window = torch.exp(-(offsets**2) / (2.0 * SIGMA**2))  # in single precision, as the published values have it
    window = window / window.sum()
    band = torch.zeros(size - WINDOW + 1, size)
    for row in range(len(band)):
        band[row, row : row + WINDOW] = window
    return band
