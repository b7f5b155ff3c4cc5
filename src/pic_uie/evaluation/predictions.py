"""Where predictions come from: finished pictures of any method, or weights run on the inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pic_uie import weights as weights_file
from pic_uie.enhancer import Enhancer
from pic_uie.errors import ConfigError, EnvironmentMissingError
from pic_uie.evaluation.metrics.pictures import Picture

Enhance = Callable[[Picture], Picture]


@dataclass(frozen=True)
class Source:
    """A method under test.

    Attributes:
        name: What tables call it.
        enhance: Picture in, picture out; None where finished pictures are read instead.
        description: What goes into the result: kind, engine, hash of the weights.
    """

    name: str
    enhance: Enhance | None
    description: dict[str, str]


def finished_pictures(folder: Path, name: str | None = None) -> Source:
    """Returns the source that stands for pictures that some method has already made."""
    return Source(name or folder.resolve().name, None, {"kind": "pictures"})


def from_weights(path: Path | None = None, name: str | None = None) -> Source:
    """Returns the source that runs weights: on the native engine, or on PyTorch for variants that it refuses.

    Args:
        path: Weights file; the released weights where not given.
        name: What tables call it; the name of the file where not given.
    """
    path = path or weights_file.DEFAULT_PATH
    checked = weights_file.load(path)
    enhance: Enhance
    try:
        engine, enhance = "native", Enhancer(checked, threads=1).enhance  # pictures run side by side instead
    except ConfigError:  # a variant that only PyTorch runs
        engine, enhance = "torch", torch_enhance(checked)
    return Source(name or path.stem, enhance, {"kind": "weights", "engine": engine, "weights_sha256": checked.sha256})


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

    def enhance(picture: Picture) -> Picture:
        tensor = torch.from_numpy(picture.astype(np.float32) / 255).permute(2, 0, 1)[None]  # (1, 3, H, W)
        with torch.inference_mode():
            enhanced, _ = model(tensor)
        quantised: Picture = (enhanced[0] * 255).round().to(torch.uint8).permute(1, 2, 0).numpy()
        return np.ascontiguousarray(quantised)

    return enhance
