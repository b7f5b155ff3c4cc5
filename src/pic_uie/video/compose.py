"""Where the enhanced picture goes in a frame of the result: all of it, or beside the source; even sizes always."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pic_uie.video.clip import Clip
from pic_uie.video.demux import planes, view
from pic_uie.video.library import pyav
from pic_uie.yuv import Yuv


@dataclass(frozen=True)
class Canvas:
    """The frames of a result.

    Attributes:
        clip: The source.
        side_by_side: Whether the source is shown too, to the left as players turn it.
    """

    clip: Clip
    side_by_side: bool = False

    @property
    def cell(self) -> tuple[int, int]:
        """Width and height of one picture: even, since a sample of chroma belongs to 2x2 pixels."""
        return self.clip.width + self.clip.width % 2, self.clip.height + self.clip.height % 2

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of a frame."""
        width, height = self.cell
        if not self.side_by_side:
            return width, height
        return (width, 2 * height) if self._is_upright else (2 * width, height)

    @property
    def _is_upright(self) -> bool:
        return self.clip.rotation % 180 == 90

    def draw(self, frame: Any, enhance: Callable[[Yuv, Yuv], object]) -> Any:
        """Returns a frame of the result, to which `enhance(source, out)` has written the enhanced picture."""
        clip = self.clip
        result = pyav().VideoFrame(*self.size, clip.planar_format)
        source = planes(frame, clip)
        left = top = 0
        if self.side_by_side:
            width, height = self.cell
            # turned by 90 degrees counter-clockwise the top of a frame is shown to the left, by -90 to the right
            source_first = clip.rotation % 360 in (0, 90)
            places = [(0, 0), (0, height) if self._is_upright else (width, 0)]
            (x, y), (left, top) = places if source_first else reversed(places)
            copy = view(result, clip.width, clip.height, clip, x, y)
            for ours, theirs in zip((copy.y, copy.cb, copy.cr), (source.y, source.cb, source.cr), strict=True):
                np.copyto(ours, theirs)
            self._fill(result, x, y)
        enhance(source, view(result, clip.width, clip.height, clip, left, top))
        self._fill(result, left, top)
        return result

    def _fill(self, result: Any, left: int, top: int) -> None:
        """Repeats the last column and row of a picture with an odd size."""
        clip, (width, height) = self.clip, self.cell
        luma = view(result, width, height, clip, left, top).y
        if width != clip.width:
            luma[:, -1] = luma[:, -2] if clip.width > 1 else luma[:, 0]
        if height != clip.height:
            luma[-1] = luma[-2]
