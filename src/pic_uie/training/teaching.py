"""Finished models as teachers: where no pair has an answer, the mean of their pictures is the target."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from pic_uie.model import PicUie
from pic_uie.training.augmentation import Batch
from pic_uie.training.trainee import Trainee


class Teachers(nn.Module):
    """The models of some weights files, which may be of any configuration."""

    def __init__(self, paths: Sequence[str]) -> None:
        super().__init__()
        self.teachers = nn.ModuleList(Trainee(PicUie.load(path)) for path in paths)

    @torch.no_grad()
    def forward(self, batch: Batch) -> Batch:
        """Fills in the targets that are missing."""
        if not batch.unanswered:
            return batch
        targets = batch.targets.clone()
        targets[batch.unanswered] = self.pictures(batch.inputs[batch.unanswered]).mean(dim=0)
        return batch._replace(targets=targets)

    def pictures(self, inputs: Tensor) -> Tensor:
        """Returns what each teacher makes of the inputs: (teachers, B, 3, H, W)."""
        return torch.stack([teacher(inputs)[0] for teacher in self.teachers])
