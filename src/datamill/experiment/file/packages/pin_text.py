"""Values of an experiment file that were found out when it was read, written into its text."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass

from datamill.experiment.file.source import Source
from datamill.experiment.file.toml_text import format_toml


@dataclass(frozen=True, slots=True)
class Pin:
    """A value of the table `[[section]]` number `index`, counted from 0."""

    section: str
    index: int
    key: str
    value: str


def pin_values(source: Source, pins: Sequence[Pin]) -> str:
    """Return the text of an experiment file with these values in place of its own.

    Everything else stays as it is, comments included, where the file is written in sections; a file that is
    written in other ways says the same in sections afterwards.
    """
    if not pins:
        return source.text
    tables = source.parse()
    for pin in pins:
        tables[pin.section][pin.index][pin.key] = pin.value
    edited = _edit_lines(source, pins)
    return edited if _says(edited, tables) else format_toml(tables)


def _edit_lines(source: Source, pins: Sequence[Pin]) -> str:
    lines = source.text.split("\n")
    added: dict[int, list[str]] = {}
    for pin in pins:
        line = format_toml({"x": {pin.key: pin.value}}).split("\n")[1]
        at = source.find_line(pin.section, pin.key, occurrence=pin.index)
        head = source.find_line(pin.section, occurrence=pin.index)
        if at is not None:
            lines[at - 1] = line
        elif head is not None:
            added.setdefault(head, []).append(line)
    for head in sorted(added, reverse=True):
        lines[head:head] = added[head]
    return "\n".join(lines)


def _says(text: str, tables: dict[str, object]) -> bool:
    try:
        return tomllib.loads(text) == tables
    except tomllib.TOMLDecodeError:
        return False
