"""`pic-uie evaluate`: scores a method under a protocol; sub-verbs for what is more than scoring."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from pic_uie.cli.exit_codes import NOTHING_MATCHED, OK
from pic_uie.cli.methods import OURS, from_path
from pic_uie.cli.options import LIST, add_quiet, add_weights, list_file
from pic_uie.cli.output import named_files, refuse_inputs
from pic_uie.errors import ConfigError, did_you_mean

if TYPE_CHECKING:
    from pic_uie.evaluation.cases import Folders
    from pic_uie.evaluation.predictions import Method
    from pic_uie.evaluation.protocols import Protocol

# Sub-verb -> one-line help. Each lives in `pic_uie.cli.evaluate_<name>` with the same two functions as a verb.
SUBVERBS: dict[str, str] = {
    "compare": "two results picture by picture: differences, a paired test, the worst ten",
    "table": "any number of methods and seeds on one list: best, deviation, intervals, tests",
    "matching": "SIFT matches and inliers between neighbouring frames, raw against enhanced",
    "detection": "YOLO11n trained on the raw set and on each method's, mAP@50 of all",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of scoring, and the sub-verbs with theirs."""
    parser.epilog = "Without a sub-verb: scores weights, or a folder of finished pictures, under --protocol."
    what = parser.add_argument_group("what is scored")
    what.add_argument(
        "--protocol", metavar="NAME|FILE", help="uieb-90, lsui, u45, c60, uiqad-1080p, uiqad-4k, or a YAML file"
    )
    source = what.add_mutually_exclusive_group()
    add_weights(source, "weights to run (default: the released ones)")
    source.add_argument("--predictions", type=Path, metavar="DIR", help="finished pictures of any method")
    what.add_argument(
        "--method", metavar="SYSTEM", help="the system that the weights belong to: pic-uie (default), nu2net ..."
    )
    what.add_argument("--name", help="what tables call the method (default: the name of the file or folder)")
    data = parser.add_argument_group("data")
    data.add_argument("--data", type=Path, metavar="DIR", help="folder with the folders that the protocol names")
    data.add_argument("--inputs", type=Path, metavar="DIR", help="degraded pictures (default: DATA/input)")
    data.add_argument("--references", type=Path, metavar="DIR", help="references (default: DATA/target)")
    data.add_argument(
        "--list", type=list_file, metavar=LIST, help="which pictures: ranker-90, smdr-90 ..., or a file of names"
    )
    data.add_argument("--allow-extra", action="store_true", help="ignore predictions that the list does not name")
    how = parser.add_argument_group("how")
    how.add_argument("--metrics", metavar="A,B", help="these metrics instead of the protocol's")
    how.add_argument("--resize", metavar="A,B", help="some of paper-256, antialias-256, native, from-256")
    how.add_argument(
        "--assets", type=Path, metavar="DIR", help="folder of LPIPS and NIQE parameters (or PIC_UIE_ASSETS)"
    )
    how.add_argument("--jobs", type=int, metavar="N", help="pictures at a time (default: all cores)")
    how.add_argument("-o", "--output", dest="stem", metavar="STEM", help="write STEM.json and STEM.csv")
    add_quiet(how)
    subverbs = parser.add_subparsers(dest="subverb", metavar="SUBVERB", title="sub-verbs")
    for name, help_text in SUBVERBS.items():
        _module(name).add_arguments(subverbs.add_parser(name, help=help_text, description=help_text))


def run(arguments: argparse.Namespace) -> int:
    """Runs the sub-verb, or scores and prints the report."""
    if arguments.subverb:
        return int(_module(arguments.subverb).run(arguments))
    from pic_uie.datasets.folders import NoPicturesError

    try:
        return _score(arguments)
    except NoPicturesError as error:
        print(f"pic-uie: {error}", file=sys.stderr)
        return NOTHING_MATCHED


def _score(arguments: argparse.Namespace) -> int:
    from dataclasses import asdict

    from pic_uie.cli.progress import Progress
    from pic_uie.cores import usable_cores
    from pic_uie.evaluation import report
    from pic_uie.evaluation.cases import gather
    from pic_uie.evaluation.metrics import choose
    from pic_uie.evaluation.results import Result, result_paths
    from pic_uie.evaluation.scoring import Task, score

    jobs = arguments.jobs if arguments.jobs is not None else usable_cores()
    if jobs < 1:
        raise ConfigError(f"--jobs must be at least 1, got {jobs}")
    stem = None if arguments.stem is None else Path(arguments.stem)
    if stem is not None:
        if not stem.name:
            raise ConfigError(f"-o {stem} is no name for a file: STEM.json and STEM.csv are written")
        refuse_inputs(result_paths(stem), named_files(arguments))
    protocol = _protocol(arguments)
    names, cases = gather(protocol, _folders(arguments, protocol), arguments.list, arguments.allow_extra)
    source = _source(arguments)
    task = Task(choose(protocol.metrics), protocol.resize, source.enhance, arguments.assets)
    with Progress(len(cases), protocol.name, arguments.quiet) as progress:
        scores = score(cases, task, jobs, progress.advance)
    result = Result(
        method=source.name,
        source=source.description,
        protocol=asdict(protocol),
        names=names.facts(),
        scores=scores,
        assets={metric.asset.file: metric.asset.sha256 for metric in task.metrics.values() if metric.asset},
    )
    if stem is not None:  # before anything is printed: a pipe that breaks must not cost the scores
        for path in result.write(stem):
            print(f"wrote {path}", file=sys.stderr)
    print(report.text(result))
    return OK


def _protocol(arguments: argparse.Namespace) -> Protocol:
    """Reads the protocol and lets the options override its metrics and ways of resizing."""
    from dataclasses import replace

    from pic_uie.evaluation import protocols
    from pic_uie.evaluation.metrics import choose
    from pic_uie.evaluation.resize import RESIZES

    if not arguments.protocol:
        raise ConfigError(f"name a protocol with --protocol: {', '.join(protocols.known())}, or a YAML file")
    protocol = protocols.load(arguments.protocol)
    if arguments.metrics is not None:
        protocol = replace(protocol, metrics=tuple(choose(_words(arguments.metrics))))
    if arguments.resize is not None:
        for word in _words(arguments.resize):
            if word not in RESIZES:
                raise ConfigError(f"unknown way to resize {word!r}: {did_you_mean(word, RESIZES)}")
        protocol = replace(protocol, resize=tuple(name for name in RESIZES if name in _words(arguments.resize)))
    return protocol


def _folders(arguments: argparse.Namespace, protocol: Protocol) -> Folders:
    """Finds the folders that this run needs; finished pictures with references need no inputs."""
    from pic_uie.evaluation.cases import Folders
    from pic_uie.evaluation.metrics import METRICS

    data: Path | None = arguments.data
    inputs = arguments.inputs or (data / protocol.inputs if data else None)
    references = None
    if any(METRICS[name].reference for name in protocol.metrics):
        references = arguments.references or (data / str(protocol.references) if data else None)
        if references is None:
            raise ConfigError(
                f"protocol {protocol.name!r} compares with references: name --data DIR or --references DIR"
            )
    if arguments.predictions is None and inputs is None:
        raise ConfigError("weights are run on inputs: name --data DIR or --inputs DIR")
    if arguments.predictions is not None and references is not None:
        inputs = None
    return Folders(inputs, references, arguments.predictions)


def _source(arguments: argparse.Namespace) -> Method:
    from pic_uie.evaluation.predictions import finished_pictures, from_weights

    system = None if arguments.method == OURS else arguments.method
    if arguments.predictions is not None:
        if arguments.method:
            raise ConfigError("--method says whose weights are run: finished pictures take --name")
        return finished_pictures(arguments.predictions, arguments.name)
    if arguments.weights is None and system is not None:
        raise ConfigError(f"{system} has no weights in this package: train it, and name them with --weights FILE")
    if arguments.weights is None or arguments.method == OURS or (system is None and arguments.weights.is_dir()):
        return from_weights(arguments.weights, arguments.name)
    return from_path(arguments.weights, arguments.name, system)


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _module(subverb: str) -> ModuleType:
    return importlib.import_module(f"pic_uie.cli.evaluate_{subverb}")
