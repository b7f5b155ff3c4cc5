"""The options of `pic-uie enhance` that have to do with looks."""

from __future__ import annotations

import argparse
import threading
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pic_uie.cli.options import strengths
from pic_uie.cli.streams import say
from pic_uie.errors import ConfigError

if TYPE_CHECKING:
    from pic_uie import Enhancer, Look
    from pic_uie.batch.mapping import DiskJob
    from pic_uie.batch.process import Settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares them."""
    add = parser.add_argument
    add(
        "--look",
        type=Path,
        metavar="FILE|PICTURE",
        help="apply this look, or the look of this picture or video, to every source",
    )
    add("--same-look", action="store_true", help="use one look for the whole set: equal colours stay equal")
    add("--save-look", action="store_true", help="also write the look of each file beside its result")


def refuse_contradictions(arguments: argparse.Namespace) -> None:
    """Raises ConfigError for options that do not go together, before anything is done."""
    names = {
        "--look": arguments.look is not None,
        "--same-look": arguments.same_look,
        "--save-look": arguments.save_look,
    }
    asked = [name for name, is_given in names.items() if is_given]
    if len(asked) > 1:
        raise ConfigError(
            f"{' and '.join(asked)} contradict each other: --look applies an existing look, --same-look makes one "
            "for the set and writes it, --save-look writes one for each picture. Give one of them"
        )
    if arguments.same_look and (arguments.watch or "-" in arguments.sources or arguments.output == "-"):
        raise ConfigError(
            "--same-look needs all pictures of the set at once, in files: "
            "make the look with one run, and give it to the others with --look"
        )
    places = [*arguments.sources, arguments.output or ""]
    if arguments.same_look and (arguments.shard is not None or any("://" in place for place in places)):
        raise ConfigError(
            "--same-look works on whole sets on a disk, not on shards or in stores: "
            "make a look from some of the pictures on a disk, and give it with --look"
        )
    if arguments.save_look and ("-" in arguments.sources or arguments.output == "-"):
        raise ConfigError(
            "--save-look needs a file beside which the look can lie: give one with -o, and a named source"
        )


def refuse_many_looks(jobs: Iterable[DiskJob], arguments: argparse.Namespace) -> None:
    """Raises ConfigError where --save-look meets a video whose look changes over time."""
    from pic_uie.video.kinds import is_video

    if not arguments.save_look or arguments.temporal == "lock":
        return
    if any(is_video(job.source) for job in jobs):
        raise ConfigError(
            "--save-look: the look of a video changes over time, so that there is none to save; "
            "add --temporal lock, which gives each video one look, or leave videos out"
        )


def refuse_taken_places(jobs: Iterable[DiskJob], arguments: argparse.Namespace) -> None:
    """Raises ConfigError where --save-look would write two looks to one place, or over a file that is no left-over."""
    from pic_uie.batch import saved_looks

    if arguments.save_look:
        saved_looks.refuse_taken_places(jobs, strengths(arguments), overwrite=arguments.overwrite)


def shared(
    jobs: Sequence[DiskJob], enhancer: Enhancer, settings: Settings, *, workers: int, stop: threading.Event, quiet: bool
) -> Settings | None:
    """Returns settings with one look for the set of --same-look; None if the run was interrupted.

    Raises:
        ConfigError: The look of an earlier run has other strengths.
        LookError: It cannot be used, or no picture can be read.
    """
    from pic_uie.batch import same_look

    sources, outputs = [job.source for job in jobs], [job.output for job in jobs]
    look = same_look.find_or_make(
        sources,
        same_look.place_for(outputs),
        enhancer,
        settings,
        workers=workers,
        stop=stop,
        say=(lambda text: None) if quiet else say,
    )
    return None if look is None else replace(settings, look=look)


def given(arguments: argparse.Namespace, enhancer: Enhancer) -> Look | None:
    """Returns what --look names, with the strengths of the command line on top of its own.

    Raises:
        LookError: Missing, neither a look nor a picture, damaged, or of other weights.
        ImageError: A picture that cannot be read.
    """
    if arguments.look is None:
        return None
    from pic_uie.batch.given_look import read_look

    look = read_look(
        arguments.look,
        enhancer,
        max_pixels=arguments.max_pixels,
        salvage=arguments.salvage,
        sample_range=arguments.range,
        tone_map=arguments.tone_map,
    )
    return look.scaled(**strengths(arguments).as_dict())
