"""Sources → outputs, settled before any work starts: nothing lands twice in one place, and never on a source."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TypeVar, cast

from pic_uie.batch.sources import Source, is_folder, location
from pic_uie.batch.stores import Place
from pic_uie.batch.urls import Url
from pic_uie.errors import ConfigError
from pic_uie.files import identity
from pic_uie.images.formats import FORMATS, by_suffix, result_of, sniff_file, titles, writable
from pic_uie.video import kinds
from pic_uie.video.kinds import is_video

DEFAULT_SUFFIX = "_enhanced"

PlaceT = TypeVar("PlaceT", bound=Place)


@dataclass(frozen=True)
class Job:
    """One picture to enhance.

    Attributes:
        source: The file to read.
        output: The file to write.
        file_format: Name of its format; None: the source's.
        replaces: Whether an unfinished result is in the output's place, which is replaced without being asked.
        size: Bytes of the source, where a listing said so.
        finished: Whether the result is there; None: the worker has to look.
        certain: Whether the source is a picture by its name, or was named; else the worker has to look.
        problem: Why it cannot be done at all.
    """

    source: Place
    output: Place
    file_format: str | None = None
    replaces: bool = False
    size: int | None = None
    finished: bool | None = False
    certain: bool = True
    problem: str | None = None


@dataclass(frozen=True)
class DiskJob(Job):
    """A picture from a disk to a disk."""

    source: Path
    output: Path


@dataclass(frozen=True)
class Plan:
    """All pictures of a run.

    Attributes:
        jobs: What to do.
        earlier_results: Sources that are results of a former run beside their own sources, and are left alone.
    """

    jobs: list[DiskJob]
    earlier_results: list[Path]


def output_folder(output: str | None, source_count: int, *, named_file: bool) -> Path | None:
    """Returns the folder that `-o` means; None where it means one file, or is not given.

    Args:
        output: The argument of `-o`.
        source_count: How many arguments name sources.
        named_file: Whether the only argument names a file, not a folder or glob.

    Raises:
        ConfigError: One file for several inputs, or a file of a format that cannot be written.
    """
    if output is None:
        return None
    if not output:
        raise ConfigError("-o is empty: name a folder or a file")
    path = Path(output)
    one_file = source_count == 1 and named_file
    if output.endswith(("/", os.sep)) or is_folder(path):
        return path
    if not writable(path) and kinds.by_suffix(path) is None:
        if one_file and path.suffix:
            raise ConfigError(
                f"-o {output} does not end like a picture or video that can be written "
                f"({titles()}, MP4, MOV, MKV, AVI, TS); "
                f"for a folder write -o {output}/"
            )
        return path
    if one_file:
        return None
    raise ConfigError(f"-o {output} names one file, but there may be several inputs; for a folder write -o {output}/")


def plan(
    sources: Sequence[Source],
    *,
    output: str | None = None,
    folder: Path | None = None,
    suffix: str = DEFAULT_SUFFIX,
    file_format: str | None = None,
) -> Plan:
    """Maps every source to its output.

    Args:
        sources: What to enhance.
        output: One output file, for one source.
        folder: The folder that mirrors the sources' tree; with neither, results lie beside their sources.
        suffix: What is put behind the name of a result beside its source.
        file_format: Name of the format of all results; None: each keeps its own.

    Raises:
        ConfigError: Two sources with one output, or an output that is a source.
    """
    earlier: list[Path] = []
    if folder is None and output is None:
        if not suffix or "/" in suffix or os.sep in suffix:
            raise ConfigError(f"--suffix must be a part of a file name, got {suffix!r}; to write elsewhere use -o")
        sources, earlier = _without_earlier_results(sources, suffix)
    jobs = [_job(source, output, folder, suffix, file_format) for source in sources]
    _refuse_collisions(jobs)
    _refuse_sources(jobs)
    return Plan(jobs, earlier)


def _job(source: Source, output: str | None, folder: Path | None, suffix: str, file_format: str | None) -> DiskJob:
    if output is not None and folder is None:
        _refuse_another_kind(source.path, output)
        return DiskJob(source.path, Path(output), format_of(output, file_format))
    if folder is not None:
        if source.relative.is_absolute() or ".." in source.relative.parts:
            raise ConfigError(f"{source.path} would be written outside of {folder}; nothing was done")
        target = folder / source.relative
    else:
        target = source.path.with_name(f"{source.path.stem}{suffix}{source.path.suffix}")
    if is_video(source.path):
        return DiskJob(source.path, video_name(source.path, target))
    kind = by_suffix(target)
    if file_format is None and kind is not None and kind.save is None:
        # a format that is only read, unless the file is something else than its name says
        return DiskJob(source.path, with_format(target, result_of(sniff_file(source.path) or kind).name))
    return DiskJob(source.path, with_format(target, file_format), file_format)


def _refuse_another_kind(source: Path, output: str) -> None:
    """Raises ConfigError where `-o` is the name of something else than the result will be: a video, its container."""
    name = Path(output)
    if not is_video(source):
        if kinds.by_suffix(name) is not None:
            found = sniff_file(source)
            better = name.with_suffix(result_of(found).suffixes[0] if found else ".jpg")
            raise ConfigError(f"-o {output} is the name of a video, but {source} is none; name it {better}")
        return
    kind = kinds.sniff_file(source)
    if kind is None:  # reading it will say why
        return
    written = kinds.result_of(kind)
    if kinds.belies(name, written):
        why = "" if written == kind else f"{kind.title} holds no H.264 or HEVC: "
        better = name.with_suffix(written.suffixes[0])
        raise ConfigError(f"-o {output}: {why}the result of {source} is a video ({written.title}); name it {better}")


def video_name(source: Path, target: Path) -> Path:
    """Gives the result of a video the suffix of its container, where the source's own cannot be written."""
    named = kinds.by_suffix(target)
    if named is None or kinds.result_of(named) is named:
        return target
    return target.with_suffix(kinds.result_of(kinds.sniff_file(source) or named).suffixes[0])


def with_format(target: PlaceT, file_format: str | None) -> PlaceT:
    """Gives a result the suffix of its format, unless it has it; without one, of a format that can be written."""
    name = target.file_name if isinstance(target, Url) else target.name
    known = by_suffix(name)
    if file_format is None and known is not None:
        file_format = result_of(known).name
    if file_format is None or PurePath(name).suffix.lower() in FORMATS[file_format].suffixes:
        return target
    stem = PurePath(name).stem if known is not None else name  # "dive.day1" has no suffix of a picture: it stays
    return cast("PlaceT", target.with_name(stem + FORMATS[file_format].suffixes[0]))


def format_of(output: str, asked: str | None) -> str | None:
    """Returns the format of a file named by `-o`: what was asked for, or else what its suffix says."""
    named = by_suffix(output)
    return asked or (named.name if named and writable(output) else None)


def _without_earlier_results(sources: Sequence[Source], suffix: str) -> tuple[list[Source], list[Path]]:
    """Leaves out `a_enhanced.jpg` where `a.jpg` is a source too: running again must not enhance results."""
    stems = {(source.path.parent, source.path.stem) for source in sources}
    kept: list[Source] = []
    earlier: list[Path] = []
    for source in sources:
        stem = source.path.stem
        if stem.endswith(suffix) and (source.path.parent, stem.removesuffix(suffix)) in stems:
            earlier.append(source.path)
        else:
            kept.append(source)
    return kept, earlier


def _refuse_collisions(jobs: Sequence[DiskJob]) -> None:
    owner: dict[str, Path] = {}
    for job in jobs:
        key = location(job.output)
        if key in owner:
            raise ConfigError(
                f"{owner[key]} and {job.source} would both be written to {job.output}; nothing was done. "
                "Enhance them in two runs to two folders; to keep the tree of several folders, name the one that holds "
                "them all, with --recursive"
            )
        owner[key] = job.source


def _refuse_sources(jobs: Sequence[DiskJob]) -> None:
    sources = {location(job.source) for job in jobs}
    files = {found for job in jobs if (found := identity(job.source)) is not None}
    for job in jobs:
        if location(job.output) in sources or identity(job.output) in files:
            raise ConfigError(
                f"{job.source} would be written to {job.output}, which is a source; nothing was done. "
                "A source is never overwritten: choose another -o or --suffix"
            )
