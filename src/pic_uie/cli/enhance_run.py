"""A run of `pic-uie enhance` from the first picture to the summary."""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace

from pic_uie.batch import stores, workers
from pic_uie.batch.ledger import Ledger, Outcome
from pic_uie.batch.mapping import DiskJob, Job
from pic_uie.batch.preview import Preview
from pic_uie.batch.process import already_there, process
from pic_uie.cli import display, engine, enhance_video, exit_codes, looks
from pic_uie.cli.signals import stop_on_signals
from pic_uie.cli.streams import say
from pic_uie.enhancer import default_threads
from pic_uie.images import vips
from pic_uie.video.kinds import is_video
from pic_uie.video.parts import remove_leftovers

_UNWRITABLE_LIMIT = 8  # so many results in a row that cannot be written: the rest would only fail as well


class Run:
    """The engine and what the options ask of it, for one batch of pictures or several.

    Args:
        arguments: The options of the command.
        count: How many pictures there are; None: unknown.

    Raises:
        EnvironmentMissingError: libvips, the weights or Ray are missing.
        WeightsError: The weights cannot be used.
    """

    def __init__(self, arguments: argparse.Namespace, count: int | None) -> None:
        vips.library()  # if it is missing, that is reported once and not for every picture
        processors = default_threads()
        self.at_a_time = min(arguments.jobs or processors, count or processors)
        threads = arguments.threads or max(1, processors // self.at_a_time)
        self.enhancer, software = engine.load(arguments.weights, threads, arguments.instruction_set)
        self.settings = engine.settings(arguments, software, looks.given(arguments, self.enhancer))
        self.on_ray: bool = arguments.on == "ray"
        self.instruction_set: str | None = arguments.instruction_set
        self.videos = enhance_video.Videos(arguments)
        self.quiet, self.verbose = arguments.quiet, arguments.verbose
        files = ((arguments.preview, False), (arguments.html, True))
        self.previews = [Preview(path, page=page) for path, page in files if path is not None]

    def share_look(self, jobs: Sequence[DiskJob], stop: threading.Event) -> None:
        """Makes one look for all pictures of a plan, or finds that of an earlier run."""
        settings = looks.shared(
            jobs, self.enhancer, self.settings, workers=self.at_a_time + 1, stop=stop, quiet=self.quiet
        )
        self.settings = settings or self.settings  # none: `stop` is set, and nothing will be enhanced

    def enhance(
        self, jobs: Iterable[Job], total: int | None, ledger: Ledger, stop: threading.Event, *, in_stores: bool = False
    ) -> bool:
        """Enhances a batch; returns whether it came to its end with results that could be written."""
        progress = display.make(total, quiet=self.quiet, verbose=self.verbose)
        writable = True
        with progress, closing(self._outcomes(jobs, stop, in_stores)) as outcomes:
            for outcome in outcomes:
                ledger.add(outcome)
                progress.advance(outcome)
                for preview in self.previews:
                    preview.add(outcome)
                if ledger.unwritable_in_a_row >= _UNWRITABLE_LIMIT:
                    writable = False
                    break
        return writable and not ledger.all_unwritable

    def finish(self) -> None:
        """Writes the previews."""
        for preview in self.previews:
            if (message := preview.write()) and not self.quiet:
                say(message)

    def _outcomes(self, jobs: Iterable[Job], stop: threading.Event, in_stores: bool) -> Generator[Outcome, None, None]:
        if self.on_ray:
            from pic_uie.batch.on_ray import Engine, run

            return run(jobs, Engine(self.enhancer.weights, self.instruction_set), self.settings, stop=stop)
        waiting = workers.WAITING_FOR_STORE if in_stores else workers.WAITING_FOR_DISK
        return workers.run(jobs, self._one, workers=self.at_a_time, stop=stop, waiting=waiting)

    def _one(self, job: Job, reserve: workers.Reserve, check: Callable[[], None]) -> Outcome:
        if isinstance(job, DiskJob) and is_video(job.source):
            return self.videos.process(job, self.enhancer, self.settings, check)
        return process(job, self.enhancer, self.settings, reserve=reserve, check=check)


def enhance_all(jobs: Sequence[DiskJob], arguments: argparse.Namespace) -> int:
    """Enhances all pictures of a plan; returns the exit code."""
    with Ledger(arguments.report) as ledger:
        todo = list(pending(jobs, ledger, overwrite=arguments.overwrite, save_look=arguments.save_look))
        for folder in {job.output.parent for job in todo}:
            stores.delete_parts(folder)
        return _carry_out(todo, len(jobs), ledger, arguments, jobs)


def enhance_stream(jobs: Iterator[Job], arguments: argparse.Namespace) -> int:
    """Enhances the pictures of an archive while they are being listed; returns the exit code."""
    with Ledger(arguments.report) as ledger:
        return _carry_out(jobs, None, ledger, arguments)


def _carry_out(
    jobs: Sequence[Job] | Iterator[Job],
    total: int | None,
    ledger: Ledger,
    arguments: argparse.Namespace,
    whole_set: Sequence[DiskJob] = (),
) -> int:
    started, code, stop = time.monotonic(), exit_codes.OK, threading.Event()
    left = len(jobs) if isinstance(jobs, Sequence) else None
    if left != 0:
        run = Run(arguments, left)
        stores.interrupted.clear()
        with stop_on_signals(stop, stores.interrupted) as interrupted:
            if arguments.same_look:
                run.share_look(whole_set, stop)
            writable = run.enhance(jobs, left, ledger, stop, in_stores=total is None)
            run.finish()
        if interrupted.is_set():
            code = exit_codes.INTERRUPTED
        elif not writable:
            code = exit_codes.ENVIRONMENT
    if total is None and not ledger.counts:
        say("pic-uie: no pictures found")
        return exit_codes.NOTHING_MATCHED
    if not arguments.quiet or code != exit_codes.OK:
        say(summary(ledger, total, time.monotonic() - started, code))
    return exit_codes.FAILED if code == exit_codes.OK and ledger.failures else code


def pending(jobs: Iterable[DiskJob], ledger: Ledger, *, overwrite: bool, save_look: bool) -> Iterator[DiskJob]:
    """Yields what is to be done; what has a whole result goes into the ledger, as does what nothing may replace."""
    for job in jobs:
        found = "absent" if overwrite else stores.state(job.output)
        if found == "whole":
            remove_leftovers(job.output)
        if found in ("whole", "other"):
            outcome = already_there(job, found, save_look)
            if outcome.status == "failed" or outcome.notes:
                say(display.line(outcome))
            ledger.add(outcome)
        else:
            yield replace(job, replaces=found == "unfinished")


def summary(ledger: Ledger, total: int | None, seconds: float, code: int) -> str:
    """Returns one line on how a run ended."""
    counts = ledger.counts
    parts = [f"{counts['done']} enhanced"]
    if counts["skipped"]:
        parts.append(f"{counts['skipped']} skipped because the result exists (--overwrite replaces it)")
    if counts["ignored"]:
        parts.append(f"{counts['ignored']} ignored because they are not pictures")
    if counts["failed"]:
        parts.append(f"{counts['failed']} failed")
    text = f"{', '.join(parts)}, {seconds:.1f} s"
    left = "some" if total is None else str(total - ledger.total)
    if code == exit_codes.INTERRUPTED:
        return f"interrupted: {text}; {left} left, run the same command again to continue"
    if code == exit_codes.ENVIRONMENT:
        if "the disk is full" in (ledger.failures[-1].error or ""):
            why, remedy = "the disk is full", "Free some space"
        else:
            why, remedy = "results cannot be written", "Make the place for results writable"
        return f"{why}: {text}; {left} not tried. {remedy} and run the same command again to continue"
    return text
