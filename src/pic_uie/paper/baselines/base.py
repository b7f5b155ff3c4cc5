"""What the systems share: pictures in [0, 1] in and out, of any size that the system takes, and an objective."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import ClassVar, NamedTuple

import safetensors.torch
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pic_uie.errors import WeightsError
from pic_uie.files import atomic_write
from pic_uie.model.pic_uie import check_batch
from pic_uie.paper.baselines.perceptual import Perceptual
from pic_uie.weights import BASELINE_FORMAT, make_header, read_file

MAX_BYTES = 1 << 30  # the largest system is 0.2 GB

Terms = dict[str, Tensor]


class Given(NamedTuple):
    """What an objective is computed from.

    Attributes:
        inputs: (B, 3, S, S) in [0, 1].
        targets: The same.
        perceptual: The VGG term, or None where no weights of VGG were given.
        rival: The discriminator, or None where the objective is not adversarial.
    """

    inputs: Tensor
    targets: Tensor
    perceptual: Perceptual | None = None
    rival: nn.Module | None = None


class Baseline(nn.Module):
    """One system of the paper's tables.

    A subclass sets the class attributes, and writes `enhance` and, where its objective is not L1 with VGG, `objective`.

    Attributes:
        name: What the command line calls it.
        title: What the paper's tables call it.
        multiple: Both sides are padded to a multiple of this, and the result is cropped.
        fixed: The only side that the system takes, or None.
        passes: Runs of the network a picture (Monte-Carlo draws, steps of a sampler).
        vgg: Depth (16 or 19) and layer weights of the perceptual term, or None where the objective has none.
        vgg_weight: Of the perceptual term in the objective.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    multiple: ClassVar[int] = 1
    fixed: ClassVar[int | None] = None
    passes: ClassVar[int] = 1
    vgg: ClassVar[tuple[int, dict[int, float]] | None] = None
    vgg_weight: ClassVar[float] = 1.0

    def enhance(self, rgb: Tensor) -> Tensor:
        """Enhances a batch whose sides the system can take; the result may leave [0, 1]."""
        raise NotImplementedError

    def one_pass(self, rgb: Tensor) -> Tensor:
        """Runs the network once: what one of `passes` costs."""
        return self.padded(rgb)

    def forward(self, rgb: Tensor) -> Tensor:
        """Enhances (B, 3, H, W) in [0, 1].

        Raises:
            ValueError: No such batch, or a size that the system cannot take.
        """
        check_batch(rgb)
        return self.padded(rgb).clamp(0.0, 1.0)

    def padded(self, rgb: Tensor) -> Tensor:
        """Runs `enhance` on the picture padded to what the system takes, and crops the result."""
        height, width = rgb.shape[-2:]
        self.check_size(height, width)
        below, right = -height % self.multiple, -width % self.multiple
        if not below and not right:
            return self.enhance(rgb)
        return self.enhance(F.pad(rgb, (0, right, 0, below), mode="replicate"))[..., :height, :width]

    @classmethod
    def check_size(cls, height: int, width: int) -> None:
        """Raises ValueError unless the system takes pictures of this size."""
        if cls.fixed is not None and (height, width) != (cls.fixed, cls.fixed):
            raise ValueError(
                f"{cls.title} takes pictures of {cls.fixed}x{cls.fixed} only, got {width}x{height}: "
                f"resize them, or evaluate with --resize from-256"
            )

    def objective(self, given: Given) -> Terms:
        """Returns the weighted terms of the system's own objective, whose sum is minimised: by default L1 and VGG."""
        enhanced = self.padded(given.inputs)
        terms = {"l1": F.l1_loss(enhanced, given.targets)}
        if given.perceptual is not None:
            terms["vgg"] = self.vgg_weight * given.perceptual(enhanced, given.targets)
        return terms

    def make_rival(self) -> nn.Module | None:
        """Returns the discriminator of an adversarial objective, or None."""
        return None

    def rival_objective(self, given: Given) -> Terms:
        """Returns the weighted terms that the discriminator minimises."""
        raise NotImplementedError

    def save(self, path: str | Path) -> str:
        """Writes parameters and buffers with the system's name and a hash; returns the hash."""
        tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in sorted(self.state_dict().items())}
        sha256 = digest(self.name, tensors)
        header = make_header(format=BASELINE_FORMAT, method=self.name, sha256=sha256)
        atomic_write(Path(path), safetensors.torch.save(tensors, header))
        return sha256


def read_weights(path: str | Path) -> tuple[str, dict[str, Tensor], str]:
    """Reads a weights file of a baseline: the system's name, its tensors, the hash.

    Raises:
        WeightsError: Unreadable, no safetensors, of another format, damaged.
    """
    header, tensors = read_file(path, "pt", BASELINE_FORMAT, MAX_BYTES, "weights of a baseline")
    method = str(header.get("method"))
    sha256 = digest(method, tensors)
    if header.get("sha256") != sha256:
        raise WeightsError(f"{path} is damaged: its tensors hash to {sha256}, its header says {header.get('sha256')}")
    return method, tensors, sha256


def digest(method: str, tensors: dict[str, Tensor]) -> str:
    """Returns the SHA-256 over the system's name and every tensor in the order of their names."""
    sha256 = hashlib.sha256(json.dumps(method).encode())
    for name in sorted(tensors):
        sha256.update(name.encode())
        sha256.update(tensors[name].reshape(-1).contiguous().view(torch.uint8).numpy().tobytes())
    return sha256.hexdigest()
