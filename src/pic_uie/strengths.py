"""How much of a correction is applied: of each group, and of the whole."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import Any

from pic_uie.errors import CorrectionsError, did_you_mean

GROUPS = ("haze", "contrast", "colour", "balance")


@dataclass(frozen=True)
class Strengths:
    """Numbers from 0 (nothing of it) to 1 (all of it). Groups act on θ; `strength` blends the finished picture.

    Attributes:
        haze: Of veiling light and gain: v and a.
        contrast: Of the tone curve Γ and the refiner.
        colour: Of the chroma table U.
        balance: Of the colour matrix A and the calibration K.
        strength: Of all together.

    Raises:
        CorrectionsError: A value that is no number from 0 to 1.
    """

    haze: float = 1.0
    contrast: float = 1.0
    colour: float = 1.0
    balance: float = 1.0
    strength: float = 1.0

    def __post_init__(self) -> None:
        """Checks the numbers."""
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= value <= 1:  # type: ignore[operator]
                raise CorrectionsError(f"{field.name} must be a number in [0, 1], got {value!r}")
            object.__setattr__(self, field.name, float(value))

    @property
    def groups(self) -> dict[str, float]:
        """The strengths of the groups by name, as `Corrections.scaled` takes them."""
        return {name: getattr(self, name) for name in GROUPS}

    @property
    def changes_nothing(self) -> bool:
        """Whether the result is the input."""
        return self.strength == 0.0 or not any(self.groups.values())

    @property
    def has_all_groups(self) -> bool:
        """Whether every group is applied as predicted."""
        return all(value == 1.0 for value in self.groups.values())

    @property
    def largest(self) -> float:
        """The most that is applied of anything: 0 where nothing is."""
        return self.strength * max(self.groups.values())

    def times(self, other: Strengths) -> Strengths:
        """Returns the strengths of both, one on top of the other."""
        return replace(self, **{name: value * getattr(other, name) for name, value in self.as_dict().items()})

    def interpolate(self, other: Strengths, weight: float) -> Strengths:
        """Returns (1 - weight)·self + weight·other."""
        mixed = {name: (1.0 - weight) * value + weight * getattr(other, name) for name, value in self.as_dict().items()}
        return Strengths(**{name: min(value, 1.0) for name, value in mixed.items()})

    def as_dict(self) -> dict[str, float]:
        """Returns all five by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_dict(cls, values: Any) -> Strengths:
        """Reads what `as_dict` returned; what is not there is 1.

        Raises:
            CorrectionsError: No names and numbers, an unknown name, or a number outside [0, 1].
        """
        if not isinstance(values, dict):
            raise CorrectionsError(f"strengths must be names with numbers, got {type(values).__name__}")
        names = [field.name for field in fields(cls)]
        for name in values:
            if name not in names:
                raise CorrectionsError(f"unknown strength {name!r}: {did_you_mean(str(name), names)}")
        return cls(**values)

    def __str__(self) -> str:
        """What is not 1, such as "haze 0.6"; "as predicted" where all is."""
        changed = [f"{name} {value:g}" for name, value in self.as_dict().items() if value != 1.0]
        return ", ".join(changed) or "as predicted"
