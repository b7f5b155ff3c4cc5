"""A model as a folder in the layout of the Hugging Face hub: weights, configuration and card; nothing is downloaded."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path

from pic_uie import weights
from pic_uie.config import ModelConfig
from pic_uie.errors import ConfigError, WeightsError
from pic_uie.files import atomic_write
from pic_uie.typed import from_mapping
from pic_uie.writing import explained

WEIGHTS, CONFIG, CARD = weights.IN_FOLDER, "config.json", "README.md"
KIND = "pic-uie"

_CARD = """---
library_name: pic-uie
license: {license}
pipeline_tag: image-to-image
tags: [underwater, image-enhancement]
---

# PIC-UIE

Predicts seven corrections from a thumbnail and applies them to an underwater picture at its own size.
{weights_line}

    from pic_uie.model import PicUie
    model = PicUie.from_pretrained("this/folder")       # PyTorch
    import pic_uie
    enhancer = pic_uie.Enhancer("this/folder/{weights}")  # no PyTorch

`{weights}` also carries the configuration; `{config}` repeats it for people and tools, and both must agree.
Say below what these weights were trained on, how they were scored (protocol and list), and what they are not for.
"""


_WEIGHTS_LINE = "{parameters:,} parameters; the hash of the weights is `{sha256}`."
_ANY_WEIGHTS_LINE = re.compile(r"^[\d,]+ parameters; the hash of the weights is `[0-9a-f]{64}`\.$", re.MULTILINE)


def save(folder: str | Path, checked: weights.Weights, license_name: str) -> Path:
    """Writes the three files; of a card that is there already only the line about the weights changes.

    Raises:
        UnwritableError: The folder cannot be written.
    """
    folder = Path(folder)
    config = {"model_type": KIND, "weights_sha256": checked.sha256, **asdict(checked.config)}
    parameters = sum(array.size for array in checked.parameters.values())
    line = _WEIGHTS_LINE.format(parameters=parameters, sha256=checked.sha256)
    card = _CARD.format(license=license_name, weights_line=line, weights=WEIGHTS, config=CONFIG)
    with explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
        weights.save(folder / WEIGHTS, checked.config, checked.parameters)
        atomic_write(folder / CONFIG, (json.dumps(config, indent=2, sort_keys=True) + "\n").encode())
        if (folder / CARD).exists():
            card = _ANY_WEIGHTS_LINE.sub(line, (folder / CARD).read_text(encoding="utf-8"))
        atomic_write(folder / CARD, card.encode())
    return folder


def load(path: str | Path) -> weights.Weights:
    """Reads such a folder, a weights file, or weights of the package by their name.

    Raises:
        WeightsError: Weights or configuration are missing, damaged, or do not agree with each other; or a name of the
            hub was given, which would have to be downloaded.
    """
    place = weights.NAMED.get(str(path), Path(path))
    if place.is_file():
        return weights.load(place)
    if not place.is_dir():
        raise WeightsError(f"{path} is neither a folder nor a weights file; nothing is downloaded: fetch it first")
    checked = weights.load(place / WEIGHTS)
    try:
        stated = json.loads((place / CONFIG).read_text(encoding="utf-8"))
        if not isinstance(stated, dict) or stated.get("model_type") != KIND:
            raise WeightsError(f"{place / CONFIG} is not the configuration of a {KIND} model")
        sha256 = stated.get("weights_sha256")
        own = {key: value for key, value in stated.items() if key in ModelConfig.__dataclass_fields__}
        config = from_mapping(ModelConfig, own)
    except (OSError, ValueError, ConfigError) as error:
        raise WeightsError(f"{place / CONFIG} cannot be read: {error}") from error
    if config != checked.config or sha256 not in (None, checked.sha256):
        raise WeightsError(f"{place / CONFIG} and {place / WEIGHTS} do not belong together")
    return checked
