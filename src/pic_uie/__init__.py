"""PIC-UIE: predicts seven corrections from a thumbnail and applies them to the full-size underwater picture."""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than all the rest here
if TYPE_CHECKING:
    from typing import Any

    from pic_uie.corrections import Corrections
    from pic_uie.enhancer import Enhancer, enhance
    from pic_uie.errors import PicUieError
    from pic_uie.look import Look
    from pic_uie.statistics import Statistics
    from pic_uie.strengths import Strengths
    from pic_uie.yuv import Yuv

__all__ = ["Corrections", "Enhancer", "Look", "PicUieError", "Statistics", "Strengths", "Yuv", "__version__", "enhance"]

_HOMES = {
    "Corrections": "corrections",
    "Enhancer": "enhancer",
    "Look": "look",
    "PicUieError": "errors",
    "Statistics": "statistics",
    "Strengths": "strengths",
    "Yuv": "yuv",
    "enhance": "enhancer",
}


def __getattr__(name: str) -> Any:
    """Loads a name on first use: the command line starts before NumPy does, and reads the version only if needed."""
    if name in _HOMES:
        value = getattr(importlib.import_module(f"pic_uie.{_HOMES[name]}"), name)
    elif name == "__version__":
        value = importlib.import_module("importlib.metadata").version("pic-uie")
    else:
        raise AttributeError(f"module 'pic_uie' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
