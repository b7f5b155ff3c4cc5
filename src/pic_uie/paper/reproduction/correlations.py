"""The correlation of -log t with depth, per picture, as a file of a run; reading it needs no PyTorch."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING

from pic_uie import weights
from pic_uie.errors import DataError
from pic_uie.files import atomic_write, read_at_most

if TYPE_CHECKING:
    from pic_uie.training.pairs import Pairs

FILE = "depth-correlation.json"
FORMAT = "pic-uie-depth-correlation-1"
_MAX_BYTES = 1 << 20
WEIGHTS = "last.safetensors"  # not the best: nothing is chosen on the pictures that are scored


def measure(run: Path, pairs: Pairs) -> dict[str, float]:
    """Correlates -log t of the run's final weights with depth, per picture, and writes it to the run folder."""
    from pic_uie.model import PicUie
    from pic_uie.training.validation import depth_correlations

    checked = weights.load(run / WEIGHTS)
    values = depth_correlations(PicUie.from_weights(checked), pairs)
    document = {"format": FORMAT, "weights_sha256": checked.sha256, "correlations": values}
    atomic_write(run / FILE, (json.dumps(document, indent=1) + "\n").encode())
    return values


def read(path: Path) -> dict[str, float]:
    """Reads what `measure` wrote.

    Raises:
        DataError: It cannot be read or is something else.
    """
    try:
        document = json.loads(read_at_most(path, _MAX_BYTES).decode("utf-8"))
        if document["format"] != FORMAT:
            raise DataError(f"{path} has format {document['format']!r}, expected {FORMAT!r}")
        found = {str(name): float(value) for name, value in document["correlations"].items()}
        if not found or not all(math.isfinite(value) for value in found.values()):
            raise ValueError("no correlations, or some that are not numbers")
        return found
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DataError(f"{path} is not a file of depth correlations: {type(error).__name__} {error}") from error
