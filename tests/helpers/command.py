"""What the tests of the command line share: the command, files to give it, and what it left."""

import sys

import numpy as np

from helpers.pictures import reef, saved
from pic_uie.cli.main import main

PIC_UIE = [sys.executable, "-m", "pic_uie"]


def exit_code(arguments):
    """Runs `pic-uie` in this process; words that argparse refuses end it as they end the command."""
    try:
        return main([str(argument) for argument in arguments])
    except SystemExit as stop:
        return stop.code


def enhance(*arguments):
    """Runs `pic-uie enhance` in this process."""
    return main(["enhance", *map(str, arguments)])


def make(path, name="PNG", **options):
    """Writes a picture, and its folder if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(saved(options.pop("pixels", reef()), name, **options))
    return path


def tree(folder):
    """The files below a folder."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def noise(height, width, seed=0):
    """Pixels that no codec makes smaller."""
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
