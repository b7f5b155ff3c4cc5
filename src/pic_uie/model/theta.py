"""θ as tensors: a batch of corrections between the predictor and the executor."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from pic_uie.corrections import Corrections


class Theta(NamedTuple):
    """The seven corrections of a batch; `Corrections` says what each means."""

    t: Tensor  # (B, 1, h, w)
    v: Tensor  # (B, 1, h, w)
    a: Tensor  # (B, 1, h, w)
    tone: Tensor  # (B, n)
    lut: Tensor  # (B, 2, g, g)
    matrix: Tensor  # (B, 3, 3)
    bias: Tensor  # (B, 3)
    mean: Tensor  # (B, 3)
    recolor: Tensor  # (B, 3, 3)
    blend: Tensor  # (B,)

    def corrections(self) -> list[Corrections]:
        """Returns the corrections of each picture in the batch as arrays."""
        arrays = {name: value.detach().float().cpu().numpy() for name, value in self._asdict().items()}
        for name in ("t", "v", "a"):
            arrays[name] = arrays[name][:, 0]
        return [Corrections(**{name: array[i] for name, array in arrays.items()}) for i in range(len(self.blend))]

    @classmethod
    def from_corrections(cls, *batch: Corrections, dtype: torch.dtype = torch.float32) -> Theta:
        """Stacks corrections of one and the same shape into a batch."""
        stacked = {}
        for name in cls._fields:
            values = [torch.tensor(getattr(corrections, name), dtype=dtype) for corrections in batch]
            stacked[name] = torch.stack(values)
        for name in ("t", "v", "a"):
            stacked[name] = stacked[name].unsqueeze(1)
        return cls(**stacked)
