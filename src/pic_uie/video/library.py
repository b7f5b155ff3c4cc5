"""PyAV, which decodes and encodes; imported where it is used, so that pictures need nothing of it."""

from __future__ import annotations

from typing import Any

from pic_uie.errors import EnvironmentMissingError

NEEDED = "videos need PyAV, which is not installed: pip install 'pic-uie[video]'"


def pyav() -> Any:
    """Returns the module `av`, with FFmpeg's own messages off: what matters is reported by us.

    Raises:
        EnvironmentMissingError: It is not installed, or cannot be loaded.
    """
    try:
        import av
    except ImportError as error:
        missing = isinstance(error, ModuleNotFoundError) and error.name == "av"
        raise EnvironmentMissingError(NEEDED if missing else f"PyAV cannot be loaded: {error}") from error
    av.logging.set_level(None)
    return av
