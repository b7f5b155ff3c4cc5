"""`pic-uie enhance`: pictures and videos in, enhanced pictures and videos out."""

from __future__ import annotations

import argparse
import glob
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pic_uie.batch.archive import is_archive, stream
from pic_uie.batch.mapping import DEFAULT_SUFFIX, DiskJob, Plan, output_folder, plan
from pic_uie.batch.results import state
from pic_uie.batch.sources import Found, find, is_folder, location
from pic_uie.cli import enhance_video, exit_codes, looks
from pic_uie.cli.options import (
    add_overwrite,
    add_strengths,
    add_threads,
    add_weights,
    count,
    instruction_set,
    percentage,
    sample_range,
    shard,
)
from pic_uie.cli.streams import say
from pic_uie.errors import ConfigError
from pic_uie.images.formats import FORMATS, by_suffix


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    from pic_uie.images.decoding import MAX_PIXELS

    add = parser.add_argument
    add(
        "sources",
        nargs="+",
        metavar="SRC",
        help="files, folders, globs, @list.txt, URLs (s3://...) or - (stdin)",
    )
    add(
        "-o",
        "--output",
        metavar="OUT",
        help="a folder or URL (the tree is mirrored), a file for one input, or - (stdout)",
    )
    add_strengths(parser)
    looks.add_arguments(parser)
    add("-r", "--recursive", action="store_true", help="search sub-folders too")
    add_overwrite(parser, "replace results that exist already (sources are never overwritten)")
    add("--watch", action="store_true", help="keep running and enhance new files in the folders, until Ctrl-C")
    add("--jobs", type=count, metavar="N", help="pictures at a time (one per processor)")
    add_threads(parser, "threads per picture (processors / jobs)")
    add(
        "--instruction-set",
        type=instruction_set,
        metavar="NAME",
        help="baseline gives the same bytes on every x86-64 machine (default: the fastest here)",
    )
    add("--suffix", default=DEFAULT_SUFFIX, help=f"appended to names of results beside their source ({DEFAULT_SUFFIX})")
    add("--format", default="auto", choices=["auto", *FORMATS], help="format of the results (auto: the source's)")
    add("--quality", type=percentage, metavar="Q", help="of JPEG, WebP and AVIF, 1 to 100 (near the source's, else 95)")
    add("--resize", type=count, metavar="N", help="make the longer side N pixels; smaller pictures stay as they are")
    add("--strip-metadata", action="store_true", help="leave out EXIF, GPS, XMP, IPTC, ICC profile and resolution")
    add("--max-pixels", type=count, default=MAX_PIXELS, metavar="N", help=f"refuse larger pictures ({MAX_PIXELS})")
    add("--range", type=sample_range, metavar="MIN:MAX", help="black and white of 16-bit or float samples, or auto")
    add("--salvage", action="store_true", help="enhance as much of a truncated picture as can be decoded")
    enhance_video.add_arguments(parser)
    add_weights(parser)
    add("--preview", type=Path, metavar="FILE.jpg", help="also draw a contact sheet: before and after, side by side")
    add("--html", type=Path, metavar="FILE.html", help="also write a page that shows before and after")
    add("--report", type=Path, metavar="FILE", help="write one line of JSON per file, or a table (.parquet)")
    add(
        "--on",
        default="here",
        choices=["here", "ray"],
        help="compute here, or on a Ray cluster (RAY_ADDRESS)",
    )
    add("--shard", type=shard, metavar="I/N", help="process only share I of N, as one of several machines")
    add("--dry-run", action="store_true", help="print what would be done, without doing it")
    loudness = parser.add_mutually_exclusive_group()
    loudness.add_argument("-q", "--quiet", action="store_true", help="print only errors and what could not be kept")
    loudness.add_argument("-v", "--verbose", action="store_true", help="print one line per file")


def run(arguments: argparse.Namespace) -> int:
    """Enhances what was named."""
    looks.refuse_contradictions(arguments)
    if "-" in arguments.sources or arguments.output == "-":
        from pic_uie.cli.pipe import enhance_stream

        return enhance_stream(arguments)
    if arguments.watch and not is_archive(arguments.sources, arguments.output):
        from pic_uie.cli.enhance_watch import watch

        return watch(arguments)
    if is_archive(arguments.sources, arguments.output):
        return _enhance_archive(arguments)
    found, planned = find_and_plan(arguments)
    if not arguments.quiet:
        _tell_ignored(found, planned, arguments.verbose)
    looks.refuse_many_looks(planned.jobs, arguments)
    looks.refuse_taken_places(planned.jobs, arguments)
    if not planned.jobs:
        say(_nothing_found(arguments))
        return exit_codes.NOTHING_MATCHED
    enhance_video.tell_idle(arguments, [job.source for job in planned.jobs])
    if arguments.dry_run:
        return _print_plan(planned.jobs, arguments.overwrite)
    from pic_uie.cli.enhance_run import enhance_all

    return enhance_all(planned.jobs, arguments)


def _enhance_archive(arguments: argparse.Namespace) -> int:
    refuse_report_over_pictures(arguments.report, [])
    refuse_preview_over_pictures(arguments, [])
    if arguments.watch or arguments.suffix != DEFAULT_SUFFIX:
        raise ConfigError("--watch and --suffix are for pictures on a disk")
    enhance_video.tell_idle(arguments)
    jobs = stream(
        arguments.sources,
        arguments.output,
        recursive=arguments.recursive,
        file_format=None if arguments.format == "auto" else arguments.format,
        overwrite=arguments.overwrite,
        shard=arguments.shard,
    )
    if arguments.dry_run:
        from pic_uie.batch.ledger import shown

        for job in jobs:
            exists = " (exists, would be skipped)" if job.finished else ""
            print(f"{shown(job.source)} -> {shown(job.output)}{exists}")
        return exit_codes.OK
    from pic_uie.cli.enhance_run import enhance_stream

    return enhance_stream(jobs, arguments)


def find_and_plan(arguments: argparse.Namespace) -> tuple[Found, Plan]:
    """Finds the sources and settles where their results go.

    Raises:
        ConfigError: Something would be overwritten, or written twice, or a name makes no sense.
    """
    sources: list[str] = arguments.sources
    first = sources[0]
    is_pattern = (glob.has_magic(first) or first.startswith("@")) and not os.path.lexists(first)
    names_a_file = not is_folder(Path(first)) and not is_pattern
    folder = output_folder(arguments.output, len(sources), named_file=names_a_file)
    found = find(sources, recursive=arguments.recursive, outside=folder)
    file_format = None if arguments.format == "auto" else arguments.format
    planned = plan(
        found.sources, output=arguments.output, folder=folder, suffix=arguments.suffix, file_format=file_format
    )
    if arguments.shard is not None:
        planned = replace(planned, jobs=[job for job in planned.jobs if arguments.shard.holds(job.source)])
    refuse_report_over_pictures(arguments.report, planned.jobs)
    refuse_preview_over_pictures(arguments, planned.jobs)
    return found, planned


def _print_plan(jobs: Sequence[DiskJob], overwrite: bool) -> int:
    from pic_uie.batch.ledger import shown

    for job in jobs:
        exists = " (exists, would be skipped)" if state(job.output) == "whole" and not overwrite else ""
        print(f"{shown(job.source)} -> {shown(job.output)}{exists}")
    return exit_codes.OK


def _tell_ignored(found: Found, planned: Plan, verbose: bool) -> None:
    from pic_uie.batch.ledger import shown

    for files, what in ((found.ignored, "not pictures"), (planned.earlier_results, "results of an earlier run")):
        if verbose:
            for path in files:
                say(f"{shown(path)}: ignored ({what})")
        elif files:
            say(f"ignored {len(files)} file{'s' * (len(files) > 1)}: {what} (-v lists them)")


def _nothing_found(arguments: argparse.Namespace) -> str:
    names = ", ".join(repr(source) for source in arguments.sources)
    folders = any(is_folder(Path(source)) for source in arguments.sources)
    hint = "; --recursive searches sub-folders too" if folders and not arguments.recursive else ""
    return f"pic-uie: no pictures found in {names}{hint}"


def refuse_report_over_pictures(report: Path | None, jobs: Sequence[DiskJob]) -> None:
    """Raises ConfigError for a report with the name of a picture, whether that exists yet or not."""
    if report is None:
        return
    target = Path(os.path.realpath(report))  # of a link, which may still lead nowhere
    if _places(jobs) & {location(report), location(target)} or by_suffix(report) or by_suffix(target):
        raise ConfigError(f"--report {report} is the name of a picture; choose another, such as run.jsonl")


def refuse_preview_over_pictures(arguments: argparse.Namespace, jobs: Sequence[DiskJob]) -> None:
    """Raises ConfigError for a preview that would replace anything, or whose name is not one of its kind."""
    wanted = (("--preview", arguments.preview, (".jpg", ".jpeg")), ("--html", arguments.html, (".html", ".htm")))
    for option, path, suffixes in wanted:
        if path is None:
            continue
        if path.suffix.lower() not in suffixes:
            raise ConfigError(f"{option} {path} must end in {suffixes[0]}")
        if location(path) in _places(jobs):
            raise ConfigError(f"{option} {path} is the name of a source or result; choose another")
        if os.path.lexists(path) and not (arguments.overwrite and path.is_file()):
            raise ConfigError(f"{option} {path} exists already; choose another name, or --overwrite")


def _places(jobs: Sequence[DiskJob]) -> set[str]:
    return {location(path) for job in jobs for path in (job.source, job.output) if str(path) != "-"}
