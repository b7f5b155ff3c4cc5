"""`pic-uie synth`: a paired data set of synthetic underwater pictures with depth."""

from __future__ import annotations

import argparse
import io
import sys
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from pic_uie.cli.exit_codes import OK, USAGE
from pic_uie.cli.options import add_overwrite, add_quiet
from pic_uie.cli.progress import Progress
from pic_uie.writing import make_folder, write_file

FOLDERS = ("input", "target", "depth")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `pic-uie synth`."""
    parser.add_argument("--count", type=_positive, required=True, help="how many pictures")
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="DIR", help="folder for input/, target/ and depth/"
    )
    parser.add_argument(
        "--size", type=_size, default=(256, 256), metavar="WxH", help="of the pictures (default 256x256)"
    )
    parser.add_argument("--seed", type=_natural, default=0, help="picture i is drawn from seed + i (default 0)")
    parser.add_argument(
        "--water", metavar="TYPE", help="Jerlov type: I IA IB II III 1C 3C 5C 7C 9C (default: at random)"
    )
    add_overwrite(parser, "replace pictures that exist already")
    add_quiet(parser)


def run(arguments: argparse.Namespace) -> int:
    """Renders what is missing; a picture counts as finished when all three of its files are there."""
    from pic_uie.synthetic import inverse_depth, render_pair
    from pic_uie.synthetic.water import water
    from pic_uie.training.memory import keep_freed_memory

    width, height = arguments.size
    try:
        if arguments.water is not None:
            water(arguments.water, 0.0)
    except ValueError as error:
        print(f"pic-uie synth: {error}", file=sys.stderr)
        return USAGE
    _make_folders(arguments.output)
    keep_freed_memory()  # or the planes of every scene are mapped and unmapped
    skipped = 0
    with Progress(arguments.count, "synth", arguments.quiet) as progress:
        for seed in range(arguments.seed, arguments.seed + arguments.count):
            # The name says what the picture was made of: a resumed run cannot mix settings.
            name = f"{seed:06d}_{width}x{height}_{arguments.water or 'any'}.png"
            paths = [arguments.output / folder / name for folder in FOLDERS]
            if not arguments.overwrite and all(path.exists() for path in paths):
                skipped += 1
            else:
                pair = render_pair(height, width, seed, arguments.water)
                for path, pixels in zip(paths, (pair.input, pair.reference, inverse_depth(pair.distance)), strict=True):
                    _write_png(path, pixels)
            progress.advance()
    if not arguments.quiet:
        kept = f", {skipped} existed already" if skipped else ""
        print(f"{arguments.count - skipped} rendered{kept}: {arguments.output}", file=sys.stderr)
    return OK


def _make_folders(output: Path) -> None:
    for folder in FOLDERS:
        make_folder(output / folder)


def _write_png(path: Path, pixels: NDArray[Any]) -> None:
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG", compress_level=4)
    write_file(path, buffer.getvalue())


def _size(text: str) -> tuple[int, int]:
    from pic_uie.synthetic import MAX_PIXELS, MIN_SIDE

    width, separator, height = text.lower().partition("x")
    if not (separator and width.isdecimal() and height.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text!r} is not WIDTHxHEIGHT, such as 960x640")
    size = int(width), int(height)
    if min(size) < MIN_SIDE or size[0] * size[1] > MAX_PIXELS:
        raise argparse.ArgumentTypeError(
            f"{text!r}: a side is {MIN_SIDE} or more, the area at most {MAX_PIXELS} pixels"
        )
    return size


def _positive(text: str) -> int:
    value = _natural(text)
    if value == 0:
        raise argparse.ArgumentTypeError("must be 1 or more, got 0")
    return value


def _natural(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"must be a whole number, 0 or more, got {text!r}")
    return int(text)
