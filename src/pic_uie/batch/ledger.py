"""The account of a run: what became of every file, counted, and written to the report line by line."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Literal

from pic_uie.errors import ConfigError, EnvironmentMissingError

Status = Literal["done", "skipped", "failed"]

_FIRST_BYTES = b'{"input": '  # of every line of a report


@dataclass
class Outcome:
    """What became of one file.

    Attributes:
        input: The source.
        output: The result, where there is or would be one.
        status: "done", "skipped" (the output exists) or "failed".
        error: Why it failed.
        notes: What was odd but did not matter.
        width: Pixels across.
        height: Pixels down.
        bytes_in: Size of the source.
        bytes_out: Size of the result.
        milliseconds: Time per stage.
        disk_full: Whether it failed because no space was left.
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
    disk_full: bool = False

    def to_json(self) -> str:
        """Returns one line of the report; bytes of a name that are not UTF-8 become lone surrogates."""
        values = asdict(self)
        del values["disk_full"]
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
        self.disk_full_in_a_row = 0
        self._path = report
        self._file: IO[str] | None = None
        if report is not None:
            try:
                _refuse_another_file(report)
                self._file = open(report, "w", encoding="utf-8")  # noqa: SIM115 (closed in __exit__)
            except OSError as error:
                raise EnvironmentMissingError(f"cannot write the report {report}: {error.strerror}") from error

    def add(self, outcome: Outcome) -> None:
        """Enters one outcome.

        Raises:
            EnvironmentMissingError: The report cannot be written any more.
        """
        self.counts[outcome.status] += 1
        if outcome.status == "failed":
            self.failures.append(outcome)
        self.disk_full_in_a_row = self.disk_full_in_a_row + 1 if outcome.disk_full else 0
        if self._file is not None:
            try:
                self._file.write(outcome.to_json() + "\n")
                self._file.flush()
            except OSError as error:
                raise EnvironmentMissingError(f"cannot write the report {self._path}: {error.strerror}") from error

    @property
    def total(self) -> int:
        """Files entered so far."""
        return sum(self.counts.values())

    @property
    def all_failed_for_space(self) -> bool:
        """Whether every file that was tried failed because the disk is full."""
        return bool(self.failures) and not self.counts["done"] and all(outcome.disk_full for outcome in self.failures)

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            with contextlib.suppress(OSError):  # a full disk: `add` has told
                self._file.close()


def _refuse_another_file(report: Path) -> None:
    if report.is_file():
        with open(report, "rb") as file:
            start = file.read(len(_FIRST_BYTES))
        if start not in (b"", _FIRST_BYTES):
            raise ConfigError(f"--report {report} would replace a file that is no report; choose another name")


def shown(path: object) -> str:
    """Returns a file name for a message: control characters and stray bytes are escaped, so that no name can trick."""
    text = str(path)
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode("ascii") for c in text)
