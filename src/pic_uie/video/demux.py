"""A file → its frames: what the main video stream is, and its frames in the order in which they are shown."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from pic_uie.errors import VideoError
from pic_uie.images.files import reason
from pic_uie.video import kinds
from pic_uie.video.avi import PlacesInFile
from pic_uie.video.boxes import Layout, read_layout
from pic_uie.video.colour import UNSPECIFIED, Colour, read_colour
from pic_uie.video.kinds import Kind
from pic_uie.video.library import pyav
from pic_uie.video.tone_map import SDR, ToneMap, metadata_of
from pic_uie.yuv import Yuv

MAX_SAMPLES = 35_651_584  # of luma: the largest frame of H.264 and HEVC, level 6.2
_MAX_RATE = 1000
_DEFAULT_RATE = Fraction(30)
_MAX_TIME = 1 << 40  # ticks; twelve days even at a million a second
_MAX_GAP, _MAX_GAP_SECONDS = (1 << 32) - 1, 86_400  # between two frames: ticks that MP4 can hold, and a day
_MAX_CORRUPT_START = 50


@dataclass(frozen=True)
class Clip:
    """The main video stream of a file.

    Attributes:
        path: The file.
        kind: Its container.
        layout: The boxes of an MP4 or QuickTime file whose frames can be exchanged in place; None: it is written anew.
        index: Which stream it is.
        track: Its number in the container.
        width: Pixels across, as coded (rotation is a tag).
        height: Pixels down.
        bits: Of a sample, 8 to 16.
        pixel_format: As FFmpeg calls what the decoder gives.
        colour: What samples stand for.
        time_base: Seconds of a tick.
        rate: Frames a second, on average.
        frames: How many the file says there are; 0: it does not say.
        duration: In ticks; 0: unknown.
        aspect: Width of a pixel in heights.
        rotation: Degrees, counter-clockwise, by which players turn the picture.
        codec: What it is coded with.
        missing: Bytes that are missing at the end of the file; 0: none, or nothing says so.
        hdr: What samples of the file stand for where frames are tone-mapped; `colour` is then that of the frames.
        notes: What was assumed or is not kept.
    """

    path: Path
    kind: Kind
    layout: Layout | None
    index: int
    track: int
    width: int
    height: int
    bits: int
    pixel_format: str
    colour: Colour
    time_base: Fraction
    rate: Fraction
    frames: int
    duration: int
    aspect: Fraction
    rotation: int
    codec: str
    missing: int = 0
    hdr: Colour | None = None
    notes: tuple[str, ...] = field(default=())

    @property
    def planar_format(self) -> str:
        """The pixel format that the engine and the encoders take: 4:2:0 of as many bits."""
        return "yuv420p" if self.bits == 8 else f"yuv420p{self.bits}le"

    def seconds(self, ticks: int) -> float:
        """Returns a time in seconds."""
        return float(ticks * self.time_base)


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
    with _opened(path, layout) as container:
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


def frames(clip: Clip, *, start: int | None = None, salvage: bool = False) -> Iterator[Any]:
    """Yields the frames of a clip as PyAV frames with their time in `pts`, 4:2:0 planar.

    Args:
        clip: What `probe` found.
        start: Begin at the last key frame before this time (ticks); None: at the first frame.
        salvage: Whether damaged frames are left out instead of ending with an error.

    Raises:
        VideoError: Damaged, or frames change in a way that one stream cannot hold.
    """
    av = pyav()
    last: int | None = None
    tone_map = None
    if clip.hdr is not None:
        tone_map = ToneMap(clip.width, clip.height, clip.planar_format, clip.hdr)
    longest = min(_MAX_GAP, int(_MAX_GAP_SECONDS / clip.time_base))
    with _opened(clip.path, clip.layout) as container:
        stream = container.streams[clip.index]
        stream.thread_type = "AUTO"
        _bound(stream)
        if start is not None:
            container.seek(max(0, start), stream=stream, backward=True)
        for frame in _decoded(av, container, stream, clip, salvage):
            if (frame.width, frame.height) != (clip.width, clip.height):
                raise VideoError(
                    f"its size changes from {clip.width}x{clip.height} to {frame.width}x{frame.height} "
                    f"at {clip.seconds(frame.pts or 0):.2f} s; split it there"
                )
            if frame.interlaced_frame:
                raise VideoError("it is interlaced; deinterlace it first, as with ffmpeg -i IN -vf bwdif OUT")
            known = frame.pts is not None and abs(frame.pts) <= _MAX_TIME
            if not known or (last is not None and not 0 < frame.pts - last <= longest):
                if salvage:
                    continue
                raise VideoError(
                    f"its time stamps make no sense ({frame.pts} after {last}); --salvage leaves such frames out"
                )
            last = frame.pts
            if frame.format.name not in (clip.planar_format, "yuvj420p"):
                pts = frame.pts
                frame = frame.reformat(format=clip.planar_format)
                frame.pts = pts
            yield frame if tone_map is None else tone_map(frame)


def planes(frame: Any, clip: Clip) -> Yuv:
    """Views a planar frame without copying; keep the frame for as long as the view is used."""
    return view(frame, clip.width, clip.height, clip)


def view(frame: Any, width: int, height: int, clip: Clip, left: int = 0, top: int = 0) -> Yuv:
    """Views a part of a planar frame; `left` and `top` are even."""
    kind = np.dtype(np.uint8 if clip.bits == 8 else "<u2")
    views = []
    for plane, half in zip(frame.planes, (0, 1, 1), strict=True):
        rows, columns = (height + half) >> half, (width + half) >> half
        samples = np.frombuffer(plane, np.uint8)
        whole = samples[: plane.height * plane.line_size].reshape(plane.height, plane.line_size).view(kind)
        views.append(whole[top >> half : (top >> half) + rows, left >> half : (left >> half) + columns])
    y, cb, cr = views
    return Yuv(y, cb, cr, matrix=clip.colour.matrix, full_range=clip.colour.full_range, bits=clip.bits)


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
    from pic_uie.video import samples

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


@contextmanager
def _opened(path: Path, layout: Layout | None) -> Iterator[Any]:
    """Opens a file; where frames are exchanged in place, times are those of the media, edit lists apart."""
    av = pyav()
    options = {"ignore_editlist": "1"} if layout is not None else {}
    try:
        container = av.open(str(path), options=options)
    except (av.error.FFmpegError, ValueError) as error:
        raise VideoError(f"damaged, or not a video: {_words(error)}") from error
    try:
        yield container
    finally:
        container.close()


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
    _bound(stream)
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
        raise VideoError(f"no frame can be decoded: {_words(error)}")
    raise VideoError("there are no frames in it")


def _bound(stream: Any) -> None:
    """Keeps the decoder from frames that are larger than any that can be written, whatever a damaged header says."""
    stream.codec_context.options = {**stream.codec_context.options, "max_pixels": str(MAX_SAMPLES)}


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


def _decoded(av: Any, container: Any, stream: Any, clip: Clip, salvage: bool) -> Iterator[Any]:
    """Yields what the decoder gives; packets that it refuses end the reading, or are left out."""
    at = 0.0
    places = PlacesInFile() if clip.kind is kinds.AVI else None
    packets = container.demux(stream)
    while True:
        try:
            packet = next(packets, None)
            if packet is None:
                return
            decoded = packet.decode() if places is None else places.decode(packet)
        except av.error.FFmpegError as error:
            if salvage:
                if isinstance(error, av.error.EOFError):
                    return
                continue
            raise VideoError(
                f"damaged at about {at:.1f} s: {_words(error)}; --salvage leaves such frames out"
            ) from error
        for frame in decoded:
            at = clip.seconds(frame.pts or 0)
            if frame.is_corrupt and not salvage:
                raise VideoError(f"damaged at {at:.2f} s; --salvage keeps what can be decoded")
            yield frame


def _words(error: Exception) -> str:
    text = getattr(error, "strerror", None) or str(error)
    return text[:1].lower() + text[1:]
