"""Relative depth of pictures from any monocular ONNX network, through onnxruntime."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from pic_uie.errors import ConfigError, DataError, EnvironmentMissingError

Array = NDArray[np.float32]
Triple = tuple[float, float, float]

IMAGENET_MEAN: Triple = (0.485, 0.456, 0.406)
IMAGENET_STD: Triple = (0.229, 0.224, 0.225)
_LONGEST_SIDE = 4096  # of a network's input; more is a mistake in the options


@dataclass(frozen=True)
class Preprocessing:
    """How a picture becomes the network's input: (pixels · scale - mean) / std, pixels 0..255.

    Attributes:
        size: (height, width) of the input, or of its least extent with `keep_aspect`; used where the network's own
            axes are free. A network with fixed axes says its size itself.
        multiple: Both sides are rounded to a multiple of this where they are free.
        keep_aspect: Scale so that both sides reach `size`, instead of stretching to it.
        channels: Order of the colour channels.
        scale: Factor on pixels of 0..255.
        mean: Per channel, in the network's channel order, after scaling.
        std: Per channel, likewise.
        output: What the network says: inverse depth (near = large) or distance (far = large).
    """

    size: tuple[int, int] = (384, 384)
    multiple: int = 32
    keep_aspect: bool = False
    channels: Literal["rgb", "bgr"] = "rgb"
    scale: float = 1 / 255
    mean: Triple = (0.0, 0.0, 0.0)
    std: Triple = (1.0, 1.0, 1.0)
    output: Literal["inverse", "distance"] = "inverse"

    def __post_init__(self) -> None:
        """Refuses values that no network can have."""
        if not all(1 <= side <= _LONGEST_SIDE for side in self.size) or self.multiple < 1:
            raise ConfigError(f"the input size must be 1..{_LONGEST_SIDE} a side, got {self.size[1]}x{self.size[0]}")
        if 0.0 in self.std or not np.all(np.isfinite((self.scale, *self.mean, *self.std))):
            raise ConfigError(
                f"scale, mean and std must be finite and std not 0, got {self.scale}, {self.mean}, {self.std}"
            )


# The documented pre-processing of each family.
PRESETS: dict[str, Preprocessing] = {
    "depth-anything-v2": Preprocessing(
        size=(518, 518), multiple=14, keep_aspect=True, mean=IMAGENET_MEAN, std=IMAGENET_STD
    ),
    "midas-small": Preprocessing(size=(256, 256), mean=IMAGENET_MEAN, std=IMAGENET_STD),
    "midas-large": Preprocessing(size=(384, 384), mean=IMAGENET_MEAN, std=IMAGENET_STD),
    "tcmonodepth": Preprocessing(size=(192, 320), scale=1.0),
}


class DepthNetwork:
    """A monocular depth network: pictures in, relative inverse depth out.

    Args:
        path: The ONNX file.
        preprocessing: How the network wants its input.
        threads: Threads of the runtime; 0 leaves the choice to it.

    Raises:
        EnvironmentMissingError: onnxruntime is not installed.
        ConfigError: Not an ONNX network, or not one that maps one picture to one map.
    """

    def __init__(self, path: str | Path, preprocessing: Preprocessing, threads: int = 0) -> None:
        self.preprocessing = preprocessing
        self._session, self._errors = _open(Path(path), threads)
        inputs = self._session.get_inputs()
        if len(inputs) != 1:
            raise ConfigError(f"{path} takes {len(inputs)} inputs; a depth network takes one picture")
        name, shape, kind = inputs[0].name, inputs[0].shape, inputs[0].type
        if len(shape) != 4:
            raise ConfigError(f"{path}: the input {name!r} has shape {shape}, expected four axes (N, 3, H, W)")
        fixed = [size if isinstance(size, int) and size > 0 else None for size in shape]
        self._channels_last = fixed[1] != 3 and fixed[3] == 3
        batch, *sides = (fixed[0], fixed[1], fixed[2]) if self._channels_last else (fixed[0], fixed[2], fixed[3])
        if not self._channels_last and fixed[1] not in (3, None):
            raise ConfigError(f"{path}: the input {name!r} has shape {shape}, expected 3 colour channels")
        if kind not in ("tensor(float)", "tensor(float16)"):
            raise ConfigError(f"{path}: the input {name!r} is {kind}, expected float32 or float16")
        self._path, self._name = path, name
        self._dtype = np.float32 if kind == "tensor(float)" else np.float16
        self._sides: tuple[int | None, int | None] = (sides[0], sides[1])
        self.batch = batch  # None: any number of pictures at once

    def input_size(self, height: int, width: int) -> tuple[int, int]:
        """Returns (height, width) of the network's input for a picture of the given size."""
        wanted_height, wanted_width = self.preprocessing.size
        if self.preprocessing.keep_aspect:
            factor = max(wanted_height / height, wanted_width / width)
            wanted_height, wanted_width = round(factor * height), round(factor * width)
        step = self.preprocessing.multiple
        free = [min(max(round(side / step), 1) * step, _LONGEST_SIDE) for side in (wanted_height, wanted_width)]
        return self._sides[0] or free[0], self._sides[1] or free[1]

    def prepare(self, picture: Image.Image) -> Array:
        """Returns the network's input (3, h, w) for an RGB picture."""
        rules = self.preprocessing
        height, width = self.input_size(picture.height, picture.width)
        pixels = np.asarray(picture.resize((width, height), Image.Resampling.BICUBIC), np.float32)
        if rules.channels == "bgr":
            pixels = pixels[..., ::-1]
        values = (pixels * np.float32(rules.scale) - np.array(rules.mean, np.float32)) / np.array(rules.std, np.float32)
        return np.ascontiguousarray(values.transpose(2, 0, 1))

    def predict(self, batch: Array) -> Array:
        """Returns the maps (N, h', w') of prepared pictures (N, 3, h, w), larger = nearer.

        Raises:
            DataError: The network failed on this input, or its output is not one finite map a picture.
        """
        count = len(batch)
        if self.batch is not None and count < self.batch:
            batch = np.concatenate([batch, np.repeat(batch[-1:], self.batch - count, axis=0)])
        values = batch.transpose(0, 2, 3, 1) if self._channels_last else batch
        feed = {self._name: np.ascontiguousarray(values, self._dtype)}
        try:
            maps = np.asarray(self._session.run(None, feed)[0], np.float32)
        except self._errors as error:
            raise DataError(f"{self._path} failed on an input of {batch.shape}: {error}") from error
        seen = maps.shape
        if maps.ndim == 4 and 1 in (seen[1], seen[3]):
            maps = maps[:, 0] if seen[1] == 1 else maps[..., 0]
        if maps.ndim != 3 or len(maps) != len(batch):
            raise DataError(f"{self._path} gave an output of shape {seen}, expected (N, H, W) or (N, 1, H, W)")
        maps = maps[:count]
        if not np.all(np.isfinite(maps)):
            raise DataError(f"{self._path} gave values that are not finite")
        return _invert(maps) if self.preprocessing.output == "distance" else maps


def to_picture(inverse_depth: Array, height: int, width: int, bits: int = 8) -> NDArray[np.uint8] | NDArray[np.uint16]:
    """Resizes one map to its picture and scales it to the whole range of 8 or 16 bits, near = bright.

    A map without any contrast comes out black.
    """
    if bits not in (8, 16):
        raise ValueError(f"bits must be 8 or 16, got {bits}")
    full = np.asarray(Image.fromarray(inverse_depth).resize((width, height), Image.Resampling.BILINEAR), np.float64)
    low, high = float(full.min()), float(full.max())
    top, contrast = 2**bits - 1, high - low
    flat = contrast <= 1e-7 * max(abs(low), abs(high))
    scaled = np.zeros_like(full) if flat else np.round((full - low) * (top / contrast))
    return scaled.astype(np.uint8) if bits == 8 else scaled.astype(np.uint16)


def _invert(distance: Array) -> Array:
    """Returns 1 / distance; what is nearer than a thousandth of the farthest counts as that."""
    floor = np.maximum(1e-3 * distance.max(axis=(1, 2), keepdims=True), np.float32(1e-12))
    inverse: Array = 1 / np.maximum(distance, floor)
    return inverse


def _open(path: Path, threads: int) -> tuple[Any, tuple[type[Exception], ...]]:
    try:
        import onnxruntime
        from onnxruntime.capi import onnxruntime_pybind11_state as state
    except ImportError as error:
        raise EnvironmentMissingError("depth networks need onnxruntime: pip install 'pic-uie[depth]'") from error
    names = ("Fail", "InvalidArgument", "InvalidGraph", "InvalidProtobuf", "NoModel", "NoSuchFile", "NotImplemented")
    errors = tuple(getattr(state, name) for name in (*names, "RuntimeException") if hasattr(state, name))
    if not path.is_file():
        raise ConfigError(f"there is no network at {path}")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3  # what fails is raised as well
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]), errors
    except errors as error:
        raise ConfigError(f"{path} is not an ONNX network that onnxruntime can run: {error}") from error
