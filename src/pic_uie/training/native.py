"""The model for training on a CPU: native kernels behind three autograd functions, small algebra in torch."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from pic_uie import _training
from pic_uie.model.calibration import fold
from pic_uie.model.executor import Executor
from pic_uie.model.predictor import Predictor
from pic_uie.model.theta import Theta

WIDEST = 96  # body for our kernels: torch's convolutions are faster on wider ones (benchmarks/training.py --widths)


def supports(rgb: Tensor) -> bool:
    """Returns whether the kernels can run on this batch (they give no gradient of the picture)."""
    return rgb.device.type == "cpu" and rgb.dtype in (torch.float32, torch.float64) and not rgb.requires_grad


def predict(predictor: Predictor, thumbnail: Tensor) -> Theta:
    """Does what `predictor(thumbnail)` does, to rounding, whichever way is the faster one."""
    if predictor.config.width > WIDEST:
        return predictor(thumbnail)  # type: ignore[no-any-return]
    return predict_natively(predictor, thumbnail)


def predict_natively(predictor: Predictor, thumbnail: Tensor) -> Theta:
    """The same with the kernels, however wide."""
    packed = torch.cat([parameter.flatten() for parameter in predictor.body.parameters()])
    width = predictor.config.width
    features: Tensor = _Body.apply(predictor.view(thumbnail), packed, width)  # type: ignore[no-untyped-call]
    return predictor.read(thumbnail, features)


def execute(executor: Executor, rgb: Tensor, theta: Theta) -> Tensor:
    """Does what `executor(rgb, theta)` does, to rounding, in a fraction of the time and memory."""
    gate = executor.gate
    beta_gamma = rgb.new_tensor([1.0, 0.0]) if gate is None else torch.stack([gate.beta, gate.gamma])
    refiner = torch.cat([parameter.flatten() for parameter in executor.refiner.parameters()])
    local = (theta.t, theta.v, theta.a, theta.tone, theta.lut, theta.matrix, theta.bias)
    z1, m, covariance = _Correct.apply(rgb, *local, beta_gamma, refiner)  # type: ignore[no-untyped-call]
    slope, offset = fold(m, covariance, theta.mean, theta.recolor, theta.blend)
    enhanced: Tensor = _Finish.apply(z1, slope.to(rgb.dtype), offset.to(rgb.dtype))  # type: ignore[no-untyped-call]
    return enhanced


class _Body(torch.autograd.Function):
    """The three convolutions with their normalisation."""

    @staticmethod
    def forward(ctx: Any, thumbnail: Tensor, packed: Tensor, width: int) -> Tensor:
        thumbnail, packed = thumbnail.contiguous(), packed.contiguous()
        batch, _, size, _ = thumbnail.shape
        saved = thumbnail.new_empty(batch, width * (size * size // 64 * 21 + 3))
        features = thumbnail.new_empty(batch, width, size // 8, size // 8)
        x, weights, kept, out = _arrays(thumbnail, packed, saved, features)
        _training.body(x, weights, kept, out, torch.get_num_threads())
        ctx.save_for_backward(thumbnail, packed, saved)
        return features

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, Tensor, None]:
        thumbnail, packed, saved = ctx.saved_tensors
        per_image = packed.new_empty(len(thumbnail), packed.numel())
        x, weights, kept, given, out = _arrays(thumbnail, packed, saved, gradients[0].contiguous(), per_image)
        _training.body_backward(x, weights, kept, given, out, torch.get_num_threads())
        return None, per_image.sum(0), None


class _Correct(torch.autograd.Function):
    """Eqs. 2-3 and the first line of Eq. 4: z¹ with its mean and covariance."""

    @staticmethod
    def forward(ctx: Any, *inputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        inputs = tuple(tensor.contiguous() for tensor in inputs)
        rgb = inputs[0]
        z1 = torch.empty_like(rgb)
        refined = torch.empty_like(rgb[:, 0])  # Y² before its clip
        mean = rgb.new_empty(len(rgb), 3, dtype=torch.float64)
        covariance = rgb.new_empty(len(rgb), 3, 3, dtype=torch.float64)
        z, r, m, s = _arrays(z1, refined, mean, covariance)
        _training.correct(_arrays(*inputs), z, r, m, s, torch.get_num_threads())
        ctx.save_for_backward(*inputs, z1, refined, mean)
        return z1, mean, covariance

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        *inputs, z1, refined, mean = ctx.saved_tensors
        batch = len(z1)
        results = [torch.empty_like(tensor) for tensor in inputs[1:8]]  # t, v, a, tone, lut, matrix, bias
        shared = [tensor.new_empty(batch, tensor.numel()) for tensor in inputs[8:]]  # beta_gamma, refiner
        given = [gradient.contiguous() for gradient in gradients]
        z, r, m = _arrays(z1, refined, mean)
        outputs = _arrays(*results, *shared)
        _training.correct_backward(_arrays(*inputs), z, r, m, _arrays(*given), outputs, torch.get_num_threads())
        return None, *results, *(per_image.sum(0) for per_image in shared)


class _Finish(torch.autograd.Function):
    """The rest of Eq. 4 as one affine map, and the way back to RGB."""

    @staticmethod
    def forward(ctx: Any, *inputs: Tensor) -> Tensor:
        z1, slope, offset = (tensor.contiguous() for tensor in inputs)
        rgb = torch.empty_like(z1)
        z, p, o, out = _arrays(z1, slope, offset, rgb)
        _training.finish(z, p, o, out, torch.get_num_threads())
        ctx.save_for_backward(z1, slope, offset)
        return rgb

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, ...]:
        z1, slope, offset = ctx.saved_tensors
        dz1 = torch.empty_like(z1)
        dslope, doffset = (torch.empty_like(tensor, dtype=torch.float64) for tensor in (slope, offset))
        z, p, o, given = _arrays(z1, slope, offset, gradients[0].contiguous())
        dz, dp, do = _arrays(dz1, dslope, doffset)
        _training.finish_backward(z, p, o, given, dz, dp, do, torch.get_num_threads())
        return dz1, dslope.to(slope.dtype), doffset.to(offset.dtype)


def _arrays(*tensors: Tensor) -> tuple[Any, ...]:
    return tuple(tensor.detach().numpy() for tensor in tensors)
