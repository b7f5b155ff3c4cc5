"""The model as it trains: on a CPU PIC-UIE runs in the native kernels."""

from __future__ import annotations

from torch import Tensor, nn

from pic_uie.model import PicUie, Theta
from pic_uie.model.predictor import make_thumbnail
from pic_uie.training import native


class Trainee(nn.Module):
    """Gives what `model(rgb)` gives, to rounding."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, rgb: Tensor) -> tuple[Tensor, Theta | None]:
        """Enhances (B, 3, H, W)."""
        model = self.model
        if not isinstance(model, PicUie):  # a system of the paper's tables: pictures in, pictures out
            return model(rgb), None
        if model.config.output != "corrections" or not native.supports(rgb):
            enhanced, theta = model(rgb)
            return enhanced, theta
        theta = native.predict(model.predictor, make_thumbnail(rgb, model.config.thumbnail))
        return native.execute(model.executor, rgb, theta), theta
