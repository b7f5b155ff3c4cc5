"""`pic-uie figure`: the paper's figures from data, as PNG or PDF."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from pic_uie.cli.exit_codes import OK
from pic_uie.errors import ConfigError, DataError
from pic_uie.files import identity

KINDS = {".png": "png", ".pdf": "pdf"}
STEPS = ("luminance", "tone", "chroma", "colour", "calibration")
STEP_SIDE = 1024  # pixels a side of the copy that the steps are run on
CROPS = 2  # enlarged regions below a picture


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds one sub-verb per figure."""
    figures = parser.add_subparsers(dest="figure", required=True, metavar="FIGURE")
    bubbles = figures.add_parser("bubbles", help="quality against cost: the paper's methods and ours")
    bubbles.add_argument("results", nargs="*", type=Path, metavar="RESULT.json", help="of `pic-uie evaluate`")
    bubbles.add_argument("--weights", action="append", default=[], type=Path, metavar="FILE", help="what made them")
    bubbles.add_argument("--bench", type=Path, metavar="FILE.json", help="of `pic-uie bench`: our time at 256")
    bubbles.add_argument("--column", default="uieb-90", choices=("uieb-90", "lsui"))
    bubbles.add_argument("--metric", default="psnr", choices=("psnr", "ssim", "mse", "lpips", "pcqi"))
    bubbles.add_argument("--x", default="gflops", choices=("gflops", "ms", "params"), help="default: gflops")
    grid = figures.add_parser("grid", help="pictures of any methods side by side with enlarged crops")
    grid.add_argument("methods", nargs="+", metavar="NAME=DIR", help="one folder of pictures per method, in order")
    grid.add_argument("--pictures", metavar="A,B", help="stems (default: the first three that all have)")
    grid.add_argument(
        "--crop", action="append", default=[], metavar="[STEM=]L,T,W,H", help="shares of the picture; at most two each"
    )
    capacity = figures.add_parser("capacity", help="the width scan: the paper's statements and ours")
    capacity.add_argument("scan", nargs="?", type=Path, metavar="width-scan.json", help="of `pic-uie reproduce`")
    depth = figures.add_parser("depth", help="histogram of the correlation of -log t with depth")
    depth.add_argument("methods", nargs="+", metavar="NAME=PATH", help="weights, or depth-correlation.json of a run")
    depth.add_argument("--data", type=Path, metavar="DIR", help="for weights: has input/, target/ and depth/")
    depth.add_argument("--list", type=Path, metavar="FILE", help="stems to use; without it all in DIR")
    depth.add_argument("--size", type=int, default=256, metavar="N", help="side of the pictures (default 256)")
    corrections = figures.add_parser("corrections", help="one step of the model on one picture: before, how, after")
    corrections.add_argument("image", type=Path, metavar="IMG", help="the picture")
    corrections.add_argument("--step", required=True, choices=STEPS, help="which step")
    corrections.add_argument("--weights", type=Path, metavar="FILE", help="other weights than the ones in the package")
    for name, figure in figures.choices.items():
        figure.description = f"Draws {name}."
        figure.add_argument("-o", "--output", required=True, type=Path, metavar="FILE", help=".png or .pdf")
        figure.add_argument("--dpi", type=int, default=160, help="dots per inch of a PNG (default 160)")
        figure.add_argument("--overwrite", action="store_true", help="replace a figure that is there already")


def run(arguments: argparse.Namespace) -> int:
    """Draws and writes the figure."""
    from pic_uie.figures.canvas import new_figure, save
    from pic_uie.files import atomic_write

    output: Path = arguments.output
    kind = KINDS.get(output.suffix.lower())
    if kind is None:
        raise ConfigError(f"{output}: a figure is .png or .pdf")
    if not 20 <= arguments.dpi <= 600:
        raise ConfigError(f"--dpi must be 20..600, got {arguments.dpi}")
    if output.exists() and not arguments.overwrite:
        raise ConfigError(f"{output} is there already: choose another name, or --overwrite")
    new_figure(1, 1)  # says at once if matplotlib is missing
    data = save(DRAW[arguments.figure](arguments), kind, arguments.dpi)
    try:
        atomic_write(output, data)
    except OSError as error:
        raise DataError(f"cannot write {output}: {error.strerror}") from error
    print(f"wrote {output}", file=sys.stderr)
    return OK


def _bubbles(arguments: argparse.Namespace) -> Any:
    from pic_uie import weights
    from pic_uie.evaluation import efficiency, results
    from pic_uie.figures import bubbles

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
    if arguments.x == "ms" and arguments.results and milliseconds is None:
        raise ConfigError("our time is not known: name a benchmark of this machine with --bench FILE.json")
    return bubbles.draw(methods, arguments.column, arguments.metric, arguments.x)


def _grid(arguments: argparse.Namespace) -> Any:
    from pic_uie.figures import grid

    folders = _named(arguments.methods, "NAME=DIR")
    here = identity(arguments.output.parent)
    if here is not None and here in {identity(folder) for folder in folders.values()}:
        raise ConfigError(f"-o {arguments.output} lies among the pictures that are drawn: choose another folder")
    rows = grid.load(folders, [word for word in (arguments.pictures or "").split(",") if word])
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
    return grid.draw(list(folders), rows, crops)


def _capacity(arguments: argparse.Namespace) -> Any:
    from pic_uie.figures import capacity

    return capacity.draw(capacity.read(arguments.scan) if arguments.scan else None)


def _depth(arguments: argparse.Namespace) -> Any:
    from pic_uie.figures import depth
    from pic_uie.reproduction.correlations import read
    from pic_uie.stems import read_stems

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
        raise ConfigError(f"at most {len(depth.COLORS)} histograms can be told apart, got {len(measured)}")
    return depth.draw(measured)


def _corrections(arguments: argparse.Namespace) -> Any:
    from pic_uie.cli.engine import load
    from pic_uie.figures import corrections
    from pic_uie.images import read_rgb8
    from pic_uie.inspection.report import inspect

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
        named[name] = Path(path)
    return named


DRAW = {"bubbles": _bubbles, "grid": _grid, "capacity": _capacity, "depth": _depth, "corrections": _corrections}
