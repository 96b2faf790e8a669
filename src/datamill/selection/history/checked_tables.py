"""What is wrong with the tables of a settings file: which line, and what belongs there."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec

from datamill.experiment.errors import InputError
from datamill.experiment.file.source import Source
from datamill.experiment.messages.mistakes import Mistakes

#: What a value of a kind is called, with an example.
_KINDS: Mapping[str, tuple[type | tuple[type, ...], str, str]] = {
    "str": (str, "a text in quotes", '"text"'),
    "int": (int, "a whole number", "5"),
    "float | None": ((int, float), "a number without quotes", "0.01"),
    "tuple[str, ...]": (list, "a list of texts in quotes", '["text"]'),
}


def check_tables(source: Source, tables: Mapping[str, Any], kind: type[msgspec.Struct]) -> None:
    """Refuse keys that the records of a file do not know, and values of another kind than theirs.

    Raises:
        InputError: all mistakes at once, each with its line.
    """
    mistakes = Mistakes()
    _check_table(mistakes, source, tables, kind, "", 0)
    mistakes.refuse()


def _check_table(
    mistakes: Mistakes,
    source: Source,
    table: Mapping[str, Any],
    kind: type[msgspec.Struct],
    section: str,
    occurrence: int,
) -> None:
    fields = {field.name: field for field in msgspec.structs.fields(kind)}
    mistakes.attempt(lambda: source.check_keys(table, fields, section, occurrence=occurrence), None)
    for name, field in fields.items():
        where = source.locate(section, name, occurrence=occurrence)
        if name not in table:
            if field.required and section:
                mistakes.attempt(
                    partial(_refuse, f"the table has no {name}", where, f'Write {name} = "…".'), None
                )
            continue
        value = table[name]
        inner = _find_record(field.type)
        if inner is None:
            mistakes.attempt(partial(_check_value, name, value, kind.__annotations__[name], where), None)
            continue
        is_one = inner is field.type
        header = f"[{name}]" if is_one else f"[[{name}]]"
        entries = [value] if is_one else value
        if not isinstance(entries, list) or not all(isinstance(item, Mapping) for item in entries):
            remedy = f"Write {header} alone in a line, and its keys below it."
            mistakes.attempt(partial(_refuse, f"{name} is not {header}", where, remedy), None)
            continue
        for number, entry in enumerate(entries):
            _check_table(mistakes, source, entry, inner, name, number)


def _find_record(kind: Any) -> type[msgspec.Struct] | None:
    """The record of a field that is a table, or several."""
    inner = getattr(kind, "__args__", (kind,))[0]
    return inner if isinstance(inner, type) and issubclass(inner, msgspec.Struct) else None


def _check_value(name: str, value: object, kind: str, where: str) -> None:
    types, called, example = _KINDS[kind]
    is_right = isinstance(value, types) and not isinstance(value, bool)
    if is_right and isinstance(value, list):
        is_right = all(isinstance(item, str) for item in value)
    if not is_right:
        _refuse(f"{name} is not {called}", where, f"Write {name} = {example}.")


def _refuse(message: str, where: str, remedy: str) -> None:
    raise InputError(message, where=where, remedy=remedy)
