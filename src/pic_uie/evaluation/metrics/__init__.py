"""Picture quality metrics on uint8 HWC RGB: `metric(pred, ref) -> float` or `metric(img) -> float`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pic_uie.errors import ConfigError, did_you_mean
from pic_uie.evaluation.assets import LPIPS_ALEX, NIQE_PRISTINE, Asset
from pic_uie.evaluation.metrics.ciede2000 import ciede2000
from pic_uie.evaluation.metrics.entropy import entropy
from pic_uie.evaluation.metrics.lpips import lpips
from pic_uie.evaluation.metrics.mse import mse
from pic_uie.evaluation.metrics.niqe import niqe
from pic_uie.evaluation.metrics.pcqi import pcqi
from pic_uie.evaluation.metrics.psnr import psnr
from pic_uie.evaluation.metrics.ssim import ssim
from pic_uie.evaluation.metrics.uciqe import uciqe
from pic_uie.evaluation.metrics.uiqm import uiqm
from pic_uie.images import RGB8

__all__ = [
    "METRICS",
    "Metric",
    "choose",
    "ciede2000",
    "entropy",
    "lpips",
    "mse",
    "niqe",
    "pcqi",
    "psnr",
    "ssim",
    "uciqe",
    "uiqm",
]


@dataclass(frozen=True)
class Metric:
    """A metric as reports see it.

    Attributes:
        title: How tables spell it.
        function: The public function.
        higher_is_better: The direction of quality.
        decimals: Digits after the point in tables, as the paper prints them.
        reference: Whether it compares with a reference.
        asset: Published parameters that it needs.
    """

    title: str
    function: Callable[..., float]
    higher_is_better: bool
    decimals: int
    reference: bool
    asset: Asset | None = None

    def __call__(self, pred: RGB8, ref: RGB8 | None, assets: Path | None) -> float:
        """Returns the value for one picture."""
        pictures = (pred, ref) if self.reference else (pred,)
        return self.function(*pictures, assets=assets) if self.asset else self.function(*pictures)


METRICS: dict[str, Metric] = {
    "psnr": Metric("PSNR", psnr, True, 3, True),
    "ssim": Metric("SSIM", ssim, True, 4, True),
    "mse": Metric("MSE", mse, False, 5, True),
    "lpips": Metric("LPIPS", lpips, False, 4, True, LPIPS_ALEX),
    "pcqi": Metric("PCQI", pcqi, True, 4, True),
    "ciede2000": Metric("CIEDE2000", ciede2000, False, 3, True),
    "uiqm": Metric("UIQM", uiqm, True, 3, False),
    "uciqe": Metric("UCIQE", uciqe, True, 4, False),
    "niqe": Metric("NIQE", niqe, False, 3, False, NIQE_PRISTINE),
    "entropy": Metric("Entropy", entropy, True, 3, False),
    # the same metrics as others publish them: never comparable with the plain ones, hence names of their own
    "uiqm:block-10": Metric("UIQM, blocks of 10", partial(uiqm, block=10), True, 3, False),
    "uiqm:blue-0.114": Metric("UIQM, blue 0.114", partial(uiqm, blue=0.114), True, 3, False),
    "uciqe:matlab": Metric("UCIQE, MATLAB", partial(uciqe, convention="matlab"), True, 4, False),
    "uciqe:lab-units": Metric("UCIQE, Lab units", partial(uciqe, convention="lab-units"), True, 2, False),
    "niqe:y": Metric("NIQE, video luma", partial(niqe, plane="y"), False, 3, False, NIQE_PRISTINE),
    "entropy:channels": Metric("Entropy, per channel", partial(entropy, per_channel=True), True, 3, False),
}


def choose(names: Iterable[str]) -> dict[str, Metric]:
    """Returns the metrics of these names, in this order.

    Raises:
        ConfigError: A name that is not a metric, with the nearest that is; or no name at all.
    """
    chosen: dict[str, Metric] = {}
    for name in names:
        if name not in METRICS:
            raise ConfigError(f"unknown metric {name!r}: {did_you_mean(name, METRICS)}")
        chosen[name] = METRICS[name]
    if not chosen:
        raise ConfigError(f"no metric was named; allowed: {', '.join(METRICS)}")
    return chosen
