"""Where predictions come from: the one place where a method becomes something that makes pictures.

A method is weights that are run, or a folder of pictures that were made elsewhere. Everything that scores, matches or
trains detectors takes a `Method` and never asks which of them it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pic_uie import weights as weights_file
from pic_uie.enhancer import Enhancer
from pic_uie.errors import ConfigError, EnvironmentMissingError
from pic_uie.images import RGB8

Enhance = Callable[[RGB8], RGB8]
COMMON_NAMES = ("last", "best", "model")


@dataclass(frozen=True)
class Method:
    """A method under test.

    Attributes:
        name: What tables call it.
        description: What goes into the result: kind, engine, hash of the weights.
        enhance: Picture in, picture out; None where finished pictures are read instead.
        folder: The finished pictures; None where the method runs.
    """

    name: str
    description: dict[str, str]
    enhance: Enhance | None = None
    folder: Path | None = None


def from_path(path: Path, name: str | None = None) -> Method:
    """Returns the method that a path stands for: finished pictures, or weights as `from_weights` takes them."""
    is_pictures = path.is_dir() and not (path / weights_file.IN_FOLDER).is_file()
    return finished_pictures(path, name) if is_pictures else from_weights(path, name)


def finished_pictures(folder: Path, name: str | None = None) -> Method:
    """Returns the method of pictures that were made elsewhere."""
    return Method(name or folder.absolute().name, {"kind": "pictures"}, folder=folder)


def from_weights(path: Path | None = None, name: str | None = None) -> Method:
    """Returns the method that runs weights: on the native engine, or on PyTorch for variants that it refuses.

    Args:
        path: Weights file, or a folder that `save_pretrained` wrote; the released weights where not given.
        name: What tables call it; where not given the name of the file, or of its folder if many files are called so.
    """
    path = path or weights_file.DEFAULT_PATH
    if path.is_dir():
        path = path / weights_file.IN_FOLDER
        if not path.is_file():
            raise ConfigError(f"{path.parent} is a folder without {path.name}: name the weights file itself")
    checked = weights_file.load(path)
    enhance: Enhance
    try:
        engine, enhance = "native", Enhancer(checked, threads=1).enhance  # pictures run side by side instead
    except ConfigError:  # a variant that only PyTorch runs
        engine, enhance = "torch", torch_enhance(checked)
    description = {"kind": "weights", "engine": engine, "weights_sha256": checked.sha256}
    return Method(name or default_name(path), description, enhance)


def default_name(path: Path) -> str:
    """Returns what tables call weights: a training names all of its files alike, so their folder tells them apart."""
    return path.absolute().parent.name if path.stem in COMMON_NAMES else path.stem


def torch_enhance(checked: weights_file.Weights) -> Enhance:
    """Returns a function that runs the PyTorch model on one picture.

    Raises:
        EnvironmentMissingError: PyTorch is not installed.
    """
    try:
        import torch

        from pic_uie.model import PicUie
    except ImportError as error:
        raise EnvironmentMissingError(
            "this variant of the model runs on PyTorch only: install it with `pip install 'pic-uie[train]'`"
        ) from error
    model = PicUie.from_weights(checked).eval()

    def enhance(picture: RGB8) -> RGB8:
        tensor = torch.from_numpy(picture.astype(np.float32) / 255).permute(2, 0, 1)[None]  # (1, 3, H, W)
        with torch.inference_mode():
            enhanced, _ = model(tensor)
        quantised: RGB8 = (enhanced[0] * 255).round().to(torch.uint8).permute(1, 2, 0).numpy()
        return np.ascontiguousarray(quantised)

    return enhance
