"""`pic-uie compare IN OUT -o side.jpg`: before and after in one picture."""

from __future__ import annotations

import argparse
from pathlib import Path

from pic_uie.cli import exit_codes
from pic_uie.cli.options import add_overwrite, count
from pic_uie.errors import ConfigError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    add = parser.add_argument
    add("before", type=Path, metavar="IN", help="the picture before")
    add("after", type=Path, metavar="OUT", help="the picture after")
    add(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="FILE",
        help="the picture to write (its suffix sets the format)",
    )
    add("--split", action="store_true", help="one picture, left half before and right half after, instead of two")
    add("--width", type=count, default=2400, metavar="N", help="maximum width in pixels (2400)")
    add_overwrite(parser, "replace FILE if it exists")


def run(arguments: argparse.Namespace) -> int:
    """Draws the picture."""
    import os

    from pic_uie import images
    from pic_uie.images.formats import by_suffix, titles, writable
    from pic_uie.inspection import montage
    from pic_uie.writing import write_file

    output: Path = arguments.output
    kind = by_suffix(output)
    if kind is None or not writable(output):
        raise ConfigError(f"-o {output} must end like a picture ({titles()}), for example side.jpg")
    if os.path.lexists(output) and not arguments.overwrite:
        raise ConfigError(f"{output} exists already; choose another name or add --overwrite")
    before, after = images.read_rgb8(arguments.before), images.read_rgb8(arguments.after)
    try:
        draw = montage.split if arguments.split else montage.side_by_side
        pixels = draw(before, after, arguments.width)
    except ValueError as error:
        raise ConfigError(f"--split: {error}; leave --split out to draw them side by side") from error
    data = images.encode(images.Picture(pixels), file_format=kind.name)
    write_file(output, data, overwrite=arguments.overwrite)
    return exit_codes.OK
