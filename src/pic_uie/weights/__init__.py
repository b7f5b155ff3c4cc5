"""Weights: safetensors with the configuration, a format version and a hash; checked on reading, never pickled."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import safetensors
import safetensors.numpy
from numpy.typing import NDArray

from pic_uie.config import ModelConfig
from pic_uie.errors import ConfigError, WeightsError, did_you_mean
from pic_uie.files import atomic_write
from pic_uie.typed import from_mapping
from pic_uie.weights.layout import parameter_shapes

FORMAT = "pic-uie-weights-1"
BASELINE_FORMAT = "pic-uie-baseline-1"  # of the systems that the paper compares with
HEADER = "pic-uie"
DEFAULT_PATH = Path(__file__).with_name("pic_uie.safetensors")
NAMED = {"bright": Path(__file__).with_name("bright.safetensors")}  # MODEL_CARD.md says when to take them
IN_FOLDER = "model.safetensors"  # of a folder in the Hugging Face layout
MAX_BYTES = 64 << 20  # the widest model of the paper is 2 MB; anything larger is not ours
_HEADER_BYTES = 1 << 20

Parameters = dict[str, NDArray[np.float32]]


@dataclass(frozen=True)
class Weights:
    """Checked parameters by name, with the configuration they belong to and the hash of both."""

    config: ModelConfig
    parameters: Parameters
    sha256: str

    @property
    def short_hash(self) -> str:
        """The first eight digits of the hash: what goes into a picture's software tag."""
        return self.sha256[:8]


def load(path: str | Path = DEFAULT_PATH) -> Weights:
    """Reads and checks a weights file.

    Args:
        path: The file, or one of the names in `NAMED`.

    Raises:
        WeightsError: Unreadable, not safetensors, another format, or parameters that are missing, unknown, of the wrong
            shape or type, not finite, or not those that the hash was taken of.
    """
    path = find(path) if isinstance(path, str) else path
    header, tensors = read_file(path, "numpy", FORMAT, MAX_BYTES, "PIC-UIE weights")
    parameters: Parameters = tensors
    try:
        config = from_mapping(ModelConfig, cast("dict[str, Any]", header.get("config")))
    except ConfigError as error:
        raise WeightsError(f"{path} has a configuration that cannot be used: {error}") from error
    check(config, parameters, str(path))
    sha256 = digest(config, parameters)
    if header.get("sha256") != sha256:
        raise WeightsError(
            f"{path} is damaged: its parameters hash to {sha256}, its header says {header.get('sha256')}"
        )
    return Weights(config, parameters, sha256)


def find(word: str) -> Path:
    """Returns the file of one of the names in `NAMED`, or the path that the word is; `./bright` is never the name.

    Raises:
        WeightsError: No name, and no path either.
    """
    if word in NAMED:
        return NAMED[word]
    path = Path(word)
    if not word or (path.name == word and not path.suffix and not os.path.lexists(path)):
        raise WeightsError(
            f"there are no weights {word!r}: give a file, or a name ({did_you_mean(word.lower(), NAMED)})"
        )
    return path


def read_file(
    path: str | Path, framework: Literal["numpy", "pt"], expected: str, limit: int, what: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Reads a safetensors file that `make_header` was written into: the header, and the tensors by name.

    Args:
        path: The file.
        framework: What the tensors are of.
        expected: The format that its header names.
        limit: The most bytes that such a file can have.
        what: What such a file holds, for the messages.

    Raises:
        WeightsError: Unreadable, not safetensors, too large, or of another format.
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise WeightsError(f"cannot read the weights {path}: a folder or device, not a file")
        if os.path.getsize(path) > limit:
            raise WeightsError(f"{path} is larger than {limit >> 20} MB: not {what}")
        with safetensors.safe_open(str(path), framework=framework) as file:
            header = read_header(file.metadata())
            tensors = {name: file.get_tensor(name) for name in sorted(file.keys())}
    except OSError as error:
        raise WeightsError(f"cannot read the weights {path}: {error.strerror or error}") from error
    except (safetensors.SafetensorError, TypeError, ValueError) as error:
        raise WeightsError(f"{path} is not a safetensors file (pickled checkpoints are never read): {error}") from error
    if header.get("format") != expected:
        raise WeightsError(f"{path} has format {header.get('format')!r}, expected {expected!r}: not {what}")
    return header, tensors


def format_of(path: str | Path) -> str | None:
    """Returns the format that a weights file names, without reading its parameters; None for anything else."""
    try:
        with safetensors.safe_open(str(path), framework="numpy") as file:
            found = read_header(file.metadata()).get("format")
    except (OSError, safetensors.SafetensorError, TypeError, ValueError):
        return None
    return found if isinstance(found, str) else None


def save(path: str | Path, config: ModelConfig, parameters: Mapping[str, NDArray[np.float32]]) -> Weights:
    """Checks and writes weights; an existing file is replaced in one step or not at all."""
    contiguous = {name: np.ascontiguousarray(array).reshape(array.shape) for name, array in sorted(parameters.items())}
    check(config, contiguous, str(path))
    sha256 = digest(config, contiguous)
    header = make_header(format=FORMAT, config=asdict(config), sha256=sha256)
    atomic_write(Path(path), safetensors.numpy.save(contiguous, header))
    return Weights(config, contiguous, sha256)


def check(config: ModelConfig, parameters: Mapping[str, NDArray[np.float32]], where: str) -> None:
    """Raises WeightsError unless names, shapes, types and values fit the configuration."""
    expected = parameter_shapes(config)
    missing, unknown = sorted(expected.keys() - parameters.keys()), sorted(parameters.keys() - expected.keys())
    if missing or unknown:
        raise WeightsError(
            f"{where} does not fit its configuration: missing {missing or 'none'}, unknown {unknown or 'none'}"
        )
    for name, shape in expected.items():
        array = parameters[name]
        if array.dtype != np.float32:
            raise WeightsError(f"{where}: {name} must be float32, got {array.dtype}")
        if array.shape != shape:
            raise WeightsError(f"{where}: {name} must have shape {shape}, got {array.shape}")
        if not np.all(np.isfinite(array)):
            raise WeightsError(f"{where}: {name} has values that are not finite")


def digest(config: ModelConfig, parameters: Mapping[str, NDArray[np.float32]]) -> str:
    """Returns the SHA-256 over the configuration and every parameter in the order of their names."""
    sha256 = hashlib.sha256(_config_json(config).encode())
    for name in sorted(parameters):
        sha256.update(name.encode())
        sha256.update(np.ascontiguousarray(parameters[name], dtype="<f4").tobytes())
    return sha256.hexdigest()


def flatten(weights: Weights) -> bytes:
    """Returns every parameter one after the other, as native/wasm.cpp reads them: little-endian, in layout's order."""
    shapes = parameter_shapes(weights.config)
    return b"".join(np.ascontiguousarray(weights.parameters[name], "<f4").tobytes() for name in shapes)


def make_header(**facts: Any) -> dict[str, str]:
    """Returns safetensors metadata: one entry, since the order of several would differ from file to file."""
    return {HEADER: json.dumps(facts, sort_keys=True)}


def read_header(metadata: dict[str, str] | None) -> dict[str, Any]:
    """Reads what `make_header` made; empty if it is not there."""
    text = (metadata or {}).get(HEADER, "{}")
    try:
        header = json.loads(text) if len(text) <= _HEADER_BYTES else {}
    except (ValueError, RecursionError):  # no JSON, numbers of thousands of digits, lists in lists without end
        return {}
    return header if isinstance(header, dict) else {}


def _config_json(config: ModelConfig) -> str:
    return json.dumps(asdict(config), sort_keys=True)
