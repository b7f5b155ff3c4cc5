"""PIC-UIE: predicts seven corrections from a thumbnail and applies them to the full-size underwater picture."""

from __future__ import annotations

from importlib.metadata import version

from pic_uie.corrections import Corrections
from pic_uie.enhancer import Enhancer, enhance
from pic_uie.errors import PicUieError

__version__ = version("pic-uie")
__all__ = ["Corrections", "Enhancer", "PicUieError", "__version__", "enhance"]
