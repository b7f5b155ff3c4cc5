"""`pic-uie look`: shows, mixes and exports looks."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from pic_uie.cli.exit_codes import OK
from pic_uie.cli.options import add_overwrite, add_weights, fraction
from pic_uie.cli.output import write
from pic_uie.errors import ConfigError

if TYPE_CHECKING:
    from pic_uie import Look

_CUBE = 33  # what editors expect


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds one sub-verb per task."""
    actions = parser.add_subparsers(dest="subverb", required=True, metavar="ACTION")
    show = actions.add_parser("show", help="describe what a look does, in words and numbers")
    show.add_argument("looks", nargs="+", type=Path, metavar="LOOK", help="files that --save-look wrote")
    mix = actions.add_parser("mix", help="make a look between two others")
    mix.add_argument("first", type=Path, metavar="A", help="a look")
    mix.add_argument("second", type=Path, metavar="B", help="another look")
    mix.add_argument("--at", type=fraction, default=0.5, metavar="S", help="0 is A, 1 is B (0.5)")
    _add_output(mix, "C.look.json")
    cube = actions.add_parser("cube", help="make a 3-D colour table (.cube) for photo and video editors")
    cube.add_argument("look", type=Path, metavar="LOOK", help="a file that --save-look wrote")
    cube.add_argument("--size", type=int, default=_CUBE, metavar="N", help=f"samples along each side ({_CUBE})")
    add_weights(cube, "those of the look, if not the ones in the package")
    _add_output(cube, "FILE.cube")


def run(arguments: argparse.Namespace) -> int:
    """Does what was asked."""
    from pic_uie import Look

    if arguments.subverb == "show":
        for number, path in enumerate(arguments.looks):
            if number:
                print()
            print(_described(Look.load(path), path))
    elif arguments.subverb == "mix":
        _check_output(arguments, ".look.json")
        mixed = Look.load(arguments.first).interpolate(Look.load(arguments.second), arguments.at)
        write(arguments.output, mixed.to_json(), overwrite=arguments.overwrite)
    else:
        _check_output(arguments, ".cube")
        from pic_uie import Enhancer, cube

        look = Look.load(arguments.look)
        text = cube.to_text(look.cube(arguments.size, Enhancer(arguments.weights)), look)
        write(arguments.output, text, overwrite=arguments.overwrite)
    return OK


def _add_output(parser: argparse.ArgumentParser, metavar: str) -> None:
    parser.add_argument("-o", "--output", required=True, type=Path, metavar=metavar, help="the file to write")
    add_overwrite(parser)


def _check_output(arguments: argparse.Namespace, suffix: str) -> None:
    output: Path = arguments.output
    if not output.name.lower().endswith(suffix):
        raise ConfigError(f"-o {output} must end in {suffix}, for that is what is written")
    if output.exists() and not arguments.overwrite:
        raise ConfigError(f"{output} exists already: choose another name, or --overwrite")


def _described(look: Look, path: Path) -> str:
    """Returns what a look does, for people."""
    import numpy as np

    from pic_uie.batch.ledger import shown

    theta = look.theta
    t, v, a = (field.astype(np.float64) for field in (theta.t, theta.v, theta.a))
    veil, gain = (1 - t) * v, 1 + a * (1 - t)
    tone = np.interp((0.25, 0.5, 0.75), np.linspace(0, 1, theta.tone.size), theta.tone)
    axis = np.linspace(-1, 1, theta.lut.shape[-1])
    cb, cr = (theta.lut[channel].astype(np.float64) for channel in (0, 1))
    shift = np.hypot(cb - axis[None, :], cr - axis[:, None]).mean() * 0.5
    mean, deviation = look.statistics.mean, np.sqrt(np.diag(look.statistics.covariance))
    lines = [
        f"{shown(path)}",
        f"  source     {shown(look.source.name) or 'not named'}"
        + (f" (sha256 {look.source.sha256[:16]})" if look.source.sha256 else ""),
        f"  made by    {shown(look.software) or 'unknown'}, weights {look.weights[:16]}",
        f"  look       {look.sha256}",
        "  strengths  " + ", ".join(f"{name} {value:g}" for name, value in look.strengths.as_dict().items()),
        f"  haze       removes a veil of {_span(veil)}, then multiplies by {_span(gain)} (t {_span(t)})",
        f"  contrast   1/4, 1/2, 3/4 become {tone[0]:.2f}, {tone[1]:.2f}, {tone[2]:.2f}; refiner {theta.refinement:g}",
        f"  colour     moves chroma by {shift:.3f} on average, in a table of {theta.lut.shape[-1]} x "
        f"{theta.lut.shape[-1]}",
        f"  balance    luma x {theta.matrix[0, 0]:.2f}, Cb x {theta.matrix[1, 1]:.2f} {theta.bias[1]:+.3f}, "
        f"Cr x {theta.matrix[2, 2]:.2f} {theta.bias[2]:+.3f}; calibrates {theta.blend:.0%}",
        f"  statistics luma {mean[0]:.3f} ± {deviation[0]:.3f}, Cb {mean[1]:+.3f} ± {deviation[1]:.3f}, "
        f"Cr {mean[2]:+.3f} ± {deviation[2]:.3f}",
    ]
    return "\n".join(lines)


def _span(field: object) -> str:
    import numpy as np

    values = np.asarray(field)
    return f"{values.mean():.2f} ({values.min():.2f} to {values.max():.2f})"
