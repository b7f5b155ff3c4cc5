"""Frames through the engine: decoding, enhancing and encoding overlap, a bounded number of frames is under way.

    decode ─► θ ─► smooth ─► execute ─► encode
    thread    └──── thread ────────┘    caller

PyAV, the engine and the encoders let go of the interpreter's lock, so that all cores are busy whichever stage is slow.
"""

from __future__ import annotations

import itertools
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from pic_uie.corrections import Corrections
from pic_uie.enhancer import Enhancer
from pic_uie.errors import VideoError
from pic_uie.look import Look
from pic_uie.statistics import Statistics
from pic_uie.video import demux
from pic_uie.video.clip import Clip
from pic_uie.video.compose import Canvas
from pic_uie.video.encode import Encoding, SegmentWriter
from pic_uie.video.handover import Stage
from pic_uie.video.parts import Finished, Parts
from pic_uie.video.stills import spread
from pic_uie.video.temporal import LOOK_BEHIND, ZeroPhase, describe, half_window, mean

Temporal = Literal["smooth", "lock", "off"]
SEGMENT_SECONDS = 10
_LOCK_FRAMES = 16  # that one look for a clip is taken from


@dataclass(frozen=True)
class Treatment:
    """What is done to every frame.

    Attributes:
        strength: How much of the correction is applied.
        groups: Strengths of haze, contrast, colour and balance, where not 1.
        temporal: Whether θ is smoothed, one for all, or each frame's own.
        theta: θ for all frames, as a look says; None: predicted.
        statistics: (m, S) for all frames; None: each frame's own.
    """

    strength: float = 1.0
    groups: tuple[tuple[str, float], ...] = ()
    temporal: Temporal = "smooth"
    theta: Corrections | None = None
    statistics: Statistics | None = None

    @classmethod
    def of_look(cls, look: Look) -> Treatment:
        """Returns the treatment that applies a look."""
        return cls(strength=look.strengths.strength, theta=look.executed, statistics=look.statistics)


@dataclass(frozen=True)
class Done:
    """A frame that is ready to be encoded."""

    frame: Any
    time: int
    cut: bool
    checksum: int | None


@dataclass(frozen=True)
class Range:
    """Which frames are wanted: those from `start` up to, not including, `end`, in ticks; None: no limit."""

    start: int | None = None
    end: int | None = None


def locked(clip: Clip, enhancer: Enhancer, span: Range) -> tuple[Corrections, Statistics]:
    """Returns one θ and pooled (m, S) for a clip, from key frames all over it."""
    kept = list(spread(clip, _LOCK_FRAMES, span.start or 0, span.end))
    if not kept:
        raise VideoError("there are no frames in it")
    theta = mean([enhancer.predict(demux.planes(frame, clip)) for frame in kept])
    all_statistics = [enhancer.measure(demux.planes(frame, clip), theta) for frame in kept]
    return theta, _pooled(all_statistics)


def _pooled(several: Sequence[Statistics]) -> Statistics:
    """Mean and covariance of several frames of one size, taken together."""
    means = np.stack([one.mean for one in several])
    pooled = means.mean(axis=0)
    away = means - pooled
    covariance = np.mean([one.covariance for one in several], axis=0) + away.T @ away / len(several)
    return Statistics(pooled, (covariance + covariance.T) / 2.0)


def render(
    clip: Clip,
    enhancer: Enhancer,
    treatment: Treatment,
    encoding: Encoding,
    canvas: Canvas,
    parts: Parts,
    *,
    span: Range,
    salvage: bool,
    threads: int | None = None,
    check: Callable[[], None],
    progress: Callable[[int, int], None],
) -> list[Finished]:
    """Makes all segments of a clip that are not there yet.

    Args:
        clip: The source.
        enhancer: The engine.
        treatment: What is done to frames.
        encoding: How they are encoded.
        canvas: Where source and result are put in a frame.
        parts: Where segments are kept.
        span: Which frames.
        salvage: See `demux.frames`.
        threads: Of the engine.
        check: Called for every frame; raises to give up.
        progress: Called with the frames and bytes that are done.

    Raises:
        VideoError: The source cannot be decoded, or has no frames in `span`.
        OSError: A segment cannot be written.
    """
    length = max(1, round(SEGMENT_SECONDS * clip.rate))
    finished = parts.finished()
    size = sum(segment.path.stat().st_size for segment in finished)
    count = sum(len(segment.times) for segment in finished)
    progress(count, size)
    if finished and len(finished[-1].times) < length:
        return finished  # a short one is the last
    warm = half_window(clip.rate) + LOOK_BEHIND + 1
    before = [(time, total) for segment in finished for time, total in _tail(segment, warm)][-warm:]
    source = _source(clip, span, before, salvage)
    if treatment.temporal == "lock" and treatment.theta is None:
        theta, statistics = locked(clip, enhancer, span)
        treatment = replace(treatment, theta=theta, statistics=statistics)
    stop = threading.Event()
    decoded = Stage(source, stop)
    enhanced = Stage(
        _enhanced(iter(decoded), clip, enhancer, treatment, canvas, len(before), length, warm, threads), stop
    )
    last: Future[None] | None = None  # the end of a segment is written while the next one is encoded
    with ThreadPoolExecutor(1) as background:
        try:
            frames = iter(enhanced)
            while first := next(frames, None):
                frames_of_segment = itertools.chain([first], itertools.islice(frames, length - 1))
                writer = SegmentWriter(parts.path(len(finished)), encoding)
                segment = _encode(frames_of_segment, writer, parts, len(finished), check, progress, (count, size))
                count += len(segment.times)
                size += writer.size
                finished.append(segment)
                before_last, last = last, background.submit(writer.finish)
                if before_last is not None:
                    before_last.result()
                if len(segment.times) < length:
                    break
            if last is not None:
                last.result()
        finally:
            stop.set()
            enhanced.join()
            decoded.join()
    progress(count, sum(segment.path.stat().st_size for segment in finished))
    if not finished:
        raise VideoError(
            "there are no frames in it" if span == Range() else "there are no frames between --start and --end"
        )
    return finished


def _tail(segment: Finished, warm: int) -> list[tuple[int, int]]:
    sums = segment.sums[-warm:]
    return list(zip(segment.times[len(segment.times) - len(sums) :], sums, strict=True))


def _source(clip: Clip, span: Range, before: Sequence[tuple[int, int]], salvage: bool) -> Iterator[Any]:
    """Frames from the first of `before` on; found by seeking, unless the decoder then gives others than it did."""
    if before:
        frames = _from(demux.frames(clip, start=before[0][0], salvage=True), before[0][0])
        head: list[Any] = []
        for time, total in before:
            frame = next(frames, None)
            if frame is None or frame.pts != time or checksum(frame) != total:
                break
            head.append(frame)
        if len(head) == len(before):
            del frames
            again = _from(demux.frames(clip, start=before[0][0], salvage=salvage), before[0][0])
            return _until(again, span.end)
        return _until(_from(demux.frames(clip, salvage=salvage), before[0][0]), span.end)
    start = None if span.start is None else span.start
    frames = demux.frames(clip, start=start, salvage=salvage)
    return _until(frames if start is None else _from(frames, start), span.end)


def _from(frames: Iterator[Any], time: int) -> Iterator[Any]:
    return itertools.dropwhile(lambda frame: frame.pts < time, frames)


def _until(frames: Iterator[Any], end: int | None) -> Iterator[Any]:
    return frames if end is None else itertools.takewhile(lambda frame: frame.pts < end, frames)


def checksum(frame: Any) -> int:
    """Returns a number that distinguishes decoded frames."""
    return zlib.crc32(memoryview(frame.planes[0]))


def _enhanced(
    frames: Iterator[Any],
    clip: Clip,
    enhancer: Enhancer,
    treatment: Treatment,
    canvas: Canvas,
    skip: int,
    length: int,
    warm: int,
    threads: int | None,
) -> Iterator[Done]:
    """Enhances frames; the first `skip` ones were encoded by an earlier run and serve only to smooth θ."""
    groups = dict(treatment.groups)
    number = 0  # of the frame in its segment

    def finish(frame: Any, theta: Corrections, cut: bool) -> Done:
        nonlocal number
        statistics = treatment.statistics
        if groups:  # statistics are those under the whole θ, as for pictures
            statistics = statistics or enhancer.measure(demux.planes(frame, clip), theta, threads=threads)
            theta = theta.scaled(**groups)
        result = canvas.draw(
            frame,
            lambda source, out: enhancer.execute(
                source, theta, statistics=statistics, strength=treatment.strength, out=out, threads=threads
            ),
        )
        total = checksum(frame) if number >= length - warm else None
        number = (number + 1) % length
        return Done(result, frame.pts, cut, total)

    if treatment.theta is not None:
        for frame in itertools.islice(frames, skip, None):
            yield finish(frame, treatment.theta, False)
        return
    smoother: ZeroPhase[Any] | None = None
    for frame in frames:
        source = demux.planes(frame, clip)
        theta = enhancer.predict(source, threads=threads)
        if treatment.temporal == "off":
            if skip:
                skip -= 1
            else:
                yield finish(frame, theta, False)
            continue
        smoother = smoother or ZeroPhase(half_window(clip.rate), theta)
        for ready in smoother.push(frame, describe(source), theta):
            if skip:
                skip -= 1
            else:
                yield finish(*ready)
    for ready in smoother.flush() if smoother else ():
        if skip:
            skip -= 1
        else:
            yield finish(*ready)


def _encode(
    frames: Iterator[Done],
    writer: SegmentWriter,
    parts: Parts,
    number: int,
    check: Callable[[], None],
    progress: Callable[[int, int], None],
    before: tuple[int, int],
) -> Finished:
    """Encodes one segment up to its end, which `writer.finish` writes; `before` has the frames and bytes before it."""
    times: list[int] = []
    cuts: list[int] = []
    sums: list[int] = []
    try:
        for done in frames:
            check()
            writer.add(done.frame)
            if done.cut:
                cuts.append(done.time)
            if done.checksum is not None:
                sums.append(done.checksum)
            times.append(done.time)
            progress(before[0] + len(times), before[1] + writer.size)
        parts.note(number, times, cuts, sums)
    except BaseException:
        writer.abandon()
        raise
    return Finished(parts.path(number), tuple(times), tuple(cuts), tuple(sums))
