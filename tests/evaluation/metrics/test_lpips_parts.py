"""LPIPS against PyTorch with random parameters: no published file is needed."""

import importlib

import numpy as np
import pytest

from helpers.metric_vectors import B, C
from pic_uie.evaluation import assets
from pic_uie.evaluation.metrics import lpips as lpips_function
from pic_uie.evaluation.metrics.lpips import LAYERS, SCALE, SHIFT

torch = pytest.importorskip("torch")
MODULE = importlib.import_module("pic_uie.evaluation.metrics.lpips")
F = torch.nn.functional
SHAPES = {0: (64, 3, 11), 3: (192, 64, 5), 6: (384, 192, 3), 8: (256, 384, 3), 10: (256, 256, 3)}


@pytest.fixture(scope="module")
def parameters():
    random = np.random.default_rng(3)
    arrays = {}
    for number, (index, (out, channels, side)) in enumerate(SHAPES.items()):
        weight = random.normal(size=(out, channels, side, side)) / np.sqrt(channels * side * side)
        arrays[f"features.{index}.weight"] = weight.astype(np.float32)
        arrays[f"features.{index}.bias"] = random.normal(scale=0.1, size=out).astype(np.float32)
        arrays[f"lin{number}"] = random.uniform(size=(1, out, 1, 1)).astype(np.float32)
    return arrays


@pytest.fixture
def folder(parameters, tmp_path, monkeypatch):
    np.savez(tmp_path / "lpips_alex.npz", **parameters)
    known = assets.Asset("lpips_alex.npz", assets.content_sha256(parameters), "a test")
    monkeypatch.setattr(MODULE, "LPIPS_ALEX", known)
    return tmp_path


def in_torch(pred, ref, parameters):
    """The same network written with PyTorch's operators, in float64."""
    tensors = {name: torch.from_numpy(array).double() for name, array in parameters.items()}

    def prepared(picture):
        x = torch.from_numpy(picture.copy()).double().permute(2, 0, 1)[None] / 127.5 - 1
        return (x - torch.tensor(SHIFT).double().view(1, 3, 1, 1)) / torch.tensor(SCALE).double().view(1, 3, 1, 1)

    x, y, total = prepared(pred), prepared(ref), 0.0
    for number, layer in enumerate(LAYERS):
        name = f"features.{layer.index}"
        if layer.pooled:
            x, y = F.max_pool2d(x, 3, 2), F.max_pool2d(y, 3, 2)
        x, y = (
            F.relu(F.conv2d(z, tensors[f"{name}.weight"], tensors[f"{name}.bias"], layer.stride, layer.padding))
            for z in (x, y)
        )
        difference = (F.normalize(x, dim=1) - F.normalize(y, dim=1)) ** 2
        total += float((difference * tensors[f"lin{number}"]).sum(dim=1).mean())
    return total


@pytest.mark.parametrize(("height", "width"), [(256, 256), (31, 31), (75, 130)])
def test_agrees_with_pytorch(folder, parameters, height, width):
    pred, ref = B[:height, :width], C[:height, :width]
    assert lpips_function(pred, ref, folder) == pytest.approx(in_torch(pred, ref, parameters), rel=1e-5)


def test_gathering_in_strips_changes_nothing(folder, monkeypatch):
    whole = lpips_function(B, C, folder)
    monkeypatch.setattr(MODULE, "PATCH_BUDGET", 1)
    assert lpips_function(B, C, folder) == pytest.approx(whole, rel=1e-6)
