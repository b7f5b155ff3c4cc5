"""Frames of videos in folders: every folder with pictures, at any depth, is a sequence."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from pic_uie.datasets.folders import NoPicturesError, index
from pic_uie.errors import ConfigError, DataError, did_you_mean

FRAMES = "imgs"  # where FLSea keeps its frames, beside depth/ and seaErra/
FLSEA = (
    "flatiron", "horse_canyon", "tiny_canyon", "u_canyon", "big_dice_loop", "coral_table_loop", "cross_pyramid_loop",
    "dice_path", "landward_path", "northeast_path", "pier_path", "sub_pier",
)  # fmt: skip


def find(folder: Path, frames: int | None = None, stride: int = 1, scenes: Sequence[str] = ()) -> dict[str, list[Path]]:
    """Returns the sequences of a folder: each sub-folder with pictures, at any depth, or the folder itself.

    Where folders named `imgs` are among them, as in FLSea, only these are frames, and the scene is the folder above.

    Args:
        folder: The frames; names are in natural order (2 before 10).
        frames: How many frames around the middle of each sequence; None = all.
        stride: Distance between the frames that are taken.
        scenes: Only these, by their path below the folder or its last part; none = all.

    Raises:
        NoPicturesError: There is no picture.
        DataError: A sequence is too short, or the folder cannot be read.
        ConfigError: Numbers that select nothing, or a scene that is not there.
    """
    if stride < 1 or (frames is not None and frames < 2):
        raise ConfigError(f"a stride of 1 or more and 2 frames or more are needed, got {stride} and {frames}")
    if not folder.is_dir():
        raise DataError(f"{folder} is not a folder of frames")
    found = dict(_folders(folder))
    if not found:
        raise NoPicturesError(f"{folder} has no pictures, and no sub-folder of it has")
    if "." in found and len(found) > 1:
        others = ", ".join(name for name in found if name != ".")
        raise DataError(f"{folder} has frames of its own beside sequences in {others}: move one or the other")
    chosen = {name: ordered for name, ordered in found.items() if not scenes or _is_named(name, scenes)}
    for scene in scenes:
        if not any(_is_named(name, [scene]) for name in found):
            raise ConfigError(f"{folder} has no scene {scene!r}: {did_you_mean(scene, found)}")
    return {
        folder.name if name == "." else name: select(ordered, frames, stride, folder / name)
        for name, ordered in chosen.items()
    }


def select(ordered: Sequence[Path], frames: int | None, stride: int, where: Path) -> list[Path]:
    """Returns every `stride`-th frame, of those the given number around the middle of the sequence."""
    if frames is None:
        chosen = list(ordered[::stride])
        if len(chosen) < 2:
            raise DataError(f"{where} has {len(ordered)} pictures: too few for one pair at a stride of {stride}")
        return chosen
    span = (frames - 1) * stride + 1
    if len(ordered) < span:
        raise DataError(f"{where} has {len(ordered)} pictures: {frames} frames at a stride of {stride} need {span}")
    start = (len(ordered) - span) // 2
    return list(ordered[start : start + span : stride])


def _folders(root: Path) -> Iterator[tuple[str, list[Path]]]:
    folders = [root, *sorted(path for path in root.rglob("*") if path.is_dir())]
    visible = [path for path in folders if not any(part.startswith(".") for part in path.relative_to(root).parts)]
    frames = [path for path in visible if path.name == FRAMES]
    for path in frames or visible:
        try:
            ordered = sorted(index(path).values(), key=_natural)
        except NoPicturesError:
            continue
        scene = path.parent if frames else path
        yield (scene.relative_to(root).as_posix() if path != root else "."), ordered


def _is_named(name: str, scenes: Sequence[str]) -> bool:
    return any(scene in (name, name.rsplit("/", 1)[-1]) for scene in scenes)


def _natural(path: Path) -> list[tuple[int, int, str]]:
    """Sorts frame2 before frame10."""
    parts = re.findall(r"\d+|\D+", path.stem)
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts]
