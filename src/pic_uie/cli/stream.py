"""`pic-uie stream`: raw frames from standard input, enhanced frames to standard output, one by one."""

from __future__ import annotations

import argparse
import io
import os
import queue
import re
import sys
import threading
from collections.abc import Callable
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from pic_uie.arguments import Array
from pic_uie.cli import exit_codes
from pic_uie.cli.options import add_strengths, add_threads, add_weights, strengths
from pic_uie.cli.streams import drop_output, say
from pic_uie.enhancer import Enhancer
from pic_uie.errors import ConfigError, VideoError
from pic_uie.video.handover import POLL_SECONDS, put, taken
from pic_uie.video.temporal import Causal
from pic_uie.yuv import LUMA_WEIGHTS, Matrix, Yuv

PIXELS = ("yuv420p", "nv12", "rgb24")
_HD_LINES = 720
_MAX_SIDE = 16384
_PIPE_BYTES = 1 << 20

Frame = NDArray[np.uint8]
Frames = queue.Queue[Frame | BaseException | None]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    add = parser.add_argument
    add("--size", type=_size, required=True, metavar="WxH", help="width and height of a frame, such as 1920x1080")
    add("--pixels", choices=PIXELS, default="yuv420p", help="layout of a frame, in and out (yuv420p)")
    add("--matrix", choices=("auto", *LUMA_WEIGHTS), default="auto", help="YUV matrix (auto: bt709 from 720 lines up)")
    add("--range", choices=("limited", "full"), default="limited", help="YUV range (limited)")
    add("--rate", type=_rate, default=30.0, metavar="R", help="frames per second, for smoothing (30)")
    add("--temporal", choices=("smooth", "off"), default="smooth", help="corrections over time: smoothed, or per frame")
    add_strengths(parser)
    add_threads(parser)
    add_weights(parser)


def run(arguments: argparse.Namespace) -> int:
    """Enhances frames until the input ends or the reader of the output has gone."""
    if sys.stdin.isatty() or sys.stdout.isatty():
        raise ConfigError("stream reads raw frames from a pipe and writes them to one; docs/video.md has recipes")
    enhance = enhancer_of(arguments)
    width, height = arguments.size
    size = frame_size(width, height, arguments.pixels)
    try:
        count = pump(sys.stdin.buffer, sys.stdout.buffer, size, enhance)
    except BrokenPipeError:
        drop_output()
        return exit_codes.OK
    if count == 0:
        say("pic-uie: no frames came in")
    return exit_codes.OK


def enhancer_of(arguments: argparse.Namespace) -> Callable[[Frame], None]:
    """Returns a function that enhances a frame in place."""
    enhancer = Enhancer(arguments.weights, arguments.threads)
    causal = Causal(arguments.rate) if arguments.temporal == "smooth" else None
    chosen = strengths(arguments)
    groups = {name: number for name, number in chosen.groups.items() if number != 1.0}
    width, height = arguments.size
    view = viewer(width, height, arguments.pixels, arguments.matrix, arguments.range == "full")

    def enhance(frame: Frame) -> None:
        picture: Any = view(frame)
        theta = enhancer.predict(picture)
        if causal is not None:
            theta, _ = causal.push(picture, theta)
        statistics = None
        if groups:  # statistics are those under the whole θ, as for pictures
            statistics, theta = enhancer.measure(picture, theta), theta.scaled(**groups)
        enhancer.execute(picture, theta, statistics=statistics, strength=chosen.strength, out=picture)

    return enhance


def viewer(width: int, height: int, pixels: str, matrix: str, full_range: bool) -> Callable[[Frame], Array | Yuv]:
    """Returns a function that views the bytes of a frame as a picture, without copying."""
    if pixels == "rgb24":
        return lambda frame: frame.reshape(height, width, 3)
    chosen: Matrix = "bt709" if height >= _HD_LINES else "bt601"
    if matrix != "auto":
        chosen = matrix  # type: ignore[assignment]
    layout = Yuv.i420 if pixels == "yuv420p" else Yuv.nv12
    return lambda frame: layout(frame, width, height, matrix=chosen, full_range=full_range)


def frame_size(width: int, height: int, pixels: str) -> int:
    """Returns how many bytes a frame has."""
    if pixels == "rgb24":
        return 3 * width * height
    return width * height + 2 * ((width + 1) // 2) * ((height + 1) // 2)


def pump(source: IO[bytes], target: IO[bytes], size: int, enhance: Callable[[Frame], None]) -> int:
    """Carries frames through; no frame waits for a later one. Returns how many there were.

    Reading, enhancing and writing overlap, each with a frame of its own and one more between them.

    Raises:
        BrokenPipeError: The reader of the output has gone.
        VideoError: The input ends within a frame.
    """
    stop = threading.Event()
    frames: Frames = queue.Queue(maxsize=1)
    done: Frames = queue.Queue(maxsize=1)
    failures: list[BaseException] = []
    for stream in (source, target):
        _widen(stream.fileno())
    reader = threading.Thread(target=_read, args=(source.fileno(), size, frames, stop), daemon=True)
    writer = threading.Thread(target=_write, args=(target.fileno(), done, failures, stop), daemon=True)
    reader.start()
    writer.start()
    count = 0
    try:
        try:
            for frame in taken(frames, stop):
                enhance(frame)
                put(done, frame, stop)
                count += 1
        except (VideoError, OSError) as error:  # what was enhanced before is still written
            failures.append(error)
        put(done, None, stop)
        while writer.is_alive():
            writer.join(POLL_SECONDS)
    finally:
        stop.set()
    if failures:
        raise failures[0]
    return count


def _widen(descriptor: int) -> None:
    """Lets a pipe hold more than the usual 64 KB, where that is possible: fewer switches between processes."""
    try:
        import fcntl

        fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
    except (ImportError, AttributeError, OSError):  # not Linux, no pipe, or not allowed
        return


def _write(descriptor: int, done: Frames, failures: list[BaseException], stop: threading.Event) -> None:
    """Writes past Python's buffer, whose lock would be held at the end of an interrupted run."""
    try:
        for frame in taken(done, stop):
            view = frame.data
            while view:
                view = view[os.write(descriptor, view) :]
    except BaseException as error:  # raised again by `pump`
        failures.append(error)
        stop.set()


def _read(descriptor: int, size: int, frames: Frames, stop: threading.Event) -> None:
    """Reads past Python's buffer, for the same reason."""
    source = io.FileIO(descriptor, closefd=False)
    item: Frame | BaseException | None
    number = 0
    while not stop.is_set():
        try:
            item = np.empty(size, np.uint8)
            got, view = 0, item.data
            while got < size:
                more = source.readinto(view[got:])
                if not more:
                    break
                got += more
            if got == 0:
                item = None
            elif got < size:
                item = VideoError(
                    f"the input ended within frame {number + 1} ({got} of {size} bytes); check --size and --pixels"
                )
        except BaseException as error:
            item = error
        put(frames, item, stop)
        if not isinstance(item, np.ndarray):
            return
        number += 1


def _size(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d{1,5})[xX](\d{1,5})", text)
    width, height = (int(found[1]), int(found[2])) if found else (0, 0)
    if not (1 <= width <= _MAX_SIDE and 1 <= height <= _MAX_SIDE):
        raise argparse.ArgumentTypeError(f"a size such as 1920x1080 is needed, got {text!r}")
    return width, height


def _rate(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.1 <= value <= 1000.0:
        raise argparse.ArgumentTypeError(f"frames a second, 0.1 to 1000, are needed, got {text!r}")
    return value
