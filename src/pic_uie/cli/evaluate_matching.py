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
from pic_uie.cli.options import count
from pic_uie.cli.output import require_suffix
from pic_uie.errors import ConfigError, DataError

FORMAT = "pic-uie-matching-1"
RAW = "raw"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options."""
    parser.add_argument("frames_folder", type=Path, metavar="FRAMES", help="each sub-folder is a sequence")
    parser.add_argument("--paper", action="store_true", help="the paper's selection: --frames 4 --stride 4")
    parser.add_argument("--frames", type=count, metavar="N", help="frames around the middle (default: all)")
    parser.add_argument("--stride", type=count, metavar="N", help="take every N-th frame (default: 1)")
    parser.add_argument("--method", action="append", default=[], metavar="NAME=PATH", help=METHOD_HELP)
    parser.add_argument("-o", "--output", type=Path, metavar="FILE.json", help="write every pair of every method")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress")


def run(arguments: argparse.Namespace) -> int:
    """Matches, prints the means over adjacent pairs beside the paper's."""
    from pic_uie.cli.progress import Progress
    from pic_uie.evaluation import matching
    from pic_uie.evaluation.folders import NoPicturesError
    from pic_uie.evaluation.metrics.pictures import opencv

    require_suffix(arguments.output, ".json")
    opencv()
    if arguments.paper and (arguments.frames or arguments.stride):
        raise ConfigError("--paper chooses frames and stride itself: leave out --frames and --stride")
    frames = matching.PAPER_FRAMES if arguments.paper else arguments.frames
    stride = matching.PAPER_STRIDE if arguments.paper else arguments.stride or 1
    folder: Path = arguments.frames_folder
    try:
        sequences = matching.find_sequences(folder, frames, stride)
    except NoPicturesError as error:
        print(f"pic-uie: {error}", file=sys.stderr)
        return NOTHING_MATCHED
    nested = next(iter(sequences.values()))[0].parent != folder
    ways: dict[str, tuple[matching.Frames, dict[str, str]]] = {RAW: (matching.raw_frames, {"kind": "pictures"})}
    for source, pictures in methods(arguments.method):
        if source.name in ways:
            raise ConfigError(f"two methods go by the name {source.name!r}")
        if pictures:
            ways[source.name] = (matching.finished_frames(pictures, nested), source.description)
        elif source.enhance:
            ways[source.name] = (matching.enhanced_frames(source.enhance), source.description)
    total = sum(len(paths) for paths in sequences.values())
    rows: dict[str, dict[str, Any]] = {}
    for name, (way, description) in ways.items():
        with Progress(total, name, arguments.quiet) as progress:
            found = matching.match_sequences(sequences, way, progress.advance)
        rows[name] = {"source": description, "summary": matching.summary(found), "pairs": matching.as_rows(found)}
    print(_table(rows, len(sequences), frames, stride))
    if arguments.output:
        protocol = {
            "sequences": {name: [path.name for path in paths] for name, paths in sequences.items()},
            "frames": frames,
            "stride": stride,
            "ratio": matching.RATIO,
            "ransac_pixels": matching.RANSAC_PIXELS,
        }
        _write(arguments.output, {"format": FORMAT, "protocol": protocol, "methods": rows})
    return OK


def _table(rows: dict[str, dict[str, Any]], sequences: int, frames: int | None, stride: int) -> str:
    from pic_uie.evaluation import paper
    from pic_uie.evaluation.tables import number, render

    pairs = len(next(iter(rows.values()))["pairs"])
    lines = []
    raw = rows[RAW]["summary"]
    for name, row in rows.items():
        means = row["summary"]
        cells = [number(means[key], 1) for key in ("keypoints", "matches", "inliers")]
        more = "-" if name == RAW else number(means["inliers"] - raw["inliers"], 1, signed=True)
        lines.append([name, *cells, f"{100 * means['inlier_share']:.1f} %", more])
    theirs = paper.table("efficiency-downstream").row(paper.ours()).group("matching")
    matches, inliers = theirs["matches"] or 0.0, theirs["inliers"] or 0.0
    lines.append(
        ["the paper's, on FLSea", "-", number(matches, 0), number(inliers, 0), f"{100 * inliers / matches:.1f} %", "-"]
    )
    header = ["method", "keypoints", "matches", "inliers", "inlier share", "inliers to raw"]
    taken = f"{frames} frames around the middle" if frames else "all frames"
    heading = f"means over {pairs} adjacent pairs of {sequences} sequences; {taken}, stride {stride}"
    return f"{heading}\n{render(header, lines)}"


def _write(path: Path, document: dict[str, Any]) -> None:
    from pic_uie.files import atomic_write

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(path, (json.dumps(document, indent=1) + "\n").encode())
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror}") from error
    print(f"wrote {path}", file=sys.stderr)
