"""Every intermediate equals the oracle's, for random and extreme corrections and odd sizes."""

from __future__ import annotations

import numpy as np
import pytest

from oracle import execute
from pic_uie.inspection.steps import gate_scalars, resize, run_steps
from samples import EXTREMES, as_float64, extreme_corrections, picture, random_corrections, random_parameters

SIZES = [(1, 1), (1, 7), (31, 33), (64, 48)]


def check(theta, height, width):
    parameters = random_parameters(3)
    image = picture(5, height, width)
    expected = execute(image.astype(np.float64), as_float64(theta), parameters, steps=True)
    steps = run_steps(image.transpose(1, 2, 0), theta, parameters)
    for ours, theirs in (("y1", "y1"), ("toned", "toned"), ("y2", "y2")):
        np.testing.assert_allclose(getattr(steps, ours), expected[theirs], atol=1e-9)
    for ours, theirs in (("q1", "q1"), ("z1", "z1"), ("z2", "z2"), ("result", "rgb")):
        np.testing.assert_allclose(getattr(steps, ours), np.moveaxis(expected[theirs], 0, -1), atol=1e-6)
    np.testing.assert_allclose(steps.mean, expected["m"], atol=1e-9)
    np.testing.assert_allclose(steps.covariance, expected["S"], atol=1e-9)


@pytest.mark.parametrize(("height", "width"), SIZES)
def test_random_corrections_agree_with_the_oracle(height, width):
    check(random_corrections(height), height, width)


@pytest.mark.parametrize("name", EXTREMES)
def test_extreme_corrections_agree_with_the_oracle(name):
    check(extreme_corrections(name), 31, 33)


def test_without_a_gate_the_table_acts_everywhere():
    assert gate_scalars({}) == (1.0, 0.0)


def test_resize_keeps_constants_and_a_ramp_in_the_middle():
    np.testing.assert_allclose(resize(np.full((3, 4), 0.7), 9, 5), 0.7)
    ramp = resize(np.arange(8.0)[None].repeat(2, 0), 2, 16)[0]
    np.testing.assert_allclose(ramp[1:-1], np.arange(14) * 0.5 + 0.25)
