"""`pic-uie figure`: the paper's figures, drawn from data, as PNG or PDF."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pic_uie.cli.exit_codes import OK
from pic_uie.cli.methods import HELP as METHOD_HELP
from pic_uie.cli.methods import from_path, methods, named_path
from pic_uie.cli.options import LIST, add_overwrite, add_weights, count, list_file, weights_file
from pic_uie.cli.output import write
from pic_uie.errors import ConfigError, DataError
from pic_uie.files import identity

if TYPE_CHECKING:
    from pic_uie.evaluation.predictions import Enhance

KINDS = {".png": "png", ".pdf": "pdf"}
STEPS = ("luminance", "tone", "chroma", "colour", "calibration")
STEP_SIDE = 1024  # pixels a side of the copy that the steps are run on
COSTS = ("gflops", "ms", "params")
CROPS = 2  # enlarged regions below a picture


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds one sub-verb per figure."""
    figures = parser.add_subparsers(dest="figure", required=True, metavar="FIGURE")
    bubbles = figures.add_parser("bubbles", help="quality against cost: the paper's methods and ours")
    bubbles.add_argument(
        "results", nargs="*", type=Path, metavar="RESULT.json", help="what `pic-uie evaluate -o` wrote"
    )
    bubbles.add_argument(
        "--weights", action="append", default=[], type=weights_file, metavar="FILE|NAME", help="the weights behind them"
    )
    bubbles.add_argument(
        "--bench", type=Path, metavar="FILE.json", help="what `pic-uie bench -o` wrote: our time at 256"
    )
    bubbles.add_argument("--column", default="uieb-90", choices=("uieb-90", "lsui"))
    bubbles.add_argument("--metric", default="psnr", choices=("psnr", "ssim", "mse", "lpips", "pcqi"))
    bubbles.add_argument("--x", choices=COSTS, help="default: ms, or gflops where our time is not known")
    bubbles.add_argument("--color", default="gflops", choices=COSTS, help="default: gflops, as in the paper")
    grid = figures.add_parser("grid", help="pictures of several methods side by side, with enlarged crops")
    grid.add_argument(
        "methods", nargs="+", metavar="NAME=PATH", help="a folder of pictures, or weights to run on the first folder's"
    )
    grid.add_argument("--pictures", metavar="A,B", help="stems (default: the first three that all have)")
    grid.add_argument(
        "--crop", action="append", default=[], metavar="[STEM=]L,T,W,H", help="shares of the picture; at most two each"
    )
    capacity = figures.add_parser("capacity", help="the width scan: the paper's statements and ours")
    capacity.add_argument(
        "scan", nargs="?", type=Path, metavar="width-scan.json", help="what `pic-uie reproduce` wrote"
    )
    depth = figures.add_parser("depth", help="histogram of the correlation of -log t with depth")
    depth.add_argument("methods", nargs="+", metavar="NAME=PATH", help="weights, or depth-correlation.json of a run")
    depth.add_argument("--data", type=Path, metavar="DIR", help="for weights: folder with input/, target/ and depth/")
    depth.add_argument("--list", type=list_file, metavar=LIST, help="pictures to use (default: all in DIR)")
    depth.add_argument("--size", type=count, default=256, metavar="N", help="side of the pictures (default 256)")
    matching = figures.add_parser("matching", help="matches between two neighbouring frames, method by method")
    matching.add_argument(
        "frames_folder", type=Path, metavar="FRAMES", help="every folder with pictures in this one is a sequence"
    )
    matching.add_argument("--method", action="append", default=[], metavar="NAME=PATH", help=METHOD_HELP)
    matching.add_argument("--scene", metavar="NAME", help="default: the first")
    matching.add_argument("--pair", type=int, default=0, metavar="N", help="which adjacent pair, from 0 (default 0)")
    matching.add_argument("--frames", type=count, metavar="N", help="frames around the middle (default: all)")
    matching.add_argument("--stride", type=count, default=1, metavar="N", help="take every N-th frame (default: 1)")
    detection = figures.add_parser("detection", help="boxes of separately trained detectors, side by side")
    detection.add_argument("folder", type=Path, metavar="DIR", help="-o of `pic-uie evaluate detection`")
    detection.add_argument("--pictures", metavar="A,B", help="stems (default: the three with the most labels)")
    detection.add_argument("--seed", type=int, default=0, metavar="N", help="whose detectors (default 0)")
    corrections = figures.add_parser("corrections", help="one step of the model on one picture: before, how, after")
    corrections.add_argument("image", type=Path, metavar="IMG", help="the picture")
    corrections.add_argument("--step", required=True, choices=STEPS, help="which step")
    add_weights(corrections)
    sliders = figures.add_parser("sliders", help="pictures with all corrections, and without one group at a time")
    sliders.add_argument("images", nargs="+", type=Path, metavar="IMG", help="the pictures, one row each")
    add_weights(sliders)
    for name, figure in figures.choices.items():
        figure.description = f"Draws {name}."
        figure.add_argument("-o", "--output", required=True, type=Path, metavar="FILE", help=".png or .pdf")
        figure.add_argument("--dpi", type=int, default=160, help="dots per inch of a PNG (default 160)")
        add_overwrite(figure, "replace a figure that exists already")


def run(arguments: argparse.Namespace) -> int:
    """Draws and writes the figure."""
    from pic_uie.paper.figures.canvas import new_figure, save

    output: Path = arguments.output
    kind = KINDS.get(output.suffix.lower())
    if kind is None:
        raise ConfigError(f"{output}: a figure is .png or .pdf")
    if not 20 <= arguments.dpi <= 600:
        raise ConfigError(f"--dpi must be 20..600, got {arguments.dpi}")
    if output.exists() and not arguments.overwrite:
        raise ConfigError(f"{output} exists already: choose another name, or --overwrite")
    new_figure(1, 1)  # says at once if matplotlib is missing
    write(output, save(DRAW[arguments.figure](arguments), kind, arguments.dpi))
    return OK


def _bubbles(arguments: argparse.Namespace) -> Any:
    from pic_uie import weights
    from pic_uie.bench import efficiency
    from pic_uie.evaluation import results
    from pic_uie.paper.figures import bubbles

    milliseconds = None
    if arguments.bench:
        try:
            rows = efficiency.read(arguments.bench)["rows"]
            times = [row["sizes"]["256"]["ms_mean"] for row in rows if "ms_mean" in row["sizes"].get("256", {})]
        except (KeyError, TypeError, AttributeError) as error:
            raise DataError(f"{arguments.bench} is a damaged benchmark: {type(error).__name__} {error}") from error
        if not times:
            raise DataError(f"{arguments.bench} was not measured at 256: run pic-uie bench --sizes 256")
        milliseconds = times[0]
    methods = bubbles.published(arguments.column, arguments.metric)
    candidates = [*arguments.weights, weights.DEFAULT_PATH]
    for path in arguments.results:
        result = results.read(path)
        methods.append(bubbles.measured(result, arguments.column, arguments.metric, candidates, milliseconds))
    bubbles.refuse_mixture([results.read(path) for path in arguments.results])
    timed = milliseconds is not None or not arguments.results
    if arguments.x == "ms" and not timed:
        raise ConfigError("our time is not known: name a benchmark of this machine with --bench FILE.json")
    x: bubbles.Cost = arguments.x or ("ms" if timed else "gflops")
    return bubbles.draw(methods, arguments.column, arguments.metric, x, arguments.color)


def _sliders(arguments: argparse.Namespace) -> Any:
    from pic_uie import Enhancer
    from pic_uie.images import read_rgb8
    from pic_uie.paper.figures import sliders

    return sliders.draw([read_rgb8(path) for path in arguments.images], Enhancer(arguments.weights))


def _grid(arguments: argparse.Namespace) -> Any:
    from pic_uie.paper.figures import grid

    drawn: dict[str, Path | Enhance] = {}
    for name, path in _named(arguments.methods, "NAME=PATH").items():
        enhance = from_path(path, name).enhance if path.is_file() else None
        drawn[name] = enhance or path
    folders = {name: path for name, path in drawn.items() if isinstance(path, Path)}
    here = identity(arguments.output.parent)
    if here is not None and here in {identity(folder) for folder in folders.values()}:
        raise ConfigError(f"-o {arguments.output} lies among the pictures that are drawn: choose another folder")
    rows = grid.load(drawn, [word for word in (arguments.pictures or "").split(",") if word])
    crops: dict[str, list[grid.Crop]] = {stem: [] for stem in rows}
    for word in arguments.crop:
        stem, separator, text = word.rpartition("=")
        if separator and stem not in crops:
            raise ConfigError(f"--crop {word}: no picture {stem!r} is drawn, only {', '.join(crops)}")
        for chosen in [stem] if separator else crops:
            crops[chosen].append(grid.parse_crop(text))
    for stem, regions in crops.items():
        if len(regions) > CROPS:
            raise ConfigError(f"{stem} has {len(regions)} crops, at most {CROPS} fit below it")
        if not regions:
            regions.append(grid.busiest(rows[stem][-1]))
    return grid.draw(list(drawn), rows, crops)


def _capacity(arguments: argparse.Namespace) -> Any:
    from pic_uie.paper.figures import capacity

    return capacity.draw(capacity.read(arguments.scan) if arguments.scan else None)


def _depth(arguments: argparse.Namespace) -> Any:
    from pic_uie.datasets.stems import read_stems
    from pic_uie.paper.figures import depth
    from pic_uie.paper.reproduction.correlations import read

    stems = read_stems(arguments.list) if arguments.list else None
    measured = {}
    for name, path in _named(arguments.methods, "NAME=PATH").items():
        if path.suffix == ".json":
            measured[name] = read(path)
        elif arguments.data is None:
            raise ConfigError(f"{path} is run on pictures with depth maps: name them with --data DIR")
        else:
            measured[name] = depth.correlations(path, arguments.data, stems, arguments.size)
    if len(measured) > len(depth.COLORS):
        raise ConfigError(f"at most {len(depth.COLORS)} histograms can be distinguished, got {len(measured)}")
    return depth.draw(measured)


def _matching(arguments: argparse.Namespace) -> Any:
    from pic_uie.datasets.sequences import find
    from pic_uie.evaluation.matching import ways
    from pic_uie.paper.figures import matching

    folder: Path = arguments.frames_folder
    scenes = [arguments.scene] if arguments.scene else []
    sequences = find(folder, arguments.frames, arguments.stride, scenes)
    scene, paths = next(iter(sequences.items()))
    makers = {name: way for name, (way, _) in ways(methods(arguments.method), folder, sequences).items()}
    return matching.draw(matching.measure(makers, scene, paths, arguments.pair))


def _detection(arguments: argparse.Namespace) -> Any:
    from pic_uie.paper.figures import detection

    stems = [word for word in (arguments.pictures or "").split(",") if word]
    return detection.draw(*detection.load(arguments.folder, stems, arguments.seed))


def _corrections(arguments: argparse.Namespace) -> Any:
    from pic_uie.cli.engine import load
    from pic_uie.images import read_rgb8
    from pic_uie.inspection.report import inspect
    from pic_uie.paper.figures import corrections

    enhancer, _ = load(arguments.weights, 1)
    inspection = inspect(read_rgb8(arguments.image), enhancer, arguments.image.name, STEP_SIDE)
    return corrections.draw(inspection, arguments.step)


def _named(words: list[str], form: str) -> dict[str, Path]:
    named: dict[str, Path] = {}
    for word in words:
        name, separator, path = word.partition("=")
        if not (name and separator and path):
            raise ConfigError(f"a method is written {form}, got {word!r}")
        if name in named:
            raise ConfigError(f"two methods go by the name {name!r}")
        named[name] = named_path(path)
    return named


DRAW = {
    "bubbles": _bubbles,
    "grid": _grid,
    "capacity": _capacity,
    "depth": _depth,
    "matching": _matching,
    "detection": _detection,
    "corrections": _corrections,
    "sliders": _sliders,
}
