"""Reading back the JSON files that our commands write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pic_uie.errors import DataError
from pic_uie.files import read_at_most

MAX_BYTES = 64 << 20  # a hundred thousand pictures with ten metrics each


def read_document(path: Path, command: str, **expected: str) -> dict[str, Any]:
    """Reads a JSON object and checks the entries that identify it.

    Args:
        path: The file.
        command: What writes such files, for the message.
        expected: Entries that the object must have, such as format="...".

    Raises:
        DataError: It cannot be read, is not JSON, or is something else.
    """
    try:
        document = json.loads(read_at_most(path, MAX_BYTES).decode("utf-8"))
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is not JSON: {error}") from error
    if not isinstance(document, dict) or any(document.get(key) != value for key, value in expected.items()):
        wanted = ", ".join(f"{key} {value!r}" for key, value in expected.items())
        raise DataError(f"{path} is not a result of `{command}` ({wanted})")
    return document
