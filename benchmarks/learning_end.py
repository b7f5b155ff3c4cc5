"""How near the runs of a table are to the end of their learning: what the last parts of the schedule still add.

    python benchmarks/learning_end.py measurements/ablations*

Prints, over all runs in the folders, the gain in PSNR on the held-out pictures (column psnr of metrics.csv) between
epochs that every run has measured. The rate falls to 0 with the schedule, so every schedule ends flat: this says
whether a schedule was used up, not what a longer one would add.
"""

from __future__ import annotations

import argparse
import csv
from itertools import pairwise
from pathlib import Path

import numpy as np

EPOCHS = (20, 30, 40, 50, 60)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, help="-o folders of `pic-uie reproduce`")
    parser.add_argument("--epochs", nargs="+", type=int, default=EPOCHS)
    arguments = parser.parse_args()
    curves = {path.parent: curve(path) for folder in arguments.folders for path in sorted(folder.glob("*/metrics.csv"))}
    for earlier, later in pairwise(arguments.epochs):
        gains = {run: psnr[later] - psnr[earlier] for run, psnr in curves.items()}
        least, most = min(gains, key=gains.__getitem__), max(gains, key=gains.__getitem__)
        print(
            f"epoch {earlier} to {later}: {np.mean(list(gains.values())):+.3f} dB over {len(gains)} runs, "
            f"{gains[least]:+.3f} ({least.name}) to {gains[most]:+.3f} ({most.name})"
        )


def curve(path: Path) -> dict[int, float]:
    with open(path, newline="", encoding="utf-8") as rows:
        return {int(float(row["epoch"])): float(row["psnr"]) for row in csv.DictReader(rows) if row["psnr"]}


if __name__ == "__main__":
    main()
