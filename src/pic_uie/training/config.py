"""The recipe: everything that decides what a training run does. The defaults are the paper's."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, replace
from typing import Literal

from pic_uie.config import ModelConfig
from pic_uie.errors import ConfigError

OURS = "pic-uie"  # the method that this package is named after
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
        beta1: Of AdamW: how long its first moment remembers.
        weight_decay: Of AdamW.
        warmup: Epochs of linear warm-up before the cosine.
        ema: Decay of the moving average.
        ema_warmup: Whether the decay starts small, min(ema, (1 + n) / (10 + n)) at step n.
    """

    epochs: int = 700
    batch: int = 16
    learning_rate: float = 3e-4
    beta1: float = 0.9
    weight_decay: float = 1e-4
    warmup: int = 0
    ema: float = 0.999
    ema_warmup: bool = False

    def __post_init__(self) -> None:
        """Refuses impossible values."""
        _require(self.epochs >= 1, "optimization.epochs must be >= 1", self.epochs)
        _require(self.batch >= 1, "optimization.batch must be >= 1", self.batch)
        _require(self.learning_rate > 0.0, "optimization.learning_rate must be > 0", self.learning_rate)
        _require(0.0 <= self.beta1 < 1.0, "optimization.beta1 must be in [0, 1)", self.beta1)
        _require(self.weight_decay >= 0.0, "optimization.weight_decay must be >= 0", self.weight_decay)
        _require(0 <= self.warmup < self.epochs, "optimization.warmup must be in [0, epochs)", self.warmup)
        _require(0.0 <= self.ema < 1.0, "optimization.ema must be in [0, 1)", self.ema)


@dataclass(frozen=True)
class UntouchedKinds:
    """Shares of the kinds of identity samples, relative to their sum (`training/untouched.py`).

    Attributes:
        good: References as they are.
        land: References in other colours and a warm light.
        dark: Either of them, three and a half to nine stops too dark.
        plain: One colour, now and then grey.
        grey: One grey, half of them a white sheet.
        sheet: A white sheet, one in four times a black one.
    """

    good: float = 0.1
    land: float = 0.4
    dark: float = 0.2
    plain: float = 0.3
    grey: float = 0.0
    sheet: float = 0.0

    def __post_init__(self) -> None:
        """Refuses shares that choose nothing."""
        shares = [getattr(self, entry.name) for entry in fields(self)]
        possible = all(0.0 <= share < math.inf for share in shares) and sum(shares) > 0.0
        _require(possible, "augmentation.kinds must be shares >= 0, not all of them 0", shares)


@dataclass(frozen=True)
class SettlingKinds(UntouchedKinds):
    """The same of what a settling brings back: sheets, unless something else is asked for."""

    good: float = 0.0
    land: float = 0.0
    dark: float = 0.0
    plain: float = 0.0
    sheet: float = 1.0


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
        noise: Largest deviation of sensor noise on the input, in levels of 8 bits; the target stays clean.
        jpeg: Share of inputs that went through JPEG, at a quality of 30 to 95; the target stays clean.
        untouched: Share of pairs replaced by identity samples, their own targets (`training/untouched.py`).
        kinds: Of those, how many of which kind.
    """

    flips: bool = True
    rotations: bool = True
    crop: float = 1.0
    exposure: float = 0.0
    cast: float = 0.0
    severity: float = 0.0
    noise: float = 0.0
    jpeg: float = 0.0
    untouched: float = 0.0
    kinds: UntouchedKinds = field(default_factory=UntouchedKinds)

    def __post_init__(self) -> None:
        """Refuses impossible values."""
        _require(0.1 <= self.crop <= 1.0, "augmentation.crop must be in [0.1, 1]", self.crop)
        _require(0.0 <= self.exposure <= 4.0, "augmentation.exposure must be in [0, 4]", self.exposure)
        _require(0.0 <= self.cast <= 4.0, "augmentation.cast must be in [0, 4]", self.cast)
        _require(0.0 <= self.severity <= 1.0, "augmentation.severity must be in [0, 1]", self.severity)
        _require(0.0 <= self.noise <= 64.0, "augmentation.noise must be in [0, 64]", self.noise)
        _require(0.0 <= self.jpeg <= 1.0, "augmentation.jpeg must be in [0, 1]", self.jpeg)
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
        real: Share of the taught inputs that are unlabelled pictures as they are (`training/unlabelled.py`), given
            beside the recipe; of `augmentation` only flips, rotations, noise and JPEG apply to them.
        agreement: How much less often an unlabelled picture is drawn on which the teachers disagree: in proportion to
            1 / (1 + (agreement · d / median of d)²), d being the RMS distance of their pictures from the mean; 0: all
            alike.
    """

    share: float = 0.0
    teachers: tuple[str, ...] = ()
    augmentation: WideAugmentation = field(default_factory=WideAugmentation)
    mixture: float = 0.5
    real: float = 0.0
    agreement: float = 0.0

    def __post_init__(self) -> None:
        """Refuses impossible values."""
        _require(0.0 <= self.share <= 1.0, "teaching.share must be in [0, 1]", self.share)
        _require(0.0 <= self.mixture <= 1.0, "teaching.mixture must be in [0, 1]", self.mixture)
        _require(0.0 <= self.real <= 1.0, "teaching.real must be in [0, 1]", self.real)
        _require(0.0 <= self.agreement < math.inf, "teaching.agreement must be >= 0 and finite", self.agreement)
        if self.real > 0.0 and not self.share:
            raise ConfigError("teaching.real is a share of the taught inputs: give teaching.share as well")
        if (self.share > 0.0) != bool(self.teachers):
            raise ConfigError("teaching.share and teaching.teachers belong together: give both or neither")


@dataclass(frozen=True)
class Settling:
    """What the result gets after the last epoch (`training/settling.py`).

    Attributes:
        steps: Of Adam; 0: none.
        learning_rate: Of the first step; it falls to 0.
        weight: Of the identity samples; pictures that keep their results have 1.
        samples: How many identity samples are made.
        kinds: Of those, how many of which kind.
    """

    steps: int = 0
    learning_rate: float = 4e-4
    weight: float = 0.2
    samples: int = 96
    kinds: SettlingKinds = field(default_factory=SettlingKinds)

    def __post_init__(self) -> None:
        """Refuses impossible values."""
        _require(self.steps >= 0, "settling.steps must be >= 0", self.steps)
        _require(0.0 < self.learning_rate < math.inf, "settling.learning_rate must be > 0", self.learning_rate)
        _require(0.0 <= self.weight < math.inf, "settling.weight must be >= 0 and finite", self.weight)
        _require(self.samples >= 1, "settling.samples must be >= 1", self.samples)


@dataclass(frozen=True)
class Recipe:
    """A whole training run.

    Attributes:
        method: What is trained: `pic-uie`, or a system of the paper's tables by name (`pic_uie.paper.baselines`).
        model: Which model, of `pic-uie`.
        loss: Weights of the objective of `pic-uie`; the other systems bring their own.
        vgg: Weights of VGG for the perceptual term of a system that has one; without it the term is left out.
        optimization: Optimiser, schedule, moving average.
        augmentation: What is done to the pairs.
        teaching: Finished models that answer where no pair can.
        start: Weights file to start from; without it from random values.
        start_share: Share of the starting weights in the result, which is the mean of both in weight space: what they
            could do and the run unlearns is lost only in part.
        settling: A short last part that brings identity samples back while pictures keep their results.
        size: Side of the training pictures.
        depth_target: The depth map of the picture itself, of another one, or random noise (the paper's controls).
        validate_every: Epochs between two validations.
        seed: Of initial values, order, augmentation.
    """

    method: str = OURS
    model: ModelConfig = field(default_factory=ModelConfig)
    loss: LossWeights = field(default_factory=LossWeights)
    vgg: str | None = None
    optimization: Optimization = field(default_factory=Optimization)
    augmentation: Augmentation = field(default_factory=Augmentation)
    teaching: Teaching = field(default_factory=Teaching)
    start: str | None = None
    start_share: float = 0.0
    settling: Settling = field(default_factory=Settling)
    size: int = 256
    depth_target: DepthTarget = "aligned"
    validate_every: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuses impossible values."""
        _require(32 <= self.size <= 4096, "size must be in 32..4096", self.size)
        if self.method != OURS and (self.model, self.loss) != (ModelConfig(), LossWeights()):
            raise ConfigError(f"model and loss belong to {OURS}, not to {self.method}: leave them out")
        if self.method == OURS and self.vgg is not None:
            raise ConfigError(f"{OURS} has no perceptual term: leave out vgg")
        if self.method == OURS and self.loss.ms_ssim > 0.0:
            _require(self.size >= 176, "size must be >= 176 for the five scales of MS-SSIM", self.size)
        _require(0.0 <= self.start_share < 1.0, "start_share must be in [0, 1)", self.start_share)
        if self.start_share > 0.0 and self.start is None:
            raise ConfigError("start_share needs the weights to start from: give start")
        if self.settling.steps and (self.method != OURS or self.model.output != "corrections"):
            raise ConfigError("settling moves the heads of corrections, which this model does not have: leave it out")
        _require(self.validate_every >= 1, "validate_every must be >= 1", self.validate_every)
        _require(0 <= self.seed < 2**32, "seed must be in [0, 2^32)", self.seed)

    @property
    def uses_depth(self) -> bool:
        """Whether the run needs depth maps."""
        return self.method == OURS and self.loss.depth > 0.0 and self.model.output == "corrections"

    @property
    def in_use(self) -> Recipe:
        """The same with the defaults in groups that it does not use: two of them that are equal train alike."""
        augmentation = self.augmentation
        if not augmentation.untouched:
            augmentation = replace(augmentation, kinds=UntouchedKinds())
        return replace(
            self,
            augmentation=augmentation,
            teaching=self.teaching if self.teaching.share else Teaching(),
            settling=self.settling if self.settling.steps else Settling(),
        )


def _require(condition: bool, rule: str, seen: object) -> None:
    if not condition:
        raise ConfigError(f"{rule}, got {seen}")
