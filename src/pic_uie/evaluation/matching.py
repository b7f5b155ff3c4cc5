"""Feature matching between neighbouring frames: what enhancement does for photogrammetry and odometry."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pic_uie.errors import ConfigError, DataError
from pic_uie.evaluation.folders import NoPicturesError, index
from pic_uie.evaluation.metrics.pictures import Picture, check_picture, grey, opencv
from pic_uie.evaluation.predictions import Enhance
from pic_uie.images import read_rgb8

RATIO = 0.75  # Lowe's test, as the paper has it
RANSAC_PIXELS = 3.0
SMALLEST = 4  # matches that a homography needs
PAPER_FRAMES, PAPER_STRIDE = 4, 4

Sequences = Mapping[str, Sequence[Path]]  # name -> frames in order
Frames = Callable[[str, Path], Picture]  # sequence and raw frame -> the frame to match


@dataclass(frozen=True)
class PairMatch:
    """Two neighbouring frames.

    Attributes:
        keypoints: Mean number of SIFT keypoints of the two.
        matches: Matches that pass the ratio test.
        inliers: Matches that one homography explains to within 3 pixels.
        homography: (3, 3), from the first frame to the second; None where there is none.
    """

    keypoints: float
    matches: int
    inliers: int
    homography: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class Features:
    """SIFT keypoints of a frame: (N, 2) positions and (N, 128) descriptors."""

    points: NDArray[np.float32]
    descriptors: NDArray[np.float32]


def features(picture: Picture) -> Features:
    """Returns the SIFT features of a picture, with OpenCV's defaults."""
    check_picture(picture)
    keypoints, descriptors = opencv().SIFT_create().detectAndCompute(grey(picture), None)
    points = np.array([keypoint.pt for keypoint in keypoints], dtype=np.float32).reshape(-1, 2)
    return Features(points, np.empty((0, 128), np.float32) if descriptors is None else descriptors)


def match(first: Features, second: Features) -> PairMatch:
    """Matches by brute force in L2 with the ratio test, then fits a homography by RANSAC."""
    cv2 = opencv()
    keypoints = (len(first.points) + len(second.points)) / 2
    if not len(first.points) or len(second.points) < 2:
        return PairMatch(keypoints, 0, 0)
    neighbours = cv2.BFMatcher(cv2.NORM_L2).knnMatch(first.descriptors, second.descriptors, k=2)
    kept = [nearest for nearest, next_nearest in neighbours if nearest.distance < RATIO * next_nearest.distance]
    if len(kept) < SMALLEST:
        return PairMatch(keypoints, len(kept), 0)
    source = first.points[[pair.queryIdx for pair in kept]]
    target = second.points[[pair.trainIdx for pair in kept]]
    homography, mask = cv2.findHomography(source, target, cv2.RANSAC, RANSAC_PIXELS)
    if homography is None:
        return PairMatch(keypoints, len(kept), 0)
    return PairMatch(keypoints, len(kept), int(mask.sum()), homography)


def find_sequences(folder: Path, frames: int | None = None, stride: int = 1) -> dict[str, list[Path]]:
    """Returns the sequences of a folder: each sub-folder with pictures, or the folder itself.

    Args:
        folder: The frames; a sub-folder is a sequence, its names in natural order (2 before 10).
        frames: How many frames around the middle of each sequence; None = all.
        stride: Distance between the frames that are taken.

    Raises:
        NoPicturesError: There is no picture.
        DataError: A sequence is too short, or the folder cannot be read.
        ConfigError: Numbers that select nothing.
    """
    if stride < 1 or (frames is not None and frames < 2):
        raise ConfigError(f"a stride of 1 or more and 2 frames or more are needed, got {stride} and {frames}")
    if not folder.is_dir():
        raise DataError(f"{folder} is not a folder of frames")
    inside = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    sequences: dict[str, list[Path]] = {}
    for path in (*inside, folder):
        try:
            ordered = sorted(index(path).values(), key=_natural)
        except NoPicturesError:
            continue
        if path == folder and sequences:
            raise DataError(
                f"{folder} has frames of its own beside sequences in {', '.join(sequences)}: move one or the other"
            )
        sequences[path.name] = select(ordered, frames, stride, path)
    if not sequences:
        raise NoPicturesError(f"{folder} has no pictures, and no sub-folder of it has")
    return sequences


def select(ordered: Sequence[Path], frames: int | None, stride: int, where: Path) -> list[Path]:
    """Returns every `stride`-th frame, of those the given number around the middle of the sequence."""
    if frames is None:
        chosen = list(ordered[::stride])
        if len(chosen) < 2:
            raise DataError(f"{where} has {len(ordered)} pictures: too few for one pair at a stride of {stride}")
        return chosen
    span = (frames - 1) * stride + 1
    if len(ordered) < span:
        raise DataError(f"{where} has {len(ordered)} pictures: {frames} frames at a stride of {stride} need {span}")
    start = (len(ordered) - span) // 2
    return list(ordered[start : start + span : stride])


def match_sequences(
    sequences: Sequences, frames: Frames, on_done: Callable[[], None] = lambda: None
) -> dict[str, list[PairMatch]]:
    """Matches every frame with the next one of its sequence; `on_done` is called after each frame."""
    found: dict[str, list[PairMatch]] = {}
    for name, paths in sequences.items():
        before: Features | None = None
        found[name] = []
        for path in paths:
            current = features(frames(name, path))
            if before is not None:
                found[name].append(match(before, current))
            before = current
            on_done()
    return found


def raw_frames(_: str, path: Path) -> Picture:
    """The frames as they are."""
    return read_rgb8(path)


def enhanced_frames(enhance: Enhance) -> Frames:
    """The frames as a method makes them now, each by itself."""
    return lambda _, path: enhance(read_rgb8(path))


def finished_frames(folder: Path, nested: bool) -> Frames:
    """Frames that a method has already made: the same stems, in sub-folders named like the sequences."""
    indexes: dict[str, Mapping[str, Path]] = {}

    def frame(sequence: str, path: Path) -> Picture:
        if sequence not in indexes:
            indexes[sequence] = index(folder / sequence if nested else folder)
        if path.stem not in indexes[sequence]:
            raise DataError(f"{folder} lacks {f'{sequence}/' if nested else ''}{path.stem}")
        return read_rgb8(indexes[sequence][path.stem])

    return frame


def summary(found: Mapping[str, Sequence[PairMatch]]) -> dict[str, float]:
    """Returns the means over all adjacent pairs, and the share of matches that are inliers."""
    pairs = [pair for sequence in found.values() for pair in sequence]
    means = {name: float(np.mean([getattr(pair, name) for pair in pairs])) for name in NUMBERS}
    return means | {"inlier_share": means["inliers"] / means["matches"] if means["matches"] else 0.0}


def as_rows(found: Mapping[str, Sequence[PairMatch]]) -> list[dict[str, Any]]:
    """Returns one plain mapping per pair."""
    return [
        {"sequence": sequence, "pair": number} | {name: getattr(pair, name) for name in NUMBERS}
        for sequence, pairs in found.items()
        for number, pair in enumerate(pairs)
    ]


def _natural(path: Path) -> list[tuple[int, int, str]]:
    """Sorts frame2 before frame10."""
    parts = re.findall(r"\d+|\D+", path.stem)
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts]


NUMBERS = ("keypoints", "matches", "inliers")
