"""Looks beside results: what is in their place already, and writing them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path, PurePath

from pic_uie.batch import stores
from pic_uie.batch.mapping import DiskJob, Job
from pic_uie.batch.sources import location
from pic_uie.batch.stores import Place
from pic_uie.errors import ConfigError, ImageError, LookError
from pic_uie.look import MAX_NAME, SUFFIX, Look, Source
from pic_uie.strengths import Strengths

_HASHED_BYTES = 1 << 20


def look_place(result: Place) -> Place:
    """Returns the place of the look of a result: reef_enhanced.look.json for reef_enhanced.jpg."""
    return result.with_name(PurePath(_name(result)).stem + SUFFIX)


def refuse_taken_places(jobs: Iterable[DiskJob], strengths: Strengths, *, overwrite: bool) -> None:
    """Raises ConfigError for looks that would replace one another, or a file that is there without its result.

    What an interrupted run left is no hindrance: the look of the same source with the same strengths.
    """
    owner: dict[str, Path] = {}
    for job in jobs:
        place = job.output.with_name(job.output.stem + SUFFIX)
        other = owner.setdefault(location(place), job.output)
        if other != job.output:
            raise ConfigError(
                f"the looks of {other} and {job.output} would both be written to {place}; nothing was done. "
                "Enhance them in two runs to two folders"
            )
        is_taken = not overwrite and os.path.lexists(place) and stores.state(job.output) == "absent"
        if is_taken and not _is_left_over(place, job.source, strengths):
            raise ConfigError(
                f"{place} exists already, but its result {job.output} does not; nothing was done. "
                "--overwrite replaces it; to keep it, rename it or leave out --save-look"
            )


def missing(job: Job) -> tuple[str, ...]:
    """Says that a result which is there already has no look, if so."""
    if stores.exists(look_place(job.output)):
        return ()
    return ("its look was not written; --overwrite makes both",)


def write(look: Look, job: Job, data: bytes, overwrite: bool, mode: int) -> None:
    """Writes the look of a picture, whose file is `data`, beside its result.

    Raises:
        ImageError: There is another one already, or it cannot be written.
    """
    place = look_place(job.output)
    source = Source(_name(job.source)[:MAX_NAME], hashlib.sha256(data).hexdigest())
    text = replace(look, source=source).to_json().encode()
    if isinstance(place, Path) and place.is_file() and not overwrite:
        if place.read_bytes() == text:  # left by a run that was interrupted
            return
        raise ImageError(f"its look {place} exists already; rename it, or --overwrite replaces it")
    stores.put(place, text, overwrite, mode)


def _is_left_over(place: Path, source: Path, strengths: Strengths) -> bool:
    try:
        look = Look.load(place)
        if look.source.name != source.name[:MAX_NAME] or look.strengths != strengths:
            return False
        return look.source.sha256 == _sha256(source)
    except (LookError, OSError):
        return False


def _sha256(path: Path) -> str:
    total = hashlib.sha256()
    with open(path, "rb") as file:
        while part := file.read(_HASHED_BYTES):
            total.update(part)
    return total.hexdigest()


def _name(place: Place) -> str:
    return place.name if isinstance(place, Path) else place.file_name
