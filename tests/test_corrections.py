"""θ as arrays: what is accepted, JSON, interpolation."""

import copy
import json
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.samples import EXTREMES, extreme_corrections, random_corrections
from pic_uie import Corrections
from pic_uie.corrections import identity
from pic_uie.errors import CorrectionsError

NAMES = list(Corrections.__dataclass_fields__)


def changed(**changes):
    return Corrections(**({name: getattr(random_corrections(0), name) for name in NAMES} | changes))


@pytest.mark.parametrize(
    "corrections", [identity(), identity(16, 5), *(extreme_corrections(name) for name in EXTREMES)]
)
def test_json_round_trip_is_exact(corrections):
    assert Corrections.from_json(corrections.to_json()) == corrections


@given(seed=st.integers(0, 1000), weight=st.floats(0.0, 1.0))
def test_interpolation_stays_valid_and_meets_its_ends(seed, weight):
    first, second = random_corrections(seed), random_corrections(seed + 1)
    middle = first.interpolate(second, weight)
    assert first.interpolate(second, 0.0) == first
    assert first.interpolate(second, 1.0) == second
    assert np.allclose(middle.lut, (1 - weight) * first.lut + weight * second.lut, atol=1e-6)


def test_arrays_are_copied_and_read_only():
    bias = np.zeros(3, np.float32)
    corrections = changed(bias=bias)
    bias[0] = 5.0
    assert corrections.bias[0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        corrections.bias[0] = 1.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"t": np.zeros((32, 32))}, r"t must be in \[0.05, 1\], got 0"),
        ({"t": np.full((32, 32), 1.1)}, "t must be in"),
        ({"t": np.ones(32)}, r"t must have shape \(h, w\), got \(32,\)"),
        ({"v": np.full((32, 32), -0.1)}, "v must be in"),
        ({"v": np.zeros((31, 32))}, r"v must have shape \(32, 32\), got \(31, 32\)"),
        ({"a": np.full((32, 32), -1.0)}, "a must be in"),
        ({"a": np.full((32, 32), np.nan)}, "a has values that are not finite"),
        ({"tone": np.linspace(0, 1, 33)[::-1]}, "tone must run from 0 to 1"),
        ({"tone": [0.0, 0.6, 0.5, 1.0]}, "strictly increasing"),
        ({"tone": [0.0, 0.5, 0.5, 1.0]}, "strictly increasing"),
        ({"tone": [1.0]}, r"tone must have shape \(n,\)"),
        ({"lut": np.zeros((2, 9, 8))}, r"lut must have shape \(2, g, g\)"),
        ({"lut": np.full((2, 9, 9), np.inf)}, "lut has values that are not finite"),
        ({"matrix": np.eye(4)}, r"matrix must have shape \(3, 3\), got \(4, 4\)"),
        ({"bias": np.zeros(4)}, "bias must have shape"),
        ({"mean": "grey"}, "mean must be an array of numbers"),
        ({"recolor": np.ones((3, 3))}, "lower triangular"),
        ({"blend": 1.5}, "blend must be in"),
        ({"blend": [0.5]}, "blend must be one number"),
    ],
)
def test_bad_values_are_refused(changes, message):
    with pytest.raises(CorrectionsError, match=message):
        changed(**changes)


def test_bad_json_is_refused():
    good = json.loads(identity().to_json())
    cases = [
        ("{", "not valid JSON"),
        ("[]", "JSON object"),
        (json.dumps(good | {"format": "other"}), "format"),
        (json.dumps(good | {"tonne": 1}), "did you mean 'tone'"),
        (json.dumps({key: value for key, value in good.items() if key != "lut"}), "lack lut"),
        (json.dumps(good | {"tone": [0, 1, 0.5]}), "tone"),
        (identity().to_json().replace("[1.0, 1.0", "[NaN, 1.0", 1), "not finite"),
    ]
    for text, message in cases:
        with pytest.raises(CorrectionsError, match=message):
            Corrections.from_json(text)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda theta: pickle.loads(pickle.dumps(theta))])  # noqa: S301
def test_copies_are_read_only_too(duplicate):
    theta = random_corrections(3)
    again = duplicate(theta)
    assert again == theta
    with pytest.raises(ValueError, match="read-only"):
        again.bias[0] = 1.0


@pytest.mark.parametrize("blend", ["0.5", True, 10**400, None])
def test_only_numbers_are_numbers(blend):
    with pytest.raises(CorrectionsError, match="blend"):
        changed(blend=blend)


def test_interpolation_refuses_other_shapes_and_weights():
    with pytest.raises(CorrectionsError, match="weight"):
        identity().interpolate(identity(), 1.5)
    with pytest.raises(CorrectionsError, match="cannot interpolate t of shape"):
        identity().interpolate(identity(16), 0.5)
