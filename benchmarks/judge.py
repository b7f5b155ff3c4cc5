"""Several weights side by side, and the rule of docs/training-log.md: which may replace the first.

python benchmarks/judge.py --zero-shot DIR --video CLIP src/pic_uie/weights/pic_uie.safetensors runs/*/last.safetensors
python benchmarks/judge.py ... --held-out UIEB --list configs/uieb-validation-76.txt runs/*/last.safetensors

Give --held-out and --native only for weights that were trained without those pictures. Every difference is to the first
weights, with the 95 % bootstrap interval of its mean over the same pictures.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pic_uie import Enhancer, images
from pic_uie.datasets import folders
from pic_uie.datasets.stems import read_stems
from pic_uie.evaluation.metrics.psnr import psnr
from pic_uie.evaluation.metrics.ssim import ssim
from pic_uie.evaluation.statistics import LEVEL, RESAMPLES, SEED, bootstrap_interval
from pic_uie.evaluation.tables import render
from pic_uie.training.pairs import find_stems
from pic_uie.video import demux
from pic_uie.video.probe import probe

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from flicker import jitter, rgb

from helpers.harmless import KINDS, changes

SSIM_OF_A_DB = 0.03  # what counts as much as one dB: identity samples moved both in this proportion
MORE_JITTER = 1.1  # times that of the first weights
LAND_BOUND = 11.0
DECIDING = ("held out", "zero-shot")  # the native pictures are part of those held out

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Scores:
    """What one set of weights does."""

    quality: dict[str, dict[str, Values]]  # set -> metric -> of each picture
    harm: dict[str, float]  # kind -> mean ΔE00
    jitter: dict[str, float]  # L, b -> deviation from the smooth course


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "weights", nargs="+", type=Path, metavar="WEIGHTS", help="the first is what they are held against"
    )
    parser.add_argument("--zero-shot", type=Path, metavar="DIR", help="has input/ and target/")
    parser.add_argument("--held-out", type=Path, metavar="DIR", help="has input/ and target/")
    parser.add_argument("--list", type=Path, metavar="FILE", help="names of the pictures held out")
    parser.add_argument("--native", type=Path, metavar="DIR", help="has input/ and target/")
    parser.add_argument("--video", type=Path, metavar="CLIP", help="for the temporal jitter")
    arguments = parser.parse_args()
    sets = {"held out": arguments.held_out, "zero-shot": arguments.zero_shot, "native": arguments.native}
    pairs = {
        name: read_pairs(folder, arguments.list if name == "held out" else None)
        for name, folder in sets.items()
        if folder
    }
    clip = probe(arguments.video) if arguments.video else None
    sources = [demux.planes(frame, clip) for frame in demux.frames(clip)] if clip else []
    scores = {str(path): score(Enhancer(path), pairs, sources) for path in arguments.weights}
    report(scores)


def read_pairs(folder: Path, names: Path | None) -> list[tuple[NDArray[np.uint8], NDArray[np.uint8]]]:
    """Inputs and references, as large as they are."""
    index = [folders.index(folder / kind) for kind in ("input", "target")]
    stems = read_stems(names) if names else find_stems(folder)
    return [(images.read_rgb8(index[0][stem]), images.read_rgb8(index[1][stem])) for stem in stems]


def score(enhancer: Enhancer, pairs: dict[str, list], sources: list) -> Scores:
    quality = {}
    for name, pictures in pairs.items():
        results = [(enhancer.enhance(picture), reference) for picture, reference in pictures]
        metrics: dict[str, Callable[..., float]] = {"PSNR": psnr, "SSIM": ssim}
        quality[name] = {m: np.array([metric(*result) for result in results]) for m, metric in metrics.items()}
    harm = {kind: float(np.mean(changes(enhancer, pictures()))) for kind, (pictures, _) in KINDS.items()}
    outs = (enhancer.execute(s, enhancer.predict(s), out=s.empty_like()) for s in sources)
    course = jitter([rgb(out) for out in outs]) if sources else ()
    return Scores(quality, harm, dict(zip(("L", "b"), course, strict=False)))


def report(scores: dict[str, Scores]) -> None:
    first, *others = scores.values()
    for place, name in enumerate(scores):
        print(f"{chr(65 + place)}: {name}")
    rows = []
    for name, metrics in first.quality.items():
        for metric, values in metrics.items():
            cells = [compared(s.quality[name][metric], values, s is first, metric) for s in scores.values()]
            rows.append([f"{name}, {metric} ({len(values)})", *cells])
    rows += [[f"jitter {axis}", *(f"{s.jitter[axis]:.3f}" for s in scores.values())] for axis in first.jitter]
    for kind, limit in bounds().items():
        cells = [f"{s.harm[kind]:.2f}{' !' if s.harm[kind] >= limit else ''}" for s in scores.values()]
        rows.append([f"ΔE00 {kind} (< {limit:g})", *cells])
    print(render(["", *(chr(65 + place) for place in range(len(scores)))], rows))
    for place, other in enumerate(others, 1):
        print(f"{chr(65 + place)} {verdict(first, other)}")


def compared(values: Values, to: Values, is_first: bool, metric: str) -> str:
    decimals = 3 if metric == "PSNR" else 4
    if is_first:
        return f"{values.mean():.{decimals}f}"
    change = values - to
    mean, low, high = (f"{value:+.{decimals}f}" for value in (change.mean(), *bootstrap_interval(change)))
    return f"{values.mean():.{decimals}f} ({mean}, {low} to {high})"


def bounds() -> dict[str, float]:
    """What each kind must stay below: the bounds of the test, but pictures from land may move more."""
    return {kind: bound for kind, (_, bound) in KINDS.items()} | {"land": LAND_BOUND}


def verdict(first: Scores, other: Scores) -> str:
    """The rule of docs/training-log.md, clause by clause."""
    broken = harmed(other)
    broken += [f"jitter {axis}" for axis, value in other.jitter.items() if value > MORE_JITTER * first.jitter[axis]]
    gains = []
    for name in DECIDING:
        if name in first.quality:
            changes = {m: other.quality[name][m] - values for m, values in first.quality[name].items()}
            broken += [f"{m} on {name}" for m, change in changes.items() if bootstrap_interval(change)[1] < 0.0]
            gains.append(changes["PSNR"] + changes["SSIM"] / SSIM_OF_A_DB)
    judged = (
        f"; not judged: {', '.join(missing)}" if (missing := [n for n in DECIDING if n not in first.quality]) else ""
    )
    judged += "" if first.jitter else "; no video"
    low, high = interval_of_sets(gains) if gains else (float("nan"), float("nan"))
    mean = float(np.mean([gain.mean() for gain in gains])) if gains else float("nan")
    wins = not broken and not judged and (low > 0.0 or (high >= 0.0 and bool(harmed(first))))
    why = f"breaks {', '.join(broken)}" if broken else "breaks nothing"
    why += f", A breaks {', '.join(harmed(first))}" if harmed(first) else ""
    decision = "replaces A" if wins else "does not replace A"
    return f"{decision}: gain {mean:+.3f} ({low:+.3f} to {high:+.3f}); {why}{judged}"


def harmed(scores: Scores) -> list[str]:
    """The kinds that clause 1 would refuse."""
    return [f"ΔE00 {kind}" for kind, limit in bounds().items() if scores.harm[kind] >= limit]


def interval_of_sets(gains: list[Values]) -> tuple[float, float]:
    """The 95 % bootstrap interval of the mean over the sets' means; each set is drawn from by itself."""
    rng = np.random.default_rng(SEED)
    draws = [gain[rng.integers(0, gain.size, (RESAMPLES, gain.size))].mean(axis=1) for gain in gains]
    means = np.sort(np.mean(draws, axis=0))
    tail = round((1 - LEVEL) / 2 * RESAMPLES)
    return float(means[tail]), float(means[-1 - tail])


if __name__ == "__main__":
    main()
