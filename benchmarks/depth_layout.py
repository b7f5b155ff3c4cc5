"""How much of a depth map is the layout that all pictures share: what shuffling depths between pictures leaves intact.

    python benchmarks/depth_layout.py --data UIEB --list train.txt --validation smdr-90-at-hand.txt

Prints, for the held-out pictures, the correlation of their own depth with the mean depth of the training pictures, and
with the depth of another held-out picture. Where the latter is high, `depth_target: shuffled` is hardly a control.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch

from pic_uie.cli.options import LIST, list_file
from pic_uie.training.pairs import load_pairs, split_stems

SIDE = 32  # the size at which the depth loss compares


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, type=Path, help="has input/, target/ and depth/")
    parser.add_argument("--list", type=list_file, metavar=LIST)
    parser.add_argument("--validation", required=True, type=list_file, metavar=LIST)
    arguments = parser.parse_args()
    kept, held_out = split_stems(arguments.data, arguments.list, arguments.validation)
    train, held = (depths(arguments.data, stems) for stems in (kept, held_out))
    layout = standardised(train.mean(axis=0, keepdims=True))
    report("the mean depth of the training pictures", (layout * held).mean(axis=(1, 2)))
    report("the depth of the next picture", (np.roll(held, 1, axis=0) * held).mean(axis=(1, 2)))


def depths(data, stems) -> np.ndarray:
    """Standardised depth maps, (N, 32, 32)."""
    pairs = load_pairs(data, stems, 256, True)
    planes = torch.as_tensor(np.asarray(pairs.depths, dtype=np.float32))[:, None]
    small = torch.nn.functional.interpolate(planes, (SIDE, SIDE), mode="bilinear", align_corners=False)
    return standardised(small[:, 0].numpy().astype(np.float64))


def standardised(planes: np.ndarray) -> np.ndarray:
    centred = planes - planes.mean(axis=(1, 2), keepdims=True)
    return centred / (centred.std(axis=(1, 2), keepdims=True) + 1e-6)


def report(what: str, values: np.ndarray) -> None:
    positive = f"positive on {(values > 0).sum()} of {values.size}"
    print(f"correlation of a picture's depth with {what}: mean {values.mean():.3f}, {positive}")


if __name__ == "__main__":
    main()
