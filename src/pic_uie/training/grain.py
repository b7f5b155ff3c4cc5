"""What cameras add to a picture and no enhancement should strengthen: the noise of a sensor, the blocks of JPEG."""

from __future__ import annotations

import io

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from pic_uie.training.config import Augmentation

LEVELS = 255.0
QUALITY = (30, 95)


def grainy(picture: Tensor, augmentation: Augmentation, rng: np.random.Generator) -> Tensor:
    """Adds noise, then blocks, as a camera does: (3, S, S) in [0, 1]."""
    if augmentation.noise:
        deviation = rng.uniform(0.0, augmentation.noise) / LEVELS
        noise = torch.from_numpy(rng.standard_normal(tuple(picture.shape), dtype=np.float32))
        picture = (picture + deviation * noise).clamp(0.0, 1.0)
    if augmentation.jpeg and rng.random() < augmentation.jpeg:
        picture = _through_jpeg(picture, int(rng.integers(QUALITY[0], QUALITY[1] + 1)))
    return picture


def _through_jpeg(picture: Tensor, quality: int) -> Tensor:
    pixels = (picture * LEVELS).round().byte().permute(1, 2, 0).contiguous().numpy()
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "JPEG", quality=quality)
    back = np.array(Image.open(file))
    return torch.from_numpy(back).permute(2, 0, 1).float() / LEVELS
