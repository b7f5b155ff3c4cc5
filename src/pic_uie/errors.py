"""What can go wrong, each with its remedy."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class PicUieError(Exception):
    """Base of every error that pic-uie raises on purpose."""


class ConfigError(PicUieError):
    """A configuration has an unknown key or an impossible value."""


class CorrectionsError(PicUieError, ValueError):
    """Corrections θ have a wrong shape, a non-finite value or a value outside its range."""


class LookError(PicUieError, ValueError):
    """A look is not one of ours, is damaged, or belongs to other weights."""


class WeightsError(PicUieError):
    """A weights file is not one of ours, is damaged, or does not fit the model."""


class ImageError(PicUieError):
    """A picture cannot be read or written."""


class VideoError(PicUieError):
    """A video cannot be read or written."""


class DataError(PicUieError):
    """A data set is incomplete or inconsistent."""


class DivergedError(PicUieError):
    """A training run left the finite numbers."""


class EnvironmentMissingError(PicUieError):
    """Something outside the package is needed: an extra, a decoder, disk space."""


def did_you_mean(name: str, allowed: Iterable[str]) -> str:
    """Returns a sentence that names the nearest allowed word, or lists all of them."""
    words = sorted(allowed)
    nearest = difflib.get_close_matches(name, words, n=1, cutoff=0.5)
    if nearest:
        return f"did you mean {nearest[0]!r}?"
    return f"allowed: {', '.join(words)}"
