"""Videos in `pic-uie enhance`: their options, and how far one is."""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from pic_uie.batch.ledger import Outcome, shown
from pic_uie.batch.mapping import DiskJob
from pic_uie.batch.process import failed
from pic_uie.cli.options import add_tone_map
from pic_uie.cli.streams import say
from pic_uie.errors import ConfigError
from pic_uie.images.decoding import MAX_PIXELS
from pic_uie.video.encode import DEFAULT_CRF, DEFAULT_PRESET, PRESETS
from pic_uie.video.kinds import is_video

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

    from pic_uie.batch.process import Settings
    from pic_uie.enhancer import Enhancer
    from pic_uie.video.convert import VideoSettings

TEMPORAL = ("smooth", "lock", "off")
_LINE_SECONDS = 10.0
_POLL_SECONDS = 0.1
_MAX_CRF = 51
_THREADS_EACH = 2  # processors for a thread of the engine: the encoder, which has more to do, takes the others
_OF_PICTURES: dict[str, object] = {"format": "auto", "quality": None, "resize": None, "max_pixels": MAX_PIXELS}
_OF_PICTURES |= {"range": None, "preview": None, "html": None}
_OF_VIDEOS: dict[str, object] = {"temporal": TEMPORAL[0], "codec": "auto", "crf": None, "preset": DEFAULT_PRESET}
_OF_VIDEOS |= {"start": None, "end": None, "tone_map": False, "side_by_side": False}
_OF_A_LOOK_AS_WELL = frozenset({"max_pixels", "range", "tone_map"})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options that are about videos."""
    group = parser.add_argument_group("videos")
    add = group.add_argument
    add(
        "--temporal",
        choices=TEMPORAL,
        default=TEMPORAL[0],
        help="corrections over time: smoothed, one for the clip, or per frame",
    )
    add(
        "--codec",
        choices=("auto", "h264", "hevc"),
        default="auto",
        help="of the results (auto: H.264, above 8 bits HEVC)",
    )
    crfs = f"{DEFAULT_CRF['h264']}, HEVC {DEFAULT_CRF['hevc']}"
    add("--crf", type=_crf, metavar="N", help=f"quality, 0 to {_MAX_CRF}, smaller is better ({crfs})")
    add("--preset", choices=PRESETS, default=DEFAULT_PRESET, help=f"effort of the encoder ({DEFAULT_PRESET})")
    add("--start", type=timestamp, metavar="T", help="start here: seconds, or H:MM:SS.s")
    add("--end", type=timestamp, metavar="T", help="end here")
    add_tone_map(group)
    add("--side-by-side", action="store_true", help="show the source beside the result")


def tell_idle(arguments: argparse.Namespace, sources: Sequence[Path] = ()) -> None:
    """Says which options change nothing: those of pictures where there are only videos, and the reverse.

    Args:
        arguments: The options of the command.
        sources: The files; none: pictures from elsewhere.
    """
    of_pictures, of_videos = _given(arguments, _OF_PICTURES), _given(arguments, _OF_VIDEOS)
    if of_pictures and sources and all(map(is_video, sources)):
        _say_idle(of_pictures, "pictures")
    elif of_videos and not any(map(is_video, sources)):
        _say_idle(of_videos, "videos")


def _given(arguments: argparse.Namespace, defaults: dict[str, object]) -> list[str]:
    """Returns the options that differ from their defaults; some also say how the source of a look is read."""
    names = [name for name, default in defaults.items() if getattr(arguments, name) != default]
    return [f"--{name.replace('_', '-')}" for name in names if arguments.look is None or name not in _OF_A_LOOK_AS_WELL]


def _say_idle(options: Sequence[str], kind: str) -> None:
    verb, pronoun = ("has", "it is") if len(options) == 1 else ("have", "they are")
    say(f"{', '.join(options)} {verb} no effect: {pronoun} for {kind}, and there are none")


def settings(arguments: argparse.Namespace, shared: Settings) -> VideoSettings:
    """Returns what the options ask of every video; strengths and the look are those of pictures."""
    from pic_uie.enhancer import default_threads
    from pic_uie.video.convert import VideoSettings
    from pic_uie.video.pipeline import Treatment

    look = shared.look
    if look is not None:
        treatment = Treatment.of_look(look)
    else:
        groups = tuple((name, number) for name, number in shared.strengths.groups.items() if number != 1.0)
        treatment = Treatment(strength=shared.strengths.strength, groups=groups, temporal=arguments.temporal)
    return VideoSettings(
        treatment=treatment,
        codec=None if arguments.codec == "auto" else arguments.codec,
        crf=arguments.crf,
        preset=arguments.preset,
        start=arguments.start,
        end=arguments.end,
        side_by_side=arguments.side_by_side,
        salvage=arguments.salvage,
        tone_map=arguments.tone_map,
        keep_metadata=not arguments.strip_metadata,
        overwrite=arguments.overwrite,
        threads=arguments.threads or max(1, default_threads() // _THREADS_EACH),
    )


class Videos:
    """Enhances the videos of a run one after the other, since each keeps all cores busy.

    Args:
        arguments: The options of the command.
    """

    def __init__(self, arguments: argparse.Namespace) -> None:
        self._arguments = arguments
        self._turn = threading.Lock()

    def process(self, job: DiskJob, enhancer: Enhancer, shared: Settings, check: Callable[[], None]) -> Outcome:
        """Enhances one video when its turn has come."""
        from dataclasses import replace

        from pic_uie.batch.videos import process_video
        from pic_uie.cli.looks import refuse_many_looks

        try:  # of a folder that is watched, this shows only now
            refuse_many_looks([job], self._arguments)
        except ConfigError as error:
            outcome = Outcome(str(job.source), str(job.output))
            failed(outcome, error)
            return outcome
        while not self._turn.acquire(timeout=_POLL_SECONDS):
            check()
        try:
            chosen = settings(self._arguments, shared)
            chosen = replace(chosen, overwrite=chosen.overwrite or job.replaces)
            save_look = shared.strengths if shared.save_look else None
            with _Display(job, quiet=self._arguments.quiet) as display:
                return process_video(job, enhancer, chosen, check=check, progress=display.update, save_look=save_look)
        finally:
            self._turn.release()


class _Display:
    """Frames a second, time left and size so far: a bar on a terminal, a line now and then elsewhere."""

    def __init__(self, job: DiskJob, *, quiet: bool) -> None:
        self._name, self._quiet = shown(job.source.name), quiet
        self._start = self._last = time.monotonic()
        self._first: int | None = None
        self._bar = _bar(self._name) if sys.stderr.isatty() and not quiet else None

    def __enter__(self) -> _Display:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar[0].stop()

    def update(self, frames: int, total: int | None, size: int) -> None:
        """Shows how far the video is."""
        if self._first is None:
            self._first, self._start = frames, time.monotonic()
        now = time.monotonic()
        if self._bar is not None:
            bar, task = self._bar
            bar.update(task, completed=frames, total=total, size=f"{size / 1e6:.1f} MB")
        elif now - self._last >= _LINE_SECONDS and not self._quiet:
            self._last = now
            rate = (frames - self._first) / max(now - self._start, 1e-9)
            left = f", about {_clock((total - frames) / rate)} left" if total and rate else ""
            of = f" of {total}" if total else ""
            say(f"{self._name}: {frames}{of} frames, {rate:.1f} per second{left}, {size / 1e6:.1f} MB")


def _bar(name: str) -> tuple[Bar, TaskID] | None:
    from rich.console import Console
    from rich.errors import LiveError
    from rich.progress import TextColumn

    from pic_uie.cli.progress import rated_bar

    bar = rated_bar(Console(stderr=True), transient=True)
    bar.columns = (*bar.columns, TextColumn("{task.fields[size]}"))
    task = bar.add_task(name, total=None, size="")
    try:
        bar.start()
    except LiveError:  # the bar over all files is there already
        return None
    return bar, task


def _clock(seconds: float) -> str:
    whole = round(seconds)
    hours, rest = divmod(whole, 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}" if hours else f"{rest // 60}:{rest % 60:02d}"


def timestamp(text: str) -> Fraction:
    """A time: seconds, MM:SS or H:MM:SS, with decimals."""
    try:
        parts = [Fraction(part) for part in text.split(":")]
        if not 1 <= len(parts) <= 3 or any("/" in part or "e" in part.lower() for part in text.split(":")):
            raise ValueError
    except (ValueError, ZeroDivisionError):
        parts = [Fraction(-1)]
    if any(part < 0 for part in parts):
        raise argparse.ArgumentTypeError(f"a time such as 12.5 or 1:02:03 is needed, got {text!r}")
    seconds = Fraction(0)
    for part in parts:
        seconds = 60 * seconds + part
    return seconds


def _crf(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = -1
    if not 0 <= value <= _MAX_CRF:
        raise argparse.ArgumentTypeError(f"a whole number from 0 to {_MAX_CRF} is needed, got {text!r}")
    return value
