"""How the kernel lays out the records of its events, as it says in its files `format` and `header_page`."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NAME = re.compile(r"^name: (\S+)", re.MULTILINE)
_NUMBER = re.compile(r"^ID: (\d+)", re.MULTILINE)
_FIELD = re.compile(r"field:\s*([^;]+);\s*offset:(\d+);\s*size:(\d+);\s*signed:(\d+);")


@dataclass(frozen=True, slots=True)
class EventFormat:
    """The records of one kind of event.

    Args:
        name: of the event.
        number: that its records begin with.
        fields: where each lies, as offset and size in bytes; arrays under their own name.
    """

    name: str
    number: int
    fields: dict[str, tuple[int, int]]


def parse_event_format(text: str) -> EventFormat:
    """Read a file `format`.

    Raises:
        ValueError: it names no event.
    """
    name, number = _NAME.search(text), _NUMBER.search(text)
    if name is None or number is None:
        raise ValueError("a description of an event without name or number")
    return EventFormat(name.group(1), int(number.group(1)), _parse_fields(text))


def parse_page_size(text: str) -> int:
    """Return the bytes of a page of the trace buffer, from the file `header_page`.

    Raises:
        ValueError: it does not say where data begin.
    """
    fields = _parse_fields(text)
    if "data" not in fields:
        raise ValueError("a description of pages without data")
    return sum(fields["data"])


def _parse_fields(text: str) -> dict[str, tuple[int, int]]:
    found = {}
    for declaration, offset, size, _ in _FIELD.findall(text):
        name = declaration.split()[-1].partition("[")[0]
        found[name] = (int(offset), int(size))
    return found
