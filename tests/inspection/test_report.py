"""The report: what it says is what the engine and the reference say."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

from helpers.engines import BEST, pixels
from helpers.samples import random_corrections, random_parameters
from pic_uie.config import ModelConfig
from pic_uie.corrections import Corrections, identity
from pic_uie.errors import EnvironmentMissingError
from pic_uie.inspection.report import inspect
from pic_uie.inspection.sheet import render
from pic_uie.reference import exact, execute, resize
from pic_uie.strengths import Strengths
from pic_uie.weights import Weights


class Engine:
    """Predicts fixed corrections, and notes what it was shown."""

    def __init__(self, theta=None):
        self.weights = Weights(ModelConfig(), random_parameters(1), "0123456789abcdef")
        self.theta = theta or random_corrections(4)
        self.shown = None

    def predict(self, img):
        self.shown = img
        return self.theta


def random_picture(height, width, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def test_the_json_has_theta_and_the_statistics():
    picture, engine = random_picture(40, 50), Engine()
    values = json.loads(inspect(picture, engine, "reef.jpg").to_json())
    assert Corrections.from_json(json.dumps(values["corrections"])) == engine.theta
    steps = execute(picture / 255.0, exact(engine.theta), engine.weights.parameters)
    np.testing.assert_allclose(values["statistics"]["m"], steps.mean, atol=1e-9)
    np.testing.assert_allclose(values["statistics"]["S"], steps.covariance, atol=1e-9)
    np.testing.assert_allclose(values["statistics"]["eigenvalues"], np.linalg.eigvalsh(steps.covariance), atol=1e-9)
    small = resize(picture / 255.0, 256, 256)
    np.testing.assert_allclose(values["thumbnail"]["mean"], small.mean((0, 1)), atol=1e-9)
    np.testing.assert_allclose(values["thumbnail"]["std"], small.std((0, 1), ddof=1), atol=1e-9)
    assert values["picture"] == {"name": "reef.jpg", "height": 40, "width": 50}
    assert values["gate"]["beta"] == float(engine.weights.parameters["executor.gate.beta"])


def test_theta_comes_from_the_picture_as_given_and_the_steps_from_a_small_copy():
    picture, engine = random_picture(60, 90), Engine()
    inspection = inspect(picture, engine, max_side=45)
    assert engine.shown is picture
    assert inspection.steps.y.shape == (30, 45)
    assert inspection.size == (60, 90)
    assert inspect(picture, engine, max_side=None).steps.y.shape == (60, 90)


@pytest.mark.parametrize(
    "bad",
    [
        np.zeros((4, 4), np.uint8),
        np.zeros((4, 4, 4), np.uint8),
        np.zeros((4, 4, 3), np.float32),
        np.zeros((0, 4, 3), np.uint8),
    ],
)
def test_other_arrays_are_refused(bad):
    with pytest.raises(ValueError, match="got"):
        inspect(bad, Engine())


def test_max_side_must_be_positive():
    with pytest.raises(ValueError, match="got 0"):
        inspect(random_picture(4, 4), Engine(), max_side=0)


@pytest.mark.parametrize("size", [(1, 1), (64, 20), (20, 64)])
def test_the_sheet_is_drawn_for_odd_pictures(size):
    inspection = inspect(random_picture(*size), Engine(), "a $\\name$ with _marks_ " * 9)
    assert render(inspection, dpi=30).startswith(b"\x89PNG")


def test_the_sheet_is_drawn_for_a_black_picture_and_identity():
    inspection = inspect(np.zeros((32, 48, 3), np.uint8), Engine(identity()))
    assert render(inspection, "pdf").startswith(b"%PDF")


def test_the_same_picture_gives_the_same_sheet():
    inspection = inspect(random_picture(24, 32), Engine())
    assert render(inspection, dpi=30) == render(inspection, dpi=30)


def test_a_missing_extra_says_what_to_install(monkeypatch):
    inspection = inspect(random_picture(24, 32), Engine())
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(EnvironmentMissingError, match=r"pic-uie\[figures\]"):
        render(inspection)


@pytest.mark.parametrize(
    "strengths",
    [
        Strengths(haze=0.3),
        Strengths(contrast=0.4),
        Strengths(colour=0.5),
        Strengths(balance=0.6, strength=0.7),
        Strengths(0.2, 0.0, 0.7, 0.4, 0.9),
        Strengths(0.0, 0.0, 0.0, 0.0),
    ],
    ids=str,
)
def test_the_steps_with_groups_end_where_the_engine_does(strengths):
    picture = pixels(9, 61, 83, np.uint8)
    result = inspect(picture, BEST, max_side=None, strengths=strengths).steps.result * 255.0
    assert np.abs(result - BEST.enhance(picture, **strengths.as_dict())).max() < 0.51 + 0.02
