"""Depth networks: pre-processing against hand-computed values, odd networks, and what is refused."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from PIL import Image

from helpers.tiny_networks import channel_network, network, save
from pic_uie.depth.network import IMAGENET_MEAN, IMAGENET_STD, PRESETS, DepthNetwork, Preprocessing, to_picture
from pic_uie.errors import ConfigError, DataError, EnvironmentMissingError

COLOR = (200, 100, 50)


def flat_picture(width=40, height=30, color=COLOR):
    return Image.new("RGB", (width, height), color)


def predict(path, rules, picture=None):
    depth = DepthNetwork(path, rules)
    return depth.predict(depth.prepare(picture or flat_picture())[None])[0]


@pytest.mark.parametrize(
    ("order", "channel", "value"), [("rgb", 0, 200), ("rgb", 2, 50), ("bgr", 0, 50), ("bgr", 2, 200)]
)
def test_channel_order(tmp_path, order, channel, value):
    path = save(channel_network(channel), tmp_path)
    result = predict(path, Preprocessing(size=(32, 64), channels=order, scale=1.0))
    assert result.shape == (32, 64)
    np.testing.assert_allclose(result, value, rtol=1e-6)


def test_scale_mean_and_std(tmp_path):
    path = save(channel_network(1), tmp_path)
    result = predict(path, Preprocessing(mean=IMAGENET_MEAN, std=IMAGENET_STD))
    np.testing.assert_allclose(result, (100 / 255 - 0.456) / 0.224, rtol=1e-5)


@pytest.mark.parametrize(
    ("preset", "picture", "expected"),
    [
        ("depth-anything-v2", (480, 640), (518, 686)),  # 518 · 640/480 = 690.7, rounded to 49 · 14
        ("depth-anything-v2", (640, 480), (686, 518)),
        ("depth-anything-v2", (1000, 1000), (518, 518)),
        ("midas-small", (480, 640), (256, 256)),
        ("midas-large", (480, 640), (384, 384)),
        ("tcmonodepth", (480, 640), (192, 320)),
    ],
)
def test_presets_choose_the_documented_input_size(tmp_path, preset, picture, expected):
    depth = DepthNetwork(save(channel_network(0), tmp_path), PRESETS[preset])
    assert depth.input_size(*picture) == expected
    assert depth.batch is None


def test_a_fixed_network_says_its_own_size(tmp_path):
    depth = DepthNetwork(save(channel_network(0, shape=(1, 3, 24, 40)), tmp_path), PRESETS["depth-anything-v2"])
    assert depth.input_size(480, 640) == (24, 40)
    assert depth.batch == 1


def test_batches_equal_single_pictures(tmp_path):
    depth = DepthNetwork(save(channel_network(0), tmp_path), Preprocessing(size=(32, 32)))
    rng = np.random.default_rng(0)
    pictures = [Image.fromarray(rng.integers(0, 256, (20, 30, 3), dtype=np.uint8)) for _ in range(3)]
    inputs = np.stack([depth.prepare(picture) for picture in pictures])
    together = depth.predict(inputs)
    for index in range(3):
        np.testing.assert_array_equal(together[index], depth.predict(inputs[index : index + 1])[0])


def test_a_fixed_batch_is_filled_up(tmp_path):
    depth = DepthNetwork(save(channel_network(0, shape=(4, 3, 32, 32)), tmp_path), Preprocessing())
    assert depth.batch == 4
    assert depth.predict(np.zeros((3, 3, 32, 32), np.float32)).shape == (3, 32, 32)


def test_channels_last_and_half_precision(tmp_path):
    path = save(network("ReduceMean", (1, 32, 48, 3), axes=[3], half=True), tmp_path)
    result = predict(path, Preprocessing(scale=1.0))
    assert result.shape == (32, 48)
    np.testing.assert_allclose(result, np.mean(COLOR), rtol=1e-3)


def test_distance_is_inverted(tmp_path):
    ramp = np.tile(np.arange(1, 65, dtype=np.uint8), (32, 1))
    picture = Image.fromarray(np.stack([ramp] * 3, axis=-1))
    path = save(channel_network(0), tmp_path)
    result = predict(path, Preprocessing(size=(32, 64), scale=1.0, output="distance"), picture)
    np.testing.assert_allclose(result, 1 / ramp, rtol=1e-6)


def test_to_picture_scales_to_the_whole_range():
    ramp = np.linspace(-3, 7, 6, dtype=np.float32)[None].repeat(2, 0)
    np.testing.assert_array_equal(to_picture(ramp, 2, 6)[0], [0, 51, 102, 153, 204, 255])
    deep = to_picture(ramp, 4, 12, bits=16)
    assert deep.dtype == np.uint16
    assert (deep.min(), deep.max(), deep.shape) == (0, 65535, (4, 12))
    assert not to_picture(np.full((2, 2), 5.0, np.float32), 3, 3).any()
    with pytest.raises(ValueError, match="got 12"):
        to_picture(ramp, 2, 6, bits=12)


@pytest.mark.parametrize("shape", [(1, 3, 32), (1, 4, 32, 32), (1, 1, 32, 32), (1, 3, 32, 32, 1)])
def test_networks_that_do_not_take_a_picture_are_refused(tmp_path, shape):
    path = save(network("Identity", shape), tmp_path)
    with pytest.raises(ConfigError, match="shape"):
        DepthNetwork(path, Preprocessing())


def test_an_output_that_is_not_a_map_is_refused(tmp_path):
    path = save(network("Identity", (1, 3, 32, 32)), tmp_path)
    with pytest.raises(DataError, match=r"\(1, 3, 32, 32\)"):
        predict(path, Preprocessing())


def test_an_output_that_is_not_finite_is_refused(tmp_path):
    path = save(network("Log", ("n", 3, "h", "w"), axes=None, then_mean=True), tmp_path)
    with pytest.raises(DataError, match="finite"):
        predict(path, Preprocessing(), flat_picture(color=(0, 0, 0)))


@pytest.mark.parametrize("content", [b"", b"not onnx at all", b"\x08\x07\x12\x04"])
def test_files_that_are_not_networks_are_refused(tmp_path, content):
    (tmp_path / "net.onnx").write_bytes(content)
    with pytest.raises(ConfigError, match=r"net\.onnx is not an ONNX network"):
        DepthNetwork(tmp_path / "net.onnx", Preprocessing())


def test_a_missing_network_is_named(tmp_path):
    with pytest.raises(ConfigError, match="no network at"):
        DepthNetwork(tmp_path / "gone.onnx", Preprocessing())


def test_a_missing_extra_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(EnvironmentMissingError, match=r"pic-uie\[depth\]"):
        DepthNetwork(tmp_path / "net.onnx", Preprocessing())


@pytest.mark.parametrize("bad", [{"size": (0, 10)}, {"size": (10, 99999)}, {"std": (1.0, 0.0, 1.0)}, {"scale": np.nan}])
def test_impossible_preprocessing_is_refused(bad):
    with pytest.raises(ConfigError, match="got"):
        Preprocessing(**bad)
