"""Mappings, as JSON and YAML give them, to frozen dataclasses and back; nothing unknown passes."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

from pic_uie.errors import ConfigError, did_you_mean

T = TypeVar("T")


def from_mapping(cls: type[T], values: Mapping[str, Any], where: str = "") -> T:
    """Builds a dataclass from a mapping, refusing unknown keys and values of the wrong type.

    Args:
        cls: A dataclass whose fields are bool, int, float, str, Literal, tuple, optional or dataclasses.
        values: The mapping, as YAML or JSON gives it; missing keys keep their default.
        where: Dotted name of this mapping, for messages.

    Raises:
        ConfigError: An unknown key (with the nearest valid one), a wrong type or an impossible value.
    """
    if not isinstance(values, Mapping):
        raise ConfigError(f"{where or 'the configuration'} must be a mapping of names to values, got {values!r}")
    hints = typing.get_type_hints(cls)
    known = [field.name for field in dataclasses.fields(typing.cast("Any", cls)) if field.init]
    for key in values:
        if key not in known:
            raise ConfigError(f"unknown key {_dotted(where, key)!r}: {did_you_mean(str(key), known)}")
    arguments = {key: _convert(hints[key], value, _dotted(where, key)) for key, value in values.items()}
    return cls(**arguments)


def to_mapping(config: Any) -> dict[str, Any]:
    """Returns the plain mapping of a dataclass: what `from_mapping` reads."""
    return typing.cast("dict[str, Any]", _plain(dataclasses.asdict(config)))


def merge(values: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Returns `values` with `changes` laid over them, group by group."""
    merged = dict(values)
    for key, change in changes.items():
        before = merged.get(key)
        both_groups = isinstance(change, Mapping) and isinstance(before, Mapping)
        merged[key] = merge(before, change) if both_groups else change  # type: ignore[arg-type]
    return merged


def _convert(kind: Any, value: Any, where: str) -> Any:
    origin = typing.get_origin(kind)
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return from_mapping(kind, value, where)
    if origin is typing.Literal:
        choices = typing.get_args(kind)
        if value not in choices:
            raise ConfigError(f"{where} = {value!r}: {did_you_mean(str(value), map(str, choices))}")
        return value
    if origin in (types.UnionType, typing.Union):
        if value is None:
            return None
        (inner,) = (arm for arm in typing.get_args(kind) if arm is not type(None))
        return _convert(inner, value, where)
    if origin is tuple:
        if not isinstance(value, (list, tuple)):
            raise ConfigError(f"{where} must be a list, got {value!r}")
        item = typing.get_args(kind)[0]
        return tuple(_convert(item, element, f"{where}[{index}]") for index, element in enumerate(value))
    return _scalar(kind, value, where)


def _scalar(kind: Any, value: Any, where: str) -> Any:
    if kind is float and isinstance(value, str):  # YAML 1.1 reads 1e-4 as a string
        try:
            value = float(value)
        except ValueError:
            raise ConfigError(f"{where} must be a number, got {value!r}") from None
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind is float and is_number:
        return float(value)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise ConfigError(f"{where} must be {kind.__name__}, got {value!r}")
    return value


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def _dotted(where: str, key: object) -> str:
    return f"{where}.{key}" if where else str(key)
