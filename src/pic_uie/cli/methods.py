"""Methods on the command line: NAME=PATH, where PATH is weights or a folder of finished pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pic_uie.errors import ConfigError

if TYPE_CHECKING:
    from pic_uie.evaluation.predictions import Source

HELP = "weights or a folder of finished pictures; may be repeated (default: the released weights)"


def methods(words: Sequence[str]) -> list[tuple[Source, Path | None]]:
    """Returns each method with its folder of finished pictures (None: it runs weights).

    Raises:
        ConfigError: A word that is not NAME=PATH, or a name used twice.
        WeightsError: Weights that cannot be read.
    """
    from pic_uie.evaluation import paper
    from pic_uie.evaluation.predictions import finished_pictures, from_weights

    if not words:
        return [(from_weights(None, paper.ours()), None)]
    found: list[tuple[Source, Path | None]] = []
    for word in words:
        name, separator, path = word.partition("=")
        if not (name and separator and path) or "/" in name:
            raise ConfigError(f"a method is written NAME=PATH, got {word!r}")
        if name in (source.name for source, _ in found):
            raise ConfigError(f"two methods go by the name {name!r}")
        folder = Path(path) if Path(path).is_dir() else None
        found.append((finished_pictures(folder, name) if folder else from_weights(Path(path), name), folder))
    return found
