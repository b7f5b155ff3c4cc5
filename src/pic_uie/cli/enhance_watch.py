"""`pic-uie enhance --watch`: enhances what appears in folders, until it is interrupted."""

from __future__ import annotations

import argparse
import os
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from pic_uie.batch import stores
from pic_uie.batch.ledger import Ledger
from pic_uie.batch.mapping import DiskJob
from pic_uie.cli import exit_codes
from pic_uie.cli.enhance import find_and_plan
from pic_uie.cli.enhance_run import Run, pending, summary
from pic_uie.cli.signals import stop_on_signals
from pic_uie.cli.streams import say
from pic_uie.errors import ConfigError

_LOOK_SECONDS = 1.0  # between two looks; a file that is the same at both is taken to be complete

_Signature = tuple[int, int] | None  # size and time of the last change


def watch(arguments: argparse.Namespace) -> int:
    """Enhances what is there and what appears; Ctrl-C ends it regularly.

    Raises:
        ConfigError: Options that make no sense with it.
    """
    if arguments.output is None or arguments.overwrite or arguments.dry_run:
        raise ConfigError("--watch needs -o FOLDER, and goes with neither --overwrite nor --dry-run")
    find_and_plan(arguments)  # what is wrong with the options is reported at once
    run, stop, started = Run(arguments, None), threading.Event(), time.monotonic()
    code = exit_codes.OK
    with Ledger(arguments.report) as ledger, stop_on_signals(stop) as interrupted:
        if not arguments.quiet:
            say("watching; Ctrl-C ends it")
        looks = _Looks()
        while not stop.is_set():
            _, planned = find_and_plan(arguments)
            jobs = list(pending(looks.complete(planned.jobs), ledger, overwrite=False, save_look=arguments.save_look))
            for folder in {job.output.parent for job in jobs}:
                stores.delete_parts(folder)
            if jobs and not run.enhance(jobs, len(jobs), ledger, stop) and not interrupted.is_set():
                code = exit_codes.ENVIRONMENT
            stop.wait(_LOOK_SECONDS)
    run.finish()
    if not arguments.quiet or code != exit_codes.OK:
        say(summary(ledger, ledger.total, time.monotonic() - started, code))
    return exit_codes.FAILED if code == exit_codes.OK and ledger.failures else code


class _Looks:
    """Remembers what was seen, so that a file is tried once it stopped growing, and once only until it changes."""

    def __init__(self) -> None:
        self._before: dict[Path, _Signature] = {}
        self._tried: dict[Path, _Signature] = {}

    def complete(self, jobs: Sequence[DiskJob]) -> Iterator[DiskJob]:
        """Yields the jobs whose source is as it was at the last look, and was not tried like this."""
        now = {job.source: _signature(job.source) for job in jobs}
        for job in jobs:
            seen = now[job.source]
            if seen is not None and self._before.get(job.source) == seen and self._tried.get(job.source) != seen:
                self._tried[job.source] = seen
                yield job
        self._before = now


def _signature(path: Path) -> _Signature:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns
