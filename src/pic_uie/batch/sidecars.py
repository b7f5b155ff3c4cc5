"""XMP sidecars: what a photo manager wrote beside a picture goes beside its result."""

from __future__ import annotations

from pathlib import Path

from pic_uie.batch.mapping import Job
from pic_uie.batch.sources import sidecar_names
from pic_uie.files import atomic_write, make_folders, mode_like, read_at_most
from pic_uie.images import xmp

_MAX_BYTES = 16 << 20  # as for XMP inside of a picture


def copy_sidecars(job: Job, overwrite: bool) -> tuple[str, ...]:
    """Copies the sidecars of a source from disk to disk, made upright as the result is; returns what was not copied."""
    notes: list[str] = []
    if not isinstance(job.source, Path) or not isinstance(job.output, Path):
        return ()
    for source, target in zip(sidecar_names(job.source), sidecar_names(job.output), strict=True):
        if not source.is_file():
            continue
        try:
            packet = xmp.upright(read_at_most(source, _MAX_BYTES))
            if _has(target, packet):  # copied for another picture of the same name, or by an earlier run
                continue
            if target.exists() and not overwrite:
                notes.append(f"its sidecar was not copied: {target.name} exists already")
                continue
            make_folders(target.parent)
            atomic_write(target, packet, overwrite=overwrite, mode=mode_like(source))
        except OSError as error:
            notes.append(f"its sidecar {source.name} was not copied: {error.strerror or error}")
    return tuple(notes)


def _has(target: Path, content: bytes) -> bool:
    return target.is_file() and target.stat().st_size == len(content) and target.read_bytes() == content
