"""Time of one training step, batch 16 at 256x256: ours against the naive loop, interleaved in one run.

    python benchmarks/training.py [--steps 8] [--threads 2]
    python benchmarks/training.py --widths              # the predictor by its width: our body, and torch's convolutions

The naive loop is the model's torch modules as written, `pytorch-msssim` for both structural terms, and glibc's memory
settings as they come. Each side lives in a process of its own, since memory settings belong to the process.
"""

import argparse
import math
import subprocess
import sys
import time
from functools import partial

import torch
from pytorch_msssim import ms_ssim, ssim

from pic_uie.bench.machine import describe
from pic_uie.config import ModelConfig
from pic_uie.model import PicUie
from pic_uie.training import native
from pic_uie.training.augmentation import Batch
from pic_uie.training.config import Recipe
from pic_uie.training.loop import start
from pic_uie.training.losses import depth_loss, lut_monotonicity, lut_smoothness, objective
from pic_uie.training.memory import keep_freed_memory
from pic_uie.training.step import take_step

SIDES = ("naive", "ours")


def make_batch() -> Batch:
    generator = torch.Generator().manual_seed(0)
    rgb = torch.rand(2, 16, 3, 256, 256, generator=generator)
    return Batch(rgb[0], rgb[1], torch.rand(16, 1, 256, 256, generator=generator), [])


def naive_stepper():
    torch.manual_seed(0)
    model, average, batch = PicUie(), PicUie(), make_batch()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, weight_decay=1e-4)

    def step() -> float:
        enhanced, theta = model(batch.inputs)
        loss = (
            (enhanced - batch.targets).abs().mean()
            + 0.3 * (enhanced[:, 0] - batch.targets[:, 0]).abs().mean()
            + 0.6 * (1.0 - ssim(enhanced, batch.targets, data_range=1.0))
            + 0.4 * (1.0 - ms_ssim(enhanced, batch.targets, data_range=1.0))
            + 0.1 * depth_loss(theta.t, batch.depths)
            + 0.05 * lut_smoothness(theta.lut)
            + lut_monotonicity(theta.lut)
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for mean, parameter in zip(average.parameters(), model.parameters(), strict=True):
                mean.lerp_(parameter, 1e-3)
        return loss.item()

    return step


def our_stepper():
    keep_freed_memory()
    recipe, batch = Recipe(), make_batch()
    state = start(recipe)
    return lambda: take_step(state.lesson, state, batch, recipe)["total"].item()


def serve(side: str, threads: int) -> None:
    """Takes a step for each line on standard input; prints its seconds and its loss."""
    torch.set_num_threads(threads)
    step = naive_stepper() if side == "naive" else our_stepper()
    for _ in sys.stdin:
        began = time.perf_counter()
        loss = step()
        print(time.perf_counter() - began, loss, flush=True)


def parts(threads: int, repeats: int) -> None:
    """Prints where our step spends its time, forward and backward together, best of several."""
    torch.set_num_threads(threads)
    keep_freed_memory()
    recipe, batch = Recipe(), make_batch()
    state = start(recipe)
    model = state.model

    def best(run) -> float:
        times = []
        for _ in range(repeats):
            began = time.perf_counter()
            run()
            times.append(time.perf_counter() - began)
        return min(times)

    def predictor() -> None:
        torch.stack([part.sum() for part in native.predict(model.predictor, batch.inputs)]).sum().backward()

    def executor() -> None:
        native.execute(model.executor, batch.inputs, theta).backward(batch.targets)

    def loss() -> None:
        terms = objective(enhanced, batch.targets, theta, batch.depths, recipe.loss, recipe.model)
        terms["total"].backward()

    theta = type(model.predictor(batch.inputs))(*(p.detach().requires_grad_() for p in model.predictor(batch.inputs)))
    enhanced = batch.inputs.clone().requires_grad_()
    whole = best(lambda: take_step(state.lesson, state, batch, recipe))
    rows = {
        "predictor (native body)": best(predictor),
        "executor (native)": best(lambda: native.execute(model.executor, batch.inputs, theta).backward(batch.targets)),
        "objective (native SSIM)": best(
            lambda: objective(enhanced, batch.targets, theta, batch.depths, recipe.loss, recipe.model)[
                "total"
            ].backward()
        ),
    }
    rows["optimiser, average, rest"] = whole - sum(rows.values())
    for name, seconds in rows.items():
        print(f"  {name:<26}{1e3 * seconds:8.1f} ms {100 * seconds / whole:5.1f} %")


def widths(threads: int, repeats: int = 6) -> None:
    """Prints the time of the predictor, forward and backward, for one picture, best of several, interleaved."""
    torch.set_num_threads(threads)
    keep_freed_memory()
    thumbnails = torch.rand(4, 3, 256, 256)
    print("width   our body   torch's")
    for width in (8, 16, 32, 48, 64, 96, 128, 160):
        predictor = PicUie(ModelConfig(width=width)).predictor
        sides = {"ours": partial(native.predict_natively, predictor), "torch": predictor}
        best = dict.fromkeys(sides, math.inf)
        for _ in range(repeats):
            for side, predict in sides.items():
                began = time.process_time()
                torch.stack([part.sum() for part in predict(thumbnails)]).sum().backward()
                best[side] = min(best[side], (time.process_time() - began) / len(thumbnails))
        print(f"{width:>5}{1e3 * best['ours']:8.1f} ms{1e3 * best['torch']:7.1f} ms")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--widths", action="store_true")
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--serve", choices=SIDES)
    arguments = parser.parse_args()
    if arguments.serve:
        serve(arguments.serve, arguments.threads)
        return
    if arguments.widths:
        widths(arguments.threads)
        return
    print(", ".join(f"{name} {value}" for name, value in describe().items()) + f", torch {torch.__version__}")
    command = [sys.executable, __file__, "--threads", str(arguments.threads), "--serve"]
    servers = {
        side: subprocess.Popen([*command, side], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for side in SIDES
    }
    times: dict[str, list[float]] = {side: [] for side in SIDES}
    for index in range(arguments.steps + 1):
        losses = {}
        for side, server in servers.items():
            print("step", file=server.stdin, flush=True)
            seconds, losses[side] = map(float, server.stdout.readline().split())
            if index:  # the first step warms up
                times[side].append(seconds)
        if not index:
            print(f"loss of the first step: naive {losses['naive']:.6f}, ours {losses['ours']:.6f}")
    for server in servers.values():
        server.stdin.close()
        server.wait()
    naive, ours = min(times["naive"]), min(times["ours"])
    print(f"step, batch 16 at 256x256, {arguments.threads} threads, best of {arguments.steps} interleaved:")
    print(f"  naive {naive:.3f} s, ours {ours:.3f} s: {naive / ours:.1f} times as fast")
    print(f"  700 epochs of 47 steps: {700 * 47 * ours / 3600:.1f} hours")
    print("where our step spends its time:")
    parts(arguments.threads, arguments.steps)


if __name__ == "__main__":
    main()
