"""`pic-uie evaluate detection DATA.yaml`: a detector on raw and one on enhanced pictures, under the same settings."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import fields
from pathlib import Path

from pic_uie.cli.exit_codes import OK
from pic_uie.cli.options import count
from pic_uie.errors import DataError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options."""
    parser.add_argument("data_file", type=Path, metavar="DATA.yaml", help="a YOLO-format set with train, val and test")
    parser.add_argument(
        "-o", "--output", required=True, type=Path, metavar="DIR", help="the enhanced copy, detectors, detection.json"
    )
    parser.add_argument("--weights", type=Path, metavar="FILE", help="other weights than the ones in the package")
    parser.add_argument("--prepare", action="store_true", help="only write the enhanced copy")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress")
    how = parser.add_argument_group("detectors (the same for both)")
    how.add_argument("--model", default="yolo11n.yaml", help="from scratch (default), or a checkpoint on this machine")
    how.add_argument("--epochs", type=count, default=300, metavar="N", help="default 300, the paper's")
    how.add_argument("--patience", type=count, default=100, metavar="N", help="default 100, the paper's")
    how.add_argument("--size", type=count, default=640, metavar="N", help="side of the pictures (default 640)")
    how.add_argument("--batch", type=count, default=16, metavar="N", help="default 16")
    how.add_argument("--seed", type=int, default=0, help="default 0")
    how.add_argument("--device", default="cpu", help="of PyTorch, e.g. cpu or 0")


def run(arguments: argparse.Namespace) -> int:
    """Enhances the set, trains and tests both detectors, prints mAP@50."""
    from pic_uie.cli.engine import load
    from pic_uie.cli.progress import Progress
    from pic_uie.enhancer import default_threads
    from pic_uie.evaluation import detection, yolo_set
    from pic_uie.files import atomic_write

    settings = detection.Settings(
        **{field.name: getattr(arguments, field.name) for field in fields(detection.Settings)}
    )
    if not arguments.prepare:
        detection.ultralytics()  # rather now than after the whole set is enhanced
    output: Path = arguments.output
    data = yolo_set.read(arguments.data_file)
    enhancer, _ = load(arguments.weights, default_threads())
    pictures = sum(len(split) for split in data.splits.values())
    try:
        yolo_set.claim(data, output)
        sets = {"raw": yolo_set.write_as_is(data, output / "raw")}
        folder = output / f"enhanced-{enhancer.weights.short_hash}"
        with Progress(pictures, "enhancing", arguments.quiet) as progress:
            sets["enhanced"] = yolo_set.write_enhanced(data, folder, enhancer, progress.advance)
    except OSError as error:
        raise DataError(f"cannot write to {output}: {error.strerror}") from error
    for name, file in sets.items():
        print(f"{name}: {file}", file=sys.stderr)
    if arguments.prepare:
        return OK
    scores = {name: detection.train_and_test(file, file.parent / "detector", settings) for name, file in sets.items()}
    print(detection.table(scores))
    atomic_write(output / "detection.json", (json.dumps(scores, indent=1) + "\n").encode())
    print(f"wrote {output / 'detection.json'}", file=sys.stderr)
    return OK
