"""`pic-uie bench`: what the model costs on this machine; `bench table` sets many machines beside the paper's."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from pic_uie.cli.exit_codes import OK
from pic_uie.cli.options import thread_count
from pic_uie.cli.output import require_suffix
from pic_uie.errors import DataError, EnvironmentMissingError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options, and the sub-verb `table`."""
    parser.add_argument(
        "--engines", metavar="A,B", help="of native, torch-cpu, torch-cuda, torch-mps (default: all here)"
    )
    parser.add_argument("--sizes", default="256,1080p,4k", metavar="A,B", help="256, 1080p, 4k or WIDTHxHEIGHT")
    parser.add_argument("--weights", type=Path, metavar="FILE", help="weights to run (default: the released ones)")
    parser.add_argument(
        "--threads", type=thread_count, metavar="N", help="for engines on the processor (default: their own)"
    )
    parser.add_argument("--warm-up", type=int, default=10, metavar="N", help="runs before the clock starts (10)")
    parser.add_argument("--runs", type=int, default=30, metavar="N", help="timed runs (30)")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE.json", help="write the measurements")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress")
    subverbs = parser.add_subparsers(dest="subverb", metavar="SUBVERB", title="sub-verbs")
    table_help = "rows from many machines beside the paper's cross-hardware table"
    table = subverbs.add_parser("table", help=table_help, description=table_help)
    table.add_argument("files", type=Path, nargs="+", metavar="FILE.json", help="what `pic-uie bench -o` wrote")


def run(arguments: argparse.Namespace) -> int:
    """Measures and prints, or collects."""
    from pic_uie.evaluation import efficiency
    from pic_uie.evaluation.hardware_table import cross_hardware

    if arguments.subverb == "table":
        documents = [efficiency.read(path) for path in arguments.files]
        try:
            print(cross_hardware(documents))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise DataError(f"a benchmark file is damaged: {type(error).__name__} {error}") from error
        return OK
    return _measure(arguments)


def _measure(arguments: argparse.Namespace) -> int:
    from pic_uie.evaluation.efficiency import bench
    from pic_uie.evaluation.engines import available
    from pic_uie.evaluation.hardware_table import cross_hardware, details, doubts
    from pic_uie.files import atomic_write

    require_suffix(arguments.output, ".json")
    engines = _words(arguments.engines) if arguments.engines else list(available())
    if not engines:
        raise EnvironmentMissingError("no engine here: neither the native one nor PyTorch is installed")
    document = bench(
        engines,
        _words(arguments.sizes),
        arguments.weights,
        arguments.threads,
        arguments.warm_up,
        arguments.runs,
        lambda line: None if arguments.quiet else print(line, file=sys.stderr),
    )
    print(f"{details(document)}\n\n{cross_hardware([document])}")
    for doubt in doubts(document):
        print(f"not to be quoted: {doubt}", file=sys.stderr)
    if arguments.output:
        try:
            atomic_write(arguments.output, (json.dumps(document, indent=1) + "\n").encode())
        except OSError as error:
            raise DataError(f"cannot write {arguments.output}: {error.strerror}") from error
        print(f"wrote {arguments.output}", file=sys.stderr)
    return OK


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]
