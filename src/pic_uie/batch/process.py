"""One picture from file to file: read, decode, enhance, encode, write, each timed; errors become outcomes."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from pic_uie import images
from pic_uie.batch.ledger import Outcome
from pic_uie.batch.mapping import Job
from pic_uie.errors import EnvironmentMissingError, ImageError, PicUieError
from pic_uie.files import atomic_write
from pic_uie.images import Picture, formats
from pic_uie.images.files import read_bytes

_FULL = (errno.ENOSPC, errno.EDQUOT)
_WRITE_REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "your disk quota is used up",
    errno.EFBIG: "the file is larger than the file system allows",
    errno.EACCES: "no permission to write there",
    errno.EPERM: "no permission to write there",
    errno.EROFS: "the file system is read-only",
    errno.ENOTDIR: "a part of the path is a file, not a folder",
    errno.EEXIST: "something else is in its place",
    errno.EISDIR: "a folder is in its place",
    errno.ENAMETOOLONG: "the name is too long",
}


class DiskFullError(EnvironmentMissingError):
    """No space is left for a result."""


class Interrupted(Exception):  # noqa: N818 (a request, not an error)
    """The run was asked to stop between two stages of a picture."""


class ArrayEnhancer(Protocol):
    """What is asked of the engine."""

    def enhance(self, img: Any, *, strength: float = 1.0, out: Any = None) -> Any:
        """Returns the enhanced array, written to `out` (which may be `img`)."""


@dataclass(frozen=True)
class Settings:
    """How every picture of a run is treated.

    Attributes:
        strength: How much of the correction is applied.
        quality: JPEG, WebP and AVIF quality; None: near the source's.
        keep_metadata: Whether metadata goes into the result.
        overwrite: Whether an existing result is replaced.
        max_pixels: The limit for a picture.
        software: The software tag.
    """

    strength: float = 1.0
    quality: int | None = None
    keep_metadata: bool = True
    overwrite: bool = False
    max_pixels: int = images.MAX_PIXELS
    software: str | None = None


def process(
    job: Job,
    enhancer: ArrayEnhancer,
    settings: Settings,
    *,
    reserve: Callable[[int], AbstractContextManager[None]] = lambda pixels: nullcontext(),
    check: Callable[[], None] = lambda: None,
) -> Outcome:
    """Enhances one file; whatever goes wrong with it is told in the outcome.

    Args:
        job: Which file, and where to.
        enhancer: The engine.
        settings: How.
        reserve: Waits until so many pixels may be in memory.
        check: Called between stages; raises `Interrupted` to give up.
    """
    outcome = Outcome(str(job.source), str(job.output))
    try:
        with _timed(outcome, "read"):
            data = read_bytes(job.source, settings.max_pixels)
        outcome.bytes_in = len(data)
        encoded = transform(data, enhancer, settings, outcome, job.file_format, reserve=reserve, check=check)
        written = formats.sniff(encoded[: formats.HEAD_BYTES])
        if written is not None and written != formats.by_suffix(job.output):
            outcome.notes += (f"its name says otherwise, but it is a {written.title}",)
        check()
        with _timed(outcome, "write"):
            write_result(job.output, encoded, settings.overwrite)
        outcome.bytes_out = len(encoded)
    except Interrupted:
        raise
    except Exception as error:  # one picture must not end a run, whatever the engine or a codec makes of it
        failed(outcome, error)
    return outcome


def failed(outcome: Outcome, error: Exception) -> PicUieError:
    """Enters an error into an outcome; returns it in words for the user."""
    if isinstance(error, PicUieError):
        told = error
    elif isinstance(error, MemoryError):
        told = ImageError("not enough memory for this picture; try --jobs 1")
    else:
        told = ImageError(f"internal error, please report it: {type(error).__name__}: {error}")
    outcome.status, outcome.error, outcome.disk_full = "failed", str(told), isinstance(told, DiskFullError)
    return told


def transform(
    data: bytes,
    enhancer: ArrayEnhancer,
    settings: Settings,
    outcome: Outcome,
    file_format: str | None = None,
    *,
    reserve: Callable[[int], AbstractContextManager[None]] = lambda pixels: nullcontext(),
    check: Callable[[], None] = lambda: None,
) -> bytes:
    """Enhances the bytes of one file into the bytes of another, noting times and sizes in `outcome`."""
    with _timed(outcome, "decode"):
        undecoded = images.inspect(data, max_pixels=settings.max_pixels)
    outcome.width, outcome.height = undecoded.width, undecoded.height
    with reserve(undecoded.width * undecoded.height):
        check()
        with _timed(outcome, "decode"):
            picture = undecoded.decode()
        del undecoded
        outcome.width, outcome.height = picture.width, picture.height
        outcome.notes = picture.notes + images.losses(picture, file_format, keep_metadata=settings.keep_metadata)
        check()
        with _timed(outcome, "enhance"):
            picture = enhanced(picture, enhancer, settings.strength)
        check()
        with _timed(outcome, "encode"):
            return images.encode(
                picture,
                file_format=file_format,
                quality=settings.quality,
                keep_metadata=settings.keep_metadata,
                software=settings.software,
            )


def enhanced(picture: Picture, enhancer: ArrayEnhancer, strength: float) -> Picture:
    """Enhances the colours of a picture, in place; alpha stays as it is."""
    picture = images.with_remainder(picture, 1.0 - strength)
    pixels = picture.pixels
    try:
        if pixels.shape[2] == 2:  # grey with alpha, which the engine does not know
            pixels[:, :, :1] = enhancer.enhance(np.ascontiguousarray(pixels[:, :, :1]), strength=strength)
            return picture
        return picture.with_pixels(enhancer.enhance(pixels, strength=strength, out=pixels))
    except ValueError as error:
        raise ImageError(f"cannot be enhanced: {error}") from error


def write_result(path: Path, data: bytes, overwrite: bool) -> None:
    """Writes a result, and its folder if need be.

    Raises:
        DiskFullError: No space is left.
        ImageError: The folder cannot be written, or something that is no file is in the way.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if path.exists() and not path.is_file():  # a pipe or a device
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
        atomic_write(path, data, overwrite=overwrite)
    except OSError as error:
        reason = _WRITE_REASONS.get(error.errno or 0) or error.strerror or str(error)
        kind = DiskFullError if error.errno in _FULL else ImageError
        raise kind(f"cannot write {path}: {reason}") from error


@contextmanager
def _timed(outcome: Outcome, stage: str) -> Iterator[None]:
    start = time.perf_counter()
    try:
        yield
    finally:
        spent = outcome.milliseconds.get(stage, 0.0) + 1000 * (time.perf_counter() - start)
        outcome.milliseconds[stage] = round(spent, 3)
