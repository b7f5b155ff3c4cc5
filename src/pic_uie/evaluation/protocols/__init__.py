"""Protocols: which pictures, at which size, by which metrics; data files here, or your own YAML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from pic_uie.errors import ConfigError, did_you_mean
from pic_uie.evaluation.metrics import METRICS, choose
from pic_uie.evaluation.resize import Resize
from pic_uie.typed_yaml import load as load_yaml

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class PaperColumn:
    """Where the paper reports this protocol: a table, the group of columns in it, and the size it was scored at."""

    table: str
    column: str
    resize: Resize = "paper-256"


@dataclass(frozen=True)
class Protocol:
    """One protocol.

    Attributes:
        name: What results are filed under.
        title: One line for people.
        metrics: Names from `pic_uie.evaluation.metrics.METRICS`.
        resize: Ways of resizing, each scored and reported separately.
        inputs: Folder of the degraded pictures under `--data`.
        references: Folder of the references under `--data`; null where the metrics need none.
        names: `list`: a file of names must be given. `folder`: every picture of the folder counts.
        counts: How many pictures the set may have; empty = any number.
        list: The file of names, relative to the protocol's own file.
        list_sha256: What that file must hash to.
        paper: Where the paper has figures to print beside.
    """

    name: str = ""
    title: str = ""
    metrics: tuple[str, ...] = ()
    resize: tuple[Resize, ...] = ("paper-256",)
    inputs: str = "input"
    references: str | None = None
    names: Literal["list", "folder"] = "list"
    counts: tuple[int, ...] = ()
    list: str | None = None
    list_sha256: str | None = None
    paper: PaperColumn | None = None

    def __post_init__(self) -> None:
        """Refuses a protocol that cannot be run."""
        if not self.name:
            raise ConfigError("a protocol needs a name")
        if not self.resize:
            raise ConfigError(f"protocol {self.name!r} needs at least one way to resize")
        choose(self.metrics)
        needing = [name for name in self.metrics if METRICS[name].reference]
        if needing and self.references is None:
            raise ConfigError(f"protocol {self.name!r} has no folder of references, which {', '.join(needing)} need")


def load(name_or_file: str) -> Protocol:
    """Reads a protocol: one that comes with the package by its name, or your own by its file.

    Raises:
        ConfigError: Neither, a file that is not a protocol, or one of your own under the name of one of ours.
    """
    if name_or_file in known():
        return load_yaml(Protocol, FOLDER / f"{name_or_file}.yaml")
    path = Path(name_or_file)
    if path.suffix not in (".yaml", ".yml"):
        hint = did_you_mean(name_or_file, known())
        raise ConfigError(f"unknown protocol {name_or_file!r}: {hint} (for your own, name a .yaml file)")
    protocol = load_yaml(Protocol, path)
    if protocol.name in known() and replace(protocol, list=None, list_sha256=None) != load(protocol.name):
        raise ConfigError(
            f"{path} calls itself {protocol.name}, the name of a protocol that comes with the package, and is another "
            "one: give it a name of its own"
        )
    if protocol.list is not None:
        protocol = replace(protocol, list=str(path.parent / protocol.list))
    return protocol


def known() -> tuple[str, ...]:
    """Returns the names of the protocols that come with the package."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.yaml")))


def paper_column(protocol: Mapping[str, Any]) -> Mapping[str, str] | None:
    """Returns where the paper reports on the pictures of a result's protocol; None for pictures of one's own."""
    column: Mapping[str, str] | None = protocol.get("paper") if protocol["name"] in known() else None
    return column
