"""The model in NumPy: numbers that stand in the paper, and rules that its steps keep. The tests of engines use it."""

import numpy as np
import pytest

from helpers.samples import EXTREMES, extreme_corrections, picture, random_corrections, random_parameters
from pic_uie import constants
from pic_uie.reference import exact, execute, gate_scalars, look_up, resize, to_rgb, to_ycbcr

SIZES = [(1, 1), (1, 7), (31, 33), (64, 48)]


def test_the_constants_are_the_papers():
    wanted = {"T_MIN": 0.05, "TONE_FLOOR": 1e-3, "NORM_EPS": 1e-5, "STD_EPS": 1e-5, "COVARIANCE_EPS": 1e-4}
    wanted |= {"EIGENVALUE_FLOOR": 1e-4, "CHROMA_LIMIT": 0.5, "THUMBNAIL": 256, "LUT_GRID": 9, "TONE_INCREMENTS": 32}
    assert {name: getattr(constants, name) for name in wanted} == wanted


def test_colours_are_full_range_bt601():
    luma = to_ycbcr(np.eye(3))
    np.testing.assert_allclose(luma[:, 0], [0.299, 0.587, 0.114])
    np.testing.assert_allclose(luma[0, 2], 0.713 * (1 - 0.299))
    np.testing.assert_allclose(luma[2, 1], 0.564 * (1 - 0.114))
    grey = np.array([[0.25, 0.0, 0.0]])
    np.testing.assert_allclose(to_rgb(grey), [[0.25, 0.25, 0.25]])
    red, blue = to_rgb(np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]))
    np.testing.assert_allclose((red[0], blue[2]), (1.402, 1.773))
    np.testing.assert_allclose([red @ [0.299, 0.587, 0.114], blue @ [0.299, 0.587, 0.114]], 0.0, atol=1e-12)


@pytest.mark.parametrize(("height", "width"), SIZES)
@pytest.mark.parametrize("name", [None, *EXTREMES])
def test_every_step_stays_in_its_range_and_the_last_has_the_colours_that_theta_asks_for(name, height, width):
    theta = exact(random_corrections(height) if name is None else extreme_corrections(name)) | {"blend": np.array(1.0)}
    steps = execute(picture(5, height, width).transpose(1, 2, 0), theta, random_parameters(3))
    for luma in (steps.y, steps.y1, steps.toned, steps.y2, steps.z1[..., 0], steps.z2[..., 0], steps.result):
        assert luma.min() >= 0.0
        assert luma.max() <= 1.0
    chroma = steps.z2[..., 1:].reshape(-1, 2)  # never clipped: its mean is the one of θ, Eq. 4
    np.testing.assert_allclose(chroma.mean(0), theta["mean"][1:], atol=1e-9)


def test_the_table_is_met_at_its_samples_and_clamped_beyond():
    lut = exact(random_corrections(2))["lut"]
    axis = np.linspace(-0.5, 0.5, lut.shape[-1])
    cb, cr = np.meshgrid(axis, axis)
    np.testing.assert_allclose(look_up(lut, np.dstack([cb, cr])), 0.5 * np.moveaxis(lut, 0, -1), atol=1e-12)
    np.testing.assert_allclose(look_up(lut, np.array([9.0, -9.0])), 0.5 * lut[:, 0, -1])


def test_without_a_gate_the_table_acts_everywhere():
    assert gate_scalars({}) == (1.0, 0.0)


def test_resize_keeps_constants_and_a_ramp_in_the_middle():
    np.testing.assert_allclose(resize(np.full((3, 4), 0.7), 9, 5), 0.7)
    ramp = resize(np.arange(8.0)[None].repeat(2, 0), 2, 16)[0]
    np.testing.assert_allclose(ramp[1:-1], np.arange(14) * 0.5 + 0.25)
