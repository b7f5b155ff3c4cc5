"""What the model did to one picture: θ, the statistics and every step, gathered in one place."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from pic_uie.corrections import Corrections
from pic_uie.images import RGB8
from pic_uie.reference import Steps, exact, execute, gate_scalars, resize, statistics
from pic_uie.strengths import Strengths
from pic_uie.weights import Weights

FORMAT = "pic-uie-inspection-1"
MAX_SIDE = 1024  # the steps run on a copy with at most this many pixels a side


class Predicts(Protocol):
    """What an inspection needs of the engine: `pic_uie.Enhancer` has it."""

    @property
    def weights(self) -> Weights:
        """The weights in use."""

    def predict(self, img: RGB8) -> Corrections:
        """Returns θ of a picture (H, W, 3)."""


@dataclass(frozen=True)
class Inspection:
    """One picture, taken apart.

    Attributes:
        name: Of the picture, for titles.
        size: (height, width) of the picture as given.
        theta: Its corrections, predicted from the picture as given, with the strengths.
        steps: Every step at the size they were run at.
        thumbnail: What the predictor saw, (s, s, 3) in [0, 1].
        weights: The weights in use.
        strengths: How much of the corrections is applied.
    """

    name: str
    size: tuple[int, int]
    theta: Corrections
    steps: Steps
    thumbnail: NDArray[np.float64]
    weights: Weights
    strengths: Strengths = field(default_factory=Strengths)

    @property
    def gate(self) -> tuple[float, float]:
        """(β, γ)."""
        return gate_scalars(self.weights.parameters)

    def to_json(self) -> str:
        """Returns θ and the statistics as JSON; `corrections` is what `Corrections.from_json` reads."""
        steps, (beta, gamma) = self.steps, self.gate
        mean_after, covariance_after = statistics(steps.z2)
        values: dict[str, Any] = {
            "format": FORMAT,
            "picture": {"name": self.name, "height": self.size[0], "width": self.size[1]},
            "weights": self.weights.sha256,
            "strengths": self.strengths.as_dict(),
            "corrections": json.loads(self.theta.to_json()),
            "gate": {"beta": beta, "gamma": gamma},
            "thumbnail": {
                "size": self.thumbnail.shape[0],
                "mean": self.thumbnail.mean(axis=(0, 1)).tolist(),
                "std": self.thumbnail.std(axis=(0, 1), ddof=1).tolist(),
            },
            "statistics": {
                "height": steps.y.shape[0],
                "width": steps.y.shape[1],
                "m": steps.mean.tolist(),
                "S": steps.covariance.tolist(),
                "eigenvalues": steps.eigenvalues.tolist(),
                "m_after": mean_after.tolist(),
                "S_after": covariance_after.tolist(),
                "eigenvalues_after": np.linalg.eigvalsh(covariance_after).tolist(),
            },
        }
        return json.dumps(values, allow_nan=False)


def inspect(
    picture: RGB8,
    enhancer: Predicts,
    name: str = "",
    max_side: int | None = MAX_SIDE,
    strengths: Strengths | None = None,
) -> Inspection:
    """Takes the enhancement of one picture apart.

    Args:
        picture: (H, W, 3) uint8.
        enhancer: The engine that predicts θ.
        name: For titles.
        max_side: θ always comes from the picture as given; the steps run on a copy that is shrunk to this many pixels
            on its longer side, or on the picture itself with None.
        strengths: How much of each group is applied, under the statistics of all of them; None for all.

    Raises:
        ValueError: The picture has another shape or type, or `max_side` is not positive.
    """
    if picture.ndim != 3 or picture.shape[2] != 3 or picture.dtype != np.uint8 or picture.size == 0:
        raise ValueError(f"expected a picture (H, W, 3) of uint8, got {picture.shape} of {picture.dtype}")
    if max_side is not None and max_side < 1:
        raise ValueError(f"max_side must be 1 or more, got {max_side}")
    height, width = picture.shape[:2]
    theta = enhancer.predict(picture)
    weights = enhancer.weights
    thumbnail = resize(picture / 255.0, weights.config.thumbnail, weights.config.thumbnail)
    strengths = strengths or Strengths()
    small = _shrink(picture, max_side) / 255.0
    steps = execute(small, exact(theta), weights.parameters)
    if not strengths.has_all_groups:
        theta = theta.scaled(**strengths.groups)
        steps = execute(small, exact(theta), weights.parameters, (steps.mean, steps.covariance))
    part = 0.0 if strengths.changes_nothing else strengths.strength
    if part != 1.0:
        steps = replace(steps, result=part * steps.result + (1.0 - part) * steps.rgb)
    return Inspection(name, (height, width), theta, steps, thumbnail, weights, strengths)


def _shrink(picture: RGB8, max_side: int | None) -> RGB8:
    height, width = picture.shape[:2]
    factor = 1.0 if max_side is None else max_side / max(height, width)
    if factor >= 1:
        return picture
    size = max(round(width * factor), 1), max(round(height * factor), 1)
    return np.asarray(Image.fromarray(picture).resize(size, Image.Resampling.LANCZOS))
