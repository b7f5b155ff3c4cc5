"""The look of a file: of a look's own file, or of a picture or video that others should match."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np

from pic_uie import images
from pic_uie.enhancer import Enhancer
from pic_uie.errors import ImageError, LookError
from pic_uie.images import formats
from pic_uie.images.files import read_head
from pic_uie.look import MAX_NAME, Look, Source, refuse_other_weights
from pic_uie.video import kinds


def read_look(
    path: Path,
    enhancer: Enhancer,
    *,
    max_pixels: int = images.MAX_PIXELS,
    salvage: bool = False,
    sample_range: images.SampleRange | None = None,
    tone_map: bool = False,
) -> Look:
    """Returns the look of a file; whether it is a look, a picture or a video is detected from its content.

    Raises:
        LookError: Missing, neither a look nor a picture or video, damaged, or of other weights.
        ImageError: A picture that cannot be read.
        VideoError: A video that cannot be read.
    """
    if not os.path.lexists(path):
        raise LookError(
            f"cannot read the look {path}: No such file or directory; "
            "give a .look.json file, or a picture of the look you want"
        )
    head = read_head(path, formats.HEAD_BYTES)
    if head is not None and formats.sniff(head) is not None:
        picture = images.read(path, max_pixels=max_pixels, salvage=salvage, sample_range=sample_range)
        return replace(of_pixels(picture.pixels, enhancer), source=Source(path.name[:MAX_NAME]))
    if head and kinds.sniff_file(path) is not None:
        from pic_uie.video.convert import VideoSettings, one_look

        return one_look(path, enhancer, VideoSettings(salvage=salvage, tone_map=tone_map))
    if head and not head.lstrip().startswith(b"{"):
        raise LookError(
            f"--look {path} is {formats.describe(head)}, neither a look nor a picture that can be read: "
            "give a .look.json file, or a picture of the look you want"
        )
    look = Look.load(path)
    refuse_other_weights(look, enhancer.weights.sha256, str(path))
    return look


def of_pixels(pixels: images.Pixels, enhancer: Enhancer) -> Look:
    """Returns the look of a picture as `images.read` gives it.

    Raises:
        ImageError: Values that the engine does not take.
    """
    colours = np.ascontiguousarray(pixels[:, :, :1]) if pixels.shape[2] == 2 else pixels
    try:
        return enhancer.look(colours)
    except ValueError as error:
        raise ImageError(f"cannot be enhanced: {error}") from error
