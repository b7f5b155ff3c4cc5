"""The account of a run: what became of every file, counted, and written to the report line by line."""

from __future__ import annotations

import contextlib
import json
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Literal

from pic_uie.batch import reports
from pic_uie.errors import ConfigError
from pic_uie.files import try_lock
from pic_uie.writing import explained

Status = Literal["done", "skipped", "failed", "ignored"]


@dataclass
class Outcome:
    """What became of one file.

    Attributes:
        input: The source.
        output: The result, where there is or would be one.
        status: "done", "skipped" (the output exists), "failed", or "ignored" (no picture, which goes into no report).
        error: Why it failed.
        notes: What was odd but did not matter.
        width: Pixels across, of the result; of the source, where it failed before its size was known.
        height: Pixels down, likewise.
        bytes_in: Size of the source.
        bytes_out: Size of the result.
        milliseconds: Time per stage.
        finished: When it was done, in seconds since 1970.
        unwritable: Whether it failed because results cannot be written: no space, no bucket, no permission.
        preview: Small JPEGs of the picture before and after, if they were asked for.
    """

    input: str
    output: str | None
    status: Status = "done"
    error: str | None = None
    notes: tuple[str, ...] = ()
    width: int | None = None
    height: int | None = None
    bytes_in: int | None = None
    bytes_out: int | None = None
    milliseconds: dict[str, float] = field(default_factory=dict)
    finished: float | None = None
    unwritable: bool = False
    preview: tuple[bytes, bytes] | None = None

    def to_json(self) -> str:
        """Returns one line of the report; bytes of a name that are not UTF-8 become lone surrogates."""
        values = asdict(self)
        del values["unwritable"], values["preview"]
        return json.dumps(values)


class Ledger:
    """Counts outcomes and writes the report, if one is wanted.

    Raises:
        ConfigError: The report would replace a file that is no report: a picture, weights, a list of names.
        EnvironmentMissingError: The report cannot be written.
    """

    def __init__(self, report: Path | None = None) -> None:
        self.counts: Counter[str] = Counter()
        self.failures: list[Outcome] = []
        self.unwritable_in_a_row = 0
        self._path = report
        self._lines = _lines_of(report) if report is not None else None
        self._file: IO[str] | None = None
        if report is not None and self._lines is not None:
            with explained(f"the report {report}"):
                for path in {report, self._lines}:
                    reports.refuse_another_file(path)
                self._file = _opened_alone(self._lines)

    def add(self, outcome: Outcome) -> None:
        """Enters one outcome.

        Raises:
            EnvironmentMissingError: The report cannot be written any more.
        """
        outcome.finished = outcome.finished or round(time.time(), 3)
        self.counts[outcome.status] += 1
        if outcome.status == "failed":
            self.failures.append(outcome)
        self.unwritable_in_a_row = self.unwritable_in_a_row + 1 if outcome.unwritable else 0
        if self._file is not None and outcome.status != "ignored":
            with explained(f"the report {self._path}"):
                self._file.write(outcome.to_json() + "\n")
                self._file.flush()

    @property
    def total(self) -> int:
        """Files entered so far."""
        return sum(self.counts.values())

    @property
    def all_unwritable(self) -> bool:
        """Whether every file that was tried failed because results cannot be written."""
        return bool(self.failures) and not self.counts["done"] and all(outcome.unwritable for outcome in self.failures)

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            with contextlib.suppress(OSError):  # a full disk: `add` has reported it
                self._file.close()
        if self._path is not None and self._lines is not None and self._lines != self._path:
            reports.write(reports.read(self._lines), self._path)
            self._lines.unlink()


def _lines_of(report: Path) -> Path:
    """Returns where lines go during a run: a table can only be written whole, and a crash must not lose it."""
    if not reports.is_table(report):
        return report
    reports.require_tables()
    return report.with_name(f"{report.name}.jsonl")


def _opened_alone(report: Path) -> IO[str]:
    """Opens the report for this run alone: lines of two runs would end up inside each other."""
    file = open(report, "a", encoding="utf-8")  # noqa: SIM115 (closed in __exit__)
    if not try_lock(file.fileno()):
        file.close()
        raise ConfigError(f"--report {report} is being written by another run; choose another name")
    if report.is_file():
        file.truncate(0)
    return file


def shown(path: object) -> str:
    """Returns a file name for a message: control characters and stray bytes are escaped, so that no name can trick."""
    text = str(path)
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode("ascii") for c in text)
