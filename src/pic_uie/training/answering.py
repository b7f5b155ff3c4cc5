"""What finished models make of real pictures: asked once, before the first step, and kept."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from pic_uie import weights
from pic_uie.files import atomic_write
from pic_uie.training.teaching import Teachers
from pic_uie.training.unlabelled import Answered, Odds, Unlabelled
from pic_uie.training.validation import planes

VIEWS = [(turns, mirrored) for turns in range(4) for mirrored in (False, True)]
BATCH = 4  # pictures at a time, each in eight views


def answer(
    pictures: Unlabelled,
    teachers: Sequence[str],
    cache: Path | None = None,
    on_done: Callable[[int, int], None] = lambda done, count: None,
) -> Answered:
    """Asks every teacher for every picture, upright, turned and mirrored.

    A picture that is turned in training keeps the answer of all its views, turned along: the model is not quite
    indifferent to turning, and the mean of the views is better than any one of them.

    Args:
        pictures: What to answer.
        teachers: Weights files, of any configuration.
        cache: Folder for the answers; None computes them anew.
        on_done: Called with (pictures answered, pictures in all).
    """
    names = [weights.load(path).sha256 for path in teachers]
    key = hashlib.sha256("\n".join([pictures.sha256, *names]).encode()).hexdigest()
    stored = cache / f"answers-{key[:24]}.npz" if cache else None
    if stored and stored.exists():
        with np.load(stored, allow_pickle=False) as arrays:
            return Answered(pictures, arrays["answers"], arrays["disagreement"])
    asked = Teachers(teachers)
    answers, disagreement = np.empty_like(pictures.inputs), np.empty(len(pictures.stems))
    for start in range(0, len(pictures.stems), BATCH):
        place = slice(start, start + BATCH)
        mean, disagreement[place] = _ask(asked, pictures.inputs[place])
        answers[place] = mean
        on_done(min(start + BATCH, len(answers)), len(answers))
    if stored:
        stored.parent.mkdir(parents=True, exist_ok=True)
        file = io.BytesIO()
        np.savez(file, answers=answers, disagreement=disagreement)
        atomic_write(stored, file.getbuffer())
    return Answered(pictures, answers, disagreement)


@torch.no_grad()
def _ask(teachers: Teachers, pixels: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], Odds]:
    upright = planes(pixels, torch.device("cpu"))  # (B, 3, S, S)
    turned = [upright.rot90(turns, (2, 3)).flip([3] if mirrored else []) for turns, mirrored in VIEWS]
    answers = teachers.pictures(torch.cat(turned))
    each = answers.reshape(len(answers), len(VIEWS), *upright.shape)  # (teachers, views, B, 3, S, S)
    back = [
        each[:, view].flip([4] if mirrored else []).rot90(-turns, (3, 4))
        for view, (turns, mirrored) in enumerate(VIEWS)
    ]
    of_teachers = torch.stack(back).mean(dim=0)  # (teachers, B, 3, S, S)
    mean = of_teachers.mean(dim=0)
    deviation = (of_teachers - mean).double().square().mean(dim=(0, 2, 3, 4)).sqrt()
    rounded: NDArray[np.uint8] = (mean * 255.0).round().byte().permute(0, 2, 3, 1).numpy()
    return rounded, deviation.numpy()
