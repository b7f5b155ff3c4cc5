"""End-to-end speed of `pic-uie enhance` on large JPEGs, against its own limits and against Pillow with PyTorch.

    python benchmarks/throughput.py --weights W.safetensors        # 200 JPEGs of 12 megapixels
    python benchmarks/throughput.py --beside OTHER/bin/python      # this version against another, in turns
    python benchmarks/throughput.py --layer --count 40             # what the layer of stores costs on a disk

Four measurements on the same files:
  codec    the command's own workers with an engine that does nothing: read, decode, encode, write
  engine   the engine alone on pixels in memory, one picture per core
  command  `pic-uie enhance` as people run it, start-up included
  peer     a loop of Pillow and the PyTorch reference, all cores (a few pictures, since it is slow)

Two limits follow from the first two. A pipeline that gives half of the cores to the codec and half to the engine is as
fast as the slower of them. Sharing all cores perfectly is at least as fast: the core time of both by the cores.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from pic_uie import Enhancer, __version__, images, synthetic
from pic_uie.batch import results as disk
from pic_uie.batch import stores, workers
from pic_uie.batch.mapping import Job
from pic_uie.batch.process import Settings, process
from pic_uie.enhancer import default_threads
from pic_uie.images.files import read_bytes

HEIGHT, WIDTH = 3000, 4000
QUALITY = 92


class Idle:
    """An engine that does nothing."""

    def __init__(self) -> None:
        self.look = Enhancer().look(np.zeros((8, 8, 3), np.uint8))

    def enhance_with_look(self, img, strengths, *, out=None):
        return img, self.look


def make_pictures(folder: Path, count: int, scenes: int) -> list[Path]:
    """Renders a few scenes, turns and mirrors them to get distinct files, and copies these up to `count`."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{number:04d}.jpg" for number in range(count)]
    originals = [folder / f"scene{scene}.png" for scene in range(scenes)]
    for scene, original in enumerate(originals):
        if not original.exists():
            images.write(images.Picture(synthetic.render_pair(HEIGHT, WIDTH, seed=scene).input), original)
    if all(path.exists() for path in paths):
        return paths
    distinct = 4 * scenes
    for number, path in enumerate(paths):
        if number < distinct:
            pixels = images.read(originals[number % scenes]).pixels
            turned = (pixels, pixels[::-1], pixels[:, ::-1], pixels[::-1, ::-1])[number // scenes]
            images.write(images.Picture(np.ascontiguousarray(turned)), path, quality=QUALITY)
        else:
            shutil.copyfile(paths[number % distinct], path)
    return paths


def time_codec(paths: list[Path], out: Path, cores: int) -> float:
    """Seconds for all files through the workers without an engine."""
    jobs = [Job(path, out / path.name) for path in paths]
    idle, settings = Idle(), Settings(overwrite=True)

    def one(job, reserve, check):
        return process(job, idle, settings, reserve=reserve, check=check)

    started = time.perf_counter()
    failed = [o for o in workers.run(jobs, one, workers=cores, stop=threading.Event()) if o.status != "done"]
    seconds = time.perf_counter() - started
    if failed:
        sys.exit(f"{failed[0].input}: {failed[0].error}")
    return seconds


def time_engine(paths: list[Path], enhancer: Enhancer, cores: int, count: int) -> float:
    """Seconds for `count` pictures in memory, one per core at a time."""
    pixels = [images.read(path).pixels for path in paths[:cores]]

    def repeat(image):
        for _ in range(count // cores):
            enhancer.enhance(image, out=np.empty_like(image), threads=1)

    repeat_once = [enhancer.enhance(image, threads=1) for image in pixels]  # buffers, caches, clock speed
    del repeat_once
    started = time.perf_counter()
    with ThreadPoolExecutor(cores) as pool:
        list(pool.map(repeat, pixels))
    return time.perf_counter() - started


def time_command(
    paths: list[Path], out: Path, weights: Path | None, extra: list[str], python: str = sys.executable
) -> float:
    """Seconds for the command in a process of its own."""
    script = "import sys; from pic_uie.cli.main import main; sys.exit(main())"
    out.mkdir(parents=True)
    names = out.with_name("list.txt")
    names.write_text("\n".join(str(path.resolve()) for path in paths))
    command = [python, "-c", script, "enhance", f"@{names}", "-o", f"{out}/", "-q", *extra]
    if weights is not None:
        command += ["--weights", str(weights)]
    started = time.perf_counter()
    subprocess.run(command, check=True)
    return time.perf_counter() - started


def compare(paths: list[Path], results: Path, other: str, rounds: int, weights: Path | None, extra: list[str]) -> None:
    """Prints the rate of this version against that of another interpreter's, which take turns in going first.

    Rates have start-up and everything else that changed in them; the times of reading and writing are those of the
    layer between the command and the disk alone.
    """
    rates: dict[str, list[float]] = {sys.executable: [], other: []}
    stages: dict[str, list[dict[str, float]]] = {sys.executable: [], other: []}
    report = results.with_name("report.jsonl")
    for number in range(rounds):
        for python in (sys.executable, other) if number % 2 == 0 else (other, sys.executable):
            report.unlink(missing_ok=True)
            options = [*extra, "--report", str(report)]
            rates[python].append(len(paths) / time_command(paths, results / "command", weights, options, python))
            stages[python] += [json.loads(line)["milliseconds"] for line in report.read_text().splitlines()]
            shutil.rmtree(results)
        ours, theirs = (rates[python][-1] for python in (sys.executable, other))
        print(f"round {number + 1}: this version {ours:.2f}/s, the other {theirs:.2f}/s", flush=True)
    for name, python in (("this version", sys.executable), ("the other", other)):
        parts = (
            f"{stage} {statistics.median(one[stage] for one in stages[python]):.1f}" for stage in stages[python][0]
        )
        print(f"{name:<13}median ms of a picture: {', '.join(parts)}")
    ratios = [ours / theirs for ours, theirs in zip(rates[sys.executable], rates[other], strict=True)]
    print(
        f"this version has {statistics.median(ratios):.3f} of the other's rate in the median of {rounds} rounds "
        f"({min(ratios):.3f} to {max(ratios):.3f})"
    )


def compare_layer(paths: list[Path], results: Path, rounds: int) -> None:
    """Prints what a file's way from disk to disk costs through the layer of stores and without it, in turns.

    Only looking, reading and writing: a picture's other 100 ms would hide what is sought. The processor's time has no
    waiting for the disk in it.
    """
    limit = images.MAX_PIXELS
    ways = {
        "stores": (
            stores.state,
            lambda path: stores.read(path, limit),
            lambda path, data: stores.put(path, data, False),
        ),
        "disk": (disk.state, lambda path: read_bytes(path, limit), lambda path, data: disk.write(path, data, False)),
    }
    results.mkdir(parents=True, exist_ok=True)
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for number, path in enumerate(paths * rounds):
        for name in sorted(ways, reverse=number % 2 == 0):
            state, read, put = ways[name]
            place = results / path.name
            started = time.perf_counter(), time.thread_time()
            state(place)
            put(place, read(path))
            spent[name].append((time.perf_counter() - started[0], time.thread_time() - started[1]))
            place.unlink()
    for column, kind in enumerate(("clock", "processor")):
        with_layer, without = (np.array([one[column] for one in spent[name]]) * 1e6 for name in ("stores", "disk"))
        differences = with_layer - without
        chosen = np.random.default_rng(0).integers(0, len(differences), (2000, len(differences)))
        low, high = np.quantile(np.median(differences[chosen], axis=1), (0.025, 0.975))
        print(
            f"{kind:<10}{np.median(with_layer):9.0f} us through stores, {np.median(without):9.0f} without, difference "
            f"{np.median(differences):+.1f} us (95 % {low:+.1f} to {high:+.1f}) in the median of {len(differences)}"
        )


def cpu_seconds() -> float:
    """Processor time of this process and its children: what a busy machine disturbs least."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def idle_seconds() -> float | None:
    """Idle time of all cores of a Linux machine since its start, waiting for disks included."""
    try:
        fields = Path("/proc/stat").read_text().splitlines()[0].split()
    except OSError:
        return None
    return (int(fields[4]) + int(fields[5])) / os.sysconf("SC_CLK_TCK")


def time_peer(paths: list[Path], out: Path, weights: Path | None) -> float | None:
    """Seconds per picture of the loop that one writes first: Pillow, PyTorch, Pillow."""
    try:
        import torch
        from PIL import Image

        from pic_uie.model.pic_uie import PicUie
        from pic_uie.weights import DEFAULT_PATH
    except ImportError:
        return None
    model = PicUie.load(weights or DEFAULT_PATH).eval()
    out.mkdir(parents=True, exist_ok=True)
    seconds = []
    with torch.inference_mode():
        for path in paths:
            started = time.perf_counter()
            array = np.array(Image.open(path).convert("RGB"))
            batch = torch.from_numpy(array).permute(2, 0, 1)[None].float() / 255
            result, _ = model(batch)
            array = (result[0].permute(1, 2, 0) * 255).round().to(torch.uint8).numpy()
            Image.fromarray(array).save(out / path.name, quality=QUALITY)
            seconds.append(time.perf_counter() - started)
    return statistics.median(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--scenes", type=int, default=2, help="distinct scenes to render")
    parser.add_argument("--folder", type=Path, help="where the pictures are made and kept (a temporary folder)")
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--peer", type=int, default=3, help="pictures for the PyTorch loop; 0 leaves it out")
    parser.add_argument("--beside", metavar="PYTHON", help="compare with the command of another environment")
    parser.add_argument("--rounds", type=int, default=5, help="of a comparison")
    parser.add_argument("--layer", action="store_true", help="compare reading and writing through stores and without")
    arguments, extra = parser.parse_known_args()
    cores = default_threads()
    print(f"pic-uie {__version__}, Python {platform.python_version()}, {platform.machine()}, {cores} cores")
    with tempfile.TemporaryDirectory() as temporary:
        root = arguments.folder or Path(temporary)
        paths = make_pictures(root / "in", arguments.count, arguments.scenes)
        size = sum(os.path.getsize(path) for path in paths) / len(paths) / 1e6
        print(f"{len(paths)} JPEGs of {WIDTH} x {HEIGHT}, {size:.1f} MB each")
        results = root / "out"
        try:
            if arguments.layer:
                compare_layer(paths, results, arguments.rounds)
            elif arguments.beside:
                compare(paths, results, arguments.beside, arguments.rounds, arguments.weights, extra)
            else:
                measure(paths, results, cores, arguments.weights, arguments.peer, extra)
        finally:
            shutil.rmtree(results, ignore_errors=True)


def measure(paths: list[Path], results: Path, cores: int, weights: Path | None, peers: int, extra: list[str]) -> None:
    """Takes the four measurements and prints them with the limits; times are per picture."""
    count, used = len(paths), [cpu_seconds()]
    codec = time_codec(paths, results / "codec", cores) / count
    used.append(cpu_seconds())
    shutil.rmtree(results)
    engine_count = max(cores, min(count, 40) // cores * cores)
    engine = time_engine(paths, Enhancer(weights, threads=1), cores, engine_count) / engine_count
    used.append(cpu_seconds())
    idle_before = idle_seconds()
    command = time_command(paths, results / "command", weights, extra) / count
    used.append(cpu_seconds())
    idle_after = idle_seconds()
    core_seconds = [b - a for a, b in itertools.pairwise(used)]
    finished = len(list((results / "command").iterdir()))
    if finished != count:
        sys.exit(f"the command wrote {finished} of {count} files")
    rows = (("codec alone", codec, count), ("engine alone", engine, engine_count + cores), ("command", command, count))
    for (name, seconds, pictures), core in zip(rows, core_seconds, strict=True):
        print(f"{name:<13}{1 / seconds:6.2f} pictures/s, {1000 * core / pictures:.0f} ms of processor time each")
    slower, shared = 1 / (2 * max(codec, engine)), 1 / (codec + engine)
    if idle_before is not None and idle_after is not None:
        idle, other = idle_after - idle_before, command * count * cores - core_seconds[-1]
        other = max(0.0, other - idle)
        total = command * count * cores
        print(
            f"while the command ran, the cores spent {100 * core_seconds[-1] / total:.0f} % on it, "
            f"{100 * other / total:.0f} % on other programs, {100 * idle / total:.0f} % idle"
        )
    limits = (
        ("codec and engine on half of the cores each", slower),
        ("all cores shared perfectly", shared),
        ("the slower of codec and engine as if the other took no time", 2 * slower),
    )
    for name, limit in limits:
        print(f"limit by {name}: {limit:.2f} pictures/s, {100 / command / limit:.0f} % reached")
    peer = time_peer(paths[:peers], results / "peer", weights) if peers else None
    if peer is not None:
        print(f"Pillow + PyTorch: {1 / peer:.2f} pictures/s; the command is {peer / command:.1f} times as fast")


if __name__ == "__main__":
    main()
