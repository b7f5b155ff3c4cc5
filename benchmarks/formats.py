"""Times and sizes of AVIF and CMYK beside JPEG: one process, one thread, the formats in turn.

    python benchmarks/formats.py

Pictures are synthetic scenes under water; each is read, enhanced and written. Growth is the size of a result by that of
its source.
"""

from __future__ import annotations

import argparse
import io
import platform
import time

import numpy as np
from PIL import Image

from pic_uie import Enhancer, Strengths, __version__, images
from pic_uie.batch.process import enhanced
from pic_uie.synthetic import render_pair

SOURCES = {
    "JPEG": ("RGB", "JPEG", {"quality": 85}),
    "AVIF": ("RGB", "AVIF", {"quality": 70, "speed": 6}),
    "JPEG, CMYK": ("CMYK", "JPEG", {"quality": 85}),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", type=int, default=4)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    enhancer = Enhancer(threads=1)
    rows: dict[str, list[tuple[float, float, float]]] = {name: [] for name in SOURCES}
    for seed in range(arguments.pictures):
        scene = Image.fromarray(_scene(seed))
        files = {name: _saved(scene.convert(mode), kind, options) for name, (mode, kind, options) in SOURCES.items()}
        for _ in range(arguments.repeat):
            for name, data in files.items():
                started = time.process_time()
                picture, _ = enhanced(images.read(data), enhancer, Strengths())
                result = images.encode(picture, software="pic-uie")
                spent = time.process_time() - started
                rows[name].append((spent, scene.width * scene.height / 1e6, len(result) / len(data)))
    print(f"pic-uie {__version__}, Python {platform.python_version()}, {platform.machine()}, processor time")
    base = _per_megapixel(rows["JPEG"])
    for name, measured in rows.items():
        rate, growth = _per_megapixel(measured), [row[2] for row in measured]
        print(
            f"{name:<12}{1000 * rate:7.1f} ms/megapixel {rate / base:5.2f} x JPEG   "
            f"growth {np.mean(growth):.2f}, at most {max(growth):.2f}"
        )


def _scene(seed: int) -> np.ndarray:
    return render_pair(960, 1440, seed).input


def _per_megapixel(rows: list[tuple[float, float, float]]) -> float:
    return sum(row[0] for row in rows) / sum(row[1] for row in rows)


def _saved(image: Image.Image, kind: str, options: dict[str, int]) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


if __name__ == "__main__":
    main()
