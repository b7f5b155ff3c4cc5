"""Methods on the command line: NAME=PATH, where PATH is weights, ours or another system's, or finished pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pic_uie.errors import ConfigError, EnvironmentMissingError

if TYPE_CHECKING:
    from pic_uie.evaluation.predictions import Method

OURS = "pic-uie"
HELP = "weights (a file, or 'bright') or a folder of finished pictures; may be repeated (default: the released weights)"


def methods(words: Sequence[str]) -> list[Method]:
    """Returns the methods that the words name; the released weights where there are none.

    Raises:
        ConfigError: A word that is not NAME=PATH, or a name used twice.
        WeightsError: Weights that cannot be read.
    """
    from pic_uie.evaluation.predictions import from_weights
    from pic_uie.paper import tables as paper

    found = [method(word) for word in words] or [from_weights(None, paper.ours())]
    names = [method.name for method in found]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"two methods go by the name {name!r}")
    return found


def method(word: str) -> Method:
    """Returns the method of one word.

    Raises:
        ConfigError: It is not NAME=PATH.
    """
    name, separator, path = word.partition("=")
    if not (name and separator and path) or "/" in name:
        raise ConfigError(f"a method is written NAME=PATH, got {word!r}")
    return from_path(named_path(path), name)


def named_path(word: str) -> Path:
    """Returns the file or folder that a word stands for; a name of weights in the package comes first."""
    from pic_uie import weights

    return weights.NAMED.get(word, Path(word))


def from_path(path: Path, name: str | None = None, system: str | None = None) -> Method:
    """Returns the method that a path stands for: finished pictures, our weights, or those of another system.

    Args:
        path: A folder of pictures, or a weights file.
        name: What tables call the method.
        system: The system that the weights should be of, where one is expected.

    Raises:
        ConfigError: An unknown system.
        WeightsError: Weights that cannot be read, or of another system.
    """
    from pic_uie import weights
    from pic_uie.evaluation import predictions

    if system is None and weights.format_of(path) != weights.BASELINE_FORMAT:
        return predictions.from_path(path, name)
    return torch_method()(path, system, name)


def torch_method() -> Callable[[Path, str | None, str | None], Method]:
    """Returns what runs the weights of other systems.

    Raises:
        EnvironmentMissingError: PyTorch is not installed.
    """
    try:
        from pic_uie.paper.baselines.method import from_weights
    except ImportError as error:
        raise EnvironmentMissingError(
            "the other systems run on PyTorch only: install it with `pip install 'pic-uie[train]'`"
        ) from error
    return from_weights
