"""`pic-uie depth`: depth maps of pictures by a monocular ONNX network, for the training's depth term."""

from __future__ import annotations

import argparse
import dataclasses
import io
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pic_uie.cli.exit_codes import FAILED, NOTHING_MATCHED, OK
from pic_uie.cli.options import count, thread_count
from pic_uie.cli.progress import Progress
from pic_uie.errors import ConfigError, DataError, ImageError
from pic_uie.files import atomic_write, identity
from pic_uie.stems import SUFFIXES

if TYPE_CHECKING:
    from PIL import Image

    from pic_uie.training.depth import DepthNetwork, Preprocessing

PRESET_NAMES = ("depth-anything-v2", "midas-small", "midas-large", "tcmonodepth")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `pic-uie depth`."""
    parser.add_argument("images", nargs="+", type=Path, metavar="IMAGES", help="pictures, or folders of pictures")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="gets one grey PNG a picture")
    parser.add_argument("--model", type=Path, required=True, metavar="NET.onnx", help="the monocular depth network")
    parser.add_argument("--preset", choices=PRESET_NAMES, help="documented pre-processing of a family of networks")
    parser.add_argument("--size", metavar="WxH", help="input size, where the network leaves it free")
    parser.add_argument("--channels", choices=("rgb", "bgr"), help="channel order (default rgb)")
    parser.add_argument("--scale", type=float, help="factor on pixels of 0..255 (default 1/255)")
    parser.add_argument("--mean", type=float, nargs=3, metavar="M", help="subtracted after scaling (default 0 0 0)")
    parser.add_argument("--std", type=float, nargs=3, metavar="S", help="divided by after that (default 1 1 1)")
    parser.add_argument("--distance", action="store_true", help="the network says distance, not inverse depth")
    parser.add_argument("--bits", type=int, choices=(8, 16), default=8, help="bits of the PNG (default 8)")
    parser.add_argument("--batch", type=count, default=8, help="pictures at once, where the network can (default 8)")
    parser.add_argument("--threads", type=thread_count, metavar="N", help="threads of the network (default: all cores)")
    parser.add_argument("--overwrite", action="store_true", help="make maps again that are there already")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress")


def run(arguments: argparse.Namespace) -> int:
    """Makes the maps that are missing; a picture that fails is reported and the rest goes on."""
    from pic_uie.training.depth import DepthNetwork

    outputs = plan(arguments.images, arguments.output)
    if not outputs:
        print("pic-uie depth: no pictures found", file=sys.stderr)
        return NOTHING_MATCHED
    network = DepthNetwork(arguments.model, _preprocessing(arguments), arguments.threads or 0)
    try:
        arguments.output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ImageError(f"cannot make the folder {arguments.output}: {error.strerror}") from error
    missing = {source: path for source, path in outputs.items() if arguments.overwrite or not path.is_file()}
    skipped = len(outputs) - len(missing)
    if skipped and not arguments.quiet:
        print(f"{skipped} maps are there already", file=sys.stderr)
    failures = _make_maps(network, missing, arguments)
    for message in failures:
        print(f"pic-uie depth: {message}", file=sys.stderr)
    return FAILED if failures else OK


def plan(images: Sequence[Path], output: Path) -> dict[Path, Path]:
    """Returns the map that each picture gets, refusing two pictures that would share one.

    Raises:
        ConfigError: Two pictures have the same stem, or a map would replace its own picture.
    """
    outputs: dict[Path, Path] = {}
    owners: dict[Path, Path] = {}
    for source in (picture for image in images for picture in _pictures(image)):
        path = output / f"{source.stem}.png"
        owner = owners.setdefault(path, source)
        if owner != source:
            raise ConfigError(f"{owner} and {source} would both become {path}: give them different names or folders")
        if (existing := identity(path)) is not None and existing == identity(source):
            raise ConfigError(f"the map of {source} would replace it: choose another output folder")
        outputs[source] = path
    return outputs


def _pictures(path: Path) -> Iterator[Path]:
    if path.is_dir():
        yield from sorted(child for child in path.iterdir() if child.suffix.lower() in SUFFIXES and child.is_file())
    else:
        yield path


def _make_maps(network: DepthNetwork, missing: dict[Path, Path], arguments: argparse.Namespace) -> list[str]:
    failures: list[str] = []
    limit = network.batch or arguments.batch
    waiting: list[tuple[Path, Image.Image]] = []  # of one input size
    with Progress(max(len(missing), 1), "depth", arguments.quiet) as progress:

        def flush() -> None:
            failures.extend(_run_batch(network, waiting, missing, arguments.bits))
            for _ in waiting:
                progress.advance()
            waiting.clear()

        for source in missing:
            try:
                picture = _read(source)
            except ImageError as error:
                failures.append(str(error))
                progress.advance()
                continue
            if waiting and (
                len(waiting) == limit or _input_size(network, waiting[0][1]) != _input_size(network, picture)
            ):
                flush()
            waiting.append((source, picture))
        if waiting:
            flush()
    return failures


def _run_batch(
    network: DepthNetwork, batch: list[tuple[Path, Image.Image]], outputs: dict[Path, Path], bits: int
) -> list[str]:
    import numpy as np

    from pic_uie.training.depth import to_picture

    try:
        maps = network.predict(np.stack([network.prepare(picture) for _, picture in batch]))
    except DataError as error:
        if len(batch) == 1:
            return [f"{batch[0][0]}: {error}"]
        return [message for item in batch for message in _run_batch(network, [item], outputs, bits)]  # who was it?
    failures = []
    for (source, picture), inverse_depth in zip(batch, maps, strict=True):
        try:
            _write_png(outputs[source], to_picture(inverse_depth, picture.height, picture.width, bits))
        except OSError as error:
            failures.append(f"cannot write {outputs[source]}: {error.strerror or error}")
    return failures


def _input_size(network: DepthNetwork, picture: Image.Image) -> tuple[int, int]:
    return network.input_size(picture.height, picture.width)


def _read(path: Path) -> Image.Image:
    from PIL import Image

    from pic_uie.images import read_rgb8

    return Image.fromarray(read_rgb8(path))


def _write_png(path: Path, pixels: Any) -> None:
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    atomic_write(path, buffer.getvalue())


def _preprocessing(arguments: argparse.Namespace) -> Preprocessing:
    from pic_uie.training.depth import PRESETS, Preprocessing

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
