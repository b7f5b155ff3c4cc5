"""YAML files to frozen dataclasses and back, read within limits; the path that enhances a picture does not need it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

import yaml

from pic_uie.errors import ConfigError
from pic_uie.files import read_at_most
from pic_uie.typed import from_mapping, to_mapping

T = TypeVar("T")

MAX_BYTES = 1 << 20
_MAX_DEPTH = 50
_MAX_DIGITS = 100
_NUMBERS = {"tag:yaml.org,2002:int", "tag:yaml.org,2002:float"}


def load(cls: type[T], path: str | Path, overrides: Iterable[str] = ()) -> T:
    """Reads a YAML file into `cls`; `overrides` are `key.subkey=value` strings that win over the file."""
    values = read_mapping(path)
    for override in overrides:
        apply_override(values, override)
    return from_mapping(cls, values)


def read_mapping(path: str | Path) -> dict[str, Any]:
    """Reads one YAML mapping; an empty file is an empty mapping."""
    try:
        values = parse(read_at_most(Path(path), MAX_BYTES).decode("utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read the configuration {path}: {error.strerror}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: no text, or the 45th of a month
        raise ConfigError(f"{path} is not valid YAML: {error}") from error
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise ConfigError(f"{path} must hold a mapping of names to values, got {type(values).__name__}")
    return values


def parse(text: str) -> Any:
    """Returns the plain value that a YAML text stands for, in time and memory that its length bounds.

    Raises:
        yaml.YAMLError: Not YAML; or an alias (a few of them can stand for terabytes), groups inside of groups without
            end, or a number of more digits than any configuration has.
        ValueError: A date or a number that cannot be.
    """
    return yaml.load(text, _BoundedLoader)  # noqa: S506 (a safe loader)


class _BoundedLoader(yaml.SafeLoader):
    depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases (*name) are not read; write the value out")
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise yaml.YAMLError(f"more than {_MAX_DEPTH} levels of nested groups")
        node = super().compose_node(parent, index)
        self.depth -= 1
        if isinstance(node, yaml.ScalarNode) and node.tag in _NUMBERS and len(node.value) > _MAX_DIGITS:
            raise yaml.YAMLError(f"a number of more than {_MAX_DIGITS} digits")
        return node


def dump(config: Any) -> str:
    """Returns the YAML text of a dataclass."""
    return yaml.safe_dump(to_mapping(config), sort_keys=False, allow_unicode=True)


def apply_override(values: dict[str, Any], override: str) -> None:
    """Sets one `key.subkey=value` in a mapping."""
    name, separator, text = override.partition("=")
    if not separator or not name:
        raise ConfigError(f"an override is written key=value, got {override!r}")
    *parents, leaf = name.split(".")
    for parent in parents:
        values = values.setdefault(parent, {})
        if not isinstance(values, dict):
            raise ConfigError(f"{name!r}: {parent!r} is a value, not a group of values")
    try:
        values[leaf] = parse(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"{override!r} is not a value that YAML can read: {error}") from error
