"""Pictures of waves and noise, of any size and number of channels, and files of them."""

import numpy as np
from PIL import Image


def scene(width, height, channels, seed=0):
    generator = np.random.default_rng(seed)
    y, x = np.mgrid[:height, :width]
    waves = [110 + 80 * np.sin(x / (31 + 9 * c) + c) * np.cos(y / (23 + c)) for c in range(channels)]
    noisy = np.stack(waves, -1) + generator.normal(0, 9, (height, width, channels))
    return np.clip(noisy, 0, 255).astype(np.uint8)


def write(path, pixels, **options):
    Image.fromarray(pixels.squeeze(-1) if pixels.shape[-1] == 1 else pixels).save(path, **options)
    return path
