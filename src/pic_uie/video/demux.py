"""A clip → its frames, in the order in which they are shown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pic_uie.errors import VideoError
from pic_uie.video import kinds
from pic_uie.video.avi import PlacesInFile
from pic_uie.video.clip import Clip
from pic_uie.video.library import pyav
from pic_uie.video.opening import limit_frame_size, opened, words
from pic_uie.video.tone_map import ToneMap
from pic_uie.yuv import Yuv

_MAX_TIME = 1 << 40  # ticks; twelve days even at a million a second
_MAX_GAP, _MAX_GAP_SECONDS = (1 << 32) - 1, 86_400  # between two frames: ticks that MP4 can hold, and a day


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
    with opened(clip.path, clip.layout) as container:
        stream = container.streams[clip.index]
        stream.thread_type = "AUTO"
        limit_frame_size(stream)
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
                f"damaged at about {at:.1f} s: {words(error)}; --salvage leaves such frames out"
            ) from error
        for frame in decoded:
            at = clip.seconds(frame.pts or 0)
            if frame.is_corrupt and not salvage:
                raise VideoError(f"damaged at {at:.2f} s; --salvage keeps what can be decoded")
            yield frame


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
