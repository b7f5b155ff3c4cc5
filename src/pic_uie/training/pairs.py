"""Paired pictures with optional depth: found by stem, checked, resized once, kept as arrays."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from pic_uie import images
from pic_uie.datasets.folders import Index, index
from pic_uie.datasets.stems import few, read_stems
from pic_uie.errors import DataError, PicUieError
from pic_uie.files import atomic_write
from pic_uie.images import RGB8


@dataclass(frozen=True)
class Pairs:
    """A data set in memory.

    Attributes:
        stems: Names, in the order of the arrays.
        inputs: (N, S, S, 3).
        targets: (N, S, S, 3).
        depths: (N, S, S), larger = farther; None where the run needs no depth.
    """

    stems: tuple[str, ...]
    inputs: NDArray[np.uint8]
    targets: NDArray[np.uint8]
    depths: NDArray[np.uint8] | None

    def __len__(self) -> int:
        return len(self.stems)


def find_stems(folder: Path) -> tuple[str, ...]:
    """Returns the stems that input/ and target/ of a data set have in common; all of them, or an error."""
    inputs, targets = _index(folder / "input"), _index(folder / "target")
    if inputs.keys() != targets.keys():
        lonely = sorted(inputs.keys() - targets.keys()), sorted(targets.keys() - inputs.keys())
        raise DataError(f"{folder}: without a target: {few(lonely[0])}; without an input: {few(lonely[1])}")
    return tuple(sorted(inputs))


def split_stems(
    folder: Path, list_file: Path | None, validation_file: Path | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns what to train on and what is held out; without a list all of the folder's pairs are used.

    Raises:
        DataError: A list cannot be read, or nothing is left to train on.
    """
    stems = read_stems(list_file) if list_file else find_stems(folder)
    held_out = read_stems(validation_file) if validation_file else ()
    apart = set(held_out)
    kept = tuple(stem for stem in stems if stem not in apart)
    if not kept:
        raise DataError("every picture is in the validation list: nothing is left to train on")
    return kept, held_out


def load_pairs(folder: Path, stems: Sequence[str], size: int, with_depth: bool, cache: Path | None = None) -> Pairs:
    """Reads the named pairs, resized to a square of `size` (bicubic, antialiased).

    Args:
        folder: Has input/, target/ and, with depth, depth/ (relative inverse depth: near = bright).
        stems: Which pictures.
        size: Side of the arrays.
        with_depth: Whether the depth maps are needed.
        cache: Folder for the finished arrays; None reads the pictures anew.

    Raises:
        DataError: A picture is missing or unreadable, or sizes of a pair differ; names them.
    """
    kinds = ("input", "target", "depth") if with_depth else ("input", "target")
    indexes = {kind: _index(folder / kind) for kind in kinds}
    for kind in kinds:
        missing = [stem for stem in stems if stem not in indexes[kind]]
        if missing:
            raise DataError(f"{folder / kind} lacks {few(missing)}")
    files = [[indexes[kind][stem] for kind in kinds] for stem in stems]
    stored = cache / f"pairs-{_fingerprint(files, size)}.npz" if cache else None
    if stored and stored.exists():
        with np.load(stored, allow_pickle=False) as arrays:
            return Pairs(tuple(stems), arrays["inputs"], arrays["targets"], arrays.get("depths"))
    with ThreadPoolExecutor() as pool:
        loaded = list(pool.map(lambda paths: _load(paths, size), files))
    arrays = {f"{kind}s": np.stack([pictures[i] for pictures in loaded]) for i, kind in enumerate(kinds)}
    if stored:
        stored.parent.mkdir(parents=True, exist_ok=True)
        file = io.BytesIO()
        np.savez(file, **arrays)
        atomic_write(stored, file.getbuffer())
    return Pairs(tuple(stems), arrays["inputs"], arrays["targets"], arrays.get("depths"))


def read_square(path: Path, size: int) -> RGB8:
    """Reads one picture, resized to a square (bicubic, antialiased)."""
    return _square(_read(path), size)


def _read(path: Path) -> RGB8:
    try:
        return images.read_rgb8(path)
    except PicUieError as error:
        raise DataError(str(error)) from error


def _load(paths: Sequence[Path], size: int) -> list[RGB8]:
    pictures = [_read(path) for path in paths]
    shape = pictures[0].shape
    for path, picture in zip(paths, pictures, strict=True):
        if picture.shape != shape:
            seen, expected = (f"{s[1]}x{s[0]}" for s in (picture.shape, shape))
            raise DataError(f"{path} is {seen}, but its input {paths[0].name} is {expected}")
    resized = [_square(picture, size) for picture in pictures]
    if len(resized) == 3:
        resized[2] = 255 - resized[2][:, :, 0]  # from inverse depth to distance
    return resized


def _square(picture: RGB8, size: int) -> RGB8:
    if picture.shape[:2] == (size, size):
        return picture
    return np.asarray(Image.fromarray(picture).resize((size, size), Image.Resampling.BICUBIC))


def _index(folder: Path) -> Index:
    if not folder.is_dir():
        raise DataError(f"{folder} is not a folder: a data set has input/, target/ and, for the depth loss, depth/")
    return index(folder)


def _fingerprint(files: Sequence[Sequence[Path]], size: int) -> str:
    digest = hashlib.sha256(f"{size}".encode())
    for paths in files:
        for path in paths:
            status = os.stat(path)
            digest.update(f"\0{path.resolve()}\0{status.st_size}\0{status.st_mtime_ns}".encode())
    return digest.hexdigest()[:24]
