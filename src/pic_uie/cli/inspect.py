"""`pic-uie inspect`: one sheet that shows what the model did to a picture or a video, or the same as numbers."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pic_uie.cli.exit_codes import OK
from pic_uie.cli.options import add_overwrite, add_strengths, add_tone_map, add_weights, strengths
from pic_uie.cli.output import write
from pic_uie.errors import ConfigError

KINDS = {".png": "png", ".pdf": "pdf", ".svg": "svg"}
DEFAULT_SIDE = 1024


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `pic-uie inspect`."""
    parser.add_argument("image", type=Path, metavar="IMG", help="the picture or video")
    parser.add_argument("-o", "--output", type=Path, metavar="SHEET", help="the sheet: .png, .pdf or .svg")
    parser.add_argument("--json", action="store_true", help="print θ and the statistics on standard output")
    add_strengths(parser)
    add_weights(parser)
    add_tone_map(parser)
    parser.add_argument("--title", help="what to call the picture on the sheet (default: its file name)")
    parser.add_argument(
        "--max-side",
        type=int,
        default=DEFAULT_SIDE,
        metavar="N",
        help=f"run the steps on a copy of at most N pixels a side (default {DEFAULT_SIDE}; 0: the picture itself)",
    )
    parser.add_argument("--dpi", type=int, default=120, help="dots per inch of a PNG sheet (default 120)")
    add_overwrite(parser, "replace a sheet that exists already")


def run(arguments: argparse.Namespace) -> int:
    """Predicts on the native engine, runs the steps, and writes what was asked for."""
    kind = _check(arguments)
    from pic_uie.batch.ledger import shown
    from pic_uie.video.kinds import is_video

    title = shown(arguments.image.name if arguments.title is None else arguments.title)
    inspect = _inspect_video if is_video(arguments.image) else _inspect_picture
    sheet, numbers = inspect(arguments, title, kind)
    if sheet is not None:
        write(arguments.output, sheet)
    if arguments.json:
        print(numbers)
    return OK


def _inspect_picture(arguments: argparse.Namespace, title: str, kind: str | None) -> tuple[bytes | None, str]:
    from pic_uie import Enhancer
    from pic_uie.images import read_rgb8
    from pic_uie.inspection.report import inspect

    enhancer = Enhancer(arguments.weights)
    picture = read_rgb8(arguments.image)
    inspection = inspect(picture, enhancer, title, arguments.max_side or None, strengths(arguments))
    if kind is None:
        return None, inspection.to_json()
    from pic_uie.inspection.sheet import render

    return render(inspection, kind, arguments.dpi), inspection.to_json()


def _inspect_video(arguments: argparse.Namespace, title: str, kind: str | None) -> tuple[bytes | None, str]:
    from pic_uie import Enhancer
    from pic_uie.inspection.course import follow

    enhancer = Enhancer(arguments.weights)
    course = follow(arguments.image, enhancer, title, strengths(arguments), tone_map=arguments.tone_map)
    for note in course.notes:
        print(f"{title}: {note}", file=sys.stderr)
    if kind is None:
        return None, course.to_json()
    from pic_uie.inspection.course_sheet import render

    return render(course, kind, arguments.dpi), course.to_json()


def _check(arguments: argparse.Namespace) -> str | None:
    """Returns the kind of sheet that is asked for, if any."""
    if arguments.max_side < 0 or not 20 <= arguments.dpi <= 600:
        raise ConfigError(
            f"--max-side must be 0 or more and --dpi 20..600, got {arguments.max_side} and {arguments.dpi}"
        )
    if arguments.output is None:
        if not arguments.json:
            raise ConfigError("nothing to do: give -o SHEET, --json or both")
        return None
    kind = KINDS.get(arguments.output.suffix.lower())
    if kind is None:
        raise ConfigError(f"{arguments.output}: a sheet is .png, .pdf or .svg")
    if arguments.output.exists() and not arguments.overwrite:
        raise ConfigError(f"{arguments.output} exists already: choose another name, or --overwrite")
    return kind
