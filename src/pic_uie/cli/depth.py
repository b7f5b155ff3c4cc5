"""`pic-uie depth`: depth maps of pictures by a monocular ONNX network, for the training's depth term."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pic_uie.cli.exit_codes import FAILED, NOTHING_MATCHED, OK
from pic_uie.cli.options import add_overwrite, add_quiet, add_threads, count
from pic_uie.cli.progress import Progress
from pic_uie.errors import ConfigError
from pic_uie.writing import make_folder

if TYPE_CHECKING:
    from pic_uie.depth.network import Preprocessing

PRESET_NAMES = ("depth-anything-v2", "midas-small", "midas-large", "tcmonodepth")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `pic-uie depth`."""
    parser.add_argument("images", nargs="+", type=Path, metavar="IMAGES", help="pictures, or folders of pictures")
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="DIR", help="folder for the maps, one grey PNG each"
    )
    parser.add_argument("--model", type=Path, required=True, metavar="NET.onnx", help="the monocular depth network")
    parser.add_argument("--preset", choices=PRESET_NAMES, help="pre-processing that a family of networks documents")
    parser.add_argument("--size", metavar="WxH", help="input size, if the network accepts any")
    parser.add_argument("--channels", choices=("rgb", "bgr"), help="channel order (default rgb)")
    parser.add_argument("--scale", type=float, help="multiplies pixels of 0..255 (default 1/255)")
    parser.add_argument("--mean", type=float, nargs=3, metavar="M", help="subtracted after scaling (default 0 0 0)")
    parser.add_argument("--std", type=float, nargs=3, metavar="S", help="divides the difference (default 1 1 1)")
    parser.add_argument("--distance", action="store_true", help="the network predicts distance, not inverse depth")
    parser.add_argument("--bits", type=int, choices=(8, 16), default=8, help="bits of the PNG (default 8)")
    parser.add_argument("--batch", type=count, default=8, help="pictures per batch, if the network allows (default 8)")
    add_threads(parser, "threads of the network (default: all cores)")
    add_overwrite(parser, "replace maps that exist already")
    add_quiet(parser)


def run(arguments: argparse.Namespace) -> int:
    """Makes the maps that are missing; a picture that fails is reported, and the rest continues."""
    from pic_uie.depth import maps
    from pic_uie.depth.network import DepthNetwork

    outputs = maps.plan(arguments.images, arguments.output)
    if not outputs:
        print("pic-uie depth: no pictures found", file=sys.stderr)
        return NOTHING_MATCHED
    network = DepthNetwork(arguments.model, _preprocessing(arguments), arguments.threads or 0)
    make_folder(arguments.output)
    missing = {source: path for source, path in outputs.items() if arguments.overwrite or not path.is_file()}
    skipped = len(outputs) - len(missing)
    if skipped and not arguments.quiet:
        print(f"{skipped} maps exist already", file=sys.stderr)
    with Progress(max(len(missing), 1), "depth", arguments.quiet) as progress:
        failures = maps.make(network, missing, arguments.batch, arguments.bits, progress.advance)
    for message in failures:
        print(f"pic-uie depth: {message}", file=sys.stderr)
    return FAILED if failures else OK


def _preprocessing(arguments: argparse.Namespace) -> Preprocessing:
    from pic_uie.depth.network import PRESETS, Preprocessing

    rules = PRESETS[arguments.preset] if arguments.preset else Preprocessing()
    changes: dict[str, Any] = {}
    if arguments.size is not None:
        width, separator, height = arguments.size.lower().partition("x")
        if not (separator and width.isdecimal() and height.isdecimal()):
            raise ConfigError(f"--size {arguments.size!r} is not WIDTHxHEIGHT, such as 518x518")
        changes["size"] = int(height), int(width)
    for name in ("channels", "scale"):
        if getattr(arguments, name) is not None:
            changes[name] = getattr(arguments, name)
    for name in ("mean", "std"):
        if getattr(arguments, name) is not None:
            changes[name] = tuple(getattr(arguments, name))
    if arguments.distance:
        changes["output"] = "distance"
    return dataclasses.replace(rules, **changes)
