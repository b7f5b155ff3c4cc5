"""`pic-uie evaluate table A.json B.json ...`: any number of methods and seeds on one list, as one table."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pic_uie.cli.exit_codes import OK
from pic_uie.cli.output import refuse_inputs, write
from pic_uie.errors import ConfigError

if TYPE_CHECKING:
    from pic_uie.evaluation.results import Result


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options."""
    parser.epilog = "Results of one name are seeds of one method; NAME=FILE gives a result another name."
    parser.add_argument("results", nargs="+", metavar="[NAME=]RESULT.json", help="what `pic-uie evaluate -o` wrote")
    parser.add_argument("--against", metavar="NAME", help="test every other method against this one")
    parser.add_argument("--resize", metavar="NAME", help="way of resizing (default: the first that all have)")
    parser.add_argument(
        "-o",
        dest="files",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="write .md, .csv or .tex (booktabs); may be repeated",
    )


def run(arguments: argparse.Namespace) -> int:
    """Prints the table and writes it in the forms that were asked for."""
    from pic_uie.evaluation.method_table import build
    from pic_uie.evaluation.method_text import WRITERS, plain

    for path in arguments.files:
        if path.suffix.lower() not in WRITERS:
            raise ConfigError(f"-o {path} must end in {', '.join(WRITERS)}, for these are written")
    refuse_inputs(arguments.files, [_named(word)[1] for word in arguments.results])
    table = build([_read(word) for word in arguments.results], arguments.resize, arguments.against)
    for path in arguments.files:
        write(path, WRITERS[path.suffix.lower()](table))
    print(plain(table))
    return OK


def _read(word: str) -> Result:
    from pic_uie.evaluation import results

    name, path = _named(word)
    result = results.read(path)
    return replace(result, method=name) if name else result


def _named(word: str) -> tuple[str | None, Path]:
    name, separator, path = word.partition("=")
    if separator and name and path and not Path(word).exists():
        return name, Path(path)
    return None, Path(word)
