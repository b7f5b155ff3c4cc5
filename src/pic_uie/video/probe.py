"""A file → its main video stream: what it is, or why it cannot be enhanced."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from pic_uie.errors import VideoError
from pic_uie.images.files import reason
from pic_uie.video import kinds, samples
from pic_uie.video.boxes import Layout, read_layout
from pic_uie.video.clip import Clip
from pic_uie.video.colour import UNSPECIFIED, read_colour
from pic_uie.video.kinds import Kind
from pic_uie.video.library import pyav
from pic_uie.video.opening import MAX_SAMPLES, limit_frame_size, opened, words
from pic_uie.video.tone_map import SDR, metadata_of

_MAX_RATE = 1000
_DEFAULT_RATE = Fraction(30)
_MAX_CORRUPT_START = 50


def probe(path: Path, *, in_place: bool = True, salvage: bool = False, tone_map: bool = False) -> Clip:
    """Finds the main video stream of a file and decodes its first frame.

    Args:
        path: The file.
        in_place: Whether frames may be exchanged in an MP4 file as it is; times are then those of the media.
        salvage: Whether a file that was cut off is taken for what is left of it.
        tone_map: Whether HDR becomes SDR; else it is refused.

    Raises:
        VideoError: Unreadable, no video in it, damaged, or of a kind that is not supported.
        EnvironmentMissingError: PyAV is not installed.
    """
    _check_file(path)
    kind = kinds.sniff_file(path)
    if kind is None:
        raise VideoError("not a video that can be read (MP4, QuickTime, Matroska, WebM, AVI, MPEG-TS)")
    layout, notes = _layout(path, kind, salvage)
    layout = layout if in_place else None
    with opened(path, layout) as container:
        stream = _main_stream(container)
        _refuse_huge(stream.codec_context.width, stream.codec_context.height)  # before anything is allocated for it
        frame = _first_frame(container, stream)
        clip = _describe(path, kind, layout, stream, frame)
        if clip.colour.is_hdr:
            if not tone_map:
                raise VideoError(
                    f"it is HDR ({clip.colour.hdr_name}), for which the model was not made; --tone-map makes SDR of it"
                )
            clip = _tone_mapped(clip, frame)
    missing = kinds.missing_bytes(path, kind)
    if missing and not salvage:
        raise VideoError(f"{_cut_off(missing)}; --salvage takes what is there")
    cut = (_cut_off(missing),) if missing else ()
    more = (clip.colour.note,) if clip.colour.note else ()
    return replace(clip, missing=missing, notes=(*notes, *cut, *more, *clip.notes))


def _check_file(path: Path) -> None:
    try:
        status = os.stat(path)
        with open(path, "rb") if stat.S_ISREG(status.st_mode) else open(os.devnull, "rb"):
            pass
    except OSError as error:
        raise VideoError(reason(error)) from error
    except ValueError as error:
        raise VideoError("not a possible file name") from error
    if not stat.S_ISREG(status.st_mode):
        raise VideoError("not a regular file (a folder, pipe, socket or device)")
    if status.st_size == 0:
        raise VideoError("an empty file")


def _layout(path: Path, kind: Kind, salvage: bool) -> tuple[Layout | None, tuple[str, ...]]:
    """The boxes of an MP4 file in which frames can be exchanged, or None with the reason why they cannot."""
    if kind not in (kinds.MP4, kinds.MOV):
        return None, ()
    layout = read_layout(path)
    if any(samples.is_encrypted(trak) for trak in layout.moov.all(b"trak")):
        raise VideoError("it is encrypted; save it without protection in the program that it comes from")
    if layout.fragmented:
        anew = "it is fragmented and is written anew: only sound, subtitles, chapters and tags are carried"
        if layout.cut is None:
            return None, (anew,)
        cut = _cut_off(layout.cut.end - layout.size)
        if not salvage:
            raise VideoError(f"{cut}; --salvage takes what is there")
        return None, (anew, cut)
    try:
        for trak in layout.moov.all(b"trak"):
            samples.chunks(trak, layout.size)
    except VideoError as error:
        if not salvage:
            raise VideoError(f"{error}; --salvage takes what can be decoded") from error
        return None, (f"{error}: it is written anew with what can be decoded",)
    return layout, ()


def _cut_off(missing: int) -> str:
    return f"cut off: {missing} bytes are missing at its end"


def _main_stream(container: Any) -> Any:
    streams = [stream for stream in container.streams.video if not _is_picture(stream)]
    if not streams:
        raise VideoError("there is no video in it")
    best = container.streams.best("video")
    stream = next((stream for stream in streams if best is not None and stream.index == best.index), streams[0])
    if stream.codec_context is None:
        raise VideoError("it is coded in a way that this FFmpeg cannot decode; convert it to H.264 first")
    return stream


def _is_picture(stream: Any) -> bool:
    """Cover art is a video stream of one picture."""
    av = pyav()
    return bool(stream.disposition & av.stream.Disposition.attached_pic)


def _first_frame(container: Any, stream: Any) -> Any:
    av = pyav()
    failures = 0
    error: Exception | None = None
    limit_frame_size(stream)
    try:
        for packet in container.demux(stream):
            try:
                for frame in packet.decode():
                    return frame
            except av.error.FFmpegError as problem:
                error, failures = problem, failures + 1
                if failures > _MAX_CORRUPT_START:
                    break
    except av.error.FFmpegError as problem:
        error = problem
    if error is not None:
        raise VideoError(f"no frame can be decoded: {words(error)}")
    raise VideoError("there are no frames in it")


def _refuse_huge(width: int, height: int) -> None:
    if width * height > MAX_SAMPLES:
        raise VideoError(
            f"{width}x{height} is more than H.264 and HEVC can hold ({MAX_SAMPLES / 1e6:.1f} megapixels); "
            "make it smaller first, as with ffmpeg -i IN -vf scale=7680:-2 OUT"
        )


def _describe(path: Path, kind: Kind, layout: Layout | None, stream: Any, frame: Any) -> Clip:
    context, pixels = stream.codec_context, frame.format
    _refuse_huge(frame.width, frame.height)
    if pixels.is_rgb or pixels.has_palette or pixels.is_bit_stream:
        raise VideoError(f"its frames are {pixels.name}; convert it first, as with ffmpeg -i IN -pix_fmt yuv420p OUT")
    depth = max(component.bits for component in pixels.components)
    bits = 8 if depth <= 8 else 10 if depth <= 10 else 12
    notes: list[str] = []
    if not _is_420(pixels):
        notes.append(f"its chroma ({pixels.name}) becomes 4:2:0, which every player shows")
    if depth > 12:
        notes.append(f"{depth} bits become 12")
    tags = (  # the frame knows best, the container comes second
        int(frame.color_range or context.color_range),
        _first_known(frame.color_primaries, context.color_primaries),
        _first_known(frame.color_trc, context.color_trc),
        _first_known(frame.colorspace, context.colorspace),
    )
    colour = read_colour(tags, frame.height, full_range_format=pixels.name.startswith("yuvj"))
    rate = Fraction(stream.average_rate or stream.guessed_rate or _DEFAULT_RATE)
    if not 0 < rate <= _MAX_RATE:
        rate = _DEFAULT_RATE
    base = Fraction(stream.time_base)
    duration = int(stream.duration or 0)
    if not duration and stream.container.duration:
        duration = int(Fraction(stream.container.duration, 1_000_000) / base)
    if kind is kinds.AVI:  # the length in its header is counted in ticks; the duration is that of what is there
        duration = max(duration, int(stream.frames or 0))
    return Clip(
        path=path,
        kind=kind,
        layout=layout,
        index=stream.index,
        track=stream.id,
        width=frame.width,
        height=frame.height,
        bits=bits,
        pixel_format=pixels.name,
        colour=colour,
        time_base=base,
        rate=rate,
        frames=int(stream.frames or 0) if kind in (kinds.MP4, kinds.MOV) else 0,  # others count ticks or guess
        duration=max(0, duration),
        aspect=Fraction(stream.sample_aspect_ratio or 1),
        rotation=int(frame.rotation),
        codec=context.name,
        notes=tuple(notes),
    )


def _tone_mapped(clip: Clip, frame: Any) -> Clip:
    """The clip as SDR, with a word on what that changes."""
    notes = [f"HDR ({clip.colour.hdr_name}) becomes SDR (BT.709)"]
    if lost := metadata_of(frame):
        notes.append(f"its HDR metadata ({', '.join(lost)}) is not kept")
    if not clip.colour.has_2020_primaries:
        notes.append("its primaries are taken for BT.2020")
    return replace(clip, colour=replace(SDR, note=clip.colour.note), hdr=clip.colour, notes=(*clip.notes, *notes))


def _first_known(own: Any, given: Any) -> int:
    return int(own) if int(own) != UNSPECIFIED else int(given)


def _is_420(pixels: Any) -> bool:
    luma, chroma = pixels.components[0], pixels.components[1] if len(pixels.components) > 2 else None
    if chroma is None:
        return False
    return pixels.chroma_width(16) == 8 and pixels.chroma_height(16) == 8 and luma is not None
