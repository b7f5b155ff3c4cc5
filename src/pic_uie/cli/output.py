"""What a command writes: never what it reads, in one step, and reported."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

from pic_uie.cli.streams import say
from pic_uie.errors import ConfigError
from pic_uie.files import identity


def refuse_inputs(outputs: Iterable[Path], inputs: Iterable[Path]) -> None:
    """Raises ConfigError if an output is one of the inputs, by whatever name or link."""
    sources = {identity(path) for path in inputs if path.is_file()}
    for output in outputs:
        if identity(output) in sources:
            raise ConfigError(f"-o {output} is a file that the command reads: a source is never overwritten")


def named_files(arguments: argparse.Namespace) -> list[Path]:
    """Returns all paths among the arguments but the output."""
    found: list[Path] = []
    for name, value in vars(arguments).items():
        if name != "output":
            found += [path for path in (value if isinstance(value, list) else [value]) if isinstance(path, Path)]
    return found


def require_suffix(output: Path | None, suffix: str) -> None:
    """Raises ConfigError unless a file that will be written ends in `suffix`, so that it never replaces a picture."""
    if output is not None and output.suffix.lower() != suffix:
        raise ConfigError(f"-o {output} must end in {suffix}, for that is what is written")


def write(path: Path, data: bytes | str, *, overwrite: bool = True) -> None:
    """Writes what a command was asked for and says so.

    Raises:
        UnwritableError: It cannot be written.
    """
    from pic_uie.batch.ledger import shown
    from pic_uie.writing import write_file

    write_file(path, data.encode() if isinstance(data, str) else data, overwrite=overwrite)
    say(f"wrote {shown(path)}")
