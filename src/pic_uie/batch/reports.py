"""Reports of runs, one line of JSON per file, or the same as a Parquet table: read, merged, summed up."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from pic_uie.errors import ConfigError, DataError, EnvironmentMissingError
from pic_uie.files import atomic_file
from pic_uie.writing import explained

TABLE_SUFFIX = ".parquet"
FIRST_BYTES = b'{"input": '  # of every line
STAGES = ("read", "decode", "enhance", "encode", "write")

_LINE_BYTES = 1 << 20
_ROWS = 50_000  # of a table that are in memory at a time
_RANK = {"done": 2, "skipped": 1, "failed": 0}  # of several lines for one file, the best counts


def is_table(path: Path) -> bool:
    """Returns whether a report is a Parquet table, not lines of JSON."""
    return path.suffix.lower() == TABLE_SUFFIX


def read(path: Path) -> Iterator[dict[str, Any]]:
    """Yields the entries of a report.

    Raises:
        DataError: It cannot be read, or is no report; a last line that was cut by a crash is left out.
        EnvironmentMissingError: A table, but there is no pyarrow.
    """
    try:
        with open(path, "rb") as file:
            yield from _rows(file, path) if is_table(path) else _lines(file, path)
    except OSError as error:
        raise DataError(f"cannot read the report {path}: {error.strerror or error}") from error


def write(entries: Iterable[dict[str, Any]], path: Path) -> int:
    """Writes a report in one step; returns how many entries it has.

    Raises:
        EnvironmentMissingError: It cannot be written, or is to be a table and there is no pyarrow.
    """
    with explained(path), atomic_file(path) as file:
        return _write_table(entries, file) if is_table(path) else _write_lines(entries, file)


def merge(paths: Sequence[Path], output: Path) -> int:
    """Writes one report with one entry for each file of several: done rather than skipped, skipped rather than failed.

    Memory: about a hundred bytes for each file. Returns how many entries there are.

    Raises:
        DataError: One of them is no report.
        EnvironmentMissingError: The result cannot be written.
    """
    best: dict[bytes, tuple[int, int]] = {}
    number = 0
    for path in paths:
        for entry in read(path):
            key, rank = _key(entry), _RANK.get(entry["status"], 0)
            if key not in best or rank >= best[key][0]:  # of equals the last one
                best[key] = rank, number
            number += 1
    chosen = (
        entry
        for number, entry in enumerate(entry for path in paths for entry in read(path))
        if best[_key(entry)][1] == number
    )
    return write(chosen, output)


def require_tables() -> Any:
    """Returns pyarrow.

    Raises:
        EnvironmentMissingError: It is not installed.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise EnvironmentMissingError("a report as a Parquet table needs pyarrow: pip install pyarrow") from error
    return pyarrow


def refuse_another_file(path: Path) -> None:
    """Raises ConfigError for a file that is no report, and must not be replaced by one."""
    if path.is_file():
        with open(path, "rb") as file:
            start = file.read(len(FIRST_BYTES))
        allowed = start[:4] == b"PAR1" if is_table(path) else start == FIRST_BYTES
        if start and not allowed:
            raise ConfigError(f"--report {path} would replace a file that is not a report; choose another name")


def seconds(entry: dict[str, Any]) -> float:
    """Returns how long a file took."""
    return float(sum((entry.get("milliseconds") or {}).values())) / 1000


def _key(entry: dict[str, Any]) -> bytes:
    return hashlib.blake2b(entry["input"].encode("utf-8", "surrogatepass"), digest_size=12).digest()


def _lines(file: IO[bytes], path: Path) -> Iterator[dict[str, Any]]:
    number = 0
    while line := file.readline(_LINE_BYTES):
        number += 1
        try:
            entry = json.loads(line)
            if not isinstance(entry["input"], str) or entry["status"] not in _RANK:
                raise ValueError("not an entry of a report")
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            if not line.endswith(b"\n") and len(line) < _LINE_BYTES:
                return
            raise DataError(f"line {number} of {path} does not belong to a report of pic-uie enhance") from error
        yield entry


def _write_lines(entries: Iterable[dict[str, Any]], file: IO[bytes]) -> int:
    count = 0
    for entry in entries:
        file.write(json.dumps(entry).encode() + b"\n")
        count += 1
    return count


def _schema(arrow: Any) -> Any:
    whole, text = arrow.int64(), arrow.string()
    fields = [("input", text), ("output", text), ("status", text), ("error", text), ("notes", arrow.list_(text))]
    fields += [(name, whole) for name in ("width", "height", "bytes_in", "bytes_out")]
    fields += [(f"{stage}_ms", arrow.float64()) for stage in STAGES]
    return arrow.schema([*fields, ("finished", arrow.float64())])


def _write_table(entries: Iterable[dict[str, Any]], file: IO[bytes]) -> int:
    arrow = require_tables()
    schema, count = _schema(arrow), 0
    with arrow.parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        rows: list[dict[str, Any]] = []
        for entry in entries:
            rows.append(_row(entry))
            count += 1
            if len(rows) == _ROWS:
                writer.write_table(arrow.Table.from_pylist(rows, schema))
                rows.clear()
        writer.write_table(arrow.Table.from_pylist(rows, schema))
    return count


def _row(entry: dict[str, Any]) -> dict[str, Any]:
    row = {name: _text(value) for name, value in entry.items() if name != "milliseconds"}
    times = entry.get("milliseconds") or {}
    return row | {f"{stage}_ms": times.get(stage) for stage in STAGES}


def _text(value: Any) -> Any:
    """Returns text that a table can hold: bytes of a name that are not UTF-8 are escaped."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return [_text(item) for item in value] if isinstance(value, list | tuple) else value


def _rows(file: IO[bytes], path: Path) -> Iterator[dict[str, Any]]:
    arrow = require_tables()
    try:
        table = arrow.parquet.ParquetFile(file)
        for batch in table.iter_batches(_ROWS, columns=_schema(arrow).names):
            for row in batch.to_pylist():
                times = {stage: row.pop(f"{stage}_ms") for stage in STAGES}
                yield row | {"milliseconds": {stage: value for stage, value in times.items() if value is not None}}
    except (arrow.ArrowInvalid, KeyError) as error:
        raise DataError(f"{path} is not a report of pic-uie enhance: {error}") from error
