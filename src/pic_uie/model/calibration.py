"""K: moves an image's colour mean and covariance towards predicted ones."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from pic_uie import constants as c


def calibrate(z: Tensor, mean: Tensor, recolor: Tensor, blend: Tensor) -> Tensor:
    """K(z) of Eq. 4, before its clip.

    Args:
        z: z¹, (B, 3, H, W).
        mean: u, (B, 3).
        recolor: G, (B, 3, 3).
        blend: α, (B,).
    """
    m, covariance = color_statistics(z)
    slope, offset = fold(m, covariance, mean, recolor, blend)
    return apply_affine(z, slope.to(z.dtype), offset.to(z.dtype))


def fold(m: Tensor, covariance: Tensor, mean: Tensor, recolor: Tensor, blend: Tensor) -> tuple[Tensor, Tensor]:
    """Folds K into one affine map per image: slope (B, 3, 3) and offset (B, 3), in double."""
    eye = torch.eye(3, dtype=torch.float64, device=m.device)
    whiten: Tensor = InverseSquareRoot.apply(covariance + c.COVARIANCE_EPS * eye)  # type: ignore[no-untyped-call]
    alpha = blend.double()[:, None, None]
    stretch = recolor.double() @ whiten  # G S^(-1/2)
    slope = (1.0 - alpha) * eye + alpha * stretch
    offset = alpha * (mean.double()[:, :, None] - stretch @ m[:, :, None])
    return slope, offset[:, :, 0]


def apply_affine(z: Tensor, matrix: Tensor, bias: Tensor) -> Tensor:
    """Computes matrix · z + bias at every pixel: (B, 3, H, W), (B, 3, 3), (B, 3)."""
    return torch.einsum("bij,bjhw->bihw", matrix, z) + bias[:, :, None, None]


def color_statistics(z: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the mean m (B, 3) and covariance (B, 3, 3; N - 1) of z (B, 3, H, W), in double.

    Single precision would lose the small eigenvalues, which S^(-1/2) amplifies a hundredfold.
    """
    pixels = z.flatten(2).double()
    m = pixels.mean(-1)
    centred = pixels - m[:, :, None]
    return m, centred @ centred.transpose(1, 2) / max(pixels.shape[-1] - 1, 1)  # one pixel: covariance 0


class InverseSquareRoot(torch.autograd.Function):
    """S^(-1/2) of symmetric matrices, with a gradient that stays finite when eigenvalues coincide.

    The derivative of a matrix function is its table of divided differences in the eigenbasis; for x^(-1/2) these are
    -1 / (√λi √λj (√λi + √λj)), without the 1 / (λi - λj) of the eigenvectors' own derivatives.
    """

    @staticmethod
    def forward(ctx: Any, S: Tensor) -> Tensor:
        """(B, 3, 3) to (B, 3, 3)."""
        eigenvalues, Q = torch.linalg.eigh(S)
        root = eigenvalues.clamp_min(c.EIGENVALUE_FLOOR).sqrt()
        ctx.save_for_backward(root, Q)
        result: Tensor = (Q / root[:, None, :]) @ Q.mT
        return result

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        """Maps the gradient through the divided differences."""
        root, Q = ctx.saved_tensors
        i, j = root[:, :, None], root[:, None, :]
        differences = -1.0 / (i * j * (i + j))
        (gradient,) = gradients
        symmetric = 0.5 * (gradient + gradient.mT)
        result: Tensor = Q @ (differences * (Q.mT @ symmetric @ Q)) @ Q.mT
        return result
