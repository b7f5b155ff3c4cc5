"""Frames → a segment: a fresh encoder, closed groups of pictures, a small MP4 file that is whole or not there."""

from __future__ import annotations

import os
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np

from pic_uie.enhancer import instruction_sets
from pic_uie.errors import VideoError
from pic_uie.video import samples
from pic_uie.video.boxes import box, read_layout
from pic_uie.video.library import pyav
from pic_uie.video.samples import Ints

Codec = Literal["h264", "hevc"]
PRESETS = ("ultrafast", "superfast", "veryfast", "faster", "fast", "medium", "slow", "slower", "veryslow")
DEFAULT_PRESET = "veryfast"
DEFAULT_CRF = {"h264": 18, "hevc": 20}
_LIBRARIES = {"h264": "libx264", "hevc": "libx265"}
KEY_SECONDS = 2  # between key frames at most: what players seek by


@dataclass(frozen=True)
class Encoding:
    """How frames are encoded.

    Attributes:
        codec: H.264 or HEVC.
        crf: Constant quality; smaller is better and larger.
        preset: From ultrafast to veryslow.
        pixel_format: 4:2:0 planar of some bits.
        width: Even.
        height: Even.
        rate: Frames a second, on average.
        tags: Range, primaries, transfer, matrix.
        aspect: Width of a pixel in heights.
        b_frames: Whether frames may refer to later ones; AVI cannot hold such.
    """

    codec: Codec
    crf: int
    preset: str
    pixel_format: str
    width: int
    height: int
    rate: Fraction
    tags: tuple[int, int, int, int]
    aspect: Fraction
    b_frames: bool = True


@dataclass(frozen=True)
class Segment:
    """A finished segment in decoding order: its sample entry, and place, frame number and key flag of each sample."""

    path: Path
    entry: bytes
    offsets: Ints
    sizes: Ints
    order: Ints
    keys: Any


class SegmentWriter:
    """Encodes frames to a temporary name; `finish` makes it the segment.

    Args:
        path: The segment.
        encoding: How.

    Raises:
        EnvironmentMissingError: PyAV has no such encoder.
        VideoError: The encoder refuses what it is asked.
    """

    def __init__(self, path: Path, encoding: Encoding) -> None:
        self._av = pyav()
        self._path, self._part = path, path.with_suffix(".part")
        self._rate = encoding.rate
        self._count = 0
        options = {"video_track_timescale": str(self._rate.numerator), "movflags": "negative_cts_offsets"}
        self._container = self._av.open(str(self._part), "w", format="mp4", options=options)
        try:
            self._stream = _stream(self._container, encoding)
        except (self._av.error.FFmpegError, ValueError) as error:
            self.abandon()
            raise VideoError(f"the encoder refuses these frames: {error}") from error

    def add(self, frame: Any) -> None:
        """Encodes one more frame."""
        frame.pts, frame.time_base = self._count, 1 / self._rate
        frame.pict_type = 0
        self._count += 1
        for packet in self._stream.encode(frame):
            self._container.mux(packet)

    @property
    def size(self) -> int:
        """Bytes written so far."""
        try:
            return os.stat(self._part).st_size
        except OSError:
            return 0

    def finish(self) -> None:
        """Writes what the encoder holds, flushes it to the disk, and gives the segment its name."""
        try:
            for packet in self._stream.encode(None):
                self._container.mux(packet)
            self._container.close()
            with open(self._part, "rb+") as file:
                os.fsync(file.fileno())
            os.replace(self._part, self._path)
        except BaseException:
            self.abandon()
            raise

    def abandon(self) -> None:
        """Leaves nothing behind."""
        try:
            self._container.close()
        except (self._av.error.FFmpegError, OSError):
            pass
        finally:
            self._part.unlink(missing_ok=True)


def read_segment(path: Path) -> Segment:
    """Reads the index of a finished segment."""
    layout = read_layout(path)
    trak = layout.moov.all(b"trak")[0]
    found = samples.samples(trak, layout.size)
    order = np.empty(len(found.times), np.int64)
    order[np.argsort(found.times, kind="stable")] = np.arange(len(found.times))
    whole = samples.entries(trak)[0]
    kept = [inner for inner in samples.entry_boxes(whole[samples.VISUAL_HEADER :]) if inner[4:8] != b"btrt"]
    content = whole[8 : samples.VISUAL_HEADER] + b"".join(kept)  # without the rates, which differ between segments
    return Segment(path, box(whole[4:8], content), found.offsets, found.sizes, order, found.keys)


def _stream(container: Any, encoding: Encoding) -> Any:
    library = _LIBRARIES[encoding.codec]
    group = max(1, round(KEY_SECONDS * encoding.rate))
    options = {"crf": str(encoding.crf), "preset": encoding.preset}
    if encoding.codec == "hevc":
        options["x265-params"] = f"log-level=none:open-gop=0:keyint={group}:info=0"
    elif "avx512" in instruction_sets():
        # With AVX-512, this x264 gave other bytes for the same frames from run to run; limited to AVX2 it did not.
        # A continued run must end in the bytes of an undisturbed one.
        options["x264-params"] = "asm=avx2,fma3,bmi2"
    stream = container.add_stream(library, rate=encoding.rate)
    context = stream.codec_context
    context.width, context.height, context.pix_fmt = encoding.width, encoding.height, encoding.pixel_format
    context.time_base = 1 / encoding.rate
    context.sample_aspect_ratio = encoding.aspect
    context.color_range, context.color_primaries, context.color_trc, context.colorspace = encoding.tags
    context.gop_size = group
    context.thread_type = "FRAME"  # slices, which PyAV would take, leave cores idle and make larger files
    if not encoding.b_frames:
        context.max_b_frames = 0
    if encoding.codec == "hevc":
        context.codec_tag = "hvc1"  # with which Apple's players take it
    context.options = options
    return stream
