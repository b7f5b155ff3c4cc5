"""`pic-uie evaluate detection DATA.yaml`: a detector per method, all under the same settings."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from pic_uie.cli.exit_codes import OK
from pic_uie.cli.methods import HELP as METHOD_HELP
from pic_uie.cli.methods import methods
from pic_uie.cli.options import add_quiet, count
from pic_uie.errors import ConfigError
from pic_uie.writing import explained


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options."""
    parser.add_argument("data_file", type=Path, metavar="DATA.yaml", help="a YOLO-format set with train, val and test")
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        type=Path,
        metavar="DIR",
        help="folder for copies of the set, detectors and detection.json",
    )
    parser.add_argument("--method", action="append", default=[], metavar="NAME=PATH", help=METHOD_HELP)
    parser.add_argument("--prepare", action="store_true", help="only write the copies of the set")
    add_quiet(parser)
    how = parser.add_argument_group("detectors (the same for all)")
    how.add_argument(
        "--model", default="yolo11n.yaml", help="yolo11n.yaml, from scratch (default), or a checkpoint on this machine"
    )
    how.add_argument("--epochs", type=count, default=300, metavar="N", help="default 300, the paper's")
    how.add_argument("--patience", type=count, default=100, metavar="N", help="default 100, the paper's")
    how.add_argument("--size", type=count, default=640, metavar="N", help="side of the pictures (default 640)")
    how.add_argument("--batch", type=count, default=16, metavar="N", help="default 16")
    how.add_argument("--seeds", type=_seeds, default=(0,), metavar="A,B", help="one detector per seed (default: 0)")
    how.add_argument("--device", default="cpu", help="PyTorch device, e.g. cpu or 0 (default cpu)")
    how.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="for Ultralytics' training, e.g. workers=2 or optimizer=SGD; may be repeated",
    )


def run(arguments: argparse.Namespace) -> int:
    """Writes the copies, trains and tests the detectors, prints mAP@50."""
    from pic_uie.cli.progress import Progress
    from pic_uie.cores import usable_cores
    from pic_uie.evaluation import detection, detection_report, yolo_copy, yolo_set
    from pic_uie.files import atomic_write
    from pic_uie.typed_yaml import apply_override

    options: dict[str, Any] = {}
    for word in arguments.option:
        apply_override(options, word)
    names = ("model", "epochs", "patience", "size", "batch", "device")
    chosen = {name: getattr(arguments, name) for name in names} | {"options": options}
    settings = {seed: detection.Settings(**chosen, seed=seed) for seed in arguments.seeds}
    if not arguments.prepare:  # rather now than after the whole set is enhanced
        detection.ultralytics()
        detection.check_device(arguments.device)
    output: Path = arguments.output
    data = yolo_set.read(arguments.data_file)
    sources = methods(arguments.method)
    if any(source.name == detection_report.RAW for source in sources):
        raise ConfigError(f"{detection_report.RAW!r} is the set as it is: give the method another name")
    makers = {detection_report.RAW: yolo_copy.raw()} | {source.name: yolo_copy.of(source, data) for source in sources}
    pictures = sum(len(split) for split in data.splits.values())
    copies = {}
    with explained(output):
        yolo_set.claim(data, output)
        for name, maker in makers.items():
            with Progress(pictures, name, arguments.quiet) as progress:
                copies[name] = yolo_copy.write(data, output / name, maker, progress.advance, usable_cores())
            print(f"{name}: {copies[name]}", file=sys.stderr)
    if arguments.prepare:
        return OK
    tests: dict[str, dict[int, dict[str, Any]]] = {name: {} for name in copies}
    for seed, how in settings.items():  # all methods of a seed first: a part of the seeds is already a fair table
        for name, file in copies.items():
            tests[name][seed] = detection.train_and_test(file, file.parent / f"seed-{seed}", how)
        report = detection_report.document(tests, {"settings": chosen})
        atomic_write(output / "detection.json", (json.dumps(report, indent=1) + "\n").encode())
    print(detection_report.table(report))
    print(f"wrote {output / 'detection.json'}", file=sys.stderr)
    return OK


def _seeds(text: str) -> tuple[int, ...]:
    try:
        seeds = tuple(dict.fromkeys(int(word) for word in text.split(",")))
    except ValueError:
        raise argparse.ArgumentTypeError(f"whole numbers with commas between them are needed, got {text!r}") from None
    return seeds
