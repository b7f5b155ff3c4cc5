"""How θ of a video runs over time: as predicted for each frame, as it is applied, and where scenes begin."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pic_uie import _native
from pic_uie.corrections import Corrections, identity_lut
from pic_uie.enhancer import Enhancer
from pic_uie.errors import VideoError
from pic_uie.images import RGB8
from pic_uie.strengths import Strengths
from pic_uie.video import demux
from pic_uie.video.clip import Clip
from pic_uie.video.probe import probe
from pic_uie.video.temporal import Flat, ZeroPhase, describe, half_window

FORMAT = "pic-uie-course-1"
STILLS = 8  # frames that are shown, evenly spaced
_STILL_SIDE = 320
_UNKNOWN_SPACING = 2.0  # seconds between stills where nobody knows how long the video is


class Numbers(NamedTuple):
    """θ of one frame as a few numbers; fields and tables by their mean."""

    t: float
    v: float
    a: float
    tone_low: float
    tone_mid: float
    tone_high: float
    chroma_shift: float
    aim_y: float
    aim_cb: float
    aim_cr: float
    blend: float


def numbers(theta: Corrections) -> Numbers:
    """Returns θ as a few numbers."""
    tone = np.interp((0.25, 0.5, 0.75), np.linspace(0, 1, theta.tone.size), theta.tone)
    moved = np.linalg.norm(theta.lut - identity_lut(theta.lut.shape[-1]), axis=0).mean()
    fields = (theta.t.mean(), theta.v.mean(), theta.a.mean())
    return Numbers(*(float(value) for value in (*fields, *tone, moved, *theta.mean, theta.blend)))


def columns(rows: Sequence[Numbers]) -> dict[str, list[float]]:
    """Returns the numbers of many frames, by name."""
    return {name: [getattr(row, name) for row in rows] for name in Numbers._fields}


@dataclass(frozen=True)
class Still:
    """A frame, small, and what becomes of it: (h, w, 3) each."""

    time: float
    source: RGB8
    result: RGB8


@dataclass(frozen=True)
class Course:
    """A video over time.

    Attributes:
        name: Of the video, for titles.
        size: (width, height) of its frames.
        rate: Frames a second, on average.
        weights: Hash of the weights in use.
        times: Seconds at which frames are shown.
        predicted: θ of each frame alone.
        applied: θ smoothed over the frames around it.
        steps: By how much each frame differs from the one before, as the detector of cuts sees it.
        cuts: Seconds at which scenes begin, the first frame apart.
        stills: Some of its frames.
        notes: What was assumed about the video.
    """

    name: str
    size: tuple[int, int]
    rate: float
    weights: str
    times: list[float] = field(default_factory=list)
    predicted: list[Numbers] = field(default_factory=list)
    applied: list[Numbers] = field(default_factory=list)
    steps: list[float] = field(default_factory=list)
    cuts: list[float] = field(default_factory=list)
    stills: list[Still] = field(default_factory=list)
    notes: tuple[str, ...] = ()

    def to_json(self) -> str:
        """Returns all but the stills as JSON."""
        values: dict[str, Any] = {
            "format": FORMAT,
            "video": {"name": self.name, "width": self.size[0], "height": self.size[1], "rate": self.rate},
            "weights": self.weights,
            "times": self.times,
            "cuts": self.cuts,
            "predicted": columns(self.predicted),
            "applied": columns(self.applied),
            "steps": self.steps,
        }
        return json.dumps(values, allow_nan=False)


def follow(
    path: Path,
    enhancer: Enhancer,
    name: str = "",
    strengths: Strengths | None = None,
    *,
    tone_map: bool = False,
    progress: Callable[[int, int], None] = lambda frames, total: None,
) -> Course:
    """Follows θ through a video; nothing but a few numbers of each frame is kept.

    Args:
        path: The video.
        enhancer: The engine.
        name: For titles.
        strengths: How much of each group is applied; None for all.
        tone_map: Whether HDR becomes SDR; else it is refused.
        progress: Called with the frames done and the frames there are (0: unknown).

    Raises:
        VideoError: It cannot be read, or has no frames.
        EnvironmentMissingError: PyAV is not installed.
    """
    clip = probe(path, in_place=False, tone_map=tone_map)
    strengths = strengths or Strengths()
    course = Course(name, (clip.width, clip.height), float(clip.rate), enhancer.weights.sha256, notes=clip.notes)
    smoother: ZeroPhase[tuple[Any, Numbers]] | None = None
    before: Flat | None = None
    spacing = clip.seconds(clip.duration) / STILLS or _UNKNOWN_SPACING

    def give(item: tuple[Any, Numbers], theta: Corrections, cut: bool) -> None:
        frame, alone = item
        time = clip.seconds(frame.pts)
        if cut and course.times:
            course.cuts.append(time)
        course.times.append(time)
        course.predicted.append(alone)
        theta = theta.scaled(**strengths.groups)
        course.applied.append(numbers(theta))
        first = course.times[0]
        if len(course.stills) < STILLS and time - first >= (len(course.stills) + 0.5) * spacing - 1e-9:
            course.stills.append(_still(frame, clip, enhancer, theta, strengths.strength, time))
        progress(len(course.times), clip.frames)

    for frame in demux.frames(clip):
        source = demux.planes(frame, clip)
        theta = enhancer.predict(source)
        scene = describe(source)
        course.steps.append(0.0 if before is None else _native.scene_distance(np.stack([before, scene]), 0, 1))
        before = scene
        smoother = smoother or ZeroPhase(half_window(clip.rate), theta)
        for ready in smoother.push((frame, numbers(theta.scaled(**strengths.groups))), scene, theta):
            give(*ready)
    for ready in smoother.flush() if smoother else ():
        give(*ready)
    if not course.times:
        raise VideoError("there are no frames in it")
    return course


def _still(frame: Any, clip: Clip, enhancer: Enhancer, theta: Corrections, strength: float, time: float) -> Still:
    factor = min(1.0, _STILL_SIDE / max(clip.width, clip.height))
    small = frame.reformat(max(1, round(clip.width * factor)), max(1, round(clip.height * factor)), "rgb24")
    source = np.rot90(small.to_ndarray(), clip.rotation // 90)
    source = np.ascontiguousarray(source)
    return Still(time, source, np.asarray(enhancer.execute(source, theta, strength=strength)))
