"""Fields of an experiment file's tables: of the right type, in range, or refused with their line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeVar

from datamill.experiment.errors import InputError
from datamill.experiment.file.source import Source
from datamill.experiment.messages.numbers import format_given
from datamill.experiment.messages.suggestions import suggest_name

#: What experiments, packages and loads may be called.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")
#: What responses and factors may be called.
IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
#: Characters of a value that a message repeats.
_MOST_SHOWN = 200

_T = TypeVar("_T")


def take_table(tables: Mapping[str, Any], key: str, source: Source) -> Mapping[str, Any]:
    """Return a table of the file, empty when it is absent.

    Raises:
        InputError: when the key is no table.
    """
    table = tables.get(key, {})
    if not isinstance(table, dict):
        raise InputError(
            f'"{key}" must be a table',
            where=source.locate(key),
            remedy=f"Write [{key}] on its own line.",
        )
    return table


def take_tables(tables: Mapping[str, Any], key: str, source: Source) -> list[Any]:
    """Return a list of tables of the file, empty when it is absent.

    Raises:
        InputError: when the key is one table or none.
    """
    entries = tables.get(key, [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise InputError(f"{key}s are a list of tables", where=source.locate(key), remedy=f"Write [[{key}]].")
    return entries


def take_typed(
    table: Mapping[str, Any], key: str, kind: type[_T], default: _T, source: Source, section: str
) -> _T:
    """Return a field of a type, or its default.

    Raises:
        InputError: when it has another type.
    """
    if key not in table:
        return default
    value = table[key]
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        names = {str: "a text in quotes", int: "a whole number", float: "a number", bool: "true or false"}
        raise InputError(
            f"{key} must be {names[kind]}, not {spell_value(value)}", where=source.locate(section, key)
        )
    return value


def spell_value(value: object) -> str:
    """Write a value as TOML does; of a long one the beginning."""
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"


def check_within(value: int, low: int, high: int, source: Source, section: str, key: str) -> int:
    """Return a whole number that is in range.

    Raises:
        InputError: when it is not.
    """
    if not low <= value <= high:
        raise InputError(
            f"{key} must be from {low} to {high}, not {value}", where=source.locate(section, key)
        )
    return value


def check_between(value: float, low: float, high: float, source: Source, section: str, key: str) -> float:
    """Return a number that lies strictly between two others.

    Raises:
        InputError: when it does not.
    """
    if not low < value < high:
        raise InputError(
            f"{key} must lie between {format_given(low)} and {format_given(high)}, not {format_given(value)}",
            where=source.locate(section, key),
        )
    return value


def check_one_of(value: str, known: tuple[str, ...], source: Source, section: str, key: str) -> str:
    """Return a text that is one of those known.

    Raises:
        InputError: when it is not, with the nearest one.
    """
    if value not in known:
        raise InputError(
            f'unknown {key} "{value}"',
            where=source.locate(section, key),
            remedy=suggest_name(value, known),
        )
    return value
