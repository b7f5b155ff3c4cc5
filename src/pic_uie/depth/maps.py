"""Depth maps of many pictures: which are to be made, in batches of one size, past pictures that fail."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from pic_uie.datasets.folders import pictures_in
from pic_uie.depth.network import DepthNetwork, to_picture
from pic_uie.errors import ConfigError, DataError, ImageError
from pic_uie.files import atomic_write, identity
from pic_uie.images import read_rgb8
from pic_uie.writing import write_reason

Outputs = Mapping[Path, Path]  # picture -> its map
Waiting = list[tuple[Path, Image.Image]]  # pictures of one input size


def plan(images: Sequence[Path], output: Path) -> dict[Path, Path]:
    """Returns the map that each picture gets, refusing two pictures that would share one.

    Args:
        images: Pictures, or folders of pictures.
        output: The folder of the maps.

    Raises:
        ConfigError: Two pictures have the same stem, or a map would replace its own picture.
    """
    outputs: dict[Path, Path] = {}
    owners: dict[Path, Path] = {}
    for source in (picture for image in images for picture in (pictures_in(image) if image.is_dir() else [image])):
        path = output / f"{source.stem}.png"
        owner = owners.setdefault(path, source)
        if owner != source:
            raise ConfigError(f"{owner} and {source} would both become {path}: give them different names or folders")
        if (existing := identity(path)) is not None and existing == identity(source):
            raise ConfigError(f"the map of {source} would replace it: choose another output folder")
        outputs[source] = path
    return outputs


def make(
    network: DepthNetwork,
    outputs: Outputs,
    batch: int,
    bits: int,
    on_done: Callable[[], None] = lambda: None,
) -> list[str]:
    """Makes the maps and returns what failed, one message per picture.

    Args:
        network: Makes the maps.
        outputs: As `plan` returns them.
        batch: Pictures at once, where the network leaves it free.
        bits: Of the PNG files, 8 or 16.
        on_done: Called after each picture, failed or not.
    """
    failures: list[str] = []
    limit = network.batch or batch
    waiting: Waiting = []

    def flush() -> None:
        failures.extend(_run(network, waiting, outputs, bits))
        for _ in waiting:
            on_done()
        waiting.clear()

    for source in outputs:
        try:
            picture = Image.fromarray(read_rgb8(source))
        except ImageError as error:
            failures.append(str(error))
            on_done()
            continue
        if waiting and (len(waiting) == limit or _input_size(network, waiting[0][1]) != _input_size(network, picture)):
            flush()
        waiting.append((source, picture))
    if waiting:
        flush()
    return failures


def _run(network: DepthNetwork, batch: Waiting, outputs: Outputs, bits: int) -> list[str]:
    try:
        maps = network.predict(np.stack([network.prepare(picture) for _, picture in batch]))
    except DataError as error:
        if len(batch) == 1:
            return [f"{batch[0][0]}: {error}"]
        return [message for item in batch for message in _run(network, [item], outputs, bits)]  # who was it?
    failures = []
    for (source, picture), inverse_depth in zip(batch, maps, strict=True):
        buffer = io.BytesIO()
        Image.fromarray(to_picture(inverse_depth, picture.height, picture.width, bits)).save(buffer, "PNG")
        try:
            atomic_write(outputs[source], buffer.getvalue())
        except OSError as error:
            failures.append(f"cannot write {outputs[source]}: {write_reason(error)}")
    return failures


def _input_size(network: DepthNetwork, picture: Image.Image) -> tuple[int, int]:
    return network.input_size(picture.height, picture.width)
