"""How fast the same core is from other compilers, other commits and as WebAssembly, interleaved in one run.

    CXX=clang++ pip install --no-deps --target build/clang .
    git worktree add build/old COMMIT && pip install --no-deps --target build/before build/old
    make wasm
    python benchmarks/builds.py --beside clang=build/clang --beside before=build/before --wasm build/wasm/pic_uie.wasm

Each build runs in a process of its own; in every round each of them enhances the same picture once, in an order that
turns. From process to process one and the same build is a few per cent faster or slower, so all of them are started
anew several times (`--launches`). `best ms` is the best of all rounds, and
`x ours` its ratio to the build under test. Beside it is the median of the ratio within a round, with the interval in
which the true median lies with 95 % probability: a build differs where 1 is outside. Output is compared too.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from speed import SIZES, any_weights, picture

from pic_uie.enhancer import instruction_sets
from pic_uie.weights import flatten, load, save

OURS = "this build"
WEIGHTS = "weights.safetensors"
CLOCKS = {"wall": "perf_counter", "cpu": "process_time"}
SERVER = """
import hashlib, sys, time
import numpy as np
from pic_uie import Enhancer
engines, images = {}, {}
for line in sys.stdin:
    path, height, width, name, threads = line.split()
    if path not in images:
        images[path] = np.fromfile(path, np.uint8).reshape(int(height), int(width), 3)
    image, out = images[path], np.empty_like(images[path])
    engine = engines.setdefault(name, Enhancer(sys.argv[2], threads=int(threads), instruction_set=name))
    engine.enhance(image, out=out, threads=int(threads))
    clock = getattr(time, sys.argv[1])
    start = clock()
    engine.enhance(image, out=out, threads=int(threads))
    print(clock() - start, hashlib.sha256(out).hexdigest(), flush=True)
"""


class Build:
    """One installation of pic-uie in a process of its own."""

    def __init__(self, folder: Path | None, clock: str, weights: Path) -> None:
        environment, options = dict(os.environ), []
        if folder is not None:  # without `site`, so that an editable installation does not come first
            installed = [path for path in sys.path if path.endswith("site-packages")]
            environment["PYTHONPATH"] = os.pathsep.join([str(folder), *installed])
            options = ["-S"]
        command = [sys.executable, *options, "-c", SERVER, CLOCKS[clock], str(weights)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment)

    def enhance(self, *words: object) -> tuple[float, str]:
        print(*words, file=self.process.stdin, flush=True)
        seconds, digest = self.process.stdout.readline().split()
        return float(seconds), digest

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--beside", action="append", default=[], metavar="NAME=FOLDER")
    parser.add_argument("--wasm", type=Path, metavar="FILE")
    parser.add_argument("--sizes", type=lambda text: text.split(","), default=["1080p"])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--all-channels", action="store_true", help="weights with no silent channel in the refiner")
    parser.add_argument("--launches", type=int, default=4)
    parser.add_argument("--sets", type=lambda text: text.split(","), default=instruction_sets())
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="cpu: without other programs (one thread)")
    arguments = parser.parse_args()
    folders = {OURS: None} | {
        name: Path(folder).resolve() for name, folder in (item.split("=", 1) for item in arguments.beside)
    }
    print(f"{'size':<7}{'set':<10}{'build':<14}{'best ms':>9}{'x ours':>8}  {'median of rounds':<20}bytes")
    with tempfile.TemporaryDirectory() as folder:
        checked = any_weights()
        if arguments.all_channels:
            checked.parameters["executor.refiner.depthwise.bias"] += 1
        save(Path(folder) / WEIGHTS, checked.config, checked.parameters)
        for size in arguments.sizes:
            path = Path(folder) / size
            picture(*SIZES[size]).tofile(path)
            for name in arguments.sets:
                seconds, digests = measure(folders, path, size, name, arguments)
                if arguments.wasm and name == "baseline":
                    seconds["wasm"], digests["wasm"] = wasm(arguments.wasm, path, *SIZES[size], Path(folder))
                for build in seconds:
                    print(row(size, name, build, seconds, digests), flush=True)


def measure(
    folders: dict[str, Path | None], path: Path, size: str, name: str, arguments: argparse.Namespace
) -> tuple[dict[str, list[float]], dict[str, str]]:
    """The seconds of every round, and the digest of the output, of each build."""
    seconds: dict[str, list[float]] = {build: [] for build in folders}
    digests = {}
    for _ in range(arguments.launches):
        builds = {build: Build(folder, arguments.clock, path.parent / WEIGHTS) for build, folder in folders.items()}
        for number in range(arguments.rounds):
            order = list(builds)[number % len(builds) :] + list(builds)[: number % len(builds)]
            for build in order:
                taken, digests[build] = builds[build].enhance(path, *SIZES[size], name, arguments.threads)
                seconds[build].append(taken)
        for build in builds.values():
            build.close()
    return seconds, digests


def row(size: str, name: str, build: str, seconds: dict[str, list[float]], digests: dict[str, str]) -> str:
    best, ours = min(seconds[build]), min(seconds[OURS])
    median = ""
    if len(seconds[build]) == len(seconds[OURS]):
        middle, low, high = median_interval(np.array(seconds[build]) / np.array(seconds[OURS]))
        median = f"{middle:.3f} ({low:.3f}-{high:.3f})"
    same = "same" if digests[build] == digests[OURS] else "other"
    return f"{size:<7}{name:<10}{build:<14}{best * 1e3:9.2f}{best / ours:8.3f}  {median:<20}{same}"


def median_interval(values: np.ndarray) -> tuple[float, float, float]:
    """The median and the order statistics around it that hold the true one with 95 % probability."""
    ordered, n = np.sort(values), len(values)
    reach = 0.98 * n**0.5  # 1.96 deviations of a count that is binomial with one half
    low, high = max(int((n - 1) / 2 - reach), 0), min(int(np.ceil((n - 1) / 2 + reach)), n - 1)
    return float(np.median(ordered)), float(ordered[low]), float(ordered[high])


def wasm(core: Path, pixels: Path, height: int, width: int, folder: Path) -> tuple[list[float], str]:
    """The best warm call on one thread under node."""
    weights = load(folder / WEIGHTS)
    (folder / "weights").write_bytes(flatten(weights))
    config, out = weights.config, folder / "out"
    job = {
        "weights": str(folder / "weights"),
        "width": config.width,
        "thumbnail": config.thumbnail,
        "grid": config.lut_grid,
        "rounds": 10,
        "pictures": [{"file": str(pixels), "out": str(out), "width": width, "height": height, "channels": 3}],
    }
    (folder / "job.json").write_text(json.dumps(job))
    script = Path(__file__).parents[1] / "tests" / "native" / "wasm.mjs"
    command = ["node", str(script), str(core), str(folder / "job.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [json.loads(done.stdout)["best"] / 1e3], hashlib.sha256(out.read_bytes()).hexdigest()


if __name__ == "__main__":
    main()
