"""Frames that stand for a clip: evenly spaced key frames, reached without decoding what lies between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from pic_uie.video import demux
from pic_uie.video.clip import Clip
from pic_uie.yuv import Yuv


def spread(clip: Clip, count: int, first: int = 0, last: int | None = None) -> Iterator[Any]:
    """Yields at most `count` frames between two times in ticks; None: to the end."""
    last = clip.duration if last is None else last
    seen: set[int] = set()
    for i in range(count):
        at = first + (max(0, last - first) * i) // count
        frame = next(demux.frames(clip, start=at, salvage=True), None)
        if frame is not None and frame.pts not in seen:
            seen.add(frame.pts)
            yield frame


def small(frame: Any, clip: Clip, side: int) -> Yuv:
    """Returns a copy of a frame of at most `side` pixels a side; colours stay as they are coded."""
    factor = min(1.0, side / max(clip.width, clip.height))
    width, height = (max(2, round(factor * length)) for length in (clip.width, clip.height))
    copy = frame.reformat(width, height, frame.format.name)
    return demux.planes(copy, replace(clip, width=width, height=height))
