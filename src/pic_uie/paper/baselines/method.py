"""A trained system as a method under test."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from pic_uie.errors import DataError
from pic_uie.evaluation.predictions import Enhance, Method
from pic_uie.images import RGB8
from pic_uie.paper import baselines
from pic_uie.paper.baselines.base import Baseline


def from_weights(path: Path, method: str | None = None, name: str | None = None) -> Method:
    """Returns the method that runs a system.

    Args:
        path: Its weights.
        method: The system that the weights should be of, if that matters.
        name: What tables call it; the paper's name for the system where not given.

    Raises:
        ConfigError: An unknown method.
        WeightsError: Weights that cannot be read, or of another system.
    """
    if method is not None:
        baselines.find(method)
    model, sha256 = baselines.load(path, method)
    description = {"kind": "weights", "engine": "torch", "method": model.name, "weights_sha256": sha256}
    return Method(name or model.title, description, enhance_with(model))


def enhance_with(model: Baseline) -> Enhance:
    """Returns a function that runs a system on one picture; it raises DataError for a size that it cannot take."""
    model.eval()

    def enhance(picture: RGB8) -> RGB8:
        tensor = torch.from_numpy(picture.astype(np.float32) / 255).permute(2, 0, 1)[None]  # (1, 3, H, W)
        try:
            with torch.inference_mode():
                enhanced = model(tensor)
        except ValueError as error:
            raise DataError(str(error)) from error
        quantised: RGB8 = (enhanced[0] * 255).round().to(torch.uint8).permute(1, 2, 0).numpy()
        return np.ascontiguousarray(quantised)

    return enhance
