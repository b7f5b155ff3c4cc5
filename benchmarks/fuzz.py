"""Mutates valid pictures of every kind and reads each: no crash, no hang, always a picture or a documented error.

    python benchmarks/fuzz.py --count 20000

Each batch runs in a process of its own, so that a crash or a hang of a decoder is seen and the mutation that caused it
is named by its number: `--only NUMBER` runs it alone, `--save FILE` writes it out.
"""

from __future__ import annotations

import argparse
import io
import multiprocessing
import platform
import struct
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image

from pic_uie import __version__, images
from pic_uie.errors import ImageError
from pic_uie.images import Colour, Picture
from pic_uie.images.profiles import grey_profile, matrix_profile

MAX_PIXELS = 4_000_000  # a mutated header may ask for more than a fuzzing run should decode
SECONDS_PER_FILE = 20.0
SEED = 20260


def corpus() -> list[bytes]:
    """Valid files of every format, depth and channel count, with and without metadata."""
    rng = np.random.default_rng(SEED)
    y, x = np.mgrid[0:40, 0:56] / 56
    base = np.stack([x, y, 0.5 + 0.4 * np.sin(9 * x * y), x], axis=-1)
    base = np.clip(base + rng.normal(0, 0.03, base.shape), 0, 1)
    exif = Image.Exif()
    exif[0x0112], exif[0x010F] = 6, "Maker"
    exif.get_ifd(0x8769)[0x927C] = bytes(range(64))
    exif.get_ifd(0x8825)[2] = (1.0, 2.0, 3.0)
    block = exif.tobytes().removeprefix(b"Exif\0\0")
    wide = matrix_profile("wide", ((0.64, 0.33), (0.21, 0.71), (0.15, 0.06)), 2.2)
    metadata = images.Metadata(exif=block, xmp=b"<x:xmpmeta>" + b" " * 200 + b"</x:xmpmeta>", dpi=(300.0, 300.0))
    files = []
    for channels in (1, 2, 3, 4):
        for bits in (8, 16):
            kind = np.uint8 if bits == 8 else np.uint16
            pixels = np.rint(base[..., [[1], [1, 3], [0, 1, 2], [0, 1, 2, 3]][channels - 1]] * np.iinfo(kind).max)
            profile = grey_profile("grey", 1.8) if channels < 3 else wide
            space = Colour("grey" if channels < 3 else "rgb", profile, converted=True)
            for name in ("jpeg", "png", "tiff", "webp", "bmp", "avif"):
                plain = Picture(pixels.astype(kind), bits=bits)
                rich = Picture(pixels.astype(kind), bits=bits, metadata=metadata, colour=space)
                files += [images.encode(p, file_format=name, software="pic-uie fuzz") for p in (plain, rich)]
    eight = Image.fromarray(np.rint(base[..., :3] * 255).astype(np.uint8))
    for image, name, options in (
        (eight, "JPEG", {"progressive": True, "exif": exif}),
        (eight.convert("CMYK"), "JPEG", {}),
        (eight.convert("CMYK"), "TIFF", {}),
        (eight.quantize(16), "PNG", {}),
        (eight.quantize(16), "BMP", {}),
        (eight.convert("1"), "TIFF", {"compression": "group4"}),
        (eight, "TIFF", {"compression": "tiff_lzw"}),
        (eight, "TIFF", {"compression": "jpeg"}),
        (eight, "WEBP", {"lossless": True}),
    ):
        buffer = io.BytesIO()
        image.save(buffer, name, **options)
        files.append(buffer.getvalue())
    return files


def mutation(files: list[bytes], number: int) -> bytes:
    """The mutated file of a number: the same for ever."""
    rng = np.random.default_rng([SEED, number])
    data = bytearray(files[number % len(files)])
    how = rng.integers(6)
    if how == 0:  # truncation
        return bytes(data[: rng.integers(len(data))])
    if how == 1:  # bit flips anywhere
        for at in rng.integers(0, len(data), rng.integers(1, 40)):
            data[at] ^= 1 << rng.integers(8)
    elif how == 2:  # header edits: extreme numbers where sizes, offsets and counts are
        for _ in range(rng.integers(1, 4)):
            at = int(rng.integers(0, min(len(data), 400) - 4))
            value = int(rng.choice([0, 1, 0x7F, 0xFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 0x10000, 0x80000000]))
            data[at : at + 4] = struct.pack(str(rng.choice(["<I", ">I"])), value)
    elif how == 3:  # a piece is gone, or doubled
        start, size = int(rng.integers(len(data))), int(rng.integers(1, 200))
        piece = b"" if rng.integers(2) else data[start : start + size] * 2
        data[start : start + size] = piece
    elif how == 4:  # a piece of another file
        other = files[rng.integers(len(files))]
        start, size = int(rng.integers(len(data))), int(rng.integers(1, 400))
        data[start : start + size] = other[start : start + size]
    else:  # noise over a stretch
        start, size = int(rng.integers(len(data))), int(rng.integers(1, 64))
        data[start : start + size] = rng.bytes(size)
    return bytes(data)


def attempt(data: bytes) -> str:
    """Reads and, if that works, writes; returns what became of it. Anything but an ImageError is let through."""
    try:
        picture = images.read(data, max_pixels=MAX_PIXELS)
    except ImageError:
        return "refused"
    if picture.pixels.shape[:2] != (picture.height, picture.width) or picture.pixels.shape[2] not in (1, 2, 3, 4):
        raise AssertionError(f"impossible shape {picture.pixels.shape}")
    try:
        encoded = images.encode(picture, file_format="png" if picture.format == "avif" else None, software="fuzz")
    except ImageError:
        return "not written"
    images.read(encoded, max_pixels=MAX_PIXELS)
    return "read"


def work(numbers: range, reports: multiprocessing.Queue) -> None:
    files = corpus()
    for number in numbers:
        reports.put(("start", number, ""))
        reports.put(("end", number, attempt(mutation(files, number))))


def batches(count: int, size: int) -> Iterator[range]:
    for start in range(0, count, size):
        yield range(start, min(start + size, count))


def run(count: int) -> tuple[Counter[str], list[str]]:
    """Fuzzes with `count` files; returns what became of them, and what should not have."""
    outcomes: Counter[str] = Counter()
    problems: list[str] = []
    context = multiprocessing.get_context("spawn")
    for numbers in batches(count, 2500):
        while numbers:
            reports = context.Queue()
            process = context.Process(target=work, args=(numbers, reports))
            process.start()
            current, finished = _follow(process, reports, numbers, outcomes)
            if finished:
                numbers = range(0)
                continue
            reason = f"exit code {process.exitcode}" if not process.is_alive() else f"no end after {SECONDS_PER_FILE} s"
            process.kill()
            problems.append(f"file {current}: {reason}")
            numbers = range(current + 1, numbers.stop)
        print(f"{numbers.stop or sum(outcomes.values())} files: {dict(outcomes)}, {len(problems)} problems", flush=True)
    return outcomes, problems


def _follow(process, reports, numbers: range, outcomes: Counter[str]) -> tuple[int, bool]:
    import queue

    current, last = numbers.start, time.monotonic() + 10  # the corpus takes a while to make
    while True:
        try:
            what, current, outcome = reports.get(timeout=0.5)
            last = time.monotonic()
            if what == "end":
                outcomes[outcome] += 1
                if current == numbers[-1]:
                    process.join()
                    return current, True
        except queue.Empty:
            if not process.is_alive() or time.monotonic() - last > SECONDS_PER_FILE:
                return current, False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--only", type=int)
    parser.add_argument("--save", type=Path)
    arguments = parser.parse_args()
    if arguments.only is not None:
        data = mutation(corpus(), arguments.only)
        if arguments.save:
            arguments.save.write_bytes(data)
        print(attempt(data))
        return 0
    print(f"pic-uie {__version__}, Python {platform.python_version()}, {platform.machine()}")
    started = time.monotonic()
    outcomes, problems = run(arguments.count)
    print(f"{sum(outcomes.values())} mutated files in {time.monotonic() - started:.0f} s: {dict(outcomes)}")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
