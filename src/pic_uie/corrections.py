"""θ = {t, v, a, Γ, U, A, K}: what the predictor says and the executor does, as plain arrays."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pic_uie import _native
from pic_uie import constants as c
from pic_uie.errors import CorrectionsError, did_you_mean
from pic_uie.statistics import odd_ones

Array = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Corrections:
    """The seven corrections of one picture, checked and read-only.

    Attributes:
        t: Transmission proxy, (h, w) in [0.05, 1].
        v: Veiling light, (h, w) in [0, 1].
        a: Luminance gain, (h, w), >= 0.
        tone: Γ as samples on a uniform grid over [0, 1], (n,), from 0 to 1, strictly increasing.
        lut: U over normalised chroma [-1, 1]², (2, g, g): channel 0 is Cb', 1 is Cr'; last axis runs along Cb.
        matrix: M of A, (3, 3).
        bias: b of A, (3,).
        mean: u of K, (3,).
        recolor: G of K, (3, 3), lower triangular.
        blend: α of K, a number in [0, 1].
        refinement: The share of the refiner F of Eq. 3 that is added, in [0, 1]; predicted corrections have 1.
    """

    t: Array
    v: Array
    a: Array
    tone: Array
    lut: Array
    matrix: Array
    bias: Array
    mean: Array
    recolor: Array
    blend: float
    refinement: float = 1.0

    def __post_init__(self) -> None:
        """Copies the arrays as float32 and checks shapes, finiteness and ranges."""
        for name in ARRAYS:
            object.__setattr__(self, name, _read_only(name, getattr(self, name)))
        for name in NUMBERS:
            object.__setattr__(self, name, _number(name, getattr(self, name)))
        self._check_shapes()
        self._check_ranges()

    def _check_shapes(self) -> None:
        fields_shape = self.t.shape
        if self.t.ndim != 2 or self.t.size == 0:
            raise CorrectionsError(f"t must have shape (h, w), got {fields_shape}")
        grid = self.lut.shape[-1] if self.lut.ndim == 3 else 0
        if self.lut.shape != (2, grid, grid) or grid < 2:
            raise CorrectionsError(f"lut must have shape (2, g, g) with g >= 2, got {self.lut.shape}")
        if self.tone.ndim != 1 or self.tone.size < 2:
            raise CorrectionsError(f"tone must have shape (n,) with n >= 2, got {self.tone.shape}")
        expected = {
            "v": fields_shape,
            "a": fields_shape,
            "matrix": (3, 3),
            "bias": (3,),
            "mean": (3,),
            "recolor": (3, 3),
        }
        for name, shape in expected.items():
            seen = getattr(self, name).shape
            if seen != shape:
                raise CorrectionsError(f"{name} must have shape {shape}, got {seen}")

    def _check_ranges(self) -> None:
        _check_range("t", self.t, float(np.float32(c.T_MIN)), 1.0)
        _check_range("v", self.v, 0.0, 1.0)
        _check_range("a", self.a, 0.0, np.inf)
        for name in NUMBERS:
            _check_range(name, np.float32(getattr(self, name)), 0.0, 1.0)
        if self.tone[0] != 0.0 or self.tone[-1] != 1.0:
            raise CorrectionsError(f"tone must run from 0 to 1, got {self.tone[0]} to {self.tone[-1]}")
        steps = np.diff(self.tone)
        if not np.all(steps > 0.0):
            i = int(np.argmin(steps))
            raise CorrectionsError(
                f"tone must be strictly increasing, got {self.tone[i]}, {self.tone[i + 1]} at sample {i}"
            )
        if np.any(np.triu(self.recolor, k=1)):
            raise CorrectionsError(f"recolor must be lower triangular, got {self.recolor.tolist()}")

    def __eq__(self, other: object) -> bool:
        """Returns whether all seven corrections are the same, bit for bit."""
        if not isinstance(other, Corrections):
            return NotImplemented
        same_arrays = all(np.array_equal(getattr(self, name), getattr(other, name)) for name in ARRAYS)
        return same_arrays and all(getattr(self, name) == getattr(other, name) for name in NUMBERS)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and unpickled ones are checked and read-only too."""
        return Corrections, tuple(getattr(self, field.name) for field in fields(self))

    def to_json(self) -> str:
        """Returns JSON that `from_json` reads back to the very same numbers."""
        values = {field.name: np.asarray(getattr(self, field.name)).tolist() for field in fields(self)}
        return json.dumps({"format": FORMAT, **values}, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Corrections:
        """Reads what `to_json` wrote.

        Raises:
            CorrectionsError: Not JSON, another format, a missing or unknown name, a wrong shape or value.
        """
        try:
            values: Any = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise CorrectionsError(f"corrections are not valid JSON: {error}") from error
        if not isinstance(values, dict) or values.pop("format", None) != FORMAT:
            raise CorrectionsError(f'corrections must be a JSON object with "format": "{FORMAT}"')
        names = [field.name for field in fields(cls)]
        for name in values:
            if name not in names:
                raise CorrectionsError(f"unknown correction {name!r}: {did_you_mean(name, names)}")
        values.setdefault("refinement", 1.0)  # files of before the groups had strengths
        missing = [name for name in names if name not in values]
        if missing:
            raise CorrectionsError(f"corrections lack {', '.join(missing)}")
        return cls(**values)

    def interpolate(self, other: Corrections, weight: float) -> Corrections:
        """Returns (1 - weight)·self + weight·other: valid for weight in [0, 1], since every range is convex."""
        if not 0.0 <= weight <= 1.0:
            raise CorrectionsError(f"weight must be in [0, 1], got {weight}")
        mixed: dict[str, Any] = {}
        for name in (*ARRAYS, *NUMBERS):
            ours, theirs = np.asarray(getattr(self, name)), np.asarray(getattr(other, name))
            if ours.shape != theirs.shape:
                raise CorrectionsError(f"cannot interpolate {name} of shape {ours.shape} with {theirs.shape}")
            mixed[name] = (1.0 - weight) * ours.astype(np.float64) + weight * theirs.astype(np.float64)
        return Corrections(**mixed | {"tone": _increasing(mixed["tone"])})

    def scaled(
        self, *, haze: float = 1.0, contrast: float = 1.0, colour: float = 1.0, balance: float = 1.0
    ) -> Corrections:
        """Returns θ with each group between the identity (0) and what it is (1).

        Args:
            haze: v and a. t stays, because it also gates the chroma correction; without v and a it does nothing else.
            contrast: Γ and the refiner.
            colour: U.
            balance: A and K.

        Raises:
            CorrectionsError: A strength outside [0, 1].
        """
        strengths = {"haze": haze, "contrast": contrast, "colour": colour, "balance": balance}
        for name, strength in strengths.items():
            if not isinstance(strength, (int, float, np.number)) or not 0.0 <= strength <= 1.0:
                raise CorrectionsError(f"{name} must be in [0, 1], got {strength!r}")
        arrays = empty_corrections(self.t.shape, self.tone.size, self.lut.shape[-1])
        code, refinement = _native.scale(self, float(haze), float(contrast), float(colour), float(balance), arrays)
        if code:
            raise CorrectionsError(_native.errors()[code][1])
        arrays[3] = _increasing(arrays[3])
        return from_arrays(arrays, refinement)


def empty_corrections(field: tuple[int, ...], tones: int, grid: int) -> list[Array]:
    """Returns memory for the core to write θ to: t, v, a, tone, lut, affine, covariance."""
    shapes = (field, field, field, (tones,), (2, grid, grid), (12,), (13,))
    return [np.empty(shape, np.float32) for shape in shapes]


def from_arrays(arrays: list[Array], refinement: float = 1.0) -> Corrections:
    """Returns the corrections that the core wrote to what `empty_corrections` gave it."""
    t, v, a, tone, lut, affine, covariance = arrays
    return Corrections(
        t=t,
        v=v,
        a=a,
        tone=tone,
        lut=lut,
        matrix=affine[:9].reshape(3, 3),
        bias=affine[9:],
        mean=covariance[:3],
        recolor=covariance[3:12].reshape(3, 3),
        blend=float(covariance[12]),
        refinement=refinement,
    )


FORMAT = "pic-uie-corrections-1"
NUMBERS = ("blend", "refinement")
ARRAYS = tuple(field.name for field in fields(Corrections) if field.name not in NUMBERS)


def identity(field_size: int = c.THUMBNAIL // c.DOWNSAMPLING, lut_grid: int = c.LUT_GRID) -> Corrections:
    """Returns the corrections that change nothing (but for the refiner, which belongs to the weights)."""
    flat = np.zeros((field_size, field_size), np.float32)
    return Corrections(
        t=flat + 1.0,
        v=flat,
        a=flat,
        tone=np.linspace(0.0, 1.0, c.TONE_INCREMENTS + 1, dtype=np.float32),
        lut=identity_lut(lut_grid),
        matrix=np.eye(3, dtype=np.float32),
        bias=np.zeros(3, np.float32),
        mean=np.zeros(3, np.float32),
        recolor=np.eye(3, dtype=np.float32),
        blend=0.0,
    )


def identity_lut(grid: int) -> Array:
    """Returns the table that maps every chroma to itself, (2, grid, grid)."""
    axis = np.linspace(-1.0, 1.0, grid, dtype=np.float32)
    cr, cb = np.meshgrid(axis, axis, indexing="ij")
    return np.stack([cb, cr])


def average(thetas: Sequence[Corrections]) -> Corrections:
    """Returns the mean of each number over the middle half of all θ, so that a few odd ones do not count.

    Of three or more, the largest and the smallest quarter of each number are left out (see `odd_ones`). Every
    range of θ is kept, and a curve stays increasing: if all values at one place are below those at another, so is
    each of them in order of size.

    Raises:
        CorrectionsError: There are none, or of different shapes.
    """
    if not thetas:
        raise CorrectionsError("the mean of no corrections is not defined")
    out = odd_ones(len(thetas))
    means: dict[str, Any] = {}
    for name in (*ARRAYS, *NUMBERS):
        values = [np.asarray(getattr(theta, name), np.float64) for theta in thetas]
        for value in values:
            if value.shape != values[0].shape:
                raise CorrectionsError(f"cannot average {name} of shape {values[0].shape} with {value.shape}")
        means[name] = np.sort(np.stack(values), axis=0)[out : len(thetas) - out].mean(axis=0)
    return Corrections(**means | {"tone": _increasing(means["tone"])})


def _increasing(tone: NDArray[Any]) -> Array:
    """Returns a curve in float32 that is strictly increasing where rounding made neighbours equal."""
    curve = np.asarray(tone).astype(np.float32)
    if np.all(np.diff(curve) > 0.0):
        return curve
    for i in range(1, curve.size):
        curve[i] = max(curve[i], np.nextafter(curve[i - 1], np.float32(2.0)))
    curve[-1] = 1.0
    for i in reversed(range(curve.size - 1)):
        curve[i] = min(curve[i], np.nextafter(curve[i + 1], np.float32(-1.0)))
    return curve


def _read_only(name: str, value: Any) -> Array:
    try:
        array = np.array(value, order="C")
        if array.dtype.kind not in "iuf":  # texts and truth values would be taken for numbers
            raise TypeError(f"got {array.dtype}")
        array = array.astype(np.float32)
    except (TypeError, ValueError) as error:
        raise CorrectionsError(f"{name} must be an array of numbers: {error}") from error
    if not np.all(np.isfinite(array)):
        raise CorrectionsError(f"{name} has values that are not finite")
    array.setflags(write=False)
    return array


def _number(name: str, value: Any) -> float:
    array = _read_only(name, value)
    if array.ndim:
        raise CorrectionsError(f"{name} must be one number, got shape {array.shape}")
    return float(array)


def _check_range(name: str, values: Any, low: float, high: float) -> None:
    smallest, largest = float(np.min(values)), float(np.max(values))
    if smallest < low or largest > high:
        raise CorrectionsError(f"{name} must be in [{low:g}, {high:g}], got {smallest:g} .. {largest:g}")
