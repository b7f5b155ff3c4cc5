"""The folder of a run: config, versions, metrics, weights, samples, and a state from which it can always resume."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import platform
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import nn

from pic_uie import typed_yaml, weights
from pic_uie.images import RGB8
from pic_uie.training.checkpoint import Ingredients, TrainingState, load_state, save_state
from pic_uie.training.config import Recipe
from pic_uie.training.pairs import Pairs
from pic_uie.training.unlabelled import Answered
from pic_uie.writing import write_file


class RunFolder:
    """The files of a run; only the chief process writes."""

    def __init__(self, folder: Path, recipe: Recipe, ingredients: Ingredients, chief: bool) -> None:
        self.folder, self.recipe, self.ingredients, self.chief = folder, recipe, ingredients, chief
        self.rows: list[dict[str, float]] = []

    def resume(self, state: TrainingState) -> None:
        """Loads the state if there is one; rows of epochs that the state does not have are taken back."""
        path = self.folder / "state.safetensors"
        if path.exists():
            load_state(path, state, self.recipe, self.ingredients)
            metrics = self.folder / "metrics.csv"
            if metrics.exists():
                with metrics.open(newline="", encoding="utf-8") as file:
                    rows = [{key: float(text) for key, text in row.items() if text} for row in csv.DictReader(file)]
                self.rows = [row for row in rows if row["epoch"] <= state.epoch]
        elif self.chief:
            write_file(self.folder / "config.yaml", typed_yaml.dump(self.recipe).encode())
            facts = versions() | dict(self.ingredients)
            write_file(self.folder / "versions.json", json.dumps(facts, indent=2).encode())

    def finish_epoch(self, state: TrainingState, result: nn.Module, row: dict[str, float]) -> None:
        """Writes weights and metrics, the state last: a run killed before that repeats the epoch to the same bits."""
        if not self.chief:
            return
        self.rows.append(row)
        state.lesson.save(result, self.folder / "last.safetensors")
        if row.get("psnr", 0.0) > state.best_psnr:
            state.best_psnr = row["psnr"]
            state.lesson.save(result, self.folder / "best.safetensors")
        names = list(dict.fromkeys(name for known in self.rows for name in known))
        text = io.StringIO()
        writer = csv.DictWriter(text, names, restval="")
        writer.writeheader()
        writer.writerows(self.rows)
        write_file(self.folder / "metrics.csv", text.getvalue().encode())
        save_state(self.folder / "state.safetensors", state, self.recipe, self.ingredients)

    def save_sample(self, epoch: int, sheet: RGB8) -> None:
        """Writes input, result and target of a few validation pictures."""
        (self.folder / "samples").mkdir(exist_ok=True)
        file = io.BytesIO()
        Image.fromarray(sheet).save(file, "JPEG", quality=92)
        write_file(self.folder / "samples" / f"epoch-{epoch:04d}.jpg", file.getvalue())


def ingredients(recipe: Recipe, pairs: Pairs, validation: Pairs | None, real: Answered | None = None) -> dict[str, str]:
    """Hashes of what the run is made of: pictures with their names, and the teachers' weights files."""
    sets = {"pictures to train on": pairs, "pictures to measure on": validation}
    pictures = {what: _digest(given) for what, given in sets.items() if given is not None}
    pictures |= {"unlabelled pictures": real.pictures.sha256} if real else {}
    return pictures | {f"weights in {path}": weights.load(path).sha256 for path in recipe.teaching.teachers}


def _digest(pairs: Pairs) -> str:
    digest = hashlib.sha256(os.fsencode("\n".join(pairs.stems)))
    for arrays in (pairs.inputs, pairs.targets, pairs.depths):
        if arrays is not None:
            digest.update(np.ascontiguousarray(arrays).data)
    return digest.hexdigest()


def versions() -> dict[str, str]:
    """What the run was made with: packages and machine."""
    packages = {name: version(name) for name in ("pic-uie", "torch", "numpy", "safetensors")}
    machine = {"python": platform.python_version(), "machine": platform.machine()}
    return packages | machine | {"threads": str(torch.get_num_threads())}
