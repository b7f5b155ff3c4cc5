"""Recipes as YAML files: a path in one is relative to the file, or else to the folder that the command runs in."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pic_uie.training.config import Recipe
from pic_uie.typed import from_mapping
from pic_uie.typed_yaml import apply_override, read_mapping


def load_recipe(path: str | Path, overrides: Iterable[str] = ()) -> Recipe:
    """Reads a recipe.

    Args:
        path: The file. A relative path in it is looked for beside the file first; one that is not there stays as it is
            written, relative to the current folder.
        overrides: `key.subkey=value` strings that win over the file; their paths are relative to the current folder.

    Raises:
        ConfigError: Not YAML, an unknown key, or an impossible value.
    """
    values = read_values(path)
    for override in overrides:
        apply_override(values, override)
    return from_mapping(Recipe, values)


def read_values(path: str | Path) -> dict[str, Any]:
    """Reads the mapping of a recipe, with the paths in it as `load_recipe` takes them."""
    values = read_mapping(path)
    folder = Path(path).parent
    for key in ("start", "vgg"):
        if key in values:
            values[key] = _located(values[key], folder)
    teaching = values.get("teaching")
    if isinstance(teaching, dict) and isinstance(teaching.get("teachers"), list):
        teaching["teachers"] = [_located(teacher, folder) for teacher in teaching["teachers"]]
    return values


def _located(written: Any, folder: Path) -> Any:
    if not isinstance(written, str) or not written:
        return written
    beside = os.path.normpath(folder / written)
    return beside if os.path.exists(beside) else written
