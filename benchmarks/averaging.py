"""What averaging gains on pairs: of weights of runs, of their pictures, of eight views of each, and of less strength.

python benchmarks/averaging.py --data UIEB --list configs/uieb-validation-76.txt runs/*/last.safetensors

Of several runs it also prints whether their disagreement on a picture foretells the error of their mean.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pic_uie import Enhancer, weights
from pic_uie.datasets.stems import read_stems
from pic_uie.training.pairs import Pairs, find_stems, load_pairs
from pic_uie.weights import Weights

Floats = NDArray[np.float64]
STRENGTHS = (0.6, 0.7, 0.8, 0.9)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path, metavar="WEIGHTS")
    parser.add_argument("--data", required=True, type=Path, metavar="DIR", help="holds input/ and target/")
    parser.add_argument("--list", type=Path, metavar="FILE", help="names of the pairs; without it all in DIR")
    arguments = parser.parse_args()
    stems = read_stems(arguments.list) if arguments.list else find_stems(arguments.data)
    pairs = load_pairs(arguments.data, stems, 256, with_depth=False)
    runs = [weights.load(path) for path in arguments.runs]
    pictures = [[enhanced(Enhancer(run), pixels) for pixels in pairs.inputs] for run in runs]
    for path, run, of_run in zip(arguments.runs, runs, pictures, strict=True):
        views = [mean_of_views(Enhancer(run), pixels) for pixels in pairs.inputs]
        print(f"{path}: {psnr(of_run, pairs):.3f} dB, mean of eight views {psnr(views, pairs):.3f} dB")
        print(f"  at less strength: {weaker(of_run, pairs)}")
    if len(runs) > 1:
        soup = Enhancer(mean_of_weights(runs))
        print(f"mean of the weights: {psnr([enhanced(soup, pixels) for pixels in pairs.inputs], pairs):.3f} dB")
        means = [np.mean(same, axis=0) for same in zip(*pictures, strict=True)]
        print(f"mean of the pictures: {psnr(means, pairs):.3f} dB")
        print(f"  at less strength: {weaker(means, pairs)}")
        disagreement = [
            np.sqrt(np.mean((np.array(same) - np.mean(same, axis=0)) ** 2)) for same in zip(*pictures, strict=True)
        ]
        errors = np.sqrt(squared_errors(means, pairs))
        print(f"  correlation of disagreement and error: {np.corrcoef(disagreement, errors)[0, 1]:+.3f}")


def enhanced(enhancer: Enhancer, pixels: NDArray[np.uint8]) -> Floats:
    return enhancer.enhance(np.ascontiguousarray(pixels)) / 255.0


def mean_of_views(enhancer: Enhancer, pixels: NDArray[np.uint8]) -> Floats:
    views = []
    for turns in range(4):
        turned = np.rot90(pixels, turns)
        views.append(np.rot90(enhanced(enhancer, turned), -turns))
        views.append(np.rot90(enhanced(enhancer, turned[:, ::-1])[:, ::-1], -turns))
    return np.mean(views, axis=0)


def mean_of_weights(runs: list[Weights]) -> Weights:
    names = runs[0].parameters
    mean = {name: np.mean([run.parameters[name] for run in runs], axis=0, dtype=np.float32) for name in names}
    return Weights(runs[0].config, mean, weights.digest(runs[0].config, mean))


def weaker(pictures: list[Floats], pairs: Pairs) -> str:
    """PSNR of what lies between the inputs and the pictures."""
    inputs = pairs.inputs / 255.0
    blends = {s: [i + s * (p - i) for p, i in zip(pictures, inputs, strict=True)] for s in STRENGTHS}
    return ", ".join(f"{strength} {psnr(blend, pairs):.3f} dB" for strength, blend in blends.items())


def psnr(pictures: list[Floats], pairs: Pairs) -> float:
    return float(np.mean(-10.0 * np.log10(squared_errors(pictures, pairs))))


def squared_errors(pictures: list[Floats], pairs: Pairs) -> Floats:
    return np.array([np.mean((p - t / 255.0) ** 2) for p, t in zip(pictures, pairs.targets, strict=True)])


if __name__ == "__main__":
    main()
