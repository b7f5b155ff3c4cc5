"""Loads the engine for a command, and says what is missing if it cannot be loaded."""

from __future__ import annotations

import argparse
from pathlib import Path

from pic_uie import Enhancer, __version__, weights
from pic_uie.batch.process import Settings
from pic_uie.cli.options import strengths
from pic_uie.errors import EnvironmentMissingError
from pic_uie.look import Look


def load(weights_path: Path | None, threads: int, instruction_set: str | None = None) -> tuple[Enhancer, str]:
    """Returns the engine and the software tag of what it makes.

    Raises:
        EnvironmentMissingError: The default weights are not installed.
        WeightsError: The weights given cannot be used.
    """
    if weights_path is None and not weights.DEFAULT_PATH.exists():
        raise EnvironmentMissingError(
            f"the default weights {weights.DEFAULT_PATH.name} are missing; reinstall pic-uie or give --weights FILE"
        )
    enhancer = Enhancer(weights_path, threads, instruction_set=instruction_set)
    return enhancer, f"pic-uie {__version__} (weights {enhancer.weights.short_hash})"


def settings(arguments: argparse.Namespace, software: str, look: Look | None) -> Settings:
    """Returns what the options of `pic-uie enhance` ask of every picture."""
    return Settings(
        strengths=strengths(arguments),
        look=look,
        save_look=arguments.save_look,
        quality=arguments.quality,
        keep_metadata=not arguments.strip_metadata,
        overwrite=arguments.overwrite,
        max_pixels=arguments.max_pixels,
        tone_map=arguments.tone_map,
        salvage=arguments.salvage,
        sample_range=arguments.range,
        software=software,
        resize=arguments.resize,
        preview=arguments.preview is not None or arguments.html is not None,
    )
