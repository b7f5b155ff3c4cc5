"""`pic-uie bench`: what the model costs on this machine; `bench table` sets many machines beside the paper's."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from pic_uie.cli.exit_codes import OK
from pic_uie.cli.options import add_quiet, add_threads, add_weights
from pic_uie.cli.output import require_suffix, write
from pic_uie.errors import ConfigError, DataError, EnvironmentMissingError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options, and the sub-verb `table`."""
    parser.add_argument(
        "--engines", metavar="A,B", help="some of native, torch-cpu, torch-cuda, torch-mps (default: all here)"
    )
    systems = parser.add_mutually_exclusive_group()
    systems.add_argument("--method", metavar="SYSTEM", help="a system of the paper's tables, timed in turn with ours")
    systems.add_argument(
        "--all", action="store_true", help="all of its systems: the paper's efficiency table for this machine"
    )
    parser.add_argument(
        "--limit",
        type=float,
        default=60.0,
        metavar="S",
        help="with --method or --all: seconds that one run may take (60)",
    )
    parser.add_argument(
        "--clock", default="wall", choices=("wall", "cpu"), help="with --method or --all: cpu is fair on a busy machine"
    )
    parser.add_argument("--sizes", default="256,1080p,4k", metavar="A,B", help="256, 1080p, 4k or WIDTHxHEIGHT")
    add_weights(parser, "weights to run (default: the released ones)")
    add_threads(parser, "for engines on the processor (default: their own)")
    parser.add_argument("--warm-up", type=int, default=10, metavar="N", help="runs before the clock starts (10)")
    parser.add_argument("--runs", type=int, default=30, metavar="N", help="timed runs (30)")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE.json", help="write the measurements to this file")
    add_quiet(parser)
    subverbs = parser.add_subparsers(dest="subverb", metavar="SUBVERB", title="sub-verbs")
    table_help = "rows from many machines beside the paper's cross-hardware table"
    table = subverbs.add_parser("table", help=table_help, description=table_help)
    table.add_argument("files", type=Path, nargs="+", metavar="FILE.json", help="what `pic-uie bench -o` wrote")


def run(arguments: argparse.Namespace) -> int:
    """Measures and prints, or collects."""
    from pic_uie.bench import efficiency
    from pic_uie.bench.hardware_table import cross_hardware

    if arguments.subverb == "table":
        documents = [efficiency.read(path) for path in arguments.files]
        try:
            print(cross_hardware(documents))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise DataError(f"a benchmark file is damaged: {type(error).__name__} {error}") from error
        return OK
    if arguments.method or arguments.all:
        return _measure_systems(arguments)
    return _measure(arguments)


def _measure_systems(arguments: argparse.Namespace) -> int:
    try:
        from pic_uie.bench import systems, systems_table
        from pic_uie.paper.baselines import BASELINES, load
    except ImportError as error:
        raise EnvironmentMissingError("the other systems need PyTorch: pip install 'pic-uie[train]'") from error

    require_suffix(arguments.output, ".json")
    if arguments.engines:
        raise ConfigError("--engines chooses how ours runs: leave it out with --method and --all")
    if arguments.all and arguments.weights:
        raise ConfigError("--weights are of one system: name it with --method")
    if arguments.limit <= 0 or arguments.runs < 1:
        raise ConfigError(f"--limit and --runs must be positive, got {arguments.limit} and {arguments.runs}")
    if arguments.weights:
        load(arguments.weights, arguments.method)  # weights of another system are reported before anything runs
    document = systems.bench(
        list(BASELINES) if arguments.all else [arguments.method],
        _words(arguments.sizes),
        arguments.weights,
        arguments.threads,
        arguments.runs,
        arguments.limit,
        arguments.clock,
        lambda line: None if arguments.quiet else print(line, file=sys.stderr),
    )
    print(systems_table.table(document))
    _write(arguments.output, document)
    return OK


def _measure(arguments: argparse.Namespace) -> int:
    from pic_uie.bench.efficiency import bench
    from pic_uie.bench.engines import available
    from pic_uie.bench.hardware_table import cross_hardware, details, doubts

    require_suffix(arguments.output, ".json")
    engines = _words(arguments.engines) if arguments.engines else list(available())
    if not engines:
        raise EnvironmentMissingError("no engine found: neither the native one nor PyTorch is installed")
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
    _write(arguments.output, document)
    return OK


def _write(path: Path | None, document: dict[str, Any]) -> None:
    if path is not None:
        write(path, json.dumps(document, indent=1) + "\n")


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]
