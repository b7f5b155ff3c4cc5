"""Looks as text: one line per part, the fields and the table as base64 of float32, everything else to be read.

Strengths may be edited by hand. θ and the statistics have a checksum, so that damage is found.
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pic_uie.corrections import ARRAYS, NUMBERS, Corrections
from pic_uie.errors import CorrectionsError, LookError, did_you_mean
from pic_uie.look import MAX_BYTES, MAX_NAME, REMEDY, Look, Source, content_digest
from pic_uie.statistics import Statistics
from pic_uie.strengths import Strengths

FORMAT = "pic-uie-look-1"
_FAMILY = "pic-uie-look-"
_PACKED = ("t", "v", "a", "lut")  # too many numbers to read
_KEYS = ("format", "software", "weights", "source", "strengths", "statistics", "corrections", "checksum")


def dump(look: Look) -> str:
    """Returns the text of a look.

    Raises:
        LookError: It would be longer than a look may be.
    """
    theta, statistics = look.theta, look.statistics
    values = {
        "format": FORMAT,
        "software": look.software,
        "weights": look.weights,
        "source": {"name": look.source.name[:MAX_NAME], "sha256": look.source.sha256},
        "strengths": look.strengths.as_dict(),
        "statistics": {"mean": statistics.mean.tolist(), "covariance": statistics.covariance.tolist()},
        "corrections": {name: _dump_array(name, getattr(theta, name)) for name in (*ARRAYS, *NUMBERS)},
        "checksum": content_digest(theta, statistics),
    }
    text = _lines(values) + "\n"
    if len(text) > MAX_BYTES:
        raise LookError(
            f"a look of fields {theta.t.shape} and a table {theta.lut.shape} takes {len(text) >> 10} KB, "
            f"more than the {MAX_BYTES >> 10} KB of a look: use weights of a smaller thumbnail or table"
        )
    return text


def parse(text: str) -> Look:
    """Reads what `dump` returned.

    Raises:
        LookError: Not a look, of a later version, with a part missing or unknown, or damaged.
    """
    values = _parse_object(text)
    for name in values:
        if name not in _KEYS:
            raise LookError(f"unknown part {name!r} of a look: {did_you_mean(name, _KEYS)}")
    if missing := [name for name in _KEYS if name not in values]:
        raise LookError(f"a damaged look, without {', '.join(missing)}: save it again")
    try:
        theta = _parse_corrections(values["corrections"])
        statistics = Statistics(**_named(values["statistics"], "statistics", ("mean", "covariance")))
        strengths = Strengths.from_dict(values["strengths"])
    except CorrectionsError as error:
        raise LookError(f"a look that makes no sense: {error}") from error
    if content_digest(theta, statistics) != values["checksum"]:
        raise LookError(
            "a damaged look: its corrections are not those that its checksum was taken of. Save it again; "
            "by hand, edit its strengths only"
        )
    source = _named(values["source"], "source", ("name", "sha256"))
    texts = (source["name"], source["sha256"], values["software"])
    if not all(isinstance(value, str) and len(value) <= MAX_NAME for value in texts):
        raise LookError(f"source and software of a look must be texts of at most {MAX_NAME} characters")
    return Look(theta, statistics, values["weights"], strengths, Source(**source), values["software"])


def _parse_object(text: str) -> dict[str, Any]:
    try:
        values = json.loads(text) if len(text) <= MAX_BYTES else None
    except (ValueError, RecursionError):
        values = None
    kind = values.get("format") if isinstance(values, dict) else None
    if not isinstance(values, dict) or not isinstance(kind, str) or not kind.startswith(_FAMILY):
        broken = isinstance(text, str) and _FAMILY in text[:200]
        raise LookError(f"a look that was cut off or damaged: {REMEDY}" if broken else f"not a look: {REMEDY}")
    if kind != FORMAT:
        raise LookError(f"a look of the format {kind[:40]!r}, this version reads {FORMAT!r}: update pic-uie")
    return values


def _parse_corrections(values: Any) -> Corrections:
    names = (*ARRAYS, *NUMBERS)
    found = _named(values, "corrections", names)
    return Corrections(**{name: _parse_array(name, found[name]) for name in names})


def _named(values: Any, what: str, names: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(values, dict) or set(values) != set(names):
        raise LookError(f"a damaged look: its {what} must have {', '.join(names)}")
    return values


def _dump_array(name: str, value: Any) -> Any:
    array = np.asarray(value, np.float32)
    if name in _PACKED:
        return {"shape": list(array.shape), "float32": base64.b64encode(array.astype("<f4").tobytes()).decode()}
    return _shortest(array)


def _parse_array(name: str, value: Any) -> Any:
    if name not in _PACKED:
        return value
    packed = _named(value, name, ("shape", "float32"))
    shape, text = packed["shape"], packed["float32"]
    sizes = shape if isinstance(shape, list) else []
    if not 1 <= len(sizes) <= 3 or not all(type(size) is int and 1 <= size <= MAX_BYTES for size in sizes):
        raise LookError(f"a damaged look: {name} has no shape")
    try:
        data = base64.b64decode(text, validate=True)
    except (TypeError, ValueError, binascii.Error) as error:
        raise LookError(f"a damaged look: {name} is not base64") from error
    count = 1
    for size in sizes:
        count *= size
    if len(data) != 4 * count:
        raise LookError(f"a damaged look: {name} has {len(data)} bytes, its shape {sizes} needs {4 * count}")
    return np.frombuffer(data, "<f4").reshape(sizes)


def _shortest(array: NDArray[np.float32]) -> Any:
    """Returns numbers that read back to the same float32 with the fewest digits."""
    if array.ndim:
        return [_shortest(part) for part in array]
    return float(str(np.float32(array)))


def _lines(values: dict[str, Any], depth: int = 0) -> str:
    """Returns JSON with one line per name, two levels deep."""
    indent = "  " * (depth + 1)
    parts = []
    for name, value in values.items():
        text = _lines(value, depth + 1) if isinstance(value, dict) and depth < 1 else json.dumps(value, allow_nan=False)
        parts.append(f"{indent}{json.dumps(name)}: {text}")
    return "{\n" + ",\n".join(parts) + "\n" + "  " * depth + "}"
