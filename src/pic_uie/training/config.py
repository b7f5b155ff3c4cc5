"""The recipe: everything that decides what a training run does. The defaults are the paper's."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Literal

from pic_uie.config import ModelConfig
from pic_uie.errors import ConfigError

DepthTarget = Literal["aligned", "shuffled", "noise"]


@dataclass(frozen=True)
class LossWeights:
    """Weight of each term of the objective; 0 switches a term off."""

    l1: float = 1.0
    red: float = 0.3
    ssim: float = 0.6
    ms_ssim: float = 0.4
    depth: float = 0.1
    lut_smoothness: float = 0.05
    lut_monotonicity: float = 1.0

    def __post_init__(self) -> None:
        """Refuses negative and infinite weights."""
        for entry in fields(self):
            weight = getattr(self, entry.name)
            _require(0.0 <= weight < math.inf, f"loss.{entry.name} must be >= 0 and finite", weight)


@dataclass(frozen=True)
class Optimization:
    """AdamW with a cosine schedule per epoch, and the moving average that is released.

    Attributes:
        epochs: Length of the schedule.
        batch: Pairs a step, over all processes; the last incomplete batch is dropped.
        learning_rate: At the first epoch; falls to 0 along a cosine.
        weight_decay: Of AdamW.
        warmup: Epochs of linear warm-up before the cosine.
        ema: Decay of the moving average.
        ema_warmup: Whether the decay starts small, min(ema, (1 + n) / (10 + n)) at step n.
    """

    epochs: int = 700
    batch: int = 16
    learning_rate: float = 3e-4
    weight_decay: float = 1e-4
    warmup: int = 0
    ema: float = 0.999
    ema_warmup: bool = False

    def __post_init__(self) -> None:
        """Refuses impossible values."""
        _require(self.epochs >= 1, "optimization.epochs must be >= 1", self.epochs)
        _require(self.batch >= 1, "optimization.batch must be >= 1", self.batch)
        _require(self.learning_rate > 0.0, "optimization.learning_rate must be > 0", self.learning_rate)
        _require(self.weight_decay >= 0.0, "optimization.weight_decay must be >= 0", self.weight_decay)
        _require(0 <= self.warmup < self.epochs, "optimization.warmup must be in [0, epochs)", self.warmup)
        _require(0.0 <= self.ema < 1.0, "optimization.ema must be in [0, 1)", self.ema)


@dataclass(frozen=True)
class Augmentation:
    """What is done to a training pair; geometry is the same for input, target and depth.

    Attributes:
        flips: Independent horizontal and vertical flips.
        rotations: Rotation by a multiple of 90 degrees.
        crop: Smallest side of a random square crop, as a share of the picture (1: no crops); resized back.
        exposure: Largest change of exposure of the input, in stops; the target stays.
        cast: Largest change of each channel's gain of the input, in stops; the target stays.
        severity: Largest change of the distance of the input from its target, as a share; the target stays.
        untouched: Share of pairs replaced by a picture that should stay as it is (`training/untouched.py`).
    """

    flips: bool = True
    rotations: bool = True
    crop: float = 1.0
    exposure: float = 0.0
    cast: float = 0.0
    severity: float = 0.0
    untouched: float = 0.0

    def __post_init__(self) -> None:
        """Refuses impossible values."""
        _require(0.1 <= self.crop <= 1.0, "augmentation.crop must be in [0.1, 1]", self.crop)
        _require(0.0 <= self.exposure <= 4.0, "augmentation.exposure must be in [0, 4]", self.exposure)
        _require(0.0 <= self.cast <= 4.0, "augmentation.cast must be in [0, 4]", self.cast)
        _require(0.0 <= self.severity <= 1.0, "augmentation.severity must be in [0, 1]", self.severity)
        _require(0.0 <= self.untouched <= 1.0, "augmentation.untouched must be in [0, 1]", self.untouched)


@dataclass(frozen=True)
class WideAugmentation(Augmentation):
    """What is done to an input that teachers answer: more, since no target has to fit."""

    crop: float = 0.4
    exposure: float = 0.5
    cast: float = 0.35
    severity: float = 0.35


@dataclass(frozen=True)
class Teaching:
    """Inputs that no pair has, answered by finished models: the mean of their pictures is the target.

    Attributes:
        share: Share of the pairs replaced by such inputs; `augmentation.untouched` counts among the others.
        teachers: Weights files.
        augmentation: How the inputs are made from those of the pairs.
        mixture: Share of them that is blended with another.
    """

    share: float = 0.0
    teachers: tuple[str, ...] = ()
    augmentation: WideAugmentation = field(default_factory=WideAugmentation)
    mixture: float = 0.5

    def __post_init__(self) -> None:
        """Refuses impossible values."""
        _require(0.0 <= self.share <= 1.0, "teaching.share must be in [0, 1]", self.share)
        _require(0.0 <= self.mixture <= 1.0, "teaching.mixture must be in [0, 1]", self.mixture)
        if (self.share > 0.0) != bool(self.teachers):
            raise ConfigError("teaching.share and teaching.teachers belong together: give both or neither")


@dataclass(frozen=True)
class Recipe:
    """A whole training run.

    Attributes:
        model: Which model.
        loss: Weights of the objective.
        optimization: Optimiser, schedule, moving average.
        augmentation: What is done to the pairs.
        teaching: Finished models that answer where no pair can.
        start: Weights file to start from; without it from random values.
        start_share: Share of the starting weights in the result, which is the mean of both in weight space: what they
            could do and the run unlearns is lost only in part.
        size: Side of the training pictures.
        depth_target: The depth map of the picture itself, of another one, or random noise (the paper's controls).
        validate_every: Epochs between two validations.
        seed: Of initial values, order, augmentation.
    """

    model: ModelConfig = field(default_factory=ModelConfig)
    loss: LossWeights = field(default_factory=LossWeights)
    optimization: Optimization = field(default_factory=Optimization)
    augmentation: Augmentation = field(default_factory=Augmentation)
    teaching: Teaching = field(default_factory=Teaching)
    start: str | None = None
    start_share: float = 0.0
    size: int = 256
    depth_target: DepthTarget = "aligned"
    validate_every: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuses impossible values."""
        _require(32 <= self.size <= 4096, "size must be in 32..4096", self.size)
        if self.loss.ms_ssim > 0.0:
            _require(self.size >= 176, "size must be >= 176 for the five scales of MS-SSIM", self.size)
        _require(0.0 <= self.start_share < 1.0, "start_share must be in [0, 1)", self.start_share)
        if self.start_share > 0.0 and self.start is None:
            raise ConfigError("start_share needs the weights to start from: give start")
        _require(self.validate_every >= 1, "validate_every must be >= 1", self.validate_every)
        _require(0 <= self.seed < 2**32, "seed must be in [0, 2^32)", self.seed)

    @property
    def uses_depth(self) -> bool:
        """Whether the run needs depth maps."""
        return self.loss.depth > 0.0 and self.model.output == "corrections"


def _require(condition: bool, rule: str, seen: object) -> None:
    if not condition:
        raise ConfigError(f"{rule}, got {seen}")
