"""Engines with random weights, one for each instruction set, and pictures for them."""

import numpy as np

from helpers.samples import picture, random_parameters
from pic_uie import Enhancer, weights
from pic_uie.config import ModelConfig
from pic_uie.enhancer import instruction_sets
from pic_uie.weights import Weights

MAXIMUM = {np.uint8: 255, np.uint16: 65535, np.float32: 1}


def make_weights(seed=0, config=None):
    config = config or ModelConfig()
    parameters = random_parameters(seed, config)
    return Weights(config, parameters, weights.digest(config, parameters))


def exact(parameters):
    return {name: array.astype(np.float64) for name, array in parameters.items()}


WEIGHTS = make_weights()
EXACT = exact(WEIGHTS.parameters)
ENHANCERS = {name: Enhancer(WEIGHTS, threads=2, instruction_set=name) for name in instruction_sets()}
BEST = next(iter(ENHANCERS.values()))


def pixels(seed, height, width, dtype=np.float32, channels=3):
    """A picture (H, W, C) of the type, with random alpha where there are four channels."""
    image = picture(seed, height, width).transpose(1, 2, 0)
    if channels == 1:
        image = image[..., :1]
    if channels == 4:
        alpha = np.random.default_rng(seed).random((height, width, 1), np.float32)
        image = np.concatenate([image, alpha], axis=2)
    if dtype == np.float32:
        return np.ascontiguousarray(image)
    return np.floor(image * MAXIMUM[dtype] + 0.5).astype(dtype)
