"""The core as WebAssembly under node: the same bytes as the baseline instruction set of this machine."""

import json
import shutil
import subprocess

import numpy as np
import pytest

from helpers.building import make
from pic_uie.enhancer import Enhancer, instruction_sets
from pic_uie.video.temporal import Causal
from pic_uie.weights import flatten
from pic_uie.yuv import Yuv

SETS = instruction_sets()
MISSING = [tool for tool in ("clang++-22", "wasm-ld-22", "node", "cmake", "make") if shutil.which(tool) is None]
pytestmark = [
    pytest.mark.skipif(
        bool(MISSING),
        reason=f"{', '.join(MISSING)} not installed: apt install cmake make nodejs clang-22 lld-22 wasi-libc "
        "libc++-22-dev-wasm32 libc++abi-22-dev-wasm32 libclang-rt-22-dev-wasm32",
    ),
    pytest.mark.skipif("baseline" not in SETS, reason="the baseline that WebAssembly repeats is x86-64's"),
]

SIZES = [(1, 1, 3), (1, 1, 4), (5, 3, 3), (131, 97, 4), (641, 480, 3), (333, 70, 1), (1300, 40, 4)]


@pytest.fixture(scope="module")
def cores(root):
    done = make(root, "wasm")
    assert done.returncode == 0, done.stdout + done.stderr
    return {1: root / "build" / "wasm" / "pic_uie.wasm", 3: root / "build" / "wasm" / "pic_uie.threads.wasm"}


def pixels(width, height, channels):
    generator = np.random.default_rng(width * height * channels)
    y, x = np.mgrid[:height, :width]
    waves = [120 + 90 * np.sin(x / (9 + 4 * c) + c) * np.cos(y / (13 + c)) for c in range(channels)]
    return np.clip(np.stack(waves, -1) + generator.normal(0, 12, (height, width, channels)), 0, 255).astype(np.uint8)


def run(root, cores, tmp_path, enhancer, threads, work):
    """Lets node do the work with the core for so many threads."""
    (tmp_path / "weights").write_bytes(flatten(enhancer.weights))
    config = enhancer.weights.config
    job = {
        "weights": str(tmp_path / "weights"),
        "width": config.width,
        "thumbnail": config.thumbnail,
        "grid": config.lut_grid,
        "threads": threads,
    }
    (tmp_path / "job.json").write_text(json.dumps(job | work))
    script = str(root / "tests" / "native" / "wasm.mjs")
    command = ["node", script, str(cores[threads]), str(tmp_path / "job.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("strip", [None, 1, 7, 32, 479])
@pytest.mark.parametrize("threads", [1, 3])
def test_the_same_bytes_as_the_baseline(cores, root, tmp_path, threads, strip):
    enhancer = Enhancer(instruction_set="baseline")
    pictures, expected = [], []
    for index, (width, height, channels) in enumerate(SIZES):
        image = pixels(width, height, channels)
        for strength, groups in ((1.0, None), (0.4, None), (1.0, (0.0, 0.5, 1.0, 0.25))):
            name = f"{index}-{strength}-{groups is None}"
            (tmp_path / name).write_bytes(image.tobytes())
            pictures.append(
                {
                    "file": str(tmp_path / name),
                    "out": str(tmp_path / f"{name}.out"),
                    "width": width,
                    "height": height,
                    "channels": channels,
                    "strength": strength,
                }
                | ({"groups": groups} if groups else {})
                | ({"strip": strip} if strip else {})
            )
            theta = enhancer.predict(image)
            if groups:
                theta = theta.scaled(**dict(zip(("haze", "contrast", "colour", "balance"), groups, strict=True)))
            expected.append(enhancer.execute(image, theta, strength=strength).tobytes())
    run(root, cores, tmp_path, enhancer, threads, {"pictures": pictures})
    for picture, wanted in zip(pictures, expected, strict=True):
        with open(picture["out"], "rb") as file:
            assert file.read() == wanted, picture


CLIPS = [
    {"width": 96, "height": 64, "matrix": "bt709"},
    {"width": 1, "height": 1, "matrix": "bt601", "full": True},
    {"width": 1300, "height": 41, "matrix": "bt709"},
    {"width": 131, "height": 97, "matrix": "bt601", "full": True, "strength": 0.5},
    {"width": 200, "height": 120, "matrix": "bt2020", "step": 2, "groups": (0.5, 1.0, 0.25, 1.0), "rate": 60.0},
]


@pytest.mark.parametrize("threads", [1, 3])
def test_clips_are_those_of_the_stream(cores, root, tmp_path, threads):
    enhancer = Enhancer(instruction_set="baseline")
    clips, expected = [], []
    for index, clip in enumerate(CLIPS):
        width, height, step = clip["width"], clip["height"], clip.get("step", 1)
        half = ((height + 1) // 2, (width + 1) // 2)
        smoother = Causal(clip.get("rate", 25.0))
        groups = dict(zip(("haze", "contrast", "colour", "balance"), clip.get("groups", (1.0,) * 4), strict=True))
        given, wanted = b"", b""
        for number in range(8):
            y = np.roll(pixels(width, height, 1)[..., 0], 3 * number, 1) // (2 if number > 4 else 1)  # a cut
            cb, cr = (pixels(half[1], half[0], 2)[..., k] // 4 + 100 for k in (0, 1))
            both = np.stack([cb, cr], -1)
            frame = Yuv(y, both[..., 0], both[..., 1], matrix=clip["matrix"], full_range=clip.get("full", False))
            theta, _ = smoother.push(frame, enhancer.predict(frame))
            out = enhancer.execute(frame, theta.scaled(**groups), strength=clip.get("strength", 1.0))
            for planes, data in ((frame, "given"), (out, "wanted")):
                chroma = np.stack([planes.cb, planes.cr], -1 if step == 2 else 0)
                if data == "given":
                    given += planes.y.tobytes() + chroma.tobytes()
                else:
                    wanted += planes.y.tobytes() + chroma.tobytes()
        (tmp_path / f"{index}.yuv").write_bytes(given)
        files = {"file": str(tmp_path / f"{index}.yuv"), "out": str(tmp_path / f"{index}.out"), "frames": 8}
        options = {"step": step, "full": int(clip.get("full", False)), "rate": clip.get("rate", 25.0)}
        matrix = ("bt601", "bt709", "bt2020").index(clip["matrix"])
        clips.append(clip | files | options | {"matrix": matrix})
        expected.append(wanted)
    run(root, cores, tmp_path, enhancer, threads, {"clips": clips})
    for clip, wanted in zip(clips, expected, strict=True):
        with open(clip["out"], "rb") as file:
            assert file.read() == wanted, clip
