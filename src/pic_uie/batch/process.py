"""One picture from file to file: read, decode, enhance, encode, write, each timed; errors become outcomes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from pic_uie import images
from pic_uie.batch import preview, saved_looks, stores
from pic_uie.batch.ledger import Outcome
from pic_uie.batch.mapping import Job
from pic_uie.batch.results import State
from pic_uie.batch.sidecars import copy_sidecars
from pic_uie.errors import ImageError, PicUieError
from pic_uie.files import DEFAULT_MODE, mode_like
from pic_uie.images import Picture, formats
from pic_uie.look import Look
from pic_uie.strengths import Strengths
from pic_uie.writing import UnwritableError


class Interrupted(Exception):  # noqa: N818 (a request, not an error)
    """The run was asked to stop between two stages of a picture."""


class ArrayEnhancer(Protocol):
    """What is asked of the engine."""

    def enhance_with_look(self, img: Any, strengths: Strengths, *, out: Any = None) -> tuple[Any, Look]:
        """Returns the enhanced array, written to `out` (which may be `img`), and its look."""

    def apply(self, img: Any, look: Look, *, out: Any = None) -> Any:
        """Returns the array with a look, written to `out`."""


@dataclass(frozen=True)
class Settings:
    """How every picture of a run is treated.

    Attributes:
        strengths: How much of the corrections is applied.
        look: What to apply instead of each picture's own corrections; it has its strengths.
        save_look: Whether the look of a picture is written beside its result.
        quality: JPEG, WebP and AVIF quality; None: near the source's.
        keep_metadata: Whether metadata goes into the result.
        overwrite: Whether an existing result is replaced.
        max_pixels: The limit for a picture.
        tone_map: Whether the look of an HDR video is that of its SDR.
        salvage: Whether what can be decoded of a damaged picture is enough.
        sample_range: Which samples are black and white where a file does not use all of its bits.
        software: The software tag.
        resize: The longest side of the results; None: as large as the source. Nothing is enlarged.
        preview: Whether outcomes carry a small picture before and after.
    """

    strengths: Strengths = field(default_factory=Strengths)
    look: Look | None = None
    save_look: bool = False
    quality: int | None = None
    keep_metadata: bool = True
    overwrite: bool = False
    max_pixels: int = images.MAX_PIXELS
    tone_map: bool = False
    salvage: bool = False
    sample_range: images.SampleRange | None = None
    software: str | None = None
    resize: int | None = None
    preview: bool = False


def process(
    job: Job,
    enhancer: ArrayEnhancer,
    settings: Settings,
    *,
    reserve: Callable[[int], AbstractContextManager[None]] = lambda pixels: nullcontext(),
    check: Callable[[], None] = lambda: None,
) -> Outcome:
    """Enhances one file; whatever goes wrong with it is reported in the outcome.

    Args:
        job: Which file, and where to.
        enhancer: The engine.
        settings: How.
        reserve: Waits until so many pixels may be in memory.
        check: Called between stages; raises `Interrupted` to give up.
    """
    outcome = Outcome(str(job.source), str(job.output))
    try:
        check()
        if job.problem is not None:
            raise ImageError(job.problem)
        found: State = "whole" if job.finished else "absent"
        if job.finished is None and not settings.overwrite:
            found = stores.state(job.output)
        if found in ("whole", "other"):
            return already_there(job, found, settings.save_look)
        job = replace(job, replaces=job.replaces or found == "unfinished")
        if not job.certain and not _is_a_picture(job):
            outcome.status = "ignored"
            return outcome
        with _timed(outcome, "read"):
            data = stores.read(job.source, settings.max_pixels, job.size)
        outcome.bytes_in = len(data)
        encoded, look = transform(data, enhancer, settings, outcome, job.file_format, reserve=reserve, check=check)
        written = formats.sniff(encoded[: formats.HEAD_BYTES])
        if written is not None and written != formats.by_suffix(str(job.output)):
            outcome.notes += (f"its name says otherwise, but it is a {written.title}",)
        if job.replaces:
            outcome.notes += ("an unfinished result was in its place",)
        check()
        with _timed(outcome, "write"):
            overwrite = settings.overwrite or job.replaces
            if settings.keep_metadata:  # in front of the result, whose presence says that all is done
                outcome.notes += copy_sidecars(job, overwrite)
            mode = mode_like(job.source) if isinstance(job.source, Path) else DEFAULT_MODE
            if settings.save_look:
                saved_looks.write(look, job, data, overwrite, mode)
            stores.put(job.output, encoded, overwrite, mode)
        outcome.bytes_out = len(encoded)
        outcome.finished = round(time.time(), 3)
    except Interrupted:
        raise
    except Exception as error:  # one picture must not end a run, whatever the engine or a codec makes of it
        failed(outcome, error)
    return outcome


def already_there(job: Job, found: State, save_look: bool) -> Outcome:
    """Returns the outcome of a source whose result's place is taken; its look may be wanted and not be there."""
    outcome = Outcome(str(job.source), str(job.output), "skipped")
    if save_look and found == "whole":
        outcome.notes = saved_looks.missing(job)
    if found == "other":
        outcome.status, outcome.error = "failed", f"{job.output} exists and is not a picture; --overwrite replaces it"
    return outcome


def _is_a_picture(job: Job) -> bool:
    head = stores.head(job.source, formats.HEAD_BYTES)
    return head is not None and formats.sniff(head) is not None


def failed(outcome: Outcome, error: Exception) -> PicUieError:
    """Enters an error into an outcome; returns it in words for the user."""
    if isinstance(error, PicUieError):
        told = error
    elif isinstance(error, MemoryError):
        told = ImageError("not enough memory for this picture; try --jobs 1")
    else:
        told = ImageError(f"internal error, please report it: {type(error).__name__}: {error}")
    outcome.status, outcome.error, outcome.unwritable = "failed", str(told), isinstance(told, UnwritableError)
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
) -> tuple[bytes, Look]:
    """Enhances the bytes of one file into the bytes of another; returns them and the look.

    Times and sizes are noted in `outcome`.
    """
    with _timed(outcome, "decode"):
        undecoded = images.read_header(
            data, max_pixels=settings.max_pixels, salvage=settings.salvage, sample_range=settings.sample_range
        )
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
            if settings.resize is not None:
                picture = images.fitted(picture, settings.resize)
                outcome.width, outcome.height = picture.width, picture.height
            before = preview.thumbnail(picture) if settings.preview else None
            picture, look = enhanced(picture, enhancer, settings.strengths, settings.look)
            if before is not None:
                outcome.preview = before, preview.thumbnail(picture)
        check()
        with _timed(outcome, "encode"):
            encoded = images.encode(
                picture,
                file_format=file_format,
                quality=settings.quality,
                keep_metadata=settings.keep_metadata,
                software=settings.software,
                provenance=provenance(look),
            )
    return encoded, look


def enhanced(
    picture: Picture, enhancer: ArrayEnhancer, strengths: Strengths, look: Look | None = None
) -> tuple[Picture, Look]:
    """Enhances the colours of a picture, in place; alpha stays as it is. Returns what was done as well.

    Args:
        picture: The picture.
        enhancer: The engine.
        strengths: How much of the picture's own corrections is applied.
        look: What is applied instead, with its own strengths.
    """
    applied = strengths if look is None else look.strengths
    picture = images.with_remainder(picture, 1.0 - applied.largest)
    pixels = picture.pixels
    # grey with alpha is not known to the engine
    colours = np.ascontiguousarray(pixels[:, :, :1]) if pixels.shape[2] == 2 else pixels
    try:
        if look is None:
            result, look = enhancer.enhance_with_look(colours, strengths, out=colours)
        else:
            result = enhancer.apply(colours, look, out=colours)
    except ValueError as error:
        raise ImageError(f"cannot be enhanced: {error}") from error
    if colours is not pixels:
        pixels[:, :, :1] = result
        return picture, look
    return picture.with_pixels(result), look


def provenance(look: Look) -> dict[str, str]:
    """Returns what a result's XMP says of how it was made."""
    return {
        "Look": look.sha256,
        "Weights": look.weights,
        "Software": look.software,
        "Strengths": ", ".join(f"{name} {value:g}" for name, value in look.strengths.as_dict().items()),
    }


@contextmanager
def _timed(outcome: Outcome, stage: str) -> Iterator[None]:
    start = time.perf_counter()
    try:
        yield
    finally:
        spent = outcome.milliseconds.get(stage, 0.0) + 1000 * (time.perf_counter() - start)
        outcome.milliseconds[stage] = round(spent, 3)
