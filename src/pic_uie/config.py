"""The model's configuration: the paper's model by default, every row of its ablations one value away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pic_uie import constants as c
from pic_uie.errors import ConfigError

PredictorInput = Literal["rgb", "ycbcr", "rgb+ycbcr"]
Statistics = Literal["projected", "concatenated", "none"]
Chroma = Literal["lut", "curves", "affine"]
Output = Literal["corrections", "rgb_residual", "ycbcr_residual"]


@dataclass(frozen=True)
class ModelConfig:
    """Which PIC-UIE to build.

    Attributes:
        width: Channels of the predictor's body (w).
        thumbnail: Side of the square thumbnail that the predictor sees.
        predictor_input: Colour space of the thumbnail; the statistics are always RGB.
        statistics: How the thumbnail's mean and deviation reach the descriptor.
        chroma: The form of U: a coupled table, two 1-D curves, or one affine map.
        lut_grid: Samples along each side of the coupled table.
        luminance: The spatial luminance correction by t, v, a (off: Y1 = Y).
        tone: The tone curve Γ (off: identity).
        ccm: The affine colour transform A (off: identity).
        calibration: The covariance calibration K (off: identity).
        gate: The transmission gate g(t) (off: g = 1).
        output: Structured corrections, or a dense network that regresses a residual.
    """

    width: int = c.WIDTH
    thumbnail: int = c.THUMBNAIL
    predictor_input: PredictorInput = "rgb"
    statistics: Statistics = "projected"
    chroma: Chroma = "lut"
    lut_grid: int = c.LUT_GRID
    luminance: bool = True
    tone: bool = True
    ccm: bool = True
    calibration: bool = True
    gate: bool = True
    output: Output = "corrections"

    def __post_init__(self) -> None:
        """Refuses values that no model can have."""
        if not 1 <= self.width <= 1024:
            raise ConfigError(f"width must be 1..1024, got {self.width}")
        if not 16 <= self.thumbnail <= 4096 or self.thumbnail % c.DOWNSAMPLING:
            raise ConfigError(f"thumbnail must be a multiple of {c.DOWNSAMPLING} in 16..4096, got {self.thumbnail}")
        if self.output != "corrections" and self.width != c.WIDTH:
            raise ConfigError(f"width belongs to the predictor, which output = {self.output} has not; leave it out")
        if not 2 <= self.lut_grid <= 257:
            raise ConfigError(f"lut_grid must be 2..257, got {self.lut_grid}")

    @property
    def field_size(self) -> int:
        """Side of the square fields t, v, a."""
        return self.thumbnail // c.DOWNSAMPLING

    @property
    def input_channels(self) -> int:
        """Channels of the thumbnail as the predictor's body sees it."""
        return 6 if self.predictor_input == "rgb+ycbcr" else 3

    @property
    def descriptor_size(self) -> int:
        """Length of the vector that feeds the non-spatial heads."""
        return self.width + 6 if self.statistics == "concatenated" else self.width
