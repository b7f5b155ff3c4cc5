"""The whole: thumbnail → predictor → θ → executor."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn

from pic_uie import weights
from pic_uie.config import ModelConfig
from pic_uie.model import pretrained
from pic_uie.model.dense import Dense
from pic_uie.model.executor import Executor
from pic_uie.model.predictor import Predictor, make_thumbnail
from pic_uie.model.theta import Theta


class PicUie(nn.Module):
    """PIC-UIE: `PicUie()` is the paper's model, `PicUie(config)` any of its variants."""

    def __init__(self, config: ModelConfig | None = None) -> None:
        super().__init__()
        self.config = config or ModelConfig()
        if self.config.output == "corrections":
            self.predictor = Predictor(self.config)
            self.executor = Executor(self.config)
        else:
            self.dense = Dense(self.config)

    def forward(self, rgb: Tensor) -> tuple[Tensor, Theta | None]:
        """Enhances a batch.

        Args:
            rgb: (B, 3, H, W) in [0, 1], any size.

        Returns:
            The enhanced batch and its θ (None for the dense controls, which have none).

        Raises:
            ValueError: Wrong rank, channels, type or size, or values that are not finite or outside [0, 1].
        """
        check_batch(rgb)
        if self.config.output != "corrections":
            return self.dense(rgb), None
        theta: Theta = self.predictor(make_thumbnail(rgb, self.config.thumbnail))  # Eq. 1
        return self.executor(rgb, theta), theta

    @classmethod
    def load(cls, path: str | Path) -> PicUie:
        """Builds the model that a weights file describes."""
        return cls.from_weights(weights.load(path))

    @classmethod
    def from_weights(cls, checked: weights.Weights) -> PicUie:
        """Builds the model from weights that have been read."""
        model = cls(checked.config)
        model.load_state_dict({name: torch.tensor(array) for name, array in checked.parameters.items()})
        return model

    @classmethod
    def from_pretrained(cls, path: str | Path) -> PicUie:
        """Builds the model from a folder in the hub's layout (or a weights file) on this machine.

        Raises:
            WeightsError: Something is missing or does not fit; nothing is downloaded.
        """
        return cls.from_weights(pretrained.load(path)).eval()

    def save_pretrained(self, folder: str | Path, license_name: str = "other") -> Path:
        """Writes model.safetensors, config.json and, where there is none yet, a card; returns the folder."""
        parameters = {name: tensor.detach().float().cpu().numpy() for name, tensor in self.state_dict().items()}
        sha256 = weights.digest(self.config, parameters)
        return pretrained.save(folder, weights.Weights(self.config, parameters, sha256), license_name)

    def save(self, path: str | Path) -> weights.Weights:
        """Writes the weights file."""
        parameters = {name: tensor.detach().float().cpu().numpy() for name, tensor in self.state_dict().items()}
        return weights.save(path, self.config, parameters)


def check_batch(rgb: Tensor) -> None:
    """Raises ValueError unless `rgb` is a non-empty (B, 3, H, W) batch of finite values in [0, 1]."""
    if not isinstance(rgb, Tensor):
        raise ValueError(f"expected a tensor (B, 3, H, W), got {type(rgb).__name__}")
    if rgb.ndim != 4 or rgb.shape[1] != 3:
        raise ValueError(f"expected shape (B, 3, H, W), got {tuple(rgb.shape)}")
    if not rgb.numel():
        raise ValueError(f"expected at least one pixel, got shape {tuple(rgb.shape)}")
    if not rgb.is_floating_point():
        raise ValueError(f"expected floating-point values in [0, 1], got {rgb.dtype}; divide 8-bit pictures by 255")
    smallest, largest = (float(value) for value in torch.aminmax(rgb.detach()))
    if not (smallest >= 0.0 and largest <= 1.0):  # also false for NaN
        raise ValueError(f"expected finite values in [0, 1], got {smallest} .. {largest}")
