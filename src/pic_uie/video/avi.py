"""The times of AVI files, which have none: a frame is shown when its place in the file comes."""

from __future__ import annotations

from collections import deque
from typing import Any


class PlacesInFile:
    """Gives decoded frames their places as times.

    FFmpeg has the place as the time of decoding, and guesses when a frame is shown. Where frames are stored in another
    order than that in which they are shown, the first one shown gets the first place, and so on.
    """

    def __init__(self) -> None:
        self._waiting: deque[int] = deque()

    def decode(self, packet: Any) -> list[Any]:
        """Returns the frames that the decoder gives for a packet, in the order in which they are shown."""
        frames = list(packet.decode())
        if packet.dts is not None and packet.size:
            self._waiting.append(packet.dts)
        for frame in frames:
            reordered = packet.stream.codec_context.has_b_frames
            frame.pts = self._waiting.popleft() if reordered and self._waiting else frame.dts
        return frames
