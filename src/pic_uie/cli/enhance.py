"""`pic-uie enhance`: pictures in, enhanced pictures out."""

from __future__ import annotations

import argparse
import glob
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pic_uie.batch.mapping import DEFAULT_SUFFIX, Job, Plan, output_folder, plan
from pic_uie.batch.sources import Found, find, is_folder, is_taken, location
from pic_uie.cli import exit_codes
from pic_uie.cli.options import count, fraction, percentage, thread_count
from pic_uie.errors import ConfigError
from pic_uie.images.formats import FORMATS, by_suffix

if TYPE_CHECKING:
    from pic_uie.batch.ledger import Ledger, Outcome

_DISK_FULL_LIMIT = 8  # so many failures in a row for want of space: the rest would only fail as well


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    from pic_uie.images.decode import MAX_PIXELS

    add = parser.add_argument
    add("sources", nargs="+", metavar="SRC", help="files, folders, globs, @list.txt, or - for standard input")
    add("-o", "--output", metavar="OUT", help="a folder (the tree is mirrored), a file for one input, or - for stdout")
    add(
        "--strength", type=fraction, default=1.0, metavar="S", help="0 leaves the picture as it is, 1 corrects it fully"
    )
    add("-r", "--recursive", action="store_true", help="search folders to the bottom")
    add(
        "--overwrite", action="store_true", help="make results again that exist already (sources are never overwritten)"
    )
    add("--jobs", type=count, metavar="N", help="pictures at a time (one per processor)")
    add("--threads", type=thread_count, metavar="N", help="threads per picture (processors / jobs)")
    add("--suffix", default=DEFAULT_SUFFIX, help=f"for results beside their source ({DEFAULT_SUFFIX})")
    add("--format", default="auto", choices=["auto", *FORMATS], help="format of the results (auto: the source's)")
    add("--quality", type=percentage, metavar="Q", help="JPEG, WebP, AVIF: 1 to 100 (near the source's, else 95)")
    add("--strip-metadata", action="store_true", help="leave out EXIF, GPS, XMP, IPTC, ICC profile and resolution")
    add("--max-pixels", type=count, default=MAX_PIXELS, metavar="N", help=f"refuse larger pictures ({MAX_PIXELS})")
    add("--weights", type=Path, metavar="FILE", help="other weights than those that come with pic-uie")
    add("--report", type=Path, metavar="FILE", help="write one line of JSON per file")
    add("--dry-run", action="store_true", help="print what would be done, and do nothing")
    loudness = parser.add_mutually_exclusive_group()
    loudness.add_argument("-q", "--quiet", action="store_true", help="errors only")
    loudness.add_argument("-v", "--verbose", action="store_true", help="one line per file")


def run(arguments: argparse.Namespace) -> int:
    """Enhances what was named."""
    from pic_uie.cli.display import say

    if "-" in arguments.sources or arguments.output == "-":
        from pic_uie.cli.pipe import enhance_stream

        return enhance_stream(arguments)
    found, planned = _plan(arguments)
    if not arguments.quiet:
        _tell_ignored(found, planned, arguments.verbose)
    if not planned.jobs:
        say(_nothing_found(arguments))
        return exit_codes.NOTHING_MATCHED
    if arguments.dry_run:
        return _print_plan(planned.jobs, arguments.overwrite)
    return _enhance(planned.jobs, arguments)


def _plan(arguments: argparse.Namespace) -> tuple[Found, Plan]:
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
    refuse_report_over_pictures(arguments.report, planned.jobs)
    return found, planned


def _enhance(jobs: Sequence[Job], arguments: argparse.Namespace) -> int:
    from pic_uie.batch.ledger import Ledger, Outcome
    from pic_uie.cli.display import say

    started = time.monotonic()
    pending: list[Job] = []
    with Ledger(arguments.report) as ledger:
        for job in jobs:
            if is_taken(job.output) and not arguments.overwrite:
                ledger.add(Outcome(str(job.source), str(job.output), "skipped"))
            else:
                pending.append(job)
        code = _work(pending, ledger, arguments) if pending else exit_codes.OK
    if not arguments.quiet or code != exit_codes.OK:
        say(_summary(ledger, len(jobs), time.monotonic() - started, code))
    if code == exit_codes.OK and ledger.failures:
        return exit_codes.FAILED
    return code


def _work(pending: Sequence[Job], ledger: Ledger, arguments: argparse.Namespace) -> int:
    """Returns OK at the end of the list, whatever failed, and another code if the run had to stop."""
    import threading
    from contextlib import closing

    from pic_uie.batch import workers
    from pic_uie.batch.process import process
    from pic_uie.cli import display, engine
    from pic_uie.cli.signals import stop_on_signals
    from pic_uie.enhancer import default_threads
    from pic_uie.files import remove_stale_parts
    from pic_uie.images import vips

    vips.library()  # if it is missing, that is told once and not for every picture
    processors = default_threads()
    at_a_time = min(arguments.jobs or processors, len(pending))
    enhancer, software = engine.load(arguments.weights, arguments.threads or max(1, processors // at_a_time))
    settings = engine.settings(arguments, software)
    for folder in {job.output.parent for job in pending}:
        remove_stale_parts(folder)

    def one(job: Job, reserve: workers.Reserve, check: Callable[[], None]) -> Outcome:
        return process(job, enhancer, settings, reserve=reserve, check=check)

    stop, out_of_space = threading.Event(), False
    with (
        stop_on_signals(stop) as interrupted,
        display.make(len(pending), quiet=arguments.quiet, verbose=arguments.verbose) as progress,
        closing(workers.run(pending, one, workers=at_a_time, stop=stop)) as outcomes,
    ):
        for outcome in outcomes:
            ledger.add(outcome)
            progress.advance(outcome)
            if ledger.disk_full_in_a_row >= _DISK_FULL_LIMIT:
                out_of_space = True
                stop.set()
    if interrupted.is_set():
        return exit_codes.INTERRUPTED
    return exit_codes.ENVIRONMENT if out_of_space or ledger.all_failed_for_space else exit_codes.OK


def _summary(ledger: Ledger, total: int, seconds: float, code: int) -> str:
    counts = ledger.counts
    parts = [f"{counts['done']} enhanced"]
    if counts["skipped"]:
        parts.append(f"{counts['skipped']} skipped because the result exists (--overwrite makes it again)")
    if counts["failed"]:
        parts.append(f"{counts['failed']} failed")
    text = f"{', '.join(parts)}, {seconds:.1f} s"
    left = total - ledger.total
    if code == exit_codes.INTERRUPTED:
        return f"interrupted: {text}; {left} left, run the same command again to continue"
    if code == exit_codes.ENVIRONMENT:
        return f"the disk is full: {text}; {left} not tried. Free some space and run the same command again to continue"
    return text


def _print_plan(jobs: Sequence[Job], overwrite: bool) -> int:
    from pic_uie.batch.ledger import shown

    for job in jobs:
        exists = " (exists, would be skipped)" if is_taken(job.output) and not overwrite else ""
        print(f"{shown(job.source)} -> {shown(job.output)}{exists}")
    return exit_codes.OK


def _tell_ignored(found: Found, planned: Plan, verbose: bool) -> None:
    from pic_uie.batch.ledger import shown
    from pic_uie.cli.display import say

    for files, what in ((found.ignored, "no pictures"), (planned.earlier_results, "results of an earlier run")):
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


def refuse_report_over_pictures(report: Path | None, jobs: Sequence[Job]) -> None:
    """Raises ConfigError for a report with the name of a picture, whether that exists yet or not."""
    if report is None:
        return
    taken = {location(path) for job in jobs for path in (job.source, job.output) if str(path) != "-"}
    target = Path(os.path.realpath(report))  # of a link, which may still lead nowhere
    if taken & {location(report), location(target)} or by_suffix(report) or by_suffix(target):
        raise ConfigError(f"--report {report} is the name of a picture; choose another, such as run.jsonl")
