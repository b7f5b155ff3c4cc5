"""A look: what was done to a picture, kept so that it can be done again, to this picture or another, more or less."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pic_uie.corrections import ARRAYS, NUMBERS, Corrections, average
from pic_uie.errors import CorrectionsError, LookError
from pic_uie.files import atomic_write, read_at_most
from pic_uie.statistics import Statistics, pooled
from pic_uie.strengths import Strengths
from pic_uie.weights import NAMED, load

if TYPE_CHECKING:
    from pic_uie.enhancer import Enhancer

SUFFIX = ".look.json"
MAX_BYTES = 64 << 10
MAX_NAME = 1024  # characters of a source's name


@dataclass(frozen=True)
class Source:
    """Where a look comes from.

    Attributes:
        name: Of the picture or the set.
        sha256: Of the picture's file; empty where there is none.
    """

    name: str = ""
    sha256: str = ""


@dataclass(frozen=True)
class Look:
    """θ as predicted, the statistics of the picture under it, and how much of it is applied.

    The statistics are those under the whole θ, whatever the strengths: m and S stay where they are while a group is
    turned down, so that the calibration does not work against it, and turning it up again gives the same bytes.

    Attributes:
        theta: The corrections.
        statistics: m and S that they are executed with.
        weights: SHA-256 of the weights that predicted θ and execute it.
        strengths: How much of each group, and of the whole, is applied.
        source: The picture or set that it was made from.
        software: What made it, such as "pic-uie 0.1.0".

    Raises:
        LookError: A part that is of another type, or a hash that is none.
    """

    theta: Corrections
    statistics: Statistics
    weights: str
    strengths: Strengths = field(default_factory=Strengths)
    source: Source = field(default_factory=Source)
    software: str = ""

    def __post_init__(self) -> None:
        """Checks the parts; what is in them was checked when they were made."""
        kinds = {"theta": Corrections, "statistics": Statistics, "strengths": Strengths, "source": Source}
        for name, kind in kinds.items():
            if not isinstance(getattr(self, name), kind):
                raise LookError(f"{name} must be {kind.__name__}, got {type(getattr(self, name)).__name__}")
        if not _is_sha256(self.weights):
            raise LookError(f"weights must be the 64 hexadecimal digits of a SHA-256, got {self.weights!r}")

    @property
    def sha256(self) -> str:
        """The hash of all that decides on pixels: weights, θ, statistics and strengths; not of where it came from."""
        parts = hashlib.sha256(f"{self.weights} {sorted(self.strengths.as_dict().items())}".encode())
        parts.update(content_digest(self.theta, self.statistics).encode())
        return parts.hexdigest()

    @property
    def executed(self) -> Corrections:
        """θ with the strengths of the groups."""
        return self.theta if self.strengths.has_all_groups else self.theta.scaled(**self.strengths.groups)

    def scaled(
        self,
        *,
        haze: float = 1.0,
        contrast: float = 1.0,
        colour: float = 1.0,
        balance: float = 1.0,
        strength: float = 1.0,
    ) -> Look:
        """Returns the look with so much of what it has of each group: 1 leaves it, 0.5 is half of it, 0 none.

        Raises:
            CorrectionsError: A strength outside [0, 1].
        """
        given = Strengths(haze, contrast, colour, balance, strength)
        return replace(self, strengths=self.strengths.times(given))

    def interpolate(self, other: Look, weight: float) -> Look:
        """Returns (1 - weight)·self + weight·other.

        Raises:
            LookError: Looks of different weights or shapes, or a weight outside [0, 1].
        """
        _check_same_weights([self, other])
        try:
            return Look(
                self.theta.interpolate(other.theta, weight),
                self.statistics.interpolate(other.statistics, weight),
                self.weights,
                self.strengths.interpolate(other.strengths, weight),
                Source(f"{1.0 - weight:.3g} {self.source.name} + {weight:.3g} {other.source.name}"[:MAX_NAME]),
                self.software,
            )
        except CorrectionsError as error:
            raise LookError(f"looks cannot be mixed: {error}") from error

    @classmethod
    def mean(cls, looks: Sequence[Look]) -> Look:
        """Returns the look of a set: robust means of θ and the strengths, pooled statistics.

        Of three or more looks, a quarter may be anything: every number of θ stays in the range of the rest.

        Raises:
            LookError: There are none, or of different weights or shapes.
        """
        if not looks:
            raise LookError("the mean of no looks is not defined: give at least one")
        _check_same_weights(looks)
        strengths = {name: float(np.median([look.strengths.as_dict()[name] for look in looks])) for name in _STRENGTHS}
        try:
            theta = average([look.theta for look in looks])
        except CorrectionsError as error:
            raise LookError(f"looks cannot be averaged: {error}") from error
        return cls(
            theta,
            pooled([look.statistics for look in looks]),
            looks[0].weights,
            Strengths(**strengths),
            Source(f"{len(looks)} pictures") if len(looks) > 1 else looks[0].source,
            looks[0].software,
        )

    def cube(self, size: int = 33, enhancer: Enhancer | None = None) -> NDArray[np.float32]:
        """Returns what the look does to colours where its fields have their mean: a 3-D table, see `cube.bake`.

        Args:
            size: Samples along each side, 2 to 129.
            enhancer: Has the weights of the look; None for the ones in the package.
        """
        from pic_uie.cube import bake
        from pic_uie.enhancer import default_enhancer

        return bake(self, size, enhancer or default_enhancer())

    def save(self, path: str | Path, *, overwrite: bool = True) -> None:
        """Writes the look as JSON, in one step or not at all.

        Raises:
            LookError: It would be larger than a look may be, as one of very fine fields would.
            OSError: The folder cannot be written, the disk is full, or the file exists and is not to be replaced.
        """
        atomic_write(Path(path), self.to_json().encode(), overwrite=overwrite)

    @classmethod
    def load(cls, path: str | Path) -> Look:
        """Reads what `save` wrote.

        Raises:
            LookError: Missing, unreadable, not a look, damaged, or of a later version.
        """
        try:
            if not stat.S_ISREG(os.stat(path).st_mode):
                raise LookError(f"{path} is a folder or device, not a look: {REMEDY}")
            if os.path.getsize(path) > MAX_BYTES:
                raise LookError(f"{path} is larger than {MAX_BYTES >> 10} KB, which no look is: {REMEDY}")
            data = read_at_most(Path(path), MAX_BYTES)
        except OSError as error:
            raise LookError(f"cannot read the look {path}: {error.strerror or error}; {REMEDY}") from error
        except ValueError as error:  # a null character in the name
            raise (
                error if isinstance(error, LookError) else LookError(f"{path!r} is not a possible file name")
            ) from error
        try:
            return cls.from_json(data.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise LookError(f"{path} is not a look: {REMEDY}") from error
        except LookError as error:
            raise LookError(f"{path}: {error}") from error

    def to_json(self) -> str:
        """Returns the text of a look's file."""
        from pic_uie.look_json import dump

        return dump(self)

    @classmethod
    def from_json(cls, text: str) -> Look:
        """Reads what `to_json` returned.

        Raises:
            LookError: Not a look, damaged, or of a later version.
        """
        from pic_uie.look_json import parse

        return parse(text)


def content_digest(theta: Corrections, statistics: Statistics) -> str:
    """Returns the SHA-256 over θ and the statistics, every number as it is."""
    sha256 = hashlib.sha256()
    for name in (*ARRAYS, *NUMBERS):
        array = np.asarray(getattr(theta, name), "<f4")
        sha256.update(f"{name} {array.shape}".encode() + array.tobytes())
    for values in (statistics.mean, statistics.covariance):
        sha256.update(values.astype("<f8").tobytes())
    return sha256.hexdigest()


def refuse_other_weights(look: Look, weights: str, what: str = "the look") -> None:
    """Raises LookError for a look of other weights than those with this SHA-256."""
    if look.weights != weights:
        own = next((name for name, path in NAMED.items() if load(path).sha256 == look.weights), "FILE")
        raise LookError(
            f"{what} belongs to weights {look.weights[:8]}, these are {weights[:8]}: "
            f"use its own with --weights {own}, or make the look again"
        )


def _check_same_weights(looks: Sequence[Any]) -> None:
    for look in looks:
        if not isinstance(look, Look):
            raise LookError(f"expected a Look, got {type(look).__name__}")
        refuse_other_weights(look, looks[0].weights, "one look")


def _is_sha256(text: object) -> bool:
    return isinstance(text, str) and len(text) == 64 and set(text) <= set("0123456789abcdef")


_STRENGTHS = tuple(Strengths().as_dict())
REMEDY = f"a look is a file that `pic-uie enhance --save-look` wrote, such as reef_enhanced{SUFFIX}"
