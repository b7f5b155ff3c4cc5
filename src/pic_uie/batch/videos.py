"""One video of a run: errors become outcomes, as for pictures."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from pic_uie.batch import results
from pic_uie.batch.ledger import Outcome
from pic_uie.batch.mapping import DiskJob
from pic_uie.batch.process import Interrupted, failed
from pic_uie.enhancer import Enhancer
from pic_uie.errors import VideoError
from pic_uie.files import make_folders, mode_like
from pic_uie.look import SUFFIX
from pic_uie.strengths import Strengths
from pic_uie.video.convert import Progress, VideoSettings, enhance_video, one_look
from pic_uie.video.pipeline import Treatment
from pic_uie.writing import DISK_FULL, DiskFullError, write_reason


def process_video(
    job: DiskJob,
    enhancer: Enhancer,
    settings: VideoSettings,
    *,
    check: Callable[[], None],
    progress: Progress,
    save_look: Strengths | None = None,
) -> Outcome:
    """Enhances one video; whatever goes wrong with it is reported in the outcome.

    Args:
        job: Which file, and where to.
        enhancer: The engine.
        settings: How.
        check: Called for every frame; raises `Interrupted` to give up.
        progress: Called with how far it is.
        save_look: Make one look for the video, apply it with these strengths, and write it beside the result.
    """
    outcome = Outcome(str(job.source), str(job.output))
    started = time.perf_counter()
    needed = _Needed(progress)
    try:
        outcome.bytes_in = job.source.stat().st_size if job.source.exists() else None
        make_folders(job.output.parent)
        look = None if save_look is None else one_look(job.source, enhancer, settings).scaled(**save_look.as_dict())
        place = job.output.with_name(job.output.stem + SUFFIX)
        if look is not None:
            settings = replace(settings, treatment=Treatment.of_look(look))
            if place.exists() and not settings.overwrite:
                raise VideoError(f"its look {place} exists already; --overwrite replaces it")
        report = enhance_video(
            job.source, job.output, enhancer, settings, check=check, progress=needed, mode=mode_like(job.source)
        )
        outcome.width, outcome.height, outcome.bytes_out = report.width, report.height, report.size
        outcome.notes = report.notes
        if job.replaces:
            outcome.notes += ("an unfinished result was in its place",)
        if look is not None:
            results.write(place, look.to_json().encode(), settings.overwrite)
    except Interrupted:
        raise
    except OSError as error:
        if error.errno in DISK_FULL:
            failed(outcome, DiskFullError(f"cannot write {job.output}: the disk is full; {needed.words()}"))
        else:
            failed(outcome, VideoError(f"cannot write {job.output}: {write_reason(error)}"))
    except Exception as error:  # one video must not end a run
        failed(outcome, error)
    outcome.milliseconds["enhance"] = round(1000 * (time.perf_counter() - started), 3)
    return outcome


class _Needed:
    """Watches the progress to say how much space a result takes."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._last: tuple[int, int | None, int] = (0, None, 0)

    def __call__(self, frames: int, total: int | None, size: int) -> None:
        self._last = frames, total, size
        self._progress(frames, total, size)

    def words(self) -> str:
        frames, total, size = self._last
        if not frames or not total:
            return "free some and run the same command again to continue"
        rest = 2 * size / frames * max(total, frames) - size  # segments, and the result made of them
        megabytes = max(1, round(rest / 1e6))
        return f"about {megabytes} MB more are needed; free them and run the same command again to continue"
