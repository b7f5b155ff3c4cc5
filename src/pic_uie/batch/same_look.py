"""One look for a set: θ of every picture from a small copy, averaged; m and S of the set under that θ, pooled.

Videos take part with some of their frames, each of which counts as a picture.

The look is written before the first result, so that an interrupted run continues with the same one.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from pic_uie import __version__, images
from pic_uie.batch import results
from pic_uie.batch.process import Settings
from pic_uie.corrections import Corrections, average
from pic_uie.enhancer import Enhancer
from pic_uie.errors import ConfigError, LookError, PicUieError
from pic_uie.images import Pixels
from pic_uie.images.files import read_bytes
from pic_uie.look import Look, Source, refuse_other_weights
from pic_uie.statistics import pooled
from pic_uie.strengths import Strengths
from pic_uie.video.kinds import is_video
from pic_uie.yuv import Yuv

FILE_NAME = "same.look.json"
SIDE = 480  # of the small copies, nearly twice the predictor's thumbnail: an eighth of a 12-megapixel JPEG will do
MOST_PICTURES = 512  # of a larger set, so many speak for it, evenly spaced
MOST_MEASURED = 64  # so many copies are kept for the statistics, evenly spaced: 33 MB
FRAMES = 4  # of a video


def find_or_make(
    sources: Sequence[Path],
    place: Path,
    enhancer: Enhancer,
    settings: Settings,
    *,
    workers: int,
    stop: threading.Event,
    say: Callable[[str], None],
) -> Look | None:
    """Returns the look of a set, as an earlier run left it at `place`, or made and written there now.

    Args:
        sources: The pictures of the set.
        place: The file of the look.
        enhancer: The engine.
        settings: How pictures are read, and the strengths.
        workers: How many pictures are read at a time.
        stop: Set when the run shall end.
        say: Reports to the user what was found or made.

    Returns:
        None if `stop` was set.

    Raises:
        ConfigError: The look of an earlier run has other strengths.
        LookError: It is damaged or of other weights; or no picture can be read.
        ImageError: The look cannot be written.
    """
    if place.exists() and not settings.overwrite:
        look = _earlier(place, enhancer, settings.strengths)
        say(f"using the look of an earlier run, {place} (--overwrite makes a new one)")
        return look
    say(f"making one look for {len(sources)} {_noun(sources)}{'s' * (len(sources) != 1)}")
    made = make(sources, enhancer, settings, workers=workers, stop=stop)
    if made is None:
        return None
    look = made.scaled(**settings.strengths.as_dict())
    results.write(place, look.to_json().encode(), settings.overwrite)
    return look


def make(
    sources: Sequence[Path], enhancer: Enhancer, settings: Settings, *, workers: int, stop: threading.Event
) -> Look | None:
    """Returns the look of a set; arguments as for `find_or_make`.

    Pictures that cannot be read do not count: the run will report them.
    """
    chosen = [sources[index] for index in evenly_spaced(len(sources), MOST_PICTURES)]
    measured = set(evenly_spaced(len(chosen), MOST_MEASURED))

    def one(index: int) -> list[tuple[Corrections, Pixels | Yuv | None]]:
        if stop.is_set():
            return []
        try:
            copies = _small(chosen[index], settings)
            return [(enhancer.predict(copy, threads=1), copy if index in measured else None) for copy in copies]
        except (PicUieError, ValueError, MemoryError):
            return []

    with ThreadPoolExecutor(workers) as pool:
        read = [results for results in pool.map(one, range(len(chosen))) if results]
        found = [result for results in read for result in results]
        if stop.is_set():
            return None
        kept = [small for _, small in found if small is not None]
        if not kept:
            raise LookError(f"too few of the {_noun(sources)}s can be read to make a look: check the files")
        theta = average([corrections for corrections, _ in found])
        statistics = pooled(list(pool.map(lambda small: enhancer.measure(small, theta, threads=1), kept)))
    name = f"{len(read)} {_noun(chosen)}s" if len(read) > 1 else sources[0].name
    return Look(theta, statistics, enhancer.weights.sha256, Strengths(), Source(name), f"pic-uie {__version__}")


def place_for(outputs: Sequence[Path]) -> Path:
    """Returns the file of a set's look: in the folder that all results are in or below."""
    return Path(os.path.commonpath([os.path.abspath(output.parent) for output in outputs])) / FILE_NAME


def evenly_spaced(count: int, most: int) -> list[int]:
    """Returns the numbers below `count`, or `most` of them from the first to the last."""
    if count <= most:
        return list(range(count))
    return sorted({round(index * (count - 1) / (most - 1)) for index in range(most)})


def _earlier(place: Path, enhancer: Enhancer, strengths: Strengths) -> Look:
    look = Look.load(place)
    refuse_other_weights(look, enhancer.weights.sha256, str(place))
    if look.strengths != strengths:
        raise ConfigError(
            f"{place} of an earlier run has the strengths: {look.strengths}; asked for: {strengths}. "
            "Give the same, or --overwrite to begin again, or another -o"
        )
    return look


def _noun(sources: Sequence[Path]) -> str:
    return "file" if any(is_video(path) for path in sources) else "picture"


def _small(path: Path, settings: Settings) -> list[Pixels | Yuv]:
    """A small copy of a picture, or of some frames of a video."""
    if is_video(path):
        from pic_uie.video import stills
        from pic_uie.video.probe import probe

        clip = probe(path, in_place=False, salvage=settings.salvage, tone_map=settings.tone_map)
        return [stills.small(frame, clip, SIDE) for frame in stills.spread(clip, FRAMES)]
    data = read_bytes(path, settings.max_pixels)
    undecoded = images.read_header(
        data, max_pixels=settings.max_pixels, salvage=settings.salvage, sample_range=settings.sample_range
    )
    pixels = images.fitted(undecoded.decode_small(SIDE), SIDE).pixels
    return [np.ascontiguousarray(pixels[:, :, :1]) if pixels.shape[2] == 2 else pixels]
