"""What the engine promises beside its numbers: bytes, memory, threads, bad input, pictures of any kind."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import pic_uie
from helpers.engines import BEST, ENHANCERS, WEIGHTS, make_weights, pixels
from helpers.samples import random_corrections
from pic_uie import Enhancer, _native, constants, weights
from pic_uie.config import ModelConfig
from pic_uie.errors import ConfigError, WeightsError
from pic_uie.weights import Weights


@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
def test_bytes_do_not_depend_on_threads_or_strides(dtype, channels):
    image = pixels(7, 150, 1300, dtype, channels)
    wanted = BEST.enhance(image, threads=1, strength=0.75)
    backwards = np.ascontiguousarray(image[::-1, ::-1])[::-1, ::-1]
    planar = np.ascontiguousarray(image.transpose(2, 1, 0)).transpose(2, 1, 0)
    spread = np.zeros((150, 2600, channels + 1), dtype)[:, ::2, :channels]
    spread[...] = image
    for view in (image, backwards, planar, spread):
        for threads in (1, 2, 3, 7):
            out = np.empty_like(view)
            assert BEST.enhance(view, threads=threads, strength=0.75, out=out) is out
            np.testing.assert_array_equal(out, wanted)


def test_enhance_is_predict_then_execute():
    image = pixels(8, 200, 300, np.uint8)
    np.testing.assert_array_equal(BEST.enhance(image), BEST.execute(image, BEST.predict(image)))


@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
def test_strength_0_is_the_input(dtype, channels):
    image = pixels(9, 31, 47, dtype, channels)
    for view in (image, image[::-1, ::2]):
        np.testing.assert_array_equal(BEST.enhance(view, strength=0.0), view)


def test_grey_without_channel_axis():
    image = pixels(10, 33, 44, np.uint8, 1)
    flat = BEST.enhance(image[..., 0])
    assert flat.shape == (33, 44)
    np.testing.assert_array_equal(flat, BEST.enhance(image)[..., 0])


def test_in_place_and_overlapping_output():
    image = pixels(11, 160, 90, np.uint8)
    wanted = BEST.enhance(image[10:], strength=0.5)
    base = image.copy()
    BEST.enhance(base[10:], strength=0.5, out=base[10:])
    np.testing.assert_array_equal(base[10:], wanted)
    base = image.copy()
    np.testing.assert_array_equal(BEST.enhance(base[10:], strength=0.5, out=base[:-10]), wanted)


def test_many_python_threads_share_an_enhancer():
    images = [pixels(seed, 60 + 7 * seed, 80, np.uint8) for seed in range(6)]
    wanted = [BEST.enhance(image, threads=1) for image in images]
    wrong = []

    def work(index):
        for _ in range(10):
            if not np.array_equal(BEST.enhance(images[index]), wanted[index]):
                wrong.append(index)

    workers = [threading.Thread(target=work, args=(index,)) for index in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


MEMORY = """
import resource, sys
import numpy as np
from pic_uie import Enhancer
path, height, width = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
enhancer = Enhancer(path, threads=2)
image = np.full((height, width, 3), 100, np.uint8)
out = np.ones_like(image)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
enhancer.enhance(image, out=out)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read as Linux reports it")
@pytest.mark.parametrize("size", [(1500, 2500), (600_000, 5), (2, 900_000), (64, 64)])
def test_memory_is_16_bytes_a_pixel_and_16_megabytes_at_most(size, tmp_path):
    path = tmp_path / "weights.safetensors"
    weights.save(path, WEIGHTS.config, WEIGHTS.parameters)
    command = [sys.executable, "-c", MEMORY, str(path), *map(str, size)]
    used = int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert used <= 16 * size[0] * size[1] + (16 << 20)


def test_a_forked_child_can_go_on(tmp_path):
    if not hasattr(os, "fork"):
        pytest.skip("no fork on this system")
    script = (
        "import os, sys, numpy as np; from pic_uie import Enhancer\n"
        "enhancer = Enhancer(sys.argv[1], threads=2); image = np.full((200, 200, 3), 90, np.uint8)\n"
        "wanted = enhancer.enhance(image); child = os.fork()\n"
        "same = np.array_equal(enhancer.enhance(image), wanted)\n"
        "if child == 0: del enhancer; os._exit(0 if same else 1)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    path = tmp_path / "weights.safetensors"
    weights.save(path, WEIGHTS.config, WEIGHTS.parameters)
    subprocess.run([sys.executable, "-c", script, str(path)], check=True, timeout=60)


@pytest.mark.parametrize("theta", [{"a": 3e38}, {"matrix": 3e38}, {"lut": 3e38}, {"recolor": 3e38}])
def test_overflow_is_not_a_crash(theta):
    ((name, value),) = theta.items()
    base = random_corrections(13)
    changes = {key: getattr(base, key) for key in base.__dataclass_fields__}
    changes[name] = np.tril(np.full((3, 3), value)) if name == "recolor" else np.full_like(changes[name], value)
    for grid_changes in ({}, {"tone": random_corrections(1, tones=50).tone}):
        for enhancer in ENHANCERS.values():
            enhancer.execute(pixels(13, 20, 30, np.uint8), type(base)(**(changes | grid_changes)))


@pytest.mark.parametrize(
    ("image", "message"),
    [
        ([[1, 2]], "expected a NumPy array or Yuv, got list"),
        (np.zeros((4, 4, 3)), "got float64"),
        (np.zeros((4, 4, 3), ">u2"), "got >u2"),
        (np.zeros((4, 4, 2), np.uint8), r"got \(4, 4, 2\)"),
        (np.zeros((4,), np.uint8), r"got \(4,\)"),
        (np.zeros((0, 4, 3), np.uint8), r"at least one pixel, got shape \(0, 4, 3\)"),
        (np.full((4, 4, 3), np.nan, np.float32), "got nan .. nan"),
        (np.full((4, 4, 3), 255.0, np.float32), "got 255.0 .. 255.0"),
        (np.full((4, 4), -0.5, np.float32), "got -0.5 .. -0.5"),
    ],
)
def test_bad_pictures_are_value_errors_that_show_what_was_seen(image, message):
    for call in (BEST.enhance, BEST.predict, lambda image: BEST.execute(image, random_corrections(0))):
        with pytest.raises(ValueError, match=message):
            call(image)


def test_bad_arguments():
    image = pixels(14, 8, 9, np.uint8)
    read_only = image.copy()
    read_only.setflags(write=False)
    for arguments, message in [
        ({"strength": 1.5}, "strength must be in"),
        ({"strength": float("nan")}, "strength must be in"),
        ({"threads": 0}, "threads must be"),
        ({"threads": 1.5}, "threads must be"),
        ({"out": image[:4]}, "out must be a uint8 array"),
        ({"out": image.astype(np.float32)}, "out must be a uint8 array"),
        ({"out": read_only}, "writeable"),
        ({"out": "x"}, "got str"),
    ]:
        with pytest.raises(ValueError, match=message):
            BEST.enhance(image, **arguments)
    with pytest.raises(ValueError, match="theta must be Corrections, got dict"):
        BEST.execute(image, {})
    assert BEST.enhance(read_only).shape == image.shape


def test_variants_are_refused_with_the_remedy():
    for change in ({"chroma": "affine"}, {"gate": False}, {"output": "rgb_residual"}, {"predictor_input": "ycbcr"}):
        with pytest.raises(ConfigError, match=r"use the PyTorch model"):
            Enhancer(make_weights(0, ModelConfig(**change)))


def test_missing_default_weights_are_reported(monkeypatch, tmp_path):
    monkeypatch.setattr(weights, "DEFAULT_PATH", tmp_path / "none.safetensors")
    with pytest.raises(WeightsError, match="no default weights"):
        Enhancer()


def test_weights_that_are_not_finite_are_refused():
    parameters = dict(WEIGHTS.parameters)
    parameters["executor.refiner.project.bias"] = np.array([np.nan], np.float32)
    with pytest.raises(WeightsError, match="not finite"):
        Enhancer(Weights(WEIGHTS.config, parameters, WEIGHTS.sha256))


@pytest.fixture
def default_weights(monkeypatch, tmp_path):
    path = tmp_path / "weights.safetensors"
    weights.save(path, WEIGHTS.config, WEIGHTS.parameters)
    monkeypatch.setattr(weights, "DEFAULT_PATH", path)
    pic_uie.enhancer.default_enhancer.cache_clear()
    yield
    pic_uie.enhancer.default_enhancer.cache_clear()


def test_enhance_takes_arrays_pil_images_and_paths(default_weights, tmp_path):
    Image = pytest.importorskip("PIL.Image")
    array = pixels(15, 40, 50, np.uint8)
    wanted = BEST.enhance(array, strength=0.5)
    np.testing.assert_array_equal(pic_uie.enhance(array, strength=0.5), wanted)
    result = pic_uie.enhance(Image.fromarray(array), strength=0.5)
    assert isinstance(result, Image.Image)
    np.testing.assert_array_equal(np.asarray(result), wanted)
    with pytest.raises(ValueError, match=r"convert\('RGB'\)"):
        pic_uie.enhance(Image.fromarray(array).convert("CMYK"))
    with pytest.raises(ValueError, match="got bytes"):
        pic_uie.enhance(b"")
    path = tmp_path / "picture.png"
    Image.fromarray(array).save(path)
    np.testing.assert_array_equal(pic_uie.enhance(path, strength=0.5), wanted)
    np.testing.assert_array_equal(pic_uie.enhance(str(path), strength=0.5), wanted)
    grey = array[:, :, 1:3]
    Image.fromarray(grey, "LA").save(path)
    result = pic_uie.enhance(path)
    np.testing.assert_array_equal(result[:, :, 0], pic_uie.enhance(np.ascontiguousarray(grey[:, :, 0])))
    np.testing.assert_array_equal(result[:, :, 1], grey[:, :, 1])


@pytest.mark.parametrize(
    "options", [{"instruction_set": 3}, {"instruction_set": "mmx"}, {"threads": 300}, {"threads": 1.5}]
)
def test_impossible_options_are_value_errors(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        Enhancer(WEIGHTS, **options)
    assert Enhancer(WEIGHTS, threads=np.int64(2)).threads == 2


@pytest.mark.parametrize("strength", [None, "a", float("nan"), -0.1])
def test_a_strength_is_a_number_from_0_to_1(strength):
    with pytest.raises(ValueError, match="strength must be in"):
        BEST.enhance(pixels(1, 8, 8, np.uint8), strength=strength)


def test_the_light_path_imports_nothing_heavy(tmp_path):
    script = (
        "import sys, numpy as np, pic_uie\n"
        "pic_uie.Enhancer(sys.argv[1]).enhance(np.zeros((8, 8, 3), np.uint8))\n"
        "print(*sorted({'torch', 'matplotlib', 'cv2', 'scipy', 'PIL', 'yaml'} & sys.modules.keys()))\n"
    )
    path = tmp_path / "weights.safetensors"
    weights.save(path, WEIGHTS.config, WEIGHTS.parameters)
    done = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_every_constant_is_the_same_in_both_languages():
    native = _native.constants()
    assert native
    for name, value in native.items():
        assert getattr(constants, name) == value, name
    defaults_only = {"THUMBNAIL", "WIDTH", "LUT_GRID"}  # in C++ these come with the weights
    variants_only = {"CURVE_INCREMENTS"}
    python = {name for name in vars(constants) if name.isupper()}
    assert python - native.keys() == defaults_only | variants_only
