"""What is finished of a video: whole segments in a folder beside the result, which outlive any interruption."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from pic_uie.errors import VideoError
from pic_uie.files import PART_SUFFIX, atomic_write, make_folders, try_lock

_MANIFEST, _LOCK = "manifest.json", "lock"
_LONGEST_NAME = 200
_UNFINISHED = re.compile(rf"(\d{{6}}|result)\.part|\.[0-9a-f]+-\d+-\d+{re.escape(PART_SUFFIX)}")
_OURS = re.compile(rf"{_UNFINISHED.pattern}|\d{{6}}\.(mp4|json)|{re.escape(_MANIFEST)}")
_CAUTIOUS = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


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
        VideoError: Another run is making the same result, or something else is in the folder's place.
        OSError: The folder cannot be made.
    """

    def __init__(self, output: Path, fingerprint: dict[str, object]) -> None:
        self.folder = folder_of(output)
        self._manifest = json.dumps(fingerprint, sort_keys=True, default=str)

    def __enter__(self) -> Parts:
        if self.folder.is_symlink():  # what it leads to is not ours to clear
            raise VideoError(f"{self.folder} is a link; remove it: parts of a video lie beside its result")
        make_folders(self.folder)
        self._lock = _open_lock(self.folder)
        if not try_lock(self._lock):
            os.close(self._lock)
            raise VideoError(f"another run is making it (it holds {self.folder}); wait for it, or choose another -o")
        manifest = self.folder / _MANIFEST
        try:
            same = _text(manifest) == self._manifest
        except (OSError, ValueError):
            same = False
        if not same:
            _clear(self.folder, _OURS)
            atomic_write(manifest, self._manifest.encode())
        _clear(self.folder, _UNFINISHED)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._lock)
        if error is not None and (_is_final(error) or not self._has_segments()):
            self.remove()  # nothing to continue from: leave nothing behind

    def remove(self) -> None:
        """Removes the folder once it is of no more use."""
        _remove(self.folder)

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
                values = json.loads(_text(path.with_suffix(".json")))
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
    if folder.is_symlink() or not folder.is_dir():
        return
    try:
        lock = _open_lock(folder)
    except (OSError, VideoError):
        return
    try:
        if try_lock(lock):
            _remove(folder)
    finally:
        os.close(lock)


def _open_lock(folder: Path) -> int:
    """Opens the file whose lock keeps others out; never waits, as a pipe of that name would make it."""
    descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | _CAUTIOUS, 0o666)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise VideoError(f"{folder / _LOCK} is not a file; remove {folder}")


def _text(path: Path) -> str:
    if not path.is_file():  # reading a pipe would wait
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    return path.read_text(encoding="utf-8")


def _remove(folder: Path) -> None:
    """Removes our files, and the folder unless something else is in it."""
    try:
        _clear(folder, _OURS)
        (folder / _LOCK).unlink(missing_ok=True)
        folder.rmdir()
    except OSError:
        return


def _clear(folder: Path, names: re.Pattern[str]) -> None:
    for path in folder.iterdir():
        if names.fullmatch(path.name) and not (path.is_dir() and not path.is_symlink()):
            path.unlink()


def folder_of(output: Path) -> Path:
    """Returns the folder for the parts of a result: hidden, so that no run takes segments for sources."""
    name = output.name
    if len(os.fsencode(name)) > _LONGEST_NAME:
        name = hashlib.blake2s(os.fsencode(name), digest_size=8).hexdigest()
    return output.with_name(f".{name}{PART_SUFFIX}")
