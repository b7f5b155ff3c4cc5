"""`pic-uie enhance - -o -`: one picture through a pipe."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from pic_uie.batch.ledger import Ledger, Outcome
from pic_uie.batch.mapping import Job
from pic_uie.batch.process import transform, write_result
from pic_uie.batch.sources import is_folder
from pic_uie.cli import engine, exit_codes
from pic_uie.cli.display import say
from pic_uie.enhancer import default_threads
from pic_uie.errors import ConfigError, ImageError, PicUieError
from pic_uie.images.files import read_bytes, size_limit
from pic_uie.images.formats import by_suffix


def enhance_stream(arguments: argparse.Namespace) -> int:
    """Enhances one picture from standard input, to standard output, or both."""
    job = _job(arguments)
    to_stdout = arguments.output == "-"
    if arguments.dry_run:
        print(f"{job.source} -> {job.output}")
        return exit_codes.OK
    if not to_stdout and os.path.lexists(job.output) and not arguments.overwrite:
        say(f"{job.output} exists already; --overwrite makes it again")
        return exit_codes.OK
    with Ledger(arguments.report) as ledger:
        outcome = Outcome(str(job.source), str(job.output))
        try:
            data = _read(job.source, arguments.max_pixels)
            outcome.bytes_in = len(data)
            enhancer, software = engine.load(arguments.weights, arguments.threads or default_threads())
            settings = engine.settings(arguments, software)
            encoded = transform(data, enhancer, settings, outcome, job.file_format)
            _write(job.output, encoded, to_stdout, arguments.overwrite)
            outcome.bytes_out = len(encoded)
        except PicUieError as error:
            outcome.status, outcome.error = "failed", str(error)
            raise
        finally:
            ledger.add(outcome)
    return exit_codes.OK


def _job(arguments: argparse.Namespace) -> Job:
    if len(arguments.sources) != 1:
        raise ConfigError("- stands for one picture: name no other source with it, and one source with -o -")
    source, output = arguments.sources[0], arguments.output
    if output is None or (source == "-" and (output.endswith("/") or is_folder(Path(output)))):
        raise ConfigError("a picture from standard input has no name: say where it goes with -o FILE or -o -")
    if output == "-" and sys.stdout.isatty() and not arguments.dry_run:
        raise ConfigError("-o - would write a picture to the terminal: redirect it, for example with > reef.jpg")
    named = None if output == "-" else by_suffix(output)
    file_format = arguments.format if arguments.format != "auto" else (named.name if named else None)
    return Job(Path(source), Path(output), file_format)


def _read(source: Path, max_pixels: int) -> bytes:
    if str(source) != "-":
        try:
            return read_bytes(source, max_pixels)
        except ImageError as error:
            raise ImageError(f"{source}: {error}") from error
    limit = size_limit(max_pixels)
    data = sys.stdin.buffer.read(limit + 1)
    if len(data) > limit:
        raise ImageError(f"standard input gives more than {limit / 1e6:.0f} MB; if you trust it, raise --max-pixels")
    return data


def _write(path: Path, data: bytes, to_stdout: bool, overwrite: bool) -> None:
    if not to_stdout:
        write_result(path, data, overwrite)
        return
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except OSError as error:  # a closed pipe, a full disk
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 (nothing more to flush at exit)
        raise ImageError(f"cannot write to standard output: {error.strerror}") from error
