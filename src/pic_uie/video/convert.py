"""One video from file to file: probe, enhance in segments, put the file together; interrupted, it continues."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from pic_uie import __version__
from pic_uie.cores import usable_cores
from pic_uie.enhancer import Enhancer
from pic_uie.errors import VideoError
from pic_uie.files import DEFAULT_MODE
from pic_uie.look import MAX_NAME, Look, Source
from pic_uie.video import kinds, mux
from pic_uie.video.clip import Clip
from pic_uie.video.compose import Canvas
from pic_uie.video.encode import DEFAULT_CRF, DEFAULT_PRESET, Codec, Encoding
from pic_uie.video.kinds import AVI, TS, Kind
from pic_uie.video.library import pyav
from pic_uie.video.opening import MAX_SAMPLES
from pic_uie.video.parts import Parts
from pic_uie.video.pipeline import Range, Treatment, locked, render
from pic_uie.video.probe import probe
from pic_uie.video.samples import Ints

_WITH_HIDDEN_FRAMES = frozenset({"vp8", "mpeg4"})  # some packets of these show nothing
_STEADY, _UNEVEN = 0.8, 0.1  # a steady rate: so many of the steps are the usual one, give or take so much of it


@dataclass(frozen=True)
class VideoSettings:
    """How videos are enhanced.

    Attributes:
        treatment: What is done to every frame.
        codec: What results are coded with; None: H.264 for 8 bits, HEVC for more.
        crf: Constant quality; None: 18 for H.264, 20 for HEVC.
        preset: Of the encoder.
        start: Seconds from which on the source is enhanced; None: from its start.
        end: Seconds up to which it is.
        side_by_side: Whether the result shows the source too.
        salvage: Whether what can be decoded of a damaged source is enough.
        tone_map: Whether HDR becomes SDR; else it is refused.
        keep_metadata: Whether tags and data streams are carried.
        overwrite: Whether an existing result is replaced.
        threads: Of the engine; None: as many as it was made with. The result does not depend on it.
    """

    treatment: Treatment = field(default_factory=Treatment)
    codec: Codec | None = None
    crf: int | None = None
    preset: str = DEFAULT_PRESET
    start: Fraction | None = None
    end: Fraction | None = None
    side_by_side: bool = False
    salvage: bool = False
    tone_map: bool = False
    keep_metadata: bool = True
    overwrite: bool = False
    threads: int | None = None


@dataclass(frozen=True)
class Report:
    """What became of a video.

    Attributes:
        width: Of the result.
        height: Of the result.
        frames: How many.
        size: Bytes.
        notes: What was assumed, or could not be kept.
    """

    width: int
    height: int
    frames: int
    size: int
    notes: tuple[str, ...]


Progress = Callable[[int, int | None, int], None]


def enhance_video(
    source: Path,
    output: Path,
    enhancer: Enhancer,
    settings: VideoSettings,
    *,
    check: Callable[[], None] = lambda: None,
    progress: Progress = lambda frames, total, size: None,
    mode: int = DEFAULT_MODE,
) -> Report:
    """Enhances a video; what an interrupted call finished is used again.

    Args:
        source: The file; it is only read.
        output: The result, which appears when it is whole.
        enhancer: The engine.
        settings: How.
        check: Called for every frame; raises to give up.
        progress: Called with the frames done, the frames there are (None: unknown), and the bytes so far.
        mode: Permissions of the result.

    Raises:
        VideoError: The source cannot be enhanced; says why and what to do.
        EnvironmentMissingError: PyAV is not installed.
        OSError: The result cannot be written; what is finished stays for the next call.
    """
    if os.path.lexists(output) and not settings.overwrite:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(output))
    whole = settings.start is None and settings.end is None
    in_place = whole and settings.keep_metadata
    clip = probe(source, in_place=in_place, salvage=settings.salvage, tone_map=settings.tone_map)
    span = _span(clip, settings)
    canvas = Canvas(clip, settings.side_by_side)
    encoding = _encoding(clip, canvas, settings)
    kind = mux.container_of(clip)
    notes = list(clip.notes) + _notes(clip, canvas, encoding, kind, output)
    total = clip.frames if whole and clip.frames else _expected(clip, span)
    with Parts(output, _fingerprint(source, enhancer, settings, encoding)) as parts:
        finished = render(
            clip,
            enhancer,
            settings.treatment,
            encoding,
            canvas,
            parts,
            span=span,
            salvage=settings.salvage,
            threads=settings.threads,
            check=check,
            progress=lambda frames, size: progress(frames, total, size),
        )
        check()
        track = mux.Track.join(finished)
        count = len(track.times)
        if whole and clip.frames and count != clip.frames:
            problem = f"only {count} of {clip.frames} frames could be decoded"
            if not settings.salvage:
                parts.remove()
                raise VideoError(f"{problem}; --salvage takes what is there")
            notes.append(problem)
        part = parts.folder / "result.part"
        if clip.layout is not None:
            mux.exchange(clip, track, part, canvas.size)
        else:
            written = mux.remux(clip, track, part, kind, span, keep_metadata=settings.keep_metadata)
            if written.lost:
                notes.append(f"{kind.title} cannot carry {', '.join(written.lost)}")
            if settings.salvage and whole:
                notes += _shortfall(clip, track.times, written.packets)
        size = part.stat().st_size
        _publish(part, output, settings.overwrite, mode)
        parts.remove()
    return Report(*canvas.size, count, size, tuple(notes))


def one_look(source: Path, enhancer: Enhancer, settings: VideoSettings) -> Look:
    """Returns one look for a video, or for the part of it that is asked for, from frames all over it.

    Raises:
        VideoError: It cannot be read.
        EnvironmentMissingError: PyAV is not installed.
    """
    clip = probe(source, in_place=False, salvage=settings.salvage, tone_map=settings.tone_map)
    theta, statistics = locked(clip, enhancer, _span(clip, settings))
    name = Source(source.name[:MAX_NAME])
    return Look(theta, statistics, enhancer.weights.sha256, source=name, software=f"pic-uie {__version__}")


def _span(clip: Clip, settings: VideoSettings) -> Range:
    def ticks(seconds: Fraction | None) -> int | None:
        return None if seconds is None else round(seconds / clip.time_base)

    span = Range(ticks(settings.start), ticks(settings.end))
    if span.start is not None and span.end is not None and span.end <= span.start:
        raise VideoError("--end must be later than --start")
    return span


def _expected(clip: Clip, span: Range) -> int | None:
    end = span.end if span.end is not None and (not clip.duration or span.end < clip.duration) else clip.duration
    if not end:
        return None
    return max(1, round((end - (span.start or 0)) * clip.time_base * clip.rate))


def _encoding(clip: Clip, canvas: Canvas, settings: VideoSettings) -> Encoding:
    codec: Codec = settings.codec or ("h264" if clip.bits == 8 else "hevc")
    width, height = canvas.size
    if width * height > MAX_SAMPLES:
        raise VideoError(f"{width}x{height} is more than H.264 and HEVC can hold; leave out --side-by-side")
    if codec == "h264" and clip.bits > 10:
        raise VideoError(f"H.264 has no {clip.bits} bits; leave out --codec h264")
    return Encoding(
        codec=codec,
        crf=DEFAULT_CRF[codec] if settings.crf is None else settings.crf,
        preset=settings.preset,
        pixel_format=clip.planar_format,
        width=width,
        height=height,
        rate=clip.rate,
        tags=clip.colour.tags,
        aspect=clip.aspect,
        b_frames=clip.kind is not AVI,
    )


def _notes(clip: Clip, canvas: Canvas, encoding: Encoding, kind: Kind, output: Path) -> list[str]:
    notes: list[str] = []
    if kind != clip.kind:
        notes.append(f"{clip.kind.title} holds no H.264 or HEVC: it becomes {kind.title}")
    if kinds.belies(output, kind):
        notes.append(f"its name says otherwise, but it is a video ({kind.title})")
    if canvas.cell != (clip.width, clip.height):
        width, height = canvas.cell
        notes.append(f"{clip.width}x{clip.height} becomes {width}x{height}: coded in 4:2:0, sizes are even")
    if encoding.codec == "h264" and clip.bits > 8:
        notes.append(f"few players show H.264 of {clip.bits} bits; --codec hevc is for that")
    return notes


def _shortfall(clip: Clip, times: Ints, packets: int) -> list[str]:
    """Says how many frames could not be salvaged of a file whose index does not count them."""
    count = len(times)
    there = [count]
    if clip.missing and clip.kind is not TS and count > 1:  # whose length is that of what is there
        there.append(round((clip.duration - times[0]) * (count - 1) / (times[-1] - times[0])))
    if clip.codec not in _WITH_HIDDEN_FRAMES:
        there.append(packets)
    if clip.kind is not AVI:  # in which a frame may be left out on purpose
        there.append(count + _gaps(times))
    return [f"only {count} of about {max(there)} frames could be decoded"] if max(there) > count else []


def _gaps(times: Ints) -> int:
    """Returns how many frames are missing in between; 0 where frames have no steady rate that would tell."""
    steps = np.diff(times)
    usual = float(np.median(steps)) if len(steps) else 0.0
    steady = np.abs(steps - usual) <= _UNEVEN * usual + 1
    if usual <= 0 or np.mean(steady) < _STEADY:
        return 0
    return int(np.sum(np.round(steps[~steady] / usual) - 1))


def _fingerprint(source: Path, enhancer: Enhancer, settings: VideoSettings, encoding: Encoding) -> dict[str, object]:
    """Everything that the bytes of segments depend on."""
    status = os.stat(source)
    return {
        "version": __version__,
        "pyav": pyav().__version__,
        "source": [os.path.realpath(source), status.st_size, status.st_mtime_ns],
        "weights": enhancer.weights.short_hash,
        "instruction_set": enhancer.instruction_set,
        "processors": usable_cores(),
        "encoding": asdict(encoding),
        "settings": _exact(replace(settings, overwrite=False, threads=None)),
    }


def _exact(value: object) -> object:
    """Describes a value so that no other one is described alike; large arrays are shortened by `repr`."""
    if isinstance(value, np.ndarray):
        return [str(value.dtype), value.shape, hashlib.sha256(value.tobytes()).hexdigest()]
    if is_dataclass(value):
        return {one.name: _exact(getattr(value, one.name)) for one in fields(value)}
    return repr(value)


def _publish(part: Path, output: Path, overwrite: bool, mode: int) -> None:
    if os.path.lexists(output) and not overwrite:
        raise FileExistsError(f"{output} exists already")
    umask = os.umask(0)
    os.umask(umask)
    os.chmod(part, mode & ~umask)
    os.replace(part, output)
