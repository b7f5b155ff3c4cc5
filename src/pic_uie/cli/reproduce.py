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
from pic_uie.cli.options import count
from pic_uie.errors import ConfigError, EnvironmentMissingError, did_you_mean

QUALITY = "quality"
VALIDATION = "uieb-validation-76.txt"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options."""
    parser.epilog = (
        "Tables: matched-capacity, representation, leave-one-out, depth-controls, thumbnail, lut-grid, loss-terms, "
        "width-scan (each row is trained), quality (methods are scored). One -o folder may serve all tables: rows that "
        "they share are trained once."
    )
    parser.add_argument("table", metavar="TABLE", help="which table; see below")
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="change the common recipe, e.g. seed=1")
    parser.add_argument("--data", required=True, type=Path, metavar="DIR", help="has input/, target/ and depth/")
    parser.add_argument("--list", type=Path, metavar="FILE", help="stems to use; without it all in DIR")
    parser.add_argument("-o", "--output", required=True, type=Path, metavar="DIR", help="runs, TABLE.md and TABLE.json")
    parser.add_argument("--jobs", type=count, metavar="N", help="pictures scored at a time (default: all cores)")
    trained = parser.add_argument_group("tables of trainings")
    trained.add_argument(
        "--validation",
        type=Path,
        metavar="FILE",
        help=f"stems to hold out and score on (default: CONFIGS/{VALIDATION})",
    )
    trained.add_argument("--epochs", type=count, metavar="N", help="of every row (default: the recipe's)")
    trained.add_argument("--only", action="append", default=[], metavar="ROW", help="train this row; may be repeated")
    trained.add_argument("--collect", action="store_true", help="train nothing: report what is finished")
    trained.add_argument("--plan", action="store_true", help="train nothing: print the rows and their folders")
    trained.add_argument("--configs", type=Path, default=Path("configs"), metavar="DIR", help="default: ./configs")
    trained.add_argument("--lsui", type=Path, metavar="DIR", help="score on this data set too, as the paper's LSUI")
    trained.add_argument("--lsui-list", type=Path, metavar="FILE", help="its test pictures; without it all")
    trained.add_argument("--threads", type=count, metavar="N", help="CPU threads (default: all cores)")
    trained.add_argument("--device", default="cpu", help="of PyTorch, e.g. cuda")
    quality = parser.add_argument_group("quality")
    quality.add_argument(
        "--method",
        action="append",
        default=[],
        metavar="NAME=PATH",
        help=METHOD_HELP,
    )
    quality.add_argument("--protocol", default="uieb-90", metavar="NAME|FILE", help="default: uieb-90")
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
    from pic_uie.cli.training_progress import Progress
    from pic_uie.evaluation import paper
    from pic_uie.evaluation.machine import usable_cores
    from pic_uie.reproduction import report, text
    from pic_uie.reproduction.measure import TestSet
    from pic_uie.reproduction.plan import TRAINED, choose, plan
    from pic_uie.reproduction.runs import Workshop, collect, run_all

    if arguments.table not in TRAINED:
        raise ConfigError(f"no table {arguments.table!r}: {did_you_mean(arguments.table, (*TRAINED, QUALITY))}")
    table = paper.table(arguments.table)
    overrides = [*arguments.overrides]
    if arguments.epochs is not None:
        overrides.append(f"optimization.epochs={arguments.epochs}")
    runs = plan(table, arguments.configs, overrides)
    chosen = choose(runs, arguments.only)
    if arguments.plan:
        for row in runs:
            mark = "train" if row in chosen else "  -  "
            print(f"{mark}  {row.name:32} {arguments.output / row.config}")
        return OK
    validation = arguments.validation or arguments.configs / VALIDATION
    tests = [TestSet("uieb-90", arguments.data, validation)]
    if arguments.lsui:
        tests.append(TestSet("lsui", arguments.lsui, arguments.lsui_list))
    if not arguments.collect:
        if arguments.threads:
            torch.set_num_threads(arguments.threads)
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
        run_all(chosen, shop, _say, lambda: Progress(None, enabled=True))
    measured = collect(runs, arguments.output, tests)
    found = report.document(table, runs, measured, [test.column for test in tests])
    return _publish(arguments, found, text.plain(found), text.markdown(found))


def _quality(arguments: argparse.Namespace) -> int:
    from dataclasses import asdict

    from pic_uie.cli.progress import Progress
    from pic_uie.evaluation import protocols
    from pic_uie.evaluation.folders import Folders, gather
    from pic_uie.evaluation.machine import usable_cores
    from pic_uie.evaluation.metrics import choose
    from pic_uie.evaluation.results import Result
    from pic_uie.evaluation.scoring import Task, score
    from pic_uie.reproduction import quality

    protocol = protocols.load(arguments.protocol)
    quality.place_in_paper(asdict(protocol))  # rather now than after the work
    references = arguments.data / protocol.references if protocol.references else None
    results = []
    for source, pictures in methods(arguments.method):
        inputs = None if pictures and references else arguments.data / protocol.inputs
        names, cases = gather(protocol, Folders(inputs, references, pictures), arguments.list, allow_extra=True)
        task = Task(choose(protocol.metrics), protocol.resize[:1], source.enhance, arguments.assets)
        with Progress(len(cases), source.name) as progress:
            scores = score(cases, task, arguments.jobs or usable_cores(), progress.advance)
        facts = {"count": len(names.stems), "sha256": names.sha256, "file": names.file}
        result = Result(source.name, source.description, asdict(protocol), facts, scores)
        result.write(arguments.output / f"{QUALITY}-{protocol.name}" / source.name)
        results.append(result)
    found = quality.document(results)
    return _publish(arguments, found, quality.plain(found), quality.markdown(found))


def _publish(arguments: argparse.Namespace, document: Mapping[str, Any], plain: str, markdown: str) -> int:
    from pic_uie.files import atomic_write

    print(plain)
    data = {".md": markdown, ".json": json.dumps(_strict(document), indent=1, ensure_ascii=False) + "\n"}
    for suffix, content in data.items():
        path = arguments.output / f"{arguments.table}{suffix}"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            atomic_write(path, content.encode())
        except OSError as error:
            raise EnvironmentMissingError(f"cannot write {path}: {error.strerror}") from error
        _say(f"wrote {path}")
    return OK


def _strict(value: Any) -> Any:
    """JSON has no infinity, which the PSNR of equal pictures is."""
    if isinstance(value, Mapping):
        return {key: _strict(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(item) for item in value]
    return value if not isinstance(value, float) or math.isfinite(value) else str(value)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
