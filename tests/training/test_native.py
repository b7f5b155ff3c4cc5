"""The native training kernels against PyTorch's own gradients, and both structural losses against pytorch-msssim."""

import numpy as np
import pytest

from helpers.samples import EXTREMES, extreme_corrections, picture, random_corrections, random_parameters

torch = pytest.importorskip("torch")
from pic_uie.config import ModelConfig  # noqa: E402
from pic_uie.model import PicUie, Theta  # noqa: E402
from pic_uie.training import native, structure  # noqa: E402


def executor_with(seed, dtype, **config):
    config = ModelConfig(**config)
    model = PicUie(config)
    parameters = random_parameters(seed, config)
    model.load_state_dict({name: torch.tensor(array) for name, array in parameters.items()})
    return model.executor.to(dtype)


def gradients(run, executor, image, theta, weights):
    theta = Theta(*(value.clone().requires_grad_() for value in theta))
    executor.zero_grad()
    enhanced = run(executor, image, theta)
    (enhanced * weights).sum().backward()
    return enhanced.detach(), [*(value.grad for value in theta), *(p.grad.clone() for p in executor.parameters())]


def compare(corrections, size, dtype, gate=True, seed=0):
    executor = executor_with(seed, dtype, gate=gate)
    theta = Theta.from_corrections(*corrections, dtype=dtype)
    images = torch.stack([torch.tensor(picture(seed + i, *size), dtype=dtype) for i in range(len(corrections))])
    weights = torch.tensor(np.random.default_rng(seed).normal(size=images.shape), dtype=dtype)
    plain, expected = gradients(lambda e, *a: e(*a), executor, images, theta, weights)
    fast, ours = gradients(native.execute, executor, images, theta, weights)
    return plain, fast, expected, ours


@pytest.mark.parametrize("size", [(1, 1), (1, 9), (33, 31), (64, 80)])
@pytest.mark.parametrize("gate", [True, False])
def test_executor_and_gradients_in_double(size, gate):
    plain, fast, expected, ours = compare([random_corrections(1), random_corrections(2)], size, torch.float64, gate)
    assert (plain - fast).abs().max() < 1e-11
    for reference, gradient in zip(expected, ours, strict=True):
        assert (reference - gradient).abs().max() < 1e-9 * max(1.0, float(reference.abs().max()))


@pytest.mark.parametrize("name", EXTREMES)
def test_extreme_corrections_in_double(name):
    plain, fast, expected, ours = compare([extreme_corrections(name)], (40, 36), torch.float64)
    assert (plain - fast).abs().max() < 1e-10
    for reference, gradient in zip(expected, ours, strict=True):
        assert (reference - gradient).abs().max() < 1e-8 * max(1.0, float(reference.abs().max()))


@pytest.mark.parametrize("shape", [(16, 5, 17), (1, 2, 2), (40, 9, 33)])
def test_other_shapes_of_theta(shape):
    plain, fast, expected, ours = compare([random_corrections(3, *shape)], (48, 40), torch.float64)
    assert (plain - fast).abs().max() < 1e-11
    for reference, gradient in zip(expected, ours, strict=True):
        assert (reference - gradient).abs().max() < 1e-9 * max(1.0, float(reference.abs().max()))


def test_executor_and_gradients_in_single_precision():
    plain, fast, expected, ours = compare([random_corrections(seed) for seed in range(3)], (256, 256), torch.float32)
    assert (plain - fast).abs().max() < 2e-5
    for reference, gradient in zip(expected, ours, strict=True):
        assert (reference - gradient).norm() < 2e-3 * reference.norm() + 1e-4


def test_gradcheck_of_the_native():
    executor = executor_with(4, torch.float64)
    theta = Theta.from_corrections(random_corrections(4, 3, 3, 5), dtype=torch.float64)
    image = torch.tensor(picture(4, 7, 6), dtype=torch.float64)[None]
    inputs = [value.clone().requires_grad_() for value in theta]
    assert torch.autograd.gradcheck(lambda *values: native.execute(executor, image, Theta(*values)), inputs)


def test_results_do_not_depend_on_the_number_of_threads():
    threads = torch.get_num_threads()
    results = []
    for count in (1, 2, 3):
        torch.set_num_threads(count)
        executor = executor_with(5, torch.float32)
        theta = Theta.from_corrections(*[random_corrections(seed) for seed in range(5)])
        images = torch.stack([torch.tensor(picture(seed, 64, 64)) for seed in range(5)])
        results.append(gradients(native.execute, executor, images, theta, torch.ones_like(images)))
    torch.set_num_threads(threads)
    for enhanced, grads in results[1:]:
        assert torch.equal(enhanced, results[0][0])
        assert all(torch.equal(a, b) for a, b in zip(grads, results[0][1], strict=True))


@pytest.mark.parametrize(
    "config",
    [
        ModelConfig(thumbnail=64),
        ModelConfig(thumbnail=24, width=5),
        ModelConfig(thumbnail=40, width=7, predictor_input="rgb+ycbcr"),
        ModelConfig(thumbnail=48, statistics="concatenated", luminance=False),
    ],
)
def test_predictor_and_gradients_in_double(config):
    model = PicUie(config).double()
    parameters = random_parameters(6, config)
    model.load_state_dict({name: torch.tensor(array, dtype=torch.float64) for name, array in parameters.items()})
    thumbnails = torch.stack(
        [torch.tensor(picture(seed, config.thumbnail, config.thumbnail), dtype=torch.float64) for seed in range(2)]
    )
    results = []
    for run in (lambda p, x: p(x), native.predict_natively):
        model.zero_grad()
        theta = run(model.predictor, thumbnails)
        sum((part * torch.linspace(-1, 1, part.numel()).view_as(part)).sum() for part in theta).backward()
        results.append((theta, [p.grad.clone() for p in model.predictor.parameters()]))
    for ours, theirs in zip(results[1][0], results[0][0], strict=True):
        assert (ours - theirs).abs().max() < 1e-11
    for ours, theirs in zip(results[1][1], results[0][1], strict=True):
        assert (ours - theirs).abs().max() < 1e-9 * max(1.0, theirs.abs().max().item())


def test_predictor_in_single_precision():
    model = PicUie()
    model.load_state_dict({name: torch.tensor(array) for name, array in random_parameters(7).items()})
    thumbnails = torch.stack([torch.tensor(picture(seed, 256, 256)) for seed in range(3)])
    with torch.no_grad():
        for ours, theirs in zip(native.predict(model.predictor, thumbnails), model.predictor(thumbnails), strict=True):
            assert (ours - theirs).abs().max() < 1e-5 * max(1.0, theirs.abs().max().item())


@pytest.mark.parametrize("width", [native.WIDEST, native.WIDEST + 1])
def test_either_way_for_either_width(width):
    model = PicUie(ModelConfig(width=width, thumbnail=32)).double()
    thumbnail = torch.tensor(picture(1, 32, 32), dtype=torch.float64)[None]
    with torch.no_grad():
        for ours, theirs in zip(native.predict(model.predictor, thumbnail), model.predictor(thumbnail), strict=True):
            assert (ours - theirs).abs().max() < 1e-11


def test_refuses_shapes_that_do_not_belong_together():
    from pic_uie import _training

    x = np.zeros((1, 16, 16), np.float32)
    with pytest.raises(ValueError, match="too small"):
        _training.structure(x, x, 5, np.zeros((1, 5, 2)), 1)
    with pytest.raises(ValueError, match="must be"):
        _training.structure(x, x[:, :8], 1, np.zeros((1, 1, 2)), 1)
    with pytest.raises(ValueError, match="must be"):
        _training.finish(np.zeros((1, 3, 4, 4), np.float32), x, x, np.zeros((1, 3, 4, 4), np.float32), 1)


@pytest.mark.parametrize("means", [structure.structure_means, structure.portable_structure_means])
@pytest.mark.parametrize("size", [(256, 256), (181, 200), (177, 193)])
def test_ssim_and_ms_ssim_equal_pytorch_msssim(means, size):
    oracle = pytest.importorskip("pytorch_msssim")
    x = torch.stack([torch.tensor(picture(seed, *size)) for seed in range(2)]).requires_grad_()
    noise = torch.tensor(np.random.default_rng(0).normal(0.0, 0.1, x.shape), dtype=torch.float32)
    y = (0.8 * x.detach() + 0.1 + noise).clamp(0.0, 1.0)
    cases = [
        (lambda: structure.ssim(means(x, y, 1)), lambda: oracle.ssim(x, y, data_range=1.0)),
        (lambda: structure.ms_ssim(means(x, y, 5)), lambda: oracle.ms_ssim(x, y, data_range=1.0)),
    ]
    for ours, theirs in cases:
        value, expected = ours(), theirs()
        (gradient,), (expected_gradient,) = torch.autograd.grad(value, x), torch.autograd.grad(expected, x)
        assert abs(value.item() - expected.item()) < 1e-6
        assert (gradient - expected_gradient).norm() < 1e-5 * expected_gradient.norm()


def test_gradcheck_of_the_structure():
    x = torch.tensor(picture(1, 21, 24), dtype=torch.float64)[None].requires_grad_()
    y = torch.tensor(picture(2, 21, 24), dtype=torch.float64)[None]
    assert torch.autograd.gradcheck(lambda x: structure.structure_means(x, y, 2), [x])


def test_ms_ssim_of_opposite_pictures_is_clamped():
    x = torch.tensor(picture(1, 176, 176))[None].requires_grad_()
    value = structure.ms_ssim(structure.structure_means(x, 1.0 - x.detach()))
    value.backward()
    assert torch.isfinite(x.grad).all()
    assert value.item() >= 0.0
