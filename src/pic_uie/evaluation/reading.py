"""Picture files to 8-bit RGB arrays."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pic_uie.errors import ImageError
from pic_uie.evaluation.metrics.pictures import Picture, opencv


def read_picture(path: Path) -> Picture:
    """Reads a picture as uint8 RGB, (H, W, 3).

    Raises:
        ImageError: It cannot be read or is no picture.
    """
    cv2 = opencv()
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ImageError(f"cannot read {path}: {error.strerror}") from error
    decoded = cv2.imdecode(np.frombuffer(data, dtype=np.uint8), cv2.IMREAD_COLOR) if data else None
    if decoded is None:
        raise ImageError(f"{path} is empty, damaged or no picture")
    rgb: Picture = cv2.cvtColor(decoded, cv2.COLOR_BGR2RGB)
    return rgb
