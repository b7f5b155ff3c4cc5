"""End-to-end speed of `pic-uie enhance` on large JPEGs, against its own limits and against Pillow with PyTorch.

    python benchmarks/throughput.py --weights W.safetensors        # 200 JPEGs of 12 megapixels

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
from pic_uie.batch import workers
from pic_uie.batch.mapping import Job
from pic_uie.batch.process import Settings, process
from pic_uie.enhancer import default_threads

HEIGHT, WIDTH = 3000, 4000
QUALITY = 92


class Idle:
    """An engine that does nothing."""

    def enhance(self, img, *, strength=1.0, out=None):
        return img


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


def time_command(folder: Path, out: Path, weights: Path | None, extra: list[str]) -> float:
    """Seconds for the command in a process of its own."""
    script = "import sys; from pic_uie.cli.main import main; sys.exit(main())"
    command = [sys.executable, "-c", script, "enhance", str(folder / "*.jpg"), "-o", f"{out}/", "-q", *extra]
    if weights is not None:
        command += ["--weights", str(weights)]
    started = time.perf_counter()
    subprocess.run(command, check=True)
    return time.perf_counter() - started


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
            measure(root / "in", paths, results, cores, arguments.weights, arguments.peer, extra)
        finally:
            shutil.rmtree(results, ignore_errors=True)


def measure(
    folder: Path, paths: list[Path], results: Path, cores: int, weights: Path | None, peers: int, extra: list[str]
) -> None:
    """Takes the four measurements and prints them with the limits; times are per picture."""
    count = len(paths)
    codec = time_codec(paths, results / "codec", cores) / count
    shutil.rmtree(results)
    engine_count = max(cores, min(count, 40) // cores * cores)
    engine = time_engine(paths, Enhancer(weights, threads=1), cores, engine_count) / engine_count
    command = time_command(folder, results / "command", weights, extra) / count
    finished = len(list((results / "command").iterdir()))
    if finished != count:
        sys.exit(f"the command wrote {finished} of {count} files")
    for name, seconds in (("codec alone", codec), ("engine alone", engine), ("command", command)):
        print(f"{name:<13}{1 / seconds:6.2f} pictures/s, {1000 * seconds * cores:.0f} ms of a core each")
    slower, shared = 1 / (2 * max(codec, engine)), 1 / (codec + engine)
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
