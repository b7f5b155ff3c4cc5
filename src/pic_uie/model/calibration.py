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
    m, S = color_statistics(z)
    alpha = blend.double()[:, None, None]
    eye = torch.eye(3, dtype=torch.float64, device=z.device)
    whiten: Tensor = InverseSquareRoot.apply(S)  # type: ignore[no-untyped-call]
    slope = (1.0 - alpha) * eye + alpha * (recolor.double() @ whiten)  # (B, 3, 3)
    pulled = alpha[:, :, 0] * (mean.double() - (recolor.double() @ whiten @ m[:, :, None])[:, :, 0])  # (B, 3)
    return apply_affine(z, slope.to(z.dtype), pulled.to(z.dtype))


def apply_affine(z: Tensor, matrix: Tensor, bias: Tensor) -> Tensor:
    """Computes matrix · z + bias at every pixel: (B, 3, H, W), (B, 3, 3), (B, 3)."""
    return torch.einsum("bij,bjhw->bihw", matrix, z) + bias[:, :, None, None]


def color_statistics(z: Tensor) -> tuple[Tensor, Tensor]:
    """Returns m (B, 3) and the regularised covariance S (B, 3, 3) of z (B, 3, H, W), in double.

    Single precision would lose the small eigenvalues of S, which S^(-1/2) amplifies a hundredfold.
    """
    pixels = z.flatten(2).double()
    m = pixels.mean(-1)
    centred = pixels - m[:, :, None]
    S = centred @ centred.transpose(1, 2) / max(pixels.shape[-1] - 1, 1)  # one pixel: covariance 0
    return m, S + c.COVARIANCE_EPS * torch.eye(3, dtype=S.dtype, device=S.device)


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
