"""What must hold of the model whatever the weights: gradients, symmetry, batches, bad input."""

import numpy as np
import pytest

from helpers.samples import picture, random_corrections, random_parameters

torch = pytest.importorskip("torch")
from pic_uie.config import ModelConfig  # noqa: E402
from pic_uie.model import PicUie, Theta  # noqa: E402
from pic_uie.model import executor as steps  # noqa: E402
from pic_uie.model.calibration import InverseSquareRoot, apply_affine, calibrate  # noqa: E402
from pic_uie.model.color import rgb_to_ycbcr, ycbcr_to_rgb  # noqa: E402
from pic_uie.model.predictor import make_thumbnail, rgb_statistics  # noqa: E402


def trained_like(seed=0):
    model = PicUie()
    model.load_state_dict({name: torch.tensor(array) for name, array in random_parameters(seed).items()})
    return model


def uniform(*shape, low=0.0, high=1.0, seed=0):
    values = np.random.default_rng(seed).uniform(low, high, shape)
    return torch.tensor(values, requires_grad=True)


def test_initial_model_nearly_keeps_the_picture():
    torch.manual_seed(0)
    image = torch.tensor(picture(0, 120, 160))[None]
    enhanced, theta = PicUie()(image)
    difference = (enhanced - image).abs()
    assert (
        difference.mean() < 0.03
    )  # whitening moves a colour k deviations off the mean by k sigmoid(-4), so not every pixel
    assert difference.max() < 0.1
    assert theta.t.min() > 0.98
    assert theta.blend.max() < 0.02


@pytest.mark.parametrize(
    ("step", "inputs"),
    [
        (rgb_to_ycbcr, [uniform(1, 3, 4, 5)]),
        (ycbcr_to_rgb, [uniform(1, 3, 4, 5)]),
        (steps.correct_luminance, [uniform(1, 1, 4, 5, seed=i, low=0.2, high=0.9) for i in range(4)]),
        (steps.apply_tone, [uniform(2, 1, 4, 5), uniform(2, 9, seed=1)]),
        (steps.apply_chroma, [uniform(2, 2, 4, 5, low=-0.45, high=0.45), uniform(2, 2, 4, 4, seed=1)]),
        (apply_affine, [uniform(2, 3, 4, 5), uniform(2, 3, 3, seed=1), uniform(2, 3, seed=2)]),
        (calibrate, [uniform(2, 3, 4, 5), uniform(2, 3, seed=1), uniform(2, 3, 3, seed=2), uniform(2, seed=3)]),
        (rgb_statistics, [uniform(1, 3, 4, 5)]),
        (lambda x: make_thumbnail(x, 4), [uniform(1, 3, 7, 9)]),
        (steps.clip_luminance, [uniform(1, 3, 4, 5, low=-0.5, high=1.5)]),
        (PicUie().double().executor.refiner, [uniform(1, 1, 5, 6)]),
        (PicUie().double().executor.gate, [uniform(1, 1, 5, 6)]),
    ],
)
def test_gradient_of_each_step(step, inputs):
    assert torch.autograd.gradcheck(step, inputs)


def test_gradient_of_the_inverse_square_root_with_equal_eigenvalues():
    def symmetric(x):
        return InverseSquareRoot.apply(0.5 * (x + x.mT))

    for matrix in (torch.eye(3), torch.diag(torch.tensor([2.0, 2.0, 0.5])), torch.diag(torch.tensor([1.0, 2.0, 3.0]))):
        assert torch.autograd.gradcheck(symmetric, [matrix.double()[None].requires_grad_()])


@pytest.mark.parametrize("size", [(1, 1), (1, 9), (16, 16)])
@pytest.mark.parametrize("color", [(0.0, 0.0, 0.0), (1.0, 1.0, 1.0), (0.1, 0.5, 0.6)])
def test_flat_pictures_have_finite_values_and_gradients(size, color):
    model = trained_like()
    image = torch.tensor(color).view(1, 3, 1, 1).expand(1, 3, *size).clone().requires_grad_()
    enhanced, theta = model(image)
    loss = enhanced.square().sum() + sum(value.square().sum() for value in theta)
    loss.backward()
    assert torch.isfinite(enhanced).all()
    assert torch.isfinite(image.grad).all()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name


@pytest.mark.parametrize(
    "turn",
    [lambda x: x.flip(-1), lambda x: x.flip(-2), lambda x: x.rot90(1, (-2, -1)), lambda x: x.rot90(2, (-2, -1))],
    ids=["horizontal", "vertical", "rot90", "rot180"],
)
def test_executor_commutes_with_symmetries(turn):
    executor = trained_like().double().executor
    kernels = [executor.refiner.expand, executor.refiner.depthwise, executor.refiner.project]
    theta = Theta.from_corrections(random_corrections(2), dtype=torch.float64)
    turned = theta._replace(t=turn(theta.t), v=turn(theta.v), a=turn(theta.a))
    image = torch.tensor(picture(2, 60, 44), dtype=torch.float64)[None]
    with torch.no_grad():
        straight = turn(executor(image, theta))
        for conv in kernels:  # the refiner is learned, hence not symmetric: its kernels turn along
            conv.weight.copy_(turn(conv.weight))
        assert (executor(turn(image), turned) - straight).abs().max() < 1e-9


def test_result_does_not_depend_on_the_batch():
    model = trained_like()
    images = torch.stack([torch.tensor(picture(seed, 50, 70)) for seed in range(4)])
    with torch.no_grad():
        together, _ = model(images)
        alone = torch.cat([model(image[None])[0] for image in images])
    assert (together - alone).abs().max() < 1e-5


def test_same_input_gives_the_same_bits():
    image = torch.tensor(picture(0, 64, 64))[None]
    model = trained_like()
    with torch.no_grad():
        assert torch.equal(model(image)[0], model(image)[0])


def test_corrections_of_a_batch_are_valid_and_return_to_tensors():
    with torch.no_grad():
        _, theta = trained_like()(torch.stack([torch.tensor(picture(seed, 50, 70)) for seed in range(3)]))
    again = Theta.from_corrections(*theta.corrections())
    for ours, theirs in zip(theta, again, strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_cuda_agrees_with_the_cpu():
    model, image = trained_like(), torch.tensor(picture(0, 64, 64))[None]
    with torch.no_grad():
        assert (model(image)[0] - model.cuda()(image.cuda())[0].cpu()).abs().max() < 1e-4


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        (torch.zeros(3, 8, 8), r"\(3, 8, 8\)"),
        (torch.zeros(1, 4, 8, 8), r"\(1, 4, 8, 8\)"),
        (torch.zeros(1, 3, 0, 8), "at least one pixel"),
        (torch.zeros(1, 3, 8, 8, dtype=torch.uint8), "uint8"),
        (torch.full((1, 3, 8, 8), 1.5), r"1\.5"),
        (torch.full((1, 3, 8, 8), -0.1), r"-0\.1"),
        (torch.full((1, 3, 8, 8), float("nan")), "nan"),
        (torch.full((1, 3, 8, 8), float("inf")), "inf"),
        (np.zeros((1, 3, 8, 8)), "ndarray"),
    ],
)
def test_bad_batches_are_refused(batch, message):
    with pytest.raises(ValueError, match=message):
        PicUie()(batch)


@pytest.mark.parametrize("output", ["rgb_residual", "ycbcr_residual"])
def test_dense_controls_start_at_the_identity_and_have_no_theta(output):
    image = torch.tensor(picture(0, 33, 40))[None]
    enhanced, theta = PicUie(ModelConfig(output=output))(image)
    assert theta is None
    assert (enhanced - image).abs().max() < 2e-3  # the paper's two colour matrices are inverse to three digits only
