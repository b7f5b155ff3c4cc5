"""Feature matching between neighbouring frames: what enhancement does for photogrammetry and odometry."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pic_uie.datasets.folders import index
from pic_uie.datasets.sequences import FRAMES
from pic_uie.errors import ConfigError, DataError
from pic_uie.evaluation.metrics.pictures import check_picture, grey, opencv
from pic_uie.evaluation.predictions import Enhance, Method
from pic_uie.images import RGB8, read_rgb8

RAW = "raw"
RATIO = 0.75  # Lowe's test, as the paper has it
RANSAC_PIXELS = 3.0
SMALLEST = 4  # matches that a homography needs
PAPER_FRAMES, PAPER_STRIDE, PAPER_SCENES = 4, 4, 5

Sequences = Mapping[str, Sequence[Path]]  # name -> frames in order
Frames = Callable[[str, Path], RGB8]  # sequence and raw frame -> the frame to match


@dataclass(frozen=True)
class PairMatch:
    """Two neighbouring frames.

    Attributes:
        keypoints: Mean number of SIFT keypoints of the two.
        matches: Matches that pass the ratio test.
        inliers: Matches that one homography explains to within 3 pixels.
        homography: (3, 3), from the first frame to the second; None where there is none.
        points: (matches, 2, 2): where each match is in the first and in the second frame, for figures.
        is_inlier: (matches,): which of them are inliers.
    """

    keypoints: float
    matches: int
    inliers: int
    homography: NDArray[np.float64] | None = None
    points: NDArray[np.float32] | None = None
    is_inlier: NDArray[np.bool_] | None = None


@dataclass(frozen=True)
class Features:
    """SIFT keypoints of a frame: (N, 2) positions and (N, 128) descriptors."""

    points: NDArray[np.float32]
    descriptors: NDArray[np.float32]


def features(picture: RGB8) -> Features:
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
    points = np.stack([source, target], axis=1)
    if homography is None:
        return PairMatch(keypoints, len(kept), 0, None, points, np.zeros(len(kept), bool))
    is_inlier = mask.ravel().astype(bool)
    return PairMatch(keypoints, len(kept), int(is_inlier.sum()), homography, points, is_inlier)


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


def raw_frames(_: str, path: Path) -> RGB8:
    """The frames as they are."""
    return read_rgb8(path)


def enhanced_frames(enhance: Enhance) -> Frames:
    """The frames as a method makes them now, each by itself."""
    return lambda _, path: enhance(read_rgb8(path))


def finished_frames(folder: Path, nested: bool) -> Frames:
    """Frames that a method has already made: the same stems, in sub-folders named like the sequences."""
    indexes: dict[str, Mapping[str, Path]] = {}

    def frame(sequence: str, path: Path) -> RGB8:
        if sequence not in indexes:
            place = folder / sequence if nested else folder
            indexes[sequence] = index(place / FRAMES if (place / FRAMES).is_dir() else place)
        if path.stem not in indexes[sequence]:
            raise DataError(f"{folder} lacks {f'{sequence}/' if nested else ''}{path.stem}")
        return read_rgb8(indexes[sequence][path.stem])

    return frame


def ways(methods: Sequence[Method], folder: Path, sequences: Sequences) -> dict[str, tuple[Frames, Mapping[str, str]]]:
    """Returns how each method's frames come about, the raw ones first, with what is known of the method.

    Raises:
        ConfigError: A method is called like the raw frames.
    """
    nested = next(iter(sequences.values()))[0].parent != folder
    found: dict[str, tuple[Frames, Mapping[str, str]]] = {RAW: (raw_frames, {"kind": "pictures"})}
    for method in methods:
        if method.name in found:
            raise ConfigError(f"{method.name!r} stands for the frames as they are: give the method another name")
        if method.folder:
            found[method.name] = (finished_frames(method.folder, nested), method.description)
        elif method.enhance:
            found[method.name] = (enhanced_frames(method.enhance), method.description)
    return found


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


NUMBERS = ("keypoints", "matches", "inliers")
