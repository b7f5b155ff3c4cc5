"""Sources → outputs, settled before any work starts: nothing lands twice in one place, and never on a source."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pic_uie.batch.sources import Source, is_folder, location
from pic_uie.errors import ConfigError
from pic_uie.files import identity
from pic_uie.images.formats import FORMATS, by_suffix, titles

DEFAULT_SUFFIX = "_enhanced"


@dataclass(frozen=True)
class Job:
    """One picture to enhance.

    Attributes:
        source: The file to read.
        output: The file to write.
        file_format: Name of its format; None: the source's.
    """

    source: Path
    output: Path
    file_format: str | None = None


@dataclass(frozen=True)
class Plan:
    """All pictures of a run.

    Attributes:
        jobs: What to do.
        earlier_results: Sources that are results of a former run beside their own sources, and are left alone.
    """

    jobs: list[Job]
    earlier_results: list[Path]


def output_folder(output: str | None, source_count: int, *, named_file: bool) -> Path | None:
    """Tells whether `-o` means a folder, and which; None where it means one file, or is not given.

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
    if by_suffix(path) is None:
        if one_file and path.suffix:
            raise ConfigError(
                f"-o {output} does not end like a picture that can be written ({titles()}); "
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


def _job(source: Source, output: str | None, folder: Path | None, suffix: str, file_format: str | None) -> Job:
    if output is not None and folder is None:
        return Job(source.path, Path(output), format_of(output, file_format))
    if folder is not None:
        target = folder / source.relative
    else:
        target = source.path.with_name(f"{source.path.stem}{suffix}{source.path.suffix}")
    if file_format is not None and target.suffix.lower() not in FORMATS[file_format].suffixes:
        known = by_suffix(target) is not None
        stem = target.stem if known else target.name  # "dive.day1" has no suffix of a picture: nothing is cut off
        target = target.with_name(stem + FORMATS[file_format].suffixes[0])
    return Job(source.path, target, file_format)


def format_of(output: str, asked: str | None) -> str | None:
    """Returns the format of a file named by `-o`: what was asked for, or else what its suffix says."""
    named = by_suffix(output)
    return asked or (named.name if named else None)


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


def _refuse_collisions(jobs: Sequence[Job]) -> None:
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


def _refuse_sources(jobs: Sequence[Job]) -> None:
    sources = {location(job.source) for job in jobs}
    files = {found for job in jobs if (found := identity(job.source)) is not None}
    for job in jobs:
        if location(job.output) in sources or identity(job.output) in files:
            raise ConfigError(
                f"{job.source} would be written to {job.output}, which is a source; nothing was done. "
                "A source is never overwritten: choose another -o or --suffix"
            )
