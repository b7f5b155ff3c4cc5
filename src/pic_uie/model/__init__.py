"""The model in PyTorch, differentiable: what is trained, and what every other engine is checked against."""

from pic_uie.config import ModelConfig
from pic_uie.model.pic_uie import PicUie
from pic_uie.model.theta import Theta

__all__ = ["ModelConfig", "PicUie", "Theta"]
