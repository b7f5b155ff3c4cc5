"""Opening a file with FFmpeg: frames no larger than can be written, errors in plain words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pic_uie.errors import VideoError
from pic_uie.video.boxes import Layout
from pic_uie.video.library import pyav

MAX_SAMPLES = 35_651_584  # of luma: the largest frame of H.264 and HEVC, level 6.2


@contextmanager
def opened(path: Path, layout: Layout | None) -> Iterator[Any]:
    """Opens a file; where frames are exchanged in place, times are those of the media, edit lists apart."""
    av = pyav()
    options = {"ignore_editlist": "1"} if layout is not None else {}
    try:
        container = av.open(str(path), options=options)
    except (av.error.FFmpegError, ValueError) as error:
        raise VideoError(f"damaged, or not a video: {words(error)}") from error
    try:
        yield container
    finally:
        container.close()


def limit_frame_size(stream: Any) -> None:
    """Keeps the decoder from frames that are larger than any that can be written, whatever a damaged header says."""
    stream.codec_context.options = {**stream.codec_context.options, "max_pixels": str(MAX_SAMPLES)}


def words(error: Exception) -> str:
    """Returns what FFmpeg says of an error, to stand after a colon."""
    text = getattr(error, "strerror", None) or str(error)
    return text[:1].lower() + text[1:]
