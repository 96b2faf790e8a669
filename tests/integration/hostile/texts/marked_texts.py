"""Texts that would act wherever they are not taken for texts, each with a mark of where it came in."""

from __future__ import annotations

import re

#: What marks look like: as an element, an attribute and a function, each is one that no page of ours has.
MARK = re.compile(r"dm\d{3}q")
#: What a template that evaluates a text makes of it: the product is in no page of ours.
EVALUATED = "62615533"
#: Turns the direction of writing round.
TURNS = "\u202e"
#: Moves cursors, turns the direction of writing round; the second is one character that many do not know.
CONTROLS = f"\x1b[31m\x9b31m{TURNS}\u2066"


def write_text(mark: str) -> str:
    """Return a text that ends attributes, titles, scripts and comments, and brings elements and commands."""
    return (
        f"{mark}\"'><{mark} {mark}=1 onerror={mark}()>--></title></textarea></script>"
        f"<a href=javascript:{mark}>{{{{7919*7907}}}}{{% {mark} %}}${{7919*7907}}]]>\N{GRINNING FACE}"
        f"\\input{{{mark}}}\n=cmd|'{mark}'!A0{CONTROLS}"
    )


class Zeros:
    """Gives each field a text with a zero character, which PostgreSQL cannot keep."""

    def write(self, _field: str) -> str:
        """Return the text."""
        return "a\0b"


class Marks:
    """Gives each field a text of its own, and knows by its mark where it came in."""

    def __init__(self) -> None:
        self._fields: dict[str, str] = {}

    def write(self, field: str) -> str:
        """Return the text for a field, the same whenever it is asked for."""
        mark = next((mark for mark, known in self._fields.items() if known == field), None)
        if mark is None:
            mark = f"dm{len(self._fields):03d}q"
            self._fields[mark] = field
        return write_text(mark)

    def list_fields(self) -> set[str]:
        """Return the fields that a text was written for."""
        return set(self._fields.values())

    def find_fields(self, content: str) -> set[str]:
        """Return the fields whose texts are somewhere in a content."""
        return {self._fields[mark] for mark in MARK.findall(content) if mark in self._fields}
