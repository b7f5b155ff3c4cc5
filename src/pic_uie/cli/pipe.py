"""`pic-uie enhance - -o -`: one picture through a pipe."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from pic_uie.batch import results
from pic_uie.batch.ledger import Ledger, Outcome, shown
from pic_uie.batch.mapping import DiskJob, format_of
from pic_uie.batch.process import failed, transform
from pic_uie.batch.sources import is_folder
from pic_uie.cli import engine, enhance_video, exit_codes, looks
from pic_uie.cli.enhance import refuse_report_over_pictures
from pic_uie.cli.streams import say
from pic_uie.enhancer import default_threads
from pic_uie.errors import ConfigError, ImageError
from pic_uie.files import identity
from pic_uie.images.files import read_bytes, size_limit
from pic_uie.images.formats import titles, writable

_STANDARD_INPUT = 0
_CHUNK_BYTES = 1 << 20


def enhance_stream(arguments: argparse.Namespace) -> int:
    """Enhances one picture from standard input, to standard output, or both."""
    job = _job(arguments)
    enhance_video.tell_idle(arguments)
    to_stdout = arguments.output == "-"
    if arguments.dry_run:
        print(f"{job.source} -> {job.output}")
        return exit_codes.OK
    found = "absent" if to_stdout or arguments.overwrite else results.state(job.output)
    if found in ("whole", "other"):
        say(f"{job.output} exists already; --overwrite replaces it")
        return exit_codes.OK
    with Ledger(arguments.report) as ledger:
        outcome = Outcome(str(job.source), str(job.output))
        failure = None
        try:
            data = _read(job.source, arguments.max_pixels)
            outcome.bytes_in = len(data)
            enhancer, software = engine.load(
                arguments.weights, arguments.threads or default_threads(), arguments.instruction_set
            )
            settings = engine.settings(arguments, software, looks.given(arguments, enhancer))
            encoded, _ = transform(data, enhancer, settings, outcome, job.file_format)
            _write(job.output, encoded, to_stdout, arguments.overwrite or found == "unfinished")
            outcome.bytes_out = len(encoded)
        except Exception as error:
            failure = failed(outcome, error)
        ledger.add(outcome)
    if failure is not None:
        raise failure
    if outcome.notes:
        say(f"{shown(outcome.input)}: {'; '.join(outcome.notes)}")
    return exit_codes.OK


def _job(arguments: argparse.Namespace) -> DiskJob:
    if len(arguments.sources) != 1:
        raise ConfigError("- stands for one picture: name no other source with it, and one source with -o -")
    if arguments.watch or arguments.preview or arguments.html:
        raise ConfigError("--watch, --preview and --html are for files and folders, not for standard input and output")
    source, output = arguments.sources[0], arguments.output
    if output is None or (source == "-" and (output.endswith("/") or is_folder(Path(output)))):
        raise ConfigError("a picture from standard input has no name: say where it goes with -o FILE or -o -")
    if output != "-" and not writable(output):
        raise ConfigError(f"-o {output} does not end like a picture that can be written ({titles()})")
    if output == "-" and sys.stdout.isatty() and not arguments.dry_run:
        raise ConfigError("-o - would write a picture to the terminal: redirect it, for example with > better.jpg")
    if output == "-" and getattr(sys.stdout, "name", None) == os.devnull:  # see main: the caller closed it
        raise ConfigError("-o - needs a standard output, which is closed")
    asked = None if arguments.format == "auto" else arguments.format
    job = DiskJob(Path(source), Path(output), asked if output == "-" else format_of(output, asked))
    refuse_report_over_pictures(arguments.report, [job])
    existing = identity(job.output)
    if existing is not None and existing == identity(_STANDARD_INPUT):
        raise ConfigError(f"-o {output} is the source itself, which is never overwritten: choose another name")
    return job


def _read(source: Path, max_pixels: int) -> bytes:
    if str(source) != "-":
        try:
            return read_bytes(source, max_pixels)
        except ImageError as error:
            raise ImageError(f"{source}: {error}") from error
    if sys.stdin is None:
        raise ImageError("standard input is closed")
    chunks: list[bytes] = []
    limit = left = size_limit(max_pixels)
    while left >= 0 and (chunk := sys.stdin.buffer.read(_CHUNK_BYTES)):
        chunks.append(chunk)
        left -= len(chunk)
    if left < 0:
        raise ImageError(f"standard input gives more than {limit / 1e6:.0f} MB; if you trust it, raise --max-pixels")
    return b"".join(chunks)


def _write(path: Path, data: bytes, to_stdout: bool, overwrite: bool) -> None:
    if not to_stdout:
        results.write(path, data, overwrite)
        return
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except OSError as error:  # a closed pipe, a full disk
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 (nothing more to flush at exit)
        raise ImageError(f"cannot write to standard output: {error.strerror}") from error
