"""PIC-UIE: predicts seven corrections from a thumbnail and applies them to the full-size underwater picture."""

from __future__ import annotations

from typing import Any

from pic_uie.corrections import Corrections
from pic_uie.enhancer import Enhancer, enhance
from pic_uie.errors import PicUieError

__all__ = ["Corrections", "Enhancer", "PicUieError", "__version__", "enhance"]


def __getattr__(name: str) -> Any:
    if name == "__version__":  # looked up when asked for: reading package metadata is a fifth of the import time
        from importlib.metadata import version

        return version("pic-uie")
    raise AttributeError(f"module 'pic_uie' has no attribute {name!r}")
