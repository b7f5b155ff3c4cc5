"""Arrays in, arrays out: thumbnail → predict → execute on the native core."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from pic_uie import _native, weights
from pic_uie import constants as c
from pic_uie.arguments import (
    MAX_THREADS,
    Array,
    Input,
    check_out,
    check_picture,
    check_strength,
    check_theta,
    check_threads,
    raise_for,
    threads_or_0,
)
from pic_uie.config import ModelConfig
from pic_uie.cores import usable_cores
from pic_uie.corrections import Corrections, empty_corrections, from_arrays
from pic_uie.errors import ConfigError, WeightsError
from pic_uie.look import Look, refuse_other_weights
from pic_uie.statistics import Statistics
from pic_uie.strengths import Strengths
from pic_uie.weights import Weights
from pic_uie.yuv import Yuv

if TYPE_CHECKING:
    from PIL.Image import Image as PilImage

PIL_MODES = ("L", "RGB", "RGBA")


class Enhancer:
    """Holds weights, threads and buffers; safe to share between Python threads.

    Args:
        weights: A weights file, a name such as "bright" (MODEL_CARD.md), weights that have been read, or None for the
            default ones.
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
            default_threads() if threads is None else check_threads(threads),
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

    def predict(self, img: Array | Yuv, *, threads: int | None = None) -> Corrections:
        """Returns θ of a picture, Eq. 1.

        Args:
            img: uint8, uint16, or float32 in [0, 1]; RGB (H, W, 3), RGBA (H, W, 4) or grey (H, W), (H, W, 1); or the
                planes of a frame.
            threads: For this call alone.

        Raises:
            ValueError: Wrong type, shape or values.
        """
        img = check_picture(img)
        config = self.weights.config
        arrays = empty_corrections((config.field_size,) * 2, c.TONE_INCREMENTS + 1, config.lut_grid)
        raise_for(self._engine.predict(img, arrays, threads_or_0(threads)), img)
        return from_arrays(arrays)

    def measure(self, img: Array | Yuv, theta: Corrections, *, threads: int | None = None) -> Statistics:
        """Returns m and S of a picture under θ, as `execute` uses them when it is given none, Eq. 4.

        Args:
            img: As for `predict`.
            theta: As for `execute`.
            threads: For this call alone.

        Raises:
            ValueError: Wrong type, shape or values.
        """
        img = check_picture(img)
        code, values = self._engine.measure(img, check_theta(theta), threads_or_0(threads))
        raise_for(code, img)
        return _statistics(values)

    def execute(
        self,
        img: Input,
        theta: Corrections,
        *,
        statistics: Statistics | None = None,
        strength: float = 1.0,
        out: Input | None = None,
        threads: int | None = None,
    ) -> Input:
        """Applies θ to a picture, Eqs. 2-4.

        Args:
            img: As for `predict`.
            theta: Corrections of any field size, table size and curve length, of this picture or another.
            statistics: m and S to calibrate with, of this picture or another; None for the picture's own.
            strength: 1 is the enhanced picture, 0 the input bit for bit; blended per pixel in float.
            out: Where to write, an array (or frame) of the same shape and type (`img` itself is fine); None allocates.
            threads: For this call alone.

        Returns:
            `out`, with alpha as it was; grey comes back as the luma of the enhanced colours.

        Raises:
            ValueError: Wrong type, shape or values.
        """
        img = check_picture(img)
        img, target = check_out(img, out)
        theta, strength = check_theta(theta), check_strength(strength)
        if statistics is not None and not isinstance(statistics, Statistics):
            raise ValueError(f"statistics must be Statistics, got {type(statistics).__name__}")
        code, _ = self._engine.execute(img, theta, statistics, target, strength, threads_or_0(threads))
        raise_for(code, img)
        return cast("Input", target)

    def enhance(
        self,
        img: Input,
        *,
        strength: float = 1.0,
        haze: float = 1.0,
        contrast: float = 1.0,
        colour: float = 1.0,
        balance: float = 1.0,
        out: Input | None = None,
        threads: int | None = None,
    ) -> Input:
        """Returns `execute(img, predict(img))` in one go; the groups as in `Look.scaled`, the rest as in `execute`."""
        strengths = Strengths(haze, contrast, colour, balance, check_strength(strength))
        if not strengths.has_all_groups and not strengths.changes_nothing:
            return self.enhance_with_look(img, strengths, out=out, threads=threads)[0]
        img = check_picture(img)
        img, target = check_out(img, out)
        part = 0.0 if strengths.changes_nothing else strengths.strength
        raise_for(self._engine.enhance(img, target, part, threads_or_0(threads)), img)
        return cast("Input", target)

    def look(self, img: Array | Yuv, *, threads: int | None = None) -> Look:
        """Returns what `enhance` does to a picture, to be kept, changed, or applied to other pictures.

        Args:
            img: As for `predict`.
            threads: For this call alone.

        Raises:
            ValueError: Wrong type, shape or values.
        """
        theta = self.predict(img, threads=threads)
        return self._look(theta, self.measure(img, theta, threads=threads))

    def apply(self, img: Input, look: Look, *, out: Input | None = None, threads: int | None = None) -> Input:
        """Applies a look to a picture: to its own source, this repeats the enhanced picture bit for bit.

        Args:
            img: As for `predict`.
            look: Of these weights, from any picture or frame.
            out: As for `execute`.
            threads: For this call alone.

        Raises:
            LookError: A look of other weights.
            ValueError: Wrong type, shape or values.
        """
        if not isinstance(look, Look):
            raise ValueError(f"look must be a Look, got {type(look).__name__}")
        refuse_other_weights(look, self.weights.sha256)
        strength = 0.0 if look.strengths.changes_nothing else look.strengths.strength
        return self.execute(img, look.executed, statistics=look.statistics, strength=strength, out=out, threads=threads)

    def enhance_with_look(
        self, img: Input, strengths: Strengths, *, out: Input | None = None, threads: int | None = None
    ) -> tuple[Input, Look]:
        """Returns the enhanced picture and its look, which costs nothing where every group is applied as predicted."""
        if not strengths.has_all_groups or strengths.changes_nothing:
            look = self.look(img, threads=threads).scaled(**strengths.as_dict())
            return self.apply(img, look, out=out, threads=threads), look
        theta = self.predict(img, threads=threads)
        img, target = check_out(check_picture(img), out)
        code, values = self._engine.execute(img, theta, None, target, strengths.strength, threads_or_0(threads))
        raise_for(code, img)
        return cast("Input", target), self._look(theta, _statistics(values)).scaled(strength=strengths.strength)

    def _look(self, theta: Corrections, statistics: Statistics) -> Look:
        from pic_uie import __version__

        return Look(theta, statistics, self.weights.sha256, software=f"pic-uie {__version__}")


def enhance(
    img: Array | PilImage | str | Path,
    *,
    strength: float = 1.0,
    haze: float = 1.0,
    contrast: float = 1.0,
    colour: float = 1.0,
    balance: float = 1.0,
) -> Any:
    """Enhances a picture with the default weights on all cores.

    Args:
        img: A NumPy array (see `Enhancer.predict`), a PIL image, or the path of a picture.
        strength: From 0 (the input) to 1.
        haze: How much haze to remove, from 0 to 1.
        contrast: How much of the tone curve and the refinement to apply.
        colour: How much to correct individual colours.
        balance: How much to correct the overall colour balance.

    Returns:
        An array for an array, of the same type and shape; a PIL image for a PIL image; an array for a path.
    """

    def enhanced(pixels: Array, out: Array | None = None) -> Array:
        return default_enhancer().enhance(
            pixels, strength=strength, haze=haze, contrast=contrast, colour=colour, balance=balance, out=out
        )

    if isinstance(img, np.ndarray):
        return enhanced(img)
    if isinstance(img, (str, Path)):
        from pic_uie import images

        pixels = images.read(img).pixels
        colours = pixels[:, :, :1] if pixels.shape[2] == 2 else pixels  # grey with alpha: alpha stays as it is
        enhanced(colours, colours)
        return pixels
    if hasattr(img, "getbands"):
        return _enhance_pil(img, enhanced)
    raise ValueError(f"expected a NumPy array, a PIL image or a path, got {type(img).__name__}")


@functools.cache
def default_enhancer() -> Enhancer:
    """The Enhancer with the default weights that `enhance` shares between calls."""
    return Enhancer()


def default_threads() -> int:
    """One thread for each core that this process may use."""
    return min(usable_cores(), MAX_THREADS)


def instruction_sets() -> list[str]:
    """The instruction sets that this machine can run, best first."""
    return list(_native.instruction_sets())


def _enhance_pil(img: PilImage, enhanced: Callable[[Array], Array]) -> PilImage:
    from PIL import Image

    if img.mode not in PIL_MODES:
        raise ValueError(
            f"PIL mode {img.mode!r} is not one of {', '.join(PIL_MODES)}: convert it, as img.convert('RGB')"
        )
    pixels = np.asarray(img)
    result = Image.fromarray(enhanced(pixels))
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


def _statistics(values: list[float]) -> Statistics:
    return Statistics(np.array(values[:3]), np.array(values[3:]).reshape(3, 3))


def _check_supported(config: ModelConfig) -> None:
    fixed = ("predictor_input", "statistics", "chroma", "luminance", "tone", "ccm", "calibration", "gate", "output")
    default = ModelConfig()
    for name in fixed:
        if getattr(config, name) != getattr(default, name):
            raise ConfigError(
                f"the native engine does not run the variant {name}={getattr(config, name)!r}: "
                "use the PyTorch model, pic_uie.model.PicUie.load(path)"
            )
