"""The options that several verbs share, each declared once, and the types of their values."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pic_uie.batch.archive import Shard
    from pic_uie.images import SampleRange
    from pic_uie.strengths import Strengths

LIST = "NAME|FILE"  # how `list_file` is written in help texts


_GROUPS = {
    "haze": "how much haze to remove",
    "contrast": "how much of the tone curve and the refinement to apply",
    "colour": "how much to correct individual colours",
    "balance": "how much to correct the overall colour balance",
}


class Takes(Protocol):
    """A parser or a group of its options."""

    @property
    def add_argument(self) -> Any:
        """Declares an option."""


OTHER_WEIGHTS = "use other weights: a file, or 'bright', which lights up dim scenes and lifts black to grey"


def add_weights(parser: Takes, what: str = OTHER_WEIGHTS) -> None:
    """Declares --weights."""
    parser.add_argument("--weights", type=weights_file, metavar="FILE|NAME", help=what)


def weights_file(word: str) -> Path:
    """Returns the weights file that a word names."""
    from pic_uie import weights
    from pic_uie.errors import WeightsError

    try:
        return weights.find(word)
    except WeightsError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def add_threads(parser: Takes, what: str = "CPU threads (default: all cores)") -> None:
    """Declares --threads."""
    parser.add_argument("--threads", type=thread_count, metavar="N", help=what)


def add_quiet(parser: Takes) -> None:
    """Declares -q."""
    parser.add_argument("-q", "--quiet", action="store_true", help="do not show progress")


def add_overwrite(parser: Takes, what: str = "replace a file that exists already") -> None:
    """Declares --overwrite."""
    parser.add_argument("--overwrite", action="store_true", help=what)


def add_tone_map(parser: Takes) -> None:
    """Declares --tone-map."""
    what = "convert HDR videos (PQ, HLG) to SDR; otherwise they are refused"
    parser.add_argument("--tone-map", action="store_true", help=what)


def add_strengths(parser: argparse.ArgumentParser) -> None:
    """Declares --strength and the strength of each group."""
    add = parser.add_argument
    strength = "0 leaves the picture as it is, 1 corrects it fully (1)"
    add("--strength", type=fraction, default=1.0, metavar="S", help=strength)
    for name, what in _GROUPS.items():
        flags = [f"--{name}", "--color"] if name == "colour" else [f"--{name}"]
        add(*flags, dest=name, type=fraction, default=1.0, metavar="S", help=f"{what}, 0 to 1 (1)")


def strengths(arguments: argparse.Namespace) -> Strengths:
    """Returns what `add_strengths` declared."""
    from pic_uie.strengths import Strengths

    return Strengths(**{name: getattr(arguments, name) for name in (*_GROUPS, "strength")})


def count(text: str) -> int:
    """A whole number from 1."""
    return _whole_number(text, 1, None)


def thread_count(text: str) -> int:
    """As many threads as the engine can use."""
    from pic_uie.arguments import MAX_THREADS

    return _whole_number(text, 1, MAX_THREADS)


def instruction_set(text: str) -> str:
    """One that this machine can run."""
    from pic_uie.enhancer import instruction_sets

    if text not in instruction_sets():
        raise argparse.ArgumentTypeError(f"this machine runs {', '.join(instruction_sets())}; got {text!r}")
    return text


def percentage(text: str) -> int:
    """A whole number from 1 to 100."""
    return _whole_number(text, 1, 100)


def shard(text: str) -> Shard:
    """One of several equal shares, such as 3/20."""
    from pic_uie.batch.archive import Shard

    index, _, total = text.partition("/")
    try:
        found = Shard(int(index), int(total))
    except ValueError:
        found = Shard(0, 0)
    if not 1 <= found.index <= found.count:
        raise argparse.ArgumentTypeError(f"a share such as 3/20 (the third of twenty) is needed, got {text!r}")
    return found


def port_number(text: str) -> int:
    """A port to listen on; 0 is any that is free."""
    return _whole_number(text, 0, 65535)


def fraction(text: str) -> float:
    """A number from 0 to 1."""
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 0.0 <= value <= 1.0:
        raise argparse.ArgumentTypeError(f"a number from 0 to 1 is needed, got {text!r}")
    return value


def list_file(text: str) -> Path:
    """A list of pictures: one that comes with the package, by name, or a file of one's own."""
    from pic_uie.datasets import lists
    from pic_uie.errors import ConfigError

    try:
        return lists.find(text)
    except ConfigError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def sample_range(text: str) -> SampleRange:
    """`auto` or MIN:MAX."""
    from pic_uie.errors import ConfigError
    from pic_uie.images import SampleRange

    try:
        return SampleRange.parse(text)
    except ConfigError as error:
        raise argparse.ArgumentTypeError(str(error).removeprefix("--range is ")) from error


def _whole_number(text: str, low: int, high: int | None) -> int:
    wanted = f"from {low}" if high is None else f"from {low} to {high}"
    try:
        value = int(text)
    except ValueError:
        value = low - 1
    if value < low or (high is not None and value > high):
        raise argparse.ArgumentTypeError(f"a whole number {wanted} is needed, got {text!r}")
    return value
