"""Two pictures in one: before and after, side by side or split down the middle."""

from __future__ import annotations

import numpy as np

from pic_uie.images import RGB8, vips

_WHITE = 255


def side_by_side(before: RGB8, after: RGB8, max_width: int) -> RGB8:
    """Puts both at the height of the lower one, with a thin white line between, at most `max_width` across."""
    height = min(before.shape[0], after.shape[0])
    widths = sum(picture.shape[1] * height / picture.shape[0] for picture in (before, after))
    line = _line_width(widths)
    height = max(1, round(height * min(1.0, (max_width - line) / widths)))
    left, right = at_height(before, height), at_height(after, height)
    return np.hstack([left, np.full((height, line, 3), _WHITE, np.uint8), right])


def split(before: RGB8, after: RGB8, max_width: int) -> RGB8:
    """Shows the left half of `before` and the right half of `after`; both have the same proportions.

    Raises:
        ValueError: Pictures of different proportions.
    """
    (h0, w0), (h1, w1) = before.shape[:2], after.shape[:2]
    if abs(w0 * h1 - w1 * h0) > max(w0 * h0, w1 * h1) // 100:
        raise ValueError(f"pictures of the same proportions are needed, got {w0} x {h0} and {w1} x {h1}")
    height = max(1, round(min(h0, h1) * min(1.0, max_width / min(w0, w1))))
    left, right = at_height(before, height), at_height(after, height)
    width = min(left.shape[1], right.shape[1])
    joined = np.hstack([left[:, : width // 2], right[:, width // 2 : width]])
    line = _line_width(width)
    start = max(0, width // 2 - line // 2)
    joined[:, start : start + line] = _WHITE
    return joined


def at_height(picture: RGB8, height: int) -> RGB8:
    """Resizes to a height with the proportions kept."""
    if picture.shape[0] == height:
        return picture
    scale = height / picture.shape[0]
    width = max(1, round(picture.shape[1] * scale))
    image = vips.from_array(np.ascontiguousarray(picture), "rgb")
    resized = vips.to_array(image.resize(width / picture.shape[1], vscale=scale))
    return np.ascontiguousarray(resized, dtype=np.uint8)


def _line_width(width: float) -> int:
    return max(2, round(width / 400))
