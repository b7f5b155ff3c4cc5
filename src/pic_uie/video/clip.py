"""What the main video stream of a file is."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from pic_uie.video.boxes import Layout
from pic_uie.video.colour import Colour
from pic_uie.video.kinds import Kind


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
