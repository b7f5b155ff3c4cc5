"""The perceptual term that many systems train with: distances of VGG features, from weights in a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import safetensors
import safetensors.torch
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pic_uie.errors import WeightsError

BLOCKS = {16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}  # convolutions before each pooling
WIDTHS = (64, 128, 256, 512, 512)
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of ImageNet


class Perceptual(nn.Module):
    """Weighted distances between the features of two batches at some layers of VGG.

    Args:
        depth: 16 or 19.
        layers: Index in VGG's `features` (convolution, ReLU and pooling count one each) -> weight.
        path: Safetensors file with `features.N.weight` and `features.N.bias`; None keeps random values, for tests.

    Raises:
        WeightsError: The file cannot be read or is of another network.
    """

    mean: Tensor
    deviation: Tensor

    def __init__(self, depth: int, layers: Mapping[int, float], path: str | Path | None = None) -> None:
        super().__init__()
        self.layers = dict(layers)
        self.features = nn.Sequential(*list(features(depth))[: max(layers) + 1])
        self.register_buffer("mean", torch.tensor(MEAN).view(1, 3, 1, 1), persistent=False)
        self.register_buffer("deviation", torch.tensor(DEVIATION).view(1, 3, 1, 1), persistent=False)
        if path is not None:
            self._load(depth, path)
        self.requires_grad_(False)

    def forward(self, enhanced: Tensor, target: Tensor, squared: bool = False) -> Tensor:
        """Returns the weighted mean absolute (or squared) distance of two batches in [0, 1]."""
        distance = F.mse_loss if squared else F.l1_loss
        pairs = zip(self.maps(enhanced), self.maps(target), self.layers.values(), strict=True)
        return torch.stack([weight * distance(one, other) for one, other, weight in pairs]).sum()

    def maps(self, rgb: Tensor) -> list[Tensor]:
        """Returns the features at the chosen layers, shallow ones first."""
        found, value = {}, (rgb - self.mean) / self.deviation
        for index, layer in enumerate(self.features):
            value = layer(value)
            if index in self.layers:
                found[index] = value
        return [found[index] for index in self.layers]

    def _load(self, depth: int, path: str | Path) -> None:
        try:
            tensors = safetensors.torch.load_file(str(path))
        except (OSError, safetensors.SafetensorError) as error:
            raise WeightsError(f"cannot read the VGG-{depth} weights {path}: {error}") from error
        wanted = self.features.state_dict()
        given = {name: tensors.get(f"features.{name}") for name in wanted}
        for name, tensor in given.items():
            if tensor is None or tensor.shape != wanted[name].shape:
                raise WeightsError(f"{path} is not VGG-{depth}: features.{name} is missing or of another shape")
        self.features.load_state_dict(given)


def features(depth: int) -> nn.Sequential:
    """Returns the convolutional part of VGG, with the indices that its published weights use."""
    layers: list[nn.Module] = []
    channels = 3
    for count, width in zip(BLOCKS[depth], WIDTHS, strict=True):
        for _ in range(count):
            layers += [nn.Conv2d(channels, width, 3, padding=1), nn.ReLU()]
            channels = width
        layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers)
