"""`pic-uie reproduce`: a table of the paper, trained or evaluated here, beside the paper's figures."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pic_uie.cli.exit_codes import OK
from pic_uie.cli.methods import HELP as METHOD_HELP
from pic_uie.cli.methods import methods
from pic_uie.cli.options import LIST, add_threads, count, list_file
from pic_uie.cli.output import write
from pic_uie.errors import ConfigError, EnvironmentMissingError, did_you_mean

QUALITY, ALL = "quality", "all"
VALIDATION = "uieb-validation-76.txt"
TRAINING_ONLY = ("plan", "collect", "overrides", "validation", "epochs", "only", "seeds_from", "lsui", "lsui_list")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options."""
    parser.epilog = (
        "Tables: matched-capacity, representation, leave-one-out, depth-controls, thumbnail, lut-grid, loss-terms, "
        "width-scan (each row is trained), all (these eight), quality (methods are scored). One -o folder may serve "
        "all tables: rows that they share are trained once."
    )
    parser.add_argument("table", metavar="TABLE", help="which table; see below")
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="change the common recipe, e.g. seed=1")
    parser.add_argument(
        "--data", required=True, type=Path, metavar="DIR", help="folder with input/, target/ and depth/"
    )
    parser.add_argument("--list", type=list_file, metavar=LIST, help="pictures to use (default: all in DIR)")
    parser.add_argument(
        "-o", "--output", required=True, type=Path, metavar="DIR", help="folder for runs, TABLE.md and TABLE.json"
    )
    parser.add_argument("--pages", type=Path, metavar="DIR", help="write the reports here instead of into -o")
    parser.add_argument("--jobs", type=count, metavar="N", help="pictures scored at a time (default: all cores)")
    trained = parser.add_argument_group("tables of trainings")
    trained.add_argument(
        "--validation",
        type=list_file,
        metavar=LIST,
        help=f"pictures to hold out and score on (default: CONFIGS/{VALIDATION})",
    )
    trained.add_argument("--epochs", type=count, metavar="N", help="epochs of every row (default: the recipe's)")
    trained.add_argument("--only", action="append", default=[], metavar="ROW", help="train this row; may be repeated")
    trained.add_argument("--collect", action="store_true", help="train nothing: score and report what is finished")
    trained.add_argument(
        "--seeds-from",
        action="append",
        default=[],
        type=Path,
        metavar="DIR",
        help="-o folder of the same table with another seed, to measure the noise; may be repeated",
    )
    trained.add_argument("--plan", action="store_true", help="train nothing: print the rows and their folders")
    trained.add_argument(
        "--configs", type=Path, default=Path("configs"), metavar="DIR", help="folder of recipes (default: ./configs)"
    )
    trained.add_argument("--lsui", type=Path, metavar="DIR", help="score on this data set too, as the paper's LSUI")
    trained.add_argument("--lsui-list", type=list_file, metavar=LIST, help="its test pictures (default: all)")
    add_threads(trained)
    trained.add_argument("--device", default="cpu", help="PyTorch device, e.g. cuda (default cpu)")
    quality = parser.add_argument_group("quality")
    quality.add_argument(
        "--method",
        action="append",
        default=[],
        metavar="NAME=PATH",
        help=METHOD_HELP,
    )
    quality.add_argument("--protocol", default="uieb-90", metavar="NAME|FILE", help="to score under (default: uieb-90)")
    quality.add_argument("--assets", type=Path, metavar="DIR", help="folder of LPIPS and NIQE parameters")


def run(arguments: argparse.Namespace) -> int:
    """Makes the table and prints it."""
    from pic_uie.evaluation.metrics.pictures import opencv

    opencv()  # rather now than after a night of training
    if arguments.table == QUALITY:
        return _quality(arguments)
    try:
        import torch
    except ImportError as error:
        raise EnvironmentMissingError("training needs PyTorch: pip install 'pic-uie[train]'") from error
    from pic_uie.paper.reproduction import text
    from pic_uie.paper.reproduction.plan import TRAINED

    if arguments.table not in (*TRAINED, ALL):
        raise ConfigError(f"no table {arguments.table!r}: {did_you_mean(arguments.table, (*TRAINED, QUALITY, ALL))}")
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    if arguments.table != ALL:
        _trained(arguments, arguments.table)
        return OK
    if arguments.only:
        raise ConfigError("--only chooses rows of one table: name the table instead of all")
    found = [document for name in TRAINED if (document := _trained(arguments, name)) is not None]
    if found:
        write(_pages(arguments) / "summary.md", text.summary(found))
        print(text.summary(found))
    return OK


def _trained(arguments: argparse.Namespace, name: str) -> Mapping[str, Any] | None:
    """Trains what is left of a table unless it is only collected, and reports it; None where it is only planned."""
    from pic_uie.cli.training_progress import TrainingProgress
    from pic_uie.cores import usable_cores
    from pic_uie.paper import tables as paper
    from pic_uie.paper.reproduction import report, text
    from pic_uie.paper.reproduction.measure import TestSet
    from pic_uie.paper.reproduction.plan import choose, plan
    from pic_uie.paper.reproduction.runs import Workshop, collect, run_all, score_finished

    table = paper.table(name)
    overrides = [*arguments.overrides]
    if arguments.epochs is not None:
        overrides.append(f"optimization.epochs={arguments.epochs}")
    runs = plan(table, arguments.configs, overrides)
    chosen = choose(runs, arguments.only)
    if arguments.plan:
        for row in runs:
            mark = "train" if row in chosen else "  -  "
            print(f"{mark}  {row.name:32} {arguments.output / row.config}")
        return None
    validation = arguments.validation or arguments.configs / VALIDATION
    tests = [TestSet("uieb-90", arguments.data, validation)]
    if arguments.lsui:
        tests.append(TestSet("lsui", arguments.lsui, arguments.lsui_list))
    shop = Workshop(
        data=arguments.data,
        list_file=arguments.list,
        validation=validation,
        output=arguments.output,
        tests=tests,
        depth=table.name == "depth-controls",
        device=arguments.device,
        jobs=arguments.jobs or usable_cores(),
    )
    if arguments.collect:
        score_finished(runs, shop, arguments.seeds_from, _say)
    else:
        run_all(chosen, shop, _say, lambda: TrainingProgress(None, enabled=True))
    measured = collect(runs, arguments.output, tests, arguments.seeds_from)
    found = report.document(table, runs, measured, [test.column for test in tests])
    _publish(_pages(arguments) / table.name, found, text.plain(found), text.markdown(found))
    return found


def _pages(arguments: argparse.Namespace) -> Path:
    return Path(arguments.pages or arguments.output)


def _quality(arguments: argparse.Namespace) -> int:
    for name in TRAINING_ONLY:
        if getattr(arguments, name):
            option = "key=value" if name == "overrides" else f"--{name.replace('_', '-')}"
            raise ConfigError(f"quality trains nothing: {option} is for tables of trainings, leave it out")
    from dataclasses import asdict

    from pic_uie.cli.progress import Progress
    from pic_uie.cores import usable_cores
    from pic_uie.evaluation import protocols
    from pic_uie.evaluation.cases import Folders, gather
    from pic_uie.evaluation.metrics import choose
    from pic_uie.evaluation.results import Result
    from pic_uie.evaluation.scoring import Task, score
    from pic_uie.paper.reproduction import quality

    protocol = protocols.load(arguments.protocol)
    quality.place_in_paper(asdict(protocol))  # rather now than after the work
    references = arguments.data / protocol.references if protocol.references else None
    results = []
    for source in methods(arguments.method):
        inputs = None if source.folder and references else arguments.data / protocol.inputs
        names, cases = gather(protocol, Folders(inputs, references, source.folder), arguments.list, allow_extra=True)
        task = Task(choose(protocol.metrics), protocol.resize[:1], source.enhance, arguments.assets)
        with Progress(len(cases), source.name) as progress:
            scores = score(cases, task, arguments.jobs or usable_cores(), progress.advance)
        assets = {metric.asset.file: metric.asset.sha256 for metric in task.metrics.values() if metric.asset}
        result = Result(source.name, source.description, asdict(protocol), names.facts(), scores, assets=assets)
        result.write(arguments.output / f"{QUALITY}-{protocol.name}" / source.name)
        results.append(result)
    found = quality.document(results)
    stem = _pages(arguments) / f"{QUALITY}-{protocol.name}"  # one per protocol: a second one keeps the first
    _publish(stem, found, quality.plain(found), quality.markdown(found))
    return OK


def _publish(stem: Path, document: Mapping[str, Any], plain: str, markdown: str) -> None:
    data = {".md": markdown, ".json": json.dumps(_strict(document), indent=1, ensure_ascii=False) + "\n"}
    for suffix, content in data.items():
        write(stem.with_name(f"{stem.name}{suffix}"), content)
    print(plain)


def _strict(value: Any) -> Any:
    """JSON has no infinity, which the PSNR of equal pictures is."""
    if isinstance(value, Mapping):
        return {key: _strict(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(item) for item in value]
    return value if not isinstance(value, float) or math.isfinite(value) else str(value)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
