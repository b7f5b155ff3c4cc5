"""The paper's tables, read from the one file that holds them."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pic_uie.errors import ConfigError, did_you_mean
from pic_uie.typed import from_mapping
from pic_uie.typed_yaml import read_mapping

FILE = Path(__file__).with_name("tables.yaml")
NAME_KEYS = ("method", "hardware", "variant")


@dataclass(frozen=True)
class Row:
    """One row: its name, and its cells as the file has them (numbers, texts, or groups of numbers)."""

    name: str
    cells: Mapping[str, Any]

    def group(self, column: str) -> Mapping[str, float | None]:
        """Returns the numbers under a column such as `uieb-90`; empty where the paper has none."""
        group = self.cells.get(column)
        return group if isinstance(group, Mapping) else {}


@dataclass(frozen=True)
class WordedOrdering:
    """An ordering that the paper states in words: which row is better than which, where."""

    better: str
    worse: tuple[str, ...]
    columns: tuple[str, ...]
    metric: str


@dataclass(frozen=True)
class Table:
    """One table: what it shows, its rows, and what the paper says only in words."""

    name: str
    title: str
    rows: tuple[Row, ...]
    statements: tuple[str, ...] = ()
    orderings: tuple[WordedOrdering, ...] = ()

    def row(self, name: str) -> Row:
        """Returns the row of that name.

        Raises:
            ConfigError: There is none.
        """
        for row in self.rows:
            if row.name == name:
                return row
        allowed = (row.name for row in self.rows)
        raise ConfigError(f"the paper's table {self.name!r} has no row {name!r}: {did_you_mean(name, allowed)}")


def table(name: str) -> Table:
    """Returns a table of the paper.

    Raises:
        ConfigError: An unknown name, with the nearest known.
    """
    found = _file()["tables"].get(name)
    if found is None:
        raise ConfigError(f"the paper has no table {name!r}: {did_you_mean(name, names())}")
    rows = tuple(Row(next(str(cells[key]) for key in NAME_KEYS if key in cells), cells) for cells in found["rows"])
    orderings = tuple(from_mapping(WordedOrdering, ordering) for ordering in found.get("orderings", ()))
    return Table(name, found["title"], rows, tuple(found.get("statements", ())), orderings)


def names() -> list[str]:
    """Returns the names of all tables, in the paper's order."""
    return list(_file()["tables"])


def ours() -> str:
    """Returns what the paper calls its own method."""
    return str(_file()["ours"])


@functools.cache
def _file() -> dict[str, Any]:
    return read_mapping(FILE)
