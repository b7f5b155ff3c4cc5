"""`pic-uie evaluate matching FRAMES`: keypoints, matches and inliers of neighbouring frames, raw against enhanced."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from pic_uie.cli.exit_codes import NOTHING_MATCHED, OK
from pic_uie.cli.methods import HELP as METHOD_HELP
from pic_uie.cli.methods import methods
from pic_uie.cli.options import add_quiet, count
from pic_uie.cli.output import require_suffix, write
from pic_uie.errors import ConfigError

FORMAT = "pic-uie-matching-1"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options."""
    parser.add_argument(
        "frames_folder", type=Path, metavar="FRAMES", help="every folder with pictures in this one is a sequence"
    )
    parser.add_argument("--paper", action="store_true", help="the paper's protocol: five scenes, --frames 4 --stride 4")
    parser.add_argument(
        "--scene", action="append", default=[], metavar="NAME", help="only this sequence; may be repeated"
    )
    parser.add_argument("--frames", type=count, metavar="N", help="frames around the middle (default: all)")
    parser.add_argument("--stride", type=count, metavar="N", help="take every N-th frame (default: 1)")
    parser.add_argument("--method", action="append", default=[], metavar="NAME=PATH", help=METHOD_HELP)
    parser.add_argument("-o", "--output", type=Path, metavar="FILE.json", help="write every pair of every method")
    add_quiet(parser)


def run(arguments: argparse.Namespace) -> int:
    """Matches, prints the means over adjacent pairs beside the paper's."""
    from pic_uie.cli.progress import Progress
    from pic_uie.datasets.folders import NoPicturesError
    from pic_uie.datasets.sequences import find
    from pic_uie.evaluation import matching
    from pic_uie.evaluation.metrics.pictures import opencv

    require_suffix(arguments.output, ".json")
    opencv()
    if arguments.paper and (arguments.frames or arguments.stride):
        raise ConfigError("--paper chooses frames and stride itself: leave out --frames and --stride")
    frames = matching.PAPER_FRAMES if arguments.paper else arguments.frames
    stride = matching.PAPER_STRIDE if arguments.paper else arguments.stride or 1
    folder: Path = arguments.frames_folder
    try:
        sequences = find(folder, frames, stride, arguments.scene)
    except NoPicturesError as error:
        print(f"pic-uie: {error}", file=sys.stderr)
        return NOTHING_MATCHED
    if arguments.paper and len(sequences) != matching.PAPER_SCENES:
        raise ConfigError(
            f"the paper takes {matching.PAPER_SCENES} scenes and {len(sequences)} are here: name them with --scene, or "
            f"use --frames {frames} --stride {stride} without --paper"
        )
    ways = matching.ways(methods(arguments.method), folder, sequences)
    total = sum(len(paths) for paths in sequences.values())
    rows: dict[str, dict[str, Any]] = {}
    for name, (way, description) in ways.items():
        with Progress(total, name, arguments.quiet) as progress:
            found = matching.match_sequences(sequences, way, progress.advance)
        rows[name] = {"source": dict(description), "summary": matching.summary(found), "pairs": matching.as_rows(found)}
    if arguments.output:
        protocol = {
            "sequences": {name: [path.name for path in paths] for name, paths in sequences.items()},
            "frames": frames,
            "stride": stride,
            "ratio": matching.RATIO,
            "ransac_pixels": matching.RANSAC_PIXELS,
        }
        document = {"format": FORMAT, "protocol": protocol, "methods": rows}
        write(arguments.output, json.dumps(document, indent=1) + "\n")
    print(_table(rows, len(sequences), frames, stride))
    return OK


def _table(rows: dict[str, dict[str, Any]], sequences: int, frames: int | None, stride: int) -> str:
    from pic_uie.evaluation.matching import RAW
    from pic_uie.evaluation.statistics import bootstrap_interval
    from pic_uie.evaluation.tables import interval, number, render
    from pic_uie.paper import tables as paper

    pairs = len(next(iter(rows.values()))["pairs"])
    lines = []
    raw = rows[RAW]["summary"]
    for name, row in rows.items():
        means = row["summary"]
        cells = [number(means[key], 1) for key in ("keypoints", "matches", "inliers")]
        more = ["-", "-"]
        if name != RAW:
            paired = zip(row["pairs"], rows[RAW]["pairs"], strict=True)
            differences = [mine["inliers"] - theirs["inliers"] for mine, theirs in paired]
            ends = interval(*bootstrap_interval(differences), 1, signed=True) if len(differences) > 1 else "-"
            more = [number(means["inliers"] - raw["inliers"], 1, signed=True), ends]
        lines.append([name, *cells, f"{100 * means['inlier_share']:.1f} %", *more])
    theirs = paper.table("efficiency-downstream").row(paper.ours()).group("matching")
    matches, inliers = theirs["matches"] or 0.0, theirs["inliers"] or 0.0
    lines.append(
        [
            "the paper's, on FLSea",
            "-",
            number(matches, 0),
            number(inliers, 0),
            f"{100 * inliers / matches:.1f} %",
            "-",
            "-",
        ]
    )
    header = ["method", "keypoints", "matches", "inliers", "inlier share", "inliers to raw", "95 % interval over pairs"]
    taken = f"{frames} frames around the middle" if frames else "all frames"
    heading = f"means over {pairs} adjacent pairs of {sequences} sequences; {taken}, stride {stride}"
    return f"{heading}\n{render(header, lines)}"
