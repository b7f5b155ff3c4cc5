"""What is finished of a video: whole segments in a folder beside the result, which outlive any interruption."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from pic_uie.errors import VideoError
from pic_uie.files import PART_SUFFIX, atomic_write, make_folders, try_lock

_MANIFEST, _LOCK = "manifest.json", "lock"
_LONGEST_NAME = 200


@dataclass(frozen=True)
class Finished:
    """A finished segment.

    Attributes:
        path: Its file.
        times: When its frames are shown, in ticks of the source.
        cuts: Which of its frames begin a scene.
        sums: Check sums of its last source frames, by which a later run knows that it decodes the same.
    """

    path: Path
    times: tuple[int, ...]
    cuts: tuple[int, ...]
    sums: tuple[int, ...]


class Parts:
    """The folder of segments of one result; used as a context, in which nobody else may write to it.

    Args:
        output: The result.
        fingerprint: Everything that the segments depend on; those of another one are thrown away.

    Raises:
        VideoError: Another run is making the same result.
        OSError: The folder cannot be made.
    """

    def __init__(self, output: Path, fingerprint: dict[str, object]) -> None:
        self.folder = folder_of(output)
        self._manifest = json.dumps(fingerprint, sort_keys=True, default=str)

    def __enter__(self) -> Parts:
        make_folders(self.folder)
        self._lock = open(self.folder / _LOCK, "a")
        if not try_lock(self._lock.fileno()):
            self._lock.close()
            raise VideoError(f"another run is making it (it holds {self.folder}); wait for it, or choose another -o")
        manifest = self.folder / _MANIFEST
        try:
            same = manifest.read_text(encoding="utf-8") == self._manifest
        except (OSError, ValueError):
            same = False
        if not same:
            for path in self.folder.iterdir():
                if path.name != _LOCK:
                    path.unlink()
            atomic_write(manifest, self._manifest.encode())
        for path in self.folder.glob("*.part"):
            path.unlink()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.close()
        if error is not None and (_is_final(error) or not self._has_segments()):
            self.remove()  # nothing to continue from: leave nothing behind

    def remove(self) -> None:
        """Removes the folder once it is of no more use."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, number: int) -> Path:
        """Returns the file of a segment."""
        return self.folder / f"{number:06d}.mp4"

    def note(self, number: int, times: list[int], cuts: list[int], sums: list[int]) -> None:
        """Writes down what belongs to a segment; comes before the segment itself has its name."""
        text = json.dumps({"times": times, "cuts": cuts, "sums": sums})
        atomic_write(self.path(number).with_suffix(".json"), text.encode())

    def finished(self) -> list[Finished]:
        """Returns the whole segments from the first on; what lies behind a gap is of no use."""
        found: list[Finished] = []
        while (path := self.path(len(found))).is_file():
            try:
                values = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
                segment = Finished(path, *(tuple(map(int, values[name])) for name in ("times", "cuts", "sums")))
            except (OSError, ValueError, KeyError, TypeError):
                break
            found.append(segment)
        return found

    def _has_segments(self) -> bool:
        return self.path(0).is_file()


def _is_final(error: BaseException) -> bool:
    """Returns whether the same run would fail again: a fault of the source, unless it could not be read just now."""
    return isinstance(error, VideoError) and not isinstance(error.__cause__, OSError)


def remove_leftovers(output: Path) -> None:
    """Removes the parts of a finished result, which a run leaves that is killed after its very last step."""
    folder = folder_of(output)
    try:
        with open(folder / _LOCK, "a") as lock:
            if try_lock(lock.fileno()):
                shutil.rmtree(folder, ignore_errors=True)
    except OSError:  # there are none
        return


def folder_of(output: Path) -> Path:
    """Returns the folder for the parts of a result: hidden, so that no run takes segments for sources."""
    name = output.name
    if len(os.fsencode(name)) > _LONGEST_NAME:
        name = hashlib.blake2s(os.fsencode(name), digest_size=8).hexdigest()
    return output.with_name(f".{name}{PART_SUFFIX}")
