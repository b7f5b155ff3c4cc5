"""Pictures that need nothing, by kind, and how much a model may change them: mean ΔE00 below the bound."""

import numpy as np
from skimage import data

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


WHITE = (255, 255, 255)
KINDS = {
    "land": (land, 9.0),
    "dark, 4 stops": (lambda: dark(4), 8.0),
    "dark, 8 stops": (lambda: dark(8), 3.5),
    "good": (good, 8.0),
    "grey": (lambda: one_colour((0, 0, 0), (60, 60, 60), (128, 128, 128), (200, 200, 200), WHITE), 6.0),
    "white sheet": (lambda: one_colour(WHITE), 5.0),
    "one colour": (lambda: one_colour((200, 40, 40), (240, 220, 180), (90, 60, 120), (40, 140, 60)), 6.0),
    "one colour of water": (lambda: one_colour((10, 60, 120), (20, 120, 110), (0, 90, 160)), 13.0),
}


def changes(enhancer, pictures):
    """Returns the mean ΔE00 between each picture and its result."""
    return [ciede2000(enhancer.enhance(pixels), pixels) for pixels in pictures]
