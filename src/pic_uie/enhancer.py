"""Arrays in, arrays out: thumbnail → predict → execute on the native core."""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pic_uie import _native, weights
from pic_uie import constants as c
from pic_uie.config import ModelConfig
from pic_uie.corrections import Corrections
from pic_uie.errors import ConfigError, WeightsError
from pic_uie.weights import Weights

if TYPE_CHECKING:
    from PIL.Image import Image as PilImage

Pixels = NDArray[Any]
Kind = TypeVar("Kind")


class Enhancer:
    """Holds weights, threads and buffers; safe to share between Python threads.

    Args:
        weights: A weights file, weights that have been read, or None for the ones in the package.
        threads: How many threads a call may use unless it says otherwise; None for one per core.
        instruction_set: One of `pic_uie.enhancer.instruction_sets()`, or None for the best.

    Raises:
        WeightsError: The weights cannot be read.
        ConfigError: They are of a variant that only the PyTorch model runs.
        ValueError: An impossible number of threads, or an instruction set that this machine does not have.
    """

    def __init__(
        self,
        weights: str | Path | Weights | None = None,
        threads: int | None = None,
        *,
        instruction_set: str | None = None,
    ) -> None:
        self.weights = _load(weights)
        config = self.weights.config
        _check_supported(config)
        if instruction_set is not None and instruction_set not in instruction_sets():
            raise ValueError(f"instruction_set must be one of {', '.join(instruction_sets())}, got {instruction_set!r}")
        self._engine = _native.Engine(
            {name: np.ascontiguousarray(array) for name, array in self.weights.parameters.items()},
            config.width,
            config.thumbnail,
            config.lut_grid,
            default_threads() if threads is None else _check_threads(threads),
            instruction_set,
        )

    @property
    def threads(self) -> int:
        """How many threads a call uses unless it says otherwise."""
        return int(self._engine.threads)

    @property
    def instruction_set(self) -> str:
        """The instruction set that runs, such as "avx512"."""
        return str(self._engine.instruction_set)

    def predict(self, img: Pixels, *, threads: int | None = None) -> Corrections:
        """Returns θ of a picture, Eq. 1.

        Args:
            img: uint8, uint16, or float32 in [0, 1]; RGB (H, W, 3), RGBA (H, W, 4) or grey (H, W), (H, W, 1).
            threads: For this call alone.

        Raises:
            ValueError: Wrong type, shape or values.
        """
        img = _check_pixels(img)
        side, grid = self.weights.config.field_size, self.weights.config.lut_grid
        t, v, a = (np.empty((side, side), np.float32) for _ in range(3))
        tone, lut = np.empty(c.TONE_INCREMENTS + 1, np.float32), np.empty((2, grid, grid), np.float32)
        affine, covariance = np.empty(12, np.float32), np.empty(13, np.float32)
        _call(img, self._engine.predict, img, [t, v, a, tone, lut, affine, covariance], _threads_or_0(threads))
        return Corrections(
            t=t,
            v=v,
            a=a,
            tone=tone,
            lut=lut,
            matrix=affine[:9].reshape(3, 3),
            bias=affine[9:],
            mean=covariance[:3],
            recolor=covariance[3:12].reshape(3, 3),
            blend=float(covariance[12]),
        )

    def execute(
        self,
        img: Pixels,
        theta: Corrections,
        *,
        strength: float = 1.0,
        out: Pixels | None = None,
        threads: int | None = None,
    ) -> Pixels:
        """Applies θ to a picture, Eqs. 2-4.

        Args:
            img: As for `predict`.
            theta: Corrections of any field size, table size and curve length, of this picture or another.
            strength: 1 is the enhanced picture, 0 the input bit for bit; blended per pixel in float.
            out: Where to write, an array of the same shape and type (`img` itself is fine); None allocates.
            threads: For this call alone.

        Returns:
            `out`, with alpha as it was; grey comes back as the luma of the enhanced colours.

        Raises:
            ValueError: Wrong type, shape or values.
        """
        if not isinstance(theta, Corrections):
            raise ValueError(f"theta must be Corrections, got {type(theta).__name__}")
        img = _check_pixels(img)
        img, out = _check_out(img, out)
        _call(img, self._engine.execute, img, theta, out, _check_strength(strength), _threads_or_0(threads))
        return out

    def enhance(
        self, img: Pixels, *, strength: float = 1.0, out: Pixels | None = None, threads: int | None = None
    ) -> Pixels:
        """Returns `execute(img, predict(img))` in one go; arguments as there."""
        img = _check_pixels(img)
        img, out = _check_out(img, out)
        _call(img, self._engine.enhance, img, out, _check_strength(strength), _threads_or_0(threads))
        return out


def enhance(img: Pixels | PilImage | str | Path, *, strength: float = 1.0) -> Any:
    """Enhances a picture with the default weights on all cores.

    Args:
        img: A NumPy array (see `Enhancer.predict`), a PIL image, or the path of a picture.
        strength: From 0 (the input) to 1.

    Returns:
        An array for an array, of the same type and shape; a PIL image for a PIL image; an array for a path.
    """
    if isinstance(img, np.ndarray):
        return default_enhancer().enhance(img, strength=strength)
    if isinstance(img, (str, Path)):
        from pic_uie import images

        pixels = images.read(img).pixels
        colours = pixels[:, :, :1] if pixels.shape[2] == 2 else pixels  # grey with alpha: alpha stays as it is
        default_enhancer().enhance(colours, strength=strength, out=colours)
        return pixels
    if hasattr(img, "getbands"):
        return _enhance_pil(img, strength)
    raise ValueError(f"expected a NumPy array, a PIL image or a path, got {type(img).__name__}")


@functools.cache
def default_enhancer() -> Enhancer:
    """The Enhancer with the default weights that `enhance` shares between calls."""
    return Enhancer()


def default_threads() -> int:
    """One thread for each core that this process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, MAX_THREADS))


def instruction_sets() -> list[str]:
    """The instruction sets that this machine can run, best first."""
    return list(_native.instruction_sets())


def _enhance_pil(img: PilImage, strength: float) -> PilImage:
    from PIL import Image

    if img.mode not in PIL_MODES:
        raise ValueError(
            f"PIL mode {img.mode!r} is not one of {', '.join(PIL_MODES)}: convert it, as img.convert('RGB')"
        )
    pixels = np.asarray(img)
    enhanced = default_enhancer().enhance(pixels, strength=strength)
    result = Image.fromarray(enhanced)
    result.info = dict(img.info)
    return result


def _load(given: str | Path | Weights | None) -> Weights:
    if isinstance(given, Weights):
        weights.check(given.config, given.parameters, "the weights")
        return given
    if given is None and not weights.DEFAULT_PATH.exists():
        raise WeightsError(
            f"this installation has no default weights ({weights.DEFAULT_PATH} is missing): "
            "reinstall pic-uie, or give a file, as Enhancer('weights.safetensors')"
        )
    return weights.load(weights.DEFAULT_PATH if given is None else given)


def _check_supported(config: ModelConfig) -> None:
    fixed = ("predictor_input", "statistics", "chroma", "luminance", "tone", "ccm", "calibration", "gate", "output")
    default = ModelConfig()
    for name in fixed:
        if getattr(config, name) != getattr(default, name):
            raise ConfigError(
                f"the native engine does not run the variant {name}={getattr(config, name)!r}: "
                "use the PyTorch model, pic_uie.model.PicUie.load(path)"
            )


def _check_threads(threads: int) -> int:
    if not isinstance(threads, (int, np.integer)) or not 1 <= threads <= MAX_THREADS:
        raise ValueError(f"threads must be a whole number from 1 to {MAX_THREADS}, got {threads!r}")
    return int(threads)


def _threads_or_0(threads: int | None) -> int:
    return 0 if threads is None else _check_threads(threads)


def _check_strength(strength: float) -> float:
    if not isinstance(strength, (int, float, np.number)) or not 0.0 <= strength <= 1.0:
        raise ValueError(f"strength must be in [0, 1], got {strength!r}")
    return float(strength)


def _check_pixels(img: Pixels) -> Pixels:
    if not isinstance(img, np.ndarray):
        raise ValueError(f"expected a NumPy array, got {type(img).__name__}")
    if img.dtype not in DTYPES:
        raise ValueError(f"expected uint8, uint16 or float32 samples, got {img.dtype}")
    if img.ndim not in (2, 3) or (img.ndim == 3 and img.shape[2] not in (1, 3, 4)):
        raise ValueError(f"expected shape (H, W), (H, W, 1), (H, W, 3) or (H, W, 4), got {img.shape}")
    if img.size == 0:
        raise ValueError(f"expected at least one pixel, got shape {img.shape}")
    return img


def _check_out(img: Pixels, out: Pixels | None) -> tuple[Pixels, Pixels]:
    if out is None:
        return img, np.empty(img.shape, img.dtype)
    if not isinstance(out, np.ndarray) or out.shape != img.shape or out.dtype != img.dtype:
        seen = f"{out.dtype} {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise ValueError(f"out must be a {img.dtype} array of shape {img.shape}, got {seen}")
    if not out.flags.writeable:
        raise ValueError("out must be writeable, got a read-only array")
    if any(stride == 0 and size > 1 for stride, size in zip(out.strides, out.shape, strict=True)):
        raise ValueError(f"out must not repeat its memory, got strides {out.strides}")
    same = out.ctypes.data == img.ctypes.data and out.strides == img.strides
    if not same and np.may_share_memory(img, out):
        img = img.copy()  # rows would be overwritten before they are read
    return img, out


def _call(img: Pixels, method: Any, *arguments: Any) -> None:
    try:
        method(*arguments)
    except ValueError as error:
        if "not enough memory" in str(error):
            raise MemoryError(f"{error}: {img.shape}") from None
        seen = ""
        if img.dtype == np.float32 and "samples" in str(error):
            colors = img if img.ndim == 2 else img[..., :3]
            seen = f", got {float(colors.min())} .. {float(colors.max())}"
        raise ValueError(f"{error}{seen}") from None


DTYPES = (np.dtype(np.uint8), np.dtype(np.uint16), np.dtype(np.float32))
PIL_MODES = ("L", "RGB", "RGBA")
MAX_THREADS = 256
