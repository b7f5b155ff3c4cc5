"""The weights file: round trip, and every way in which a file can be wrong."""

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

from helpers.samples import random_parameters
from pic_uie import weights
from pic_uie.config import ModelConfig
from pic_uie.errors import WeightsError


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "model.safetensors"
    weights.save(path, ModelConfig(), random_parameters(0))
    return path


def rewrite(path, change=None, metadata=None):
    """Writes the file again with changed tensors or metadata, as another program might."""
    with safetensors.safe_open(str(path), "numpy") as file:
        header = weights.read_header(file.metadata())
    tensors = safetensors.numpy.load_file(path)
    safetensors.numpy.save_file((change or dict)(tensors), path, weights.make_header(**(header | (metadata or {}))))


@pytest.mark.parametrize(
    "config", [ModelConfig(), ModelConfig(width=8, gate=False), ModelConfig(output="rgb_residual")]
)
def test_round_trip(tmp_path, config):
    path = tmp_path / "x.safetensors"
    written = weights.save(path, config, random_parameters(1, config))
    read = weights.load(path)
    assert read.config == config
    assert read.sha256 == written.sha256
    assert len(read.sha256) == 64
    assert all(np.array_equal(read.parameters[name], array) for name, array in written.parameters.items())


def test_model_round_trip(tmp_path):
    torch = pytest.importorskip("torch")
    from pic_uie.model import PicUie

    model = PicUie()
    model.save(tmp_path / "m.safetensors")
    again = PicUie.load(tmp_path / "m.safetensors")
    assert all(torch.equal(a, b) for a, b in zip(model.state_dict().values(), again.state_dict().values(), strict=True))


def test_the_same_weights_are_the_same_bytes(tmp_path):
    for name in "ab":
        weights.save(tmp_path / name, ModelConfig(), random_parameters(0))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_hash_covers_values_names_and_configuration():
    parameters = random_parameters(0)
    digest = weights.digest(ModelConfig(), parameters)
    assert weights.digest(ModelConfig(thumbnail=128), parameters) != digest
    parameters["executor.gate.beta"] = parameters["executor.gate.beta"] + np.float32(1e-3)
    assert weights.digest(ModelConfig(), parameters) != digest


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: {k: v for k, v in t.items() if "beta" not in k}, "missing .'executor.gate.beta'"),
        (lambda t: t | {"extra": np.zeros(1, np.float32)}, "unknown .'extra'"),
        (lambda t: t | {"executor.gate.beta": np.zeros(2, np.float32)}, r"must have shape \(\), got \(2,\)"),
        (lambda t: t | {"executor.gate.beta": np.zeros((), np.float64)}, "must be float32, got float64"),
        (lambda t: t | {"executor.gate.beta": np.array(np.nan, np.float32)}, "not finite"),
        (lambda t: t | {"executor.gate.beta": np.array(7, np.float32)}, "damaged"),
    ],
)
def test_wrong_tensors_are_named(saved, change, message):
    rewrite(saved, change)
    with pytest.raises(WeightsError, match=message):
        weights.load(saved)


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"format": "other"}, "has format 'other'"),
        ({"config": None}, "must be a mapping"),
        ({"config": {"widht": 3}}, "did you mean 'width'"),
        ({"config": {"width": 8}}, "must have shape"),
        ({"sha256": "0" * 64}, "damaged"),
    ],
)
def test_wrong_metadata_is_named(saved, metadata, message):
    rewrite(saved, metadata=metadata)
    with pytest.raises(WeightsError, match=message):
        weights.load(saved)


def test_files_that_are_not_weights(tmp_path, saved):
    absent, empty, pickled = tmp_path / "absent", tmp_path / "empty", tmp_path / "pickled.pt"
    empty.write_bytes(b"")
    pickled.write_bytes(pickle.dumps({"a": 1}))
    with pytest.raises(WeightsError, match="cannot read"):
        weights.load(absent)
    for path in (empty, pickled):
        with pytest.raises(WeightsError, match="not a safetensors file"):
            weights.load(path)
    with pytest.raises(WeightsError):
        weights.load(tmp_path)
    data = saved.read_bytes()
    for size in range(0, len(data), len(data) // 40):
        saved.write_bytes(data[:size])
        with pytest.raises(WeightsError):
            weights.load(saved)


def test_folders_and_pipes_are_no_weights(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(WeightsError, match="not a file"):
            weights.load(path)


def test_a_failed_save_keeps_the_old_file(saved, monkeypatch):
    before = saved.read_bytes()
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="space"):
        weights.save(saved, ModelConfig(), random_parameters(2))
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_weights_of_the_package_by_name():
    bright = weights.load("bright")
    assert bright.sha256 != weights.load().sha256
    assert sum(array.size for array in bright.parameters.values()) == 9486
    assert weights.load(weights.NAMED["bright"]).sha256 == bright.sha256
    with pytest.raises(WeightsError, match="cannot read the weights bright"):
        weights.load(Path("bright"))  # a path is a path
    with pytest.raises(WeightsError, match=r"no weights 'brigt': give a file, or a name \(did you mean 'bright'\?\)"):
        weights.load("brigt")
