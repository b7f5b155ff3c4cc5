"""Frames of video through the core, against the RGB path on the same frames."""

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from helpers.frames import difference, through_rgb, to_yuv
from helpers.pictures import reef
from helpers.samples import random_corrections
from pic_uie import Corrections, Enhancer, Statistics, Yuv, reference
from pic_uie.enhancer import instruction_sets

ENHANCERS = {name: Enhancer(threads=2, instruction_set=name) for name in instruction_sets()}
KINDS = [("bt601", True, 8), ("bt709", False, 8), ("bt2020", False, 10), ("bt709", True, 12)]


def frame(height, width, kind=("bt709", False, 8), seed=0):
    return to_yuv(reef(height, width, seed=seed) / 255.0, *kind)


def data_folder():
    return Path(os.environ.get("PIC_UIE_DATA", Path(__file__).parents[2] / "shared" / "data"))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [(1, 1), (2, 3), (33, 47), (120, 161), (64, 1301)])
@pytest.mark.parametrize("name", ENHANCERS)
def test_close_to_the_rgb_path(name, size, kind):
    enhancer, image = ENHANCERS[name], frame(*size, kind)
    mean, psnr = difference(enhancer.enhance(image), through_rgb(enhancer.enhance, image))
    assert mean <= 0.5, mean
    assert psnr >= 45.0, psnr


@pytest.mark.parametrize("kind", KINDS[:3])
def test_close_to_the_rgb_path_on_real_pictures(kind):
    pictures = sorted((data_folder() / "native" / "input").glob("*.png"))
    if not pictures:
        pytest.skip("needs the pictures of data/native")
    from PIL import Image

    enhancer = Enhancer()
    for path in pictures:
        image = to_yuv(np.asarray(Image.open(path).convert("RGB")) / 255.0, *kind)
        mean, psnr = difference(enhancer.enhance(image), through_rgb(enhancer.enhance, image))
        assert mean <= 0.5, (path.name, mean)
        assert psnr >= 45.0, (path.name, psnr)


def test_close_to_the_rgb_path_on_a_real_film():
    clip = data_folder() / "video" / "dolphins.mp4"
    if not clip.is_file() or shutil.which("ffmpeg") is None:
        pytest.skip("needs data/video/dolphins.mp4 and ffmpeg")
    command = [
        "ffmpeg",
        "-v",
        "error",
        "-i",
        str(clip),
        "-vf",
        "select=not(mod(n\\,20))",
        "-vsync",
        "0",
        "-frames:v",
        "3",
    ]
    raw = subprocess.run(
        [*command, "-pix_fmt", "yuv420p", "-f", "rawvideo", "-"], capture_output=True, check=True
    ).stdout
    frames = np.frombuffer(raw, np.uint8).reshape(-1, 1920 * 1080 * 3 // 2)
    assert len(frames) == 3
    enhancer = Enhancer()
    for samples in frames:
        image = Yuv.i420(samples, 1920, 1080)
        mean, psnr = difference(enhancer.enhance(image), through_rgb(enhancer.enhance, image))
        assert mean <= 0.5, mean
        assert psnr >= 45.0, psnr


def planes(image):
    return np.concatenate([image.y.ravel(), image.cb.ravel(), image.cr.ravel()]).astype(float)


@pytest.mark.parametrize("size", [(2, 3), (133, 201), (40, 2100)])
@pytest.mark.parametrize("name", ENHANCERS)
def test_sixteen_bits_between_the_passes_agree_with_floats(name, size):
    """Frames of 8 bits are refined in fixed point, frames of 16 bits in floats: the same picture in finer levels."""
    image = frame(*size)
    finer = Yuv(*(plane.astype(np.uint16) * 256 for plane in (image.y, image.cb, image.cr)), bits=16)
    theta = random_corrections(3)
    fixed, floats = (planes(ENHANCERS[name].execute(each, theta)) for each in (image, finer))
    assert np.abs(fixed - floats / 256).max() <= 0.5 + 0.05  # rounding to levels, and the refiner's own


@pytest.mark.parametrize("kind", KINDS)
def test_instruction_sets_differ_by_at_most_one_level(kind):
    image = frame(150, 333, kind)
    one, *others = (planes(enhancer.enhance(image)) for enhancer in ENHANCERS.values())
    for other in others:
        assert np.abs(one - other).max() <= 2 ** (image.bits - 8)
        assert np.mean(one != other) <= 0.001


def test_layouts_are_alike():
    image = frame(51, 77)
    planar = np.concatenate([image.y.ravel(), image.cb.ravel(), image.cr.ravel()])
    semi = np.concatenate([image.y.ravel(), np.stack([image.cb, image.cr], -1).ravel()])
    enhancer = Enhancer()
    expected = enhancer.enhance(image)
    for view in (Yuv.i420(planar, 77, 51), Yuv.nv12(semi, 77, 51)):
        out = enhancer.enhance(view)
        assert all(np.array_equal(getattr(out, plane), getattr(expected, plane)) for plane in ("y", "cb", "cr"))
    enhancer.enhance(Yuv.nv12(semi, 77, 51), out=Yuv.nv12(semi, 77, 51))  # in its own memory
    assert np.array_equal(Yuv.nv12(semi, 77, 51).cr, expected.cr)


def test_predict_reads_what_the_rgb_path_reads():
    from helpers.frames import to_rgb

    image = frame(300, 500)
    ours, theirs = Enhancer().predict(image), Enhancer().predict(to_rgb(image).astype(np.float32))
    assert np.allclose(ours.t, theirs.t, atol=1e-3)
    assert np.allclose(ours.lut, theirs.lut, atol=1e-4)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_any_number_of_threads(threads):
    image = frame(200, 333)
    one, many = Enhancer(threads=1).enhance(image), Enhancer(threads=threads).enhance(image)
    assert np.array_equal(one.y, many.y)
    assert np.array_equal(one.cb, many.cb)


def test_strength():
    image, enhancer = frame(90, 70), Enhancer()
    assert np.array_equal(enhancer.enhance(image, strength=0.0).cb, image.cb)
    half, full = enhancer.enhance(image, strength=0.5), enhancer.enhance(image)
    middle = (image.y.astype(float) + full.y) / 2
    assert np.abs(half.y - middle).max() <= 1.0


@pytest.mark.parametrize("picture", [reef(70, 90), frame(70, 90)], ids=["rgb", "yuv"])
def test_its_own_statistics_change_nothing(picture):
    enhancer, theta = Enhancer(), random_corrections(5)
    own = enhancer.measure(picture, theta)
    plain, given = enhancer.execute(picture, theta), enhancer.execute(picture, theta, statistics=own)
    if isinstance(picture, Yuv):
        plain, given = (
            np.concatenate([plain.y.ravel(), plain.cr.ravel()]),
            np.concatenate([given.y.ravel(), given.cr.ravel()]),
        )
    assert np.array_equal(plain, given)
    other = Statistics(own.mean + 0.05, own.covariance * 1.5)
    moved = enhancer.execute(picture, theta, statistics=other)
    assert not np.array_equal(
        moved.y.ravel() if isinstance(moved, Yuv) else moved, plain[: 70 * 90] if isinstance(moved, Yuv) else plain
    )


def test_statistics_are_those_of_the_reference():
    image, theta = reef(40, 50), random_corrections(3)
    enhancer = Enhancer()
    own = enhancer.measure(image, theta)
    steps = reference.execute(image / 255.0, reference.exact(theta), enhancer.weights.parameters)
    assert np.allclose(own.mean, steps.mean, atol=1e-5)
    assert np.allclose(own.covariance, steps.covariance, atol=1e-5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"matrix": "bt470"}, "matrix must be one of"),
        ({"bits": 7}, "bits must be 8 to 16"),
        ({"bits": 10}, "plane of uint16 for 10 bits"),
        ({"cb": np.zeros((2, 2), np.uint8)}, "must have shape"),
        ({"y": np.zeros((0, 4), np.uint8)}, "at least one pixel"),
        ({"y": [[1]]}, "got list"),
    ],
)
def test_frames_that_do_not_fit_are_refused(change, message):
    good = {"y": np.zeros((4, 6), np.uint8), "cb": np.zeros((2, 3), np.uint8), "cr": np.zeros((2, 3), np.uint8)}
    with pytest.raises(ValueError, match=message):
        Yuv(**(good | change))
    with pytest.raises(ValueError, match="has 36 samples, got 35"):
        Yuv.i420(np.zeros(35, np.uint8), 6, 4)


def test_statistics_are_checked():
    for mean, covariance in (([0, 0], np.eye(3)), ([0, 0, np.nan], np.eye(3)), ([0, 0, 0], np.arange(9).reshape(3, 3))):
        with pytest.raises(ValueError):
            Statistics(np.array(mean, float), np.array(covariance, float))
    with pytest.raises(ValueError, match="statistics must be Statistics"):
        Enhancer().execute(reef(8, 8), random_corrections(0), statistics=(1, 2))


def test_groups_of_corrections():
    theta = random_corrections(7)
    assert theta.scaled() == theta
    nothing = theta.scaled(haze=0, contrast=0, colour=0, balance=0)
    assert isinstance(nothing, Corrections)
    image = reef(60, 80)
    assert np.array_equal(Enhancer().execute(image, nothing), image)
    assert np.array_equal(theta.scaled(haze=0).t, theta.t)  # t also gates the chroma
    assert not theta.scaled(haze=0).v.any()
    assert np.allclose(theta.scaled(contrast=0.5).tone, (theta.tone + np.linspace(0, 1, 33)) / 2, atol=1e-6)
    assert theta.scaled(balance=0.25).blend == pytest.approx(theta.blend / 4)
    with pytest.raises(ValueError, match=r"colour must be in \[0, 1\]"):
        theta.scaled(colour=1.5)


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("kind", [("bt601", True, 8), ("bt709", False, 8), ("bt2020", False, 10), ("bt709", True, 10)])
@pytest.mark.parametrize("name", ENHANCERS)
def test_all_groups_at_0_return_a_frame_with_all_that_rgb_has_no_room_for(name, kind, interleaved):
    matrix, full_range, bits = kind
    rng = np.random.default_rng(3)
    samples = rng.integers(0, 2**bits, 77 * 51 + 2 * 39 * 26).astype(np.uint8 if bits == 8 else np.uint16)
    layout = Yuv.nv12 if interleaved else Yuv.i420
    image = layout(samples, 77, 51, matrix=matrix, full_range=full_range, bits=bits)
    enhancer = ENHANCERS[name]
    nothing = {"haze": 0.0, "contrast": 0.0, "colour": 0.0, "balance": 0.0}
    theta = enhancer.predict(image)
    statistics = enhancer.measure(image, theta)
    result = enhancer.execute(image, theta.scaled(**nothing), statistics=statistics)
    for plane in ("y", "cb", "cr"):
        assert np.array_equal(getattr(result, plane), getattr(image, plane))
    one = enhancer.execute(image, theta.scaled(**nothing | {"colour": 1e-3}), statistics=statistics)
    assert not np.array_equal(one.y, image.y)  # anything but the identity goes through RGB, as ever


def test_memory_of_a_frame_stays_below_eight_bytes_a_pixel():
    script = """
import resource
import numpy as np
from pic_uie import Enhancer, Yuv
enhancer = Enhancer(threads=1)
small = Yuv.i420(np.zeros(96, np.uint8), 8, 8)
enhancer.enhance(small, out=small)
samples = np.zeros(6000 * 4000 * 3 // 2, np.uint8)
samples += 100
frame = Yuv.i420(samples, 6000, 4000)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
enhancer.enhance(frame, out=frame)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 / (6000 * 4000))
"""
    import sys

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert float(done.stdout) <= 8.0, done.stdout
