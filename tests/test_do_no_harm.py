"""Pictures that need nothing come out much as they went in, with the weights of the package.

`pytest -rP tests/test_do_no_harm.py` prints the mean ΔE00 of each kind; MODEL_CARD.md quotes it.
`--weights FILE` measures another model.
"""

import numpy as np
import pytest
from skimage import data

from pic_uie import Enhancer
from pic_uie.evaluation.metrics.ciede2000 import ciede2000
from pic_uie.synthetic import render_pair

GAMMA = 2.2


def land():
    """Photographs that were never under water: a portrait, a cup, a cat, a rocket, a motorcycle."""
    return [data.astronaut(), data.coffee(), data.chelsea(), data.rocket(), data.stereo_motorcycle()[0]]


def dark(stops):
    """The same photographs, exposed too short, with the noise of a sensor."""
    rng = np.random.default_rng(0)
    exposed = [pixels * 2.0 ** (-stops / GAMMA) + rng.normal(0.0, 1.5, pixels.shape) for pixels in land()]
    return [pixels.clip(0, 255).round().astype(np.uint8) for pixels in exposed]


def good():
    """Scenes in clear white light."""
    return [render_pair(240, 320, seed).reference for seed in range(12)]


def one_colour(*colours):
    return [np.full((240, 320, 3), colour, np.uint8) for colour in colours]


KINDS = {
    "land": (land, 9.0),
    "dark, 4 stops": (lambda: dark(4), 8.0),
    "dark, 8 stops": (lambda: dark(8), 3.5),
    "good": (good, 8.0),
    "grey": (lambda: one_colour((0, 0, 0), (60, 60, 60), (128, 128, 128), (200, 200, 200), (255, 255, 255)), 8.0),
    "one colour": (lambda: one_colour((200, 40, 40), (240, 220, 180), (90, 60, 120), (40, 140, 60)), 6.0),
    "one colour of water": (lambda: one_colour((10, 60, 120), (20, 120, 110), (0, 90, 160)), 13.0),
}


@pytest.mark.parametrize("kind", KINDS)
def test_picture_that_needs_nothing_stays(kind, pytestconfig):
    pictures, bound = KINDS[kind]
    enhancer = Enhancer(pytestconfig.getoption("weights"))
    differences = [ciede2000(enhancer.enhance(pixels), pixels) for pixels in pictures()]
    print(f"{kind}: mean ΔE00 {np.mean(differences):.2f}, each {', '.join(f'{d:.2f}' for d in differences)}")
    assert np.mean(differences) < bound
