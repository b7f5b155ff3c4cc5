"""Loads the engine for a command, and says what is missing if it cannot be loaded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pic_uie import __version__, weights
from pic_uie.errors import EnvironmentMissingError

if TYPE_CHECKING:
    from pic_uie.batch.process import ArrayEnhancer


def load(weights_path: Path | None, threads: int) -> tuple[ArrayEnhancer, str]:
    """Returns the engine and the software tag of what it makes.

    Raises:
        EnvironmentMissingError: The native core or the default weights are not installed.
        WeightsError: The weights given cannot be used.
    """
    if weights_path is None and not weights.DEFAULT_PATH.exists():
        raise EnvironmentMissingError(
            f"the default weights {weights.DEFAULT_PATH.name} are missing; reinstall pic-uie or give --weights FILE"
        )
    short_hash = weights.load(weights_path or weights.DEFAULT_PATH).short_hash
    try:
        from pic_uie import Enhancer
    except ImportError as error:
        raise EnvironmentMissingError(
            f"the native core is not installed ({error}); reinstall pic-uie with: pip install --force-reinstall pic-uie"
        ) from error
    enhancer = Enhancer(weights=weights_path, threads=threads)
    return enhancer, f"pic-uie {__version__} (weights {short_hash})"
