"""`pic-uie doctor`: what this installation runs with, and what is missing."""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import importlib.util
import platform
import sys

from pic_uie.cli.exit_codes import ENVIRONMENT, OK
from pic_uie.cli.options import add_weights
from pic_uie.errors import PicUieError

OPTIONAL = {"torch": "training and the model's variants: pip install 'pic-uie[train]'"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options."""
    add_weights(parser, "check these instead of the default weights")


def run(arguments: argparse.Namespace) -> int:
    """Prints one line per part; tries the engine on a small picture."""
    import pic_uie

    show("pic-uie", pic_uie.__version__)
    show("python", f"{platform.python_version()} on {platform.system()} {platform.machine()}")
    for package in ("numpy", "safetensors"):
        show(package, importlib.metadata.version(package))
    for package, purpose in OPTIONAL.items():
        found = importlib.util.find_spec(package) is not None
        show(package, importlib.metadata.version(package) if found else f"not installed (only for {purpose})")
    try:
        check_decoders()
        check_engine(arguments.weights)
    except PicUieError as error:
        show("engine", "NOT READY")
        print(f"pic-uie: {error}", file=sys.stderr)
        return ENVIRONMENT
    return OK


def check_decoders() -> None:
    """Says which formats this build of libvips reads and writes, by decoding and encoding a picture in each."""
    import numpy as np

    from pic_uie.errors import ImageError
    from pic_uie.images import FORMATS, READABLE, Picture, decode, encode, result_of, vips

    library = vips.library()
    show("libvips", ".".join(str(library.version(part)) for part in range(3)))
    ready, broken = [], []
    for name, kind in FORMATS.items():
        try:
            decode(encode(Picture(np.full((16, 16, 3), 99, np.uint8)), file_format=name))
            ready.append(kind.title)
        except ImageError:
            broken.append(kind.title)
    show("formats", ", ".join(ready) + (f" (not written by this libvips: {', '.join(broken)})" if broken else ""))
    for kind in READABLE.values():
        if kind.name not in FORMATS:
            needed = kind.missing()
            show(kind.title, f"not read (needs {needed})" if needed else f"read; results are {result_of(kind).title}")


def check_engine(path: str | None) -> None:
    """Says which instruction set runs and enhances a picture with each one."""
    import numpy as np

    from pic_uie.enhancer import Enhancer, instruction_sets

    enhancer = Enhancer(path)
    show("weights", f"sha256 {enhancer.weights.short_hash}, width {enhancer.weights.config.width}")
    show("instructions", f"{enhancer.instruction_set} (this machine runs: {', '.join(instruction_sets())})")
    show("threads", str(enhancer.threads))
    ramp = np.linspace(0, 255, 48 * 64 * 3).reshape(48, 64, 3).astype(np.uint8)
    results = {name: Enhancer(path, instruction_set=name).enhance(ramp) for name in instruction_sets()}
    best = results[enhancer.instruction_set].astype(int)
    for name, result in results.items():
        if np.abs(result - best).max() > 1:
            raise PicUieError(
                f"{name} and {enhancer.instruction_set} disagree: please report this with the lines above"
            )
    show("engine", "ready")


def show(name: str, value: str) -> None:
    """Prints one aligned line."""
    print(f"{name:<14}{value}")
