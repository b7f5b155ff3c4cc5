"""How fast the native engine is beside its peers, interleaved in one run so that all see the same machine.

    python benchmarks/speed.py [--sizes 256,720p,1080p,4K] [--threads 1,2] [--rounds 9] [--no-compile] [--no-torch]

The engine goes from uint8 to uint8, predictor and all. The PyTorch model gets a float batch that is ready, and returns
one: its conversions are not counted. OpenCV's quick fix is RGB→Lab, CLAHE on L, and back. Times are the best of all
rounds, with the median beside it: the best is what the code costs, the median also what else the machine was doing.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cv2
import numpy as np

import pic_uie
from pic_uie import Enhancer, Yuv, _native, weights
from pic_uie.complexity import gflops
from pic_uie.config import ModelConfig
from pic_uie.weights import Weights
from pic_uie.weights.layout import parameter_shapes

SIZES = {"256": (256, 256), "720p": (720, 1280), "1080p": (1080, 1920), "4K": (2160, 3840)}
ENGINE, EAGER, COMPILED, CLAHE, GRAY, COPY = (
    "pic-uie",
    "torch eager",
    "torch.compile",
    "Lab-CLAHE",
    "gray-world",
    "memcpy",
)
SLOW = {EAGER, COMPILED}  # one round in three


@dataclass
class Timing:
    """The seconds of each round."""

    seconds: list[float] = field(default_factory=list)

    @property
    def best(self) -> float:
        return min(self.seconds)

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


def main() -> None:
    arguments = parse()
    checked = any_weights()
    enhancer = Enhancer(checked)
    print_machine(enhancer)
    print(f"{active_channels(checked.parameters)} of the refiner's 16 channels are active with these weights")
    best: dict[tuple[str, int, str], float] = {}
    for threads in arguments.threads:
        cv2.setNumThreads(threads)
        peak = peak_multiply_adds(enhancer.instruction_set, threads)
        model = torch_models(checked, threads, arguments) if arguments.torch else {}
        print(f"\n{threads} thread(s): peak {peak / 1e9:.1f} G multiply-adds/s in float32")
        print(f"{'size':<7}{'what':<15}{'best ms':>9}{'median':>9}{'Mpixel/s':>10}{'x pic-uie':>11}{'of peak':>9}")
        for name in arguments.sizes:
            height, width = SIZES[name]
            timings = measure(candidates(picture(height, width), enhancer, model, threads), arguments.rounds)
            work = gflops(ModelConfig(), height, width) / 2 * 1e9
            for what, timing in timings.items():
                best[name, threads, what] = timing.best
                ratio = timing.best / timings[ENGINE].best
                share = f"{work / timing.best / peak:9.1%}" if what in (ENGINE, EAGER, COMPILED) else ""
                rate = height * width / timing.best / 1e6
                row = f"{name:<7}{what:<15}{timing.best * 1e3:9.2f}{timing.median * 1e3:9.2f}{rate:10.1f}{ratio:10.2f}x"
                print(row + share, flush=True)
    print_formats(enhancer, arguments)
    print_parts(enhancer, arguments)
    print_scaling(best, arguments)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=lambda text: text.split(","), default=list(SIZES))
    parser.add_argument("--threads", type=lambda text: [int(n) for n in text.split(",")], default=[1, 2])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--no-compile", dest="compile", action="store_false", help="leave torch.compile out")
    parser.add_argument("--no-torch", dest="torch", action="store_false", help="leave PyTorch out")
    return parser.parse_args()


def any_weights() -> Weights:
    """The default weights, or random ones, which leave no channel of the refiner silent and so take longer."""
    if weights.DEFAULT_PATH.exists():
        return weights.load()
    rng = np.random.default_rng(0)
    shapes = parameter_shapes(ModelConfig())
    parameters = {name: np.asarray(rng.normal(0, 0.1, shape), np.float32) for name, shape in shapes.items()}
    return Weights(ModelConfig(), parameters, weights.digest(ModelConfig(), parameters))


def picture(height: int, width: int) -> np.ndarray:
    """A blue-green scene with texture, uint8."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    waves = np.sin(x / 37) * np.cos(y / 23)
    scene = np.stack([0.2 + 0.1 * waves, 0.5 + 0.2 * waves, 0.6 + 0.2 * np.cos(x / 91)], axis=2)
    scene += rng.normal(0, 0.03, scene.shape).astype(np.float32)
    return (scene.clip(0, 1) * 255 + 0.5).astype(np.uint8)


def candidates(
    image: np.ndarray, enhancer: Enhancer, models: dict[str, Callable[..., object]], threads: int
) -> dict[str, Callable[[], object]]:
    out = np.empty_like(image)
    clahe = cv2.createCLAHE(clipLimit=2.0, tileGridSize=(8, 8))

    def lab_clahe() -> None:
        lab = cv2.cvtColor(image, cv2.COLOR_RGB2Lab)
        lightness, a, b = cv2.split(lab)
        cv2.cvtColor(cv2.merge([clahe.apply(lightness), a, b]), cv2.COLOR_Lab2RGB, dst=out)

    def gray_world() -> None:
        means = cv2.mean(image)[:3]
        levels = np.arange(256)[:, None] * (sum(means) / 3 / np.maximum(means, 1e-3))
        cv2.LUT(image, levels.clip(0, 255).astype(np.uint8)[None], dst=out)

    runs: dict[str, Callable[[], object]] = {ENGINE: lambda: enhancer.enhance(image, out=out, threads=threads)}
    if models:
        import torch

        batch = torch.from_numpy(image.transpose(2, 0, 1)[None].astype(np.float32) / 255)
        runs |= {name: (lambda model=model: model(batch)) for name, model in models.items()}
    return runs | {CLAHE: lab_clahe, GRAY: gray_world, COPY: lambda: np.copyto(out, image)}


def torch_models(checked: Weights, threads: int, arguments: argparse.Namespace) -> dict[str, Callable[..., object]]:
    import torch

    from pic_uie.model import PicUie

    torch.set_num_threads(threads)
    model = PicUie.from_weights(checked).eval()
    models: dict[str, Callable[..., object]] = {EAGER: torch.inference_mode()(model)}
    if arguments.compile:
        models[COMPILED] = torch.inference_mode()(torch.compile(model))
    return models


def measure(runs: dict[str, Callable[[], object]], rounds: int) -> dict[str, Timing]:
    timings = {name: Timing() for name in runs}
    for run in runs.values():
        run()
    for number in range(rounds):
        for name, run in runs.items():
            if name in SLOW and number % 3:
                continue
            start = time.perf_counter()
            run()
            timings[name].seconds.append(time.perf_counter() - start)
    return timings


def peak_multiply_adds(instruction_set: str, threads: int) -> float:
    """What all the cores reach together."""
    with ThreadPoolExecutor(threads) as pool:
        return sum(pool.map(lambda _: _native.peak_multiply_adds(instruction_set, 0.2), range(threads)))


def print_machine(enhancer: Enhancer) -> None:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    processor = next(
        (line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine()
    )
    print(f"pic-uie {pic_uie.__version__}, {enhancer.instruction_set}; {processor}; {platform.platform()}")
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, OpenCV {cv2.__version__}", end="")
    try:
        import torch

        print(f", PyTorch {torch.__version__}")
    except ImportError:
        print()


def active_channels(parameters: Mapping[str, np.ndarray]) -> int:
    """How many channels of the refiner can be above zero behind their second ReLU: the others are left out."""
    first, second = (parameters[f"executor.refiner.{name}.weight"].reshape(16, 9) for name in ("expand", "depthwise"))
    largest = np.maximum(parameters["executor.refiner.expand.bias"] + first.clip(0).sum(1), 0)  # for inputs in [0, 1]
    return int(np.sum(parameters["executor.refiner.depthwise.bias"] + second.clip(0).sum(1) * largest > 0))


def print_formats(enhancer: Enhancer, arguments: argparse.Namespace) -> None:
    """Other layouts of the same picture, in turn with packed RGB of 8 bits; frames also by way of OpenCV's RGB."""
    print("\nformats")
    print(f"{'size':<7}{'threads':<9}{'what':<22}{'best ms':>9}{'frames/s':>10}{'x rgb8':>8}")
    for name in arguments.sizes:
        rgb = picture(*SIZES[name])
        height, width = rgb.shape[:2]
        rgba = np.dstack([rgb, np.full((height, width), 255, np.uint8)])
        planes = cv2.cvtColor(rgb, cv2.COLOR_RGB2YUV_I420)
        for threads in arguments.threads:
            cv2.setNumThreads(threads)

            def through_rgb(threads: int = threads, planes: np.ndarray = planes) -> None:
                colours = cv2.cvtColor(planes, cv2.COLOR_YUV2RGB_I420)
                cv2.cvtColor(enhancer.enhance(colours, out=colours, threads=threads), cv2.COLOR_RGB2YUV_I420)

            pictures: dict[str, Any] = {
                "rgb8": rgb,
                "rgba8": rgba,
                "rgb16": rgb.astype(np.uint16) * 257,
                "yuv420, BT.601 full": Yuv.i420(planes, width, height, matrix="bt601", full_range=True),
                "yuv420, BT.709": Yuv.i420(planes, width, height),
                "nv12, BT.709": Yuv.nv12(planes, width, height),
                "yuv420, 10 bits": Yuv.i420(planes.astype(np.uint16) * 4, width, height, bits=10),
            }
            outputs = {what: p.empty_like() if isinstance(p, Yuv) else np.empty_like(p) for what, p in pictures.items()}
            runs: dict[str, Callable[[], object]] = {
                what: lambda what=what: enhancer.enhance(pictures[what], out=outputs[what], threads=threads)  # noqa: B023
                for what in pictures
            }
            timings = measure(runs | {"yuv420 through RGB": through_rgb}, arguments.rounds)
            for what, timing in timings.items():
                ratio = timing.best / timings["rgb8"].best
                row = f"{name:<7}{threads:<9}{what:<22}{timing.best * 1e3:9.2f}{1 / timing.best:10.1f}{ratio:7.2f}x"
                print(row, flush=True)


def print_parts(enhancer: Enhancer, arguments: argparse.Namespace) -> None:
    """The predictor with its thumbnail apart from the executor."""
    image = picture(*SIZES["1080p"])
    theta, out = enhancer.predict(image), np.empty_like(image)
    print("\nparts at 1080p")
    for threads in arguments.threads:
        timings = measure(
            {
                "predict": lambda threads=threads: enhancer.predict(image, threads=threads),
                "execute": lambda threads=threads: enhancer.execute(image, theta, out=out, threads=threads),
            },
            3 * arguments.rounds,
        )
        parts = ", ".join(f"{name} {timing.best * 1e3:.2f} ms" for name, timing in timings.items())
        print(f"{threads} thread(s): {parts}")


def print_scaling(best: dict[tuple[str, int, str], float], arguments: argparse.Namespace) -> None:
    first, last = min(arguments.threads), max(arguments.threads)
    print("\nscaling of pic-uie")
    for name in arguments.sizes:
        if first != last:
            gain = best[name, first, ENGINE] / best[name, last, ENGINE]
            print(f"{name}: {last} threads are {gain:.2f}x of {first}")
    if {"1080p", "4K"} <= set(arguments.sizes):
        for threads in arguments.threads:
            growth = best["4K", threads, ENGINE] / best["1080p", threads, ENGINE]
            print(f"{threads} thread(s): 4K takes {growth:.2f}x of 1080p (4x the pixels)")


if __name__ == "__main__":
    main()
