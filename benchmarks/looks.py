"""How near a .cube comes to the whole look, and what --same-look costs.

    python benchmarks/looks.py cube FOLDER [--size 33]      # PSNR and CIEDE2000 of the table to the full result
    python benchmarks/looks.py same-look [--pictures 24]    # extra time of the first pass on JPEGs of 12 megapixels

`cube` bakes the look of each picture, applies the table to that picture as an editor would, and compares with what
`pic-uie enhance` gives, both rounded to 8 bits. `same-look` times the first pass, and the pictures with one look, in
turns on the same files; the cost of the first pass grows with their number as that of the rest does.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import threading
import time
from contextlib import closing
from pathlib import Path

import numpy as np

from pic_uie import Enhancer, cube, images, synthetic
from pic_uie.batch import same_look, workers
from pic_uie.batch.mapping import DiskJob
from pic_uie.batch.process import Settings, process
from pic_uie.enhancer import default_threads
from pic_uie.evaluation.metrics.ciede2000 import ciede2000
from pic_uie.evaluation.metrics.psnr import psnr

HEIGHT, WIDTH, QUALITY = 3000, 4000, 92


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", type=Path)
    actions = parser.add_subparsers(dest="action", required=True)
    cubes = actions.add_parser("cube")
    cubes.add_argument("folder", type=Path)
    cubes.add_argument("--size", type=int, default=33)
    same = actions.add_parser("same-look")
    same.add_argument("--pictures", type=int, default=24)
    same.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    enhancer = Enhancer(arguments.weights)
    if arguments.action == "cube":
        compare_cubes(sorted(path for path in arguments.folder.iterdir() if path.is_file()), enhancer, arguments.size)
    else:
        time_same_look(arguments.pictures, arguments.rounds, Enhancer(arguments.weights, threads=1))


def compare_cubes(paths: list[Path], enhancer: Enhancer, size: int) -> None:
    rows = []
    for path in paths:
        picture = images.read_rgb8(path)
        look = enhancer.look(picture)
        mapped = np.floor(cube.look_up(look.cube(size, enhancer), picture / 255.0) * 255.0 + 0.5).astype(np.uint8)
        full = enhancer.apply(picture, look)
        rows.append((psnr(mapped, full), ciede2000(mapped, full), psnr(picture, full), ciede2000(picture, full)))
    table, worst, untouched = np.mean(rows, axis=0), np.array(rows), np.mean(rows, axis=0)[2:]
    print(f"{len(rows)} pictures, {size}^3 samples, weights {enhancer.weights.short_hash}")
    print(f"table to full result      PSNR {table[0]:.1f} dB (lowest {worst[:, 0].min():.1f}), "
          f"CIEDE2000 {table[1]:.2f} (highest {worst[:, 1].max():.2f})")  # fmt: skip
    print(f"for scale: input to full  PSNR {untouched[0]:.1f} dB, CIEDE2000 {untouched[1]:.2f}")


def time_same_look(count: int, rounds: int, enhancer: Enhancer) -> None:
    processors = default_threads()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        jobs = [DiskJob(folder / f"{index}.jpg", folder / "out" / f"{index}.jpg") for index in range(count)]
        make_pictures([job.source for job in jobs])
        first, rest = [], []
        for _ in range(rounds):
            start = time.perf_counter()
            look = same_look.make(
                [job.source for job in jobs], enhancer, Settings(), workers=processors + 1, stop=threading.Event()
            )
            first.append(time.perf_counter() - start)
            settings = Settings(look=look, overwrite=True)
            start = time.perf_counter()

            def one(job, reserve, check, settings=settings):
                return process(job, enhancer, settings, reserve=reserve, check=check)

            with closing(workers.run(jobs, one, workers=processors, stop=threading.Event())) as outcomes:
                failures = [outcome.error for outcome in outcomes if outcome.status != "done"]
            rest.append(time.perf_counter() - start)
            if failures:
                raise SystemExit(f"failed: {failures[0]}")
        own = np.stack([colours_apart(job.source, enhancer) for job in jobs[:4]]).mean()
    shares = [a / b for a, b in zip(first, rest, strict=True)]
    print(f"{count} JPEGs of {HEIGHT * WIDTH / 1e6:.0f} megapixels, {processors} processors, {rounds} rounds in turns")
    print(f"first pass {1000 * statistics.median(first) / count:.0f} ms, the rest "
          f"{1000 * statistics.median(rest) / count:.0f} ms a picture")  # fmt: skip
    print(f"extra time of --same-look: {100 * statistics.median(shares):.1f} % "
          f"({100 * min(shares):.1f} to {100 * max(shares):.1f})")  # fmt: skip
    print(f"a picture with the look of its small copy is {own:.2f} levels of 255 from the picture with its own")


def colours_apart(path: Path, enhancer: Enhancer) -> float:
    """Returns how far a picture with the look of its small copy is from the picture with its own, in levels."""
    made = same_look.make([path], enhancer, Settings(), workers=1, stop=threading.Event())
    picture = images.read_rgb8(path)
    small, full = (enhancer.apply(picture, look).astype(np.int16) for look in (made, enhancer.look(picture)))
    return float(np.abs(small - full).mean())


def make_pictures(places: list[Path]) -> None:
    """Writes different JPEGs of a synthetic scene: shifted, so that only one has to be rendered."""
    scene = synthetic.render_pair(HEIGHT, WIDTH, seed=3).input
    for index, place in enumerate(places):
        pixels = np.roll(scene, 97 * index, axis=1)
        images.write(images.Picture(np.ascontiguousarray(pixels)), place, quality=QUALITY)


if __name__ == "__main__":
    main()
