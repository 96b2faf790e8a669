"""What a result says, part after part: paragraphs, headings, tables, and lines to copy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from datamill.report.tables.table import Table

#: A blank line of a terminal; pages have their own distances.
BLANK = ""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Sentences that a terminal folds; lines after the first begin with `indent`, all with `margin`."""

    text: str
    indent: str = ""
    margin: str = ""


@dataclass(frozen=True, slots=True)
class Heading:
    """What stands above a table or a list."""

    text: str


@dataclass(frozen=True, slots=True)
class Code:
    """Lines to copy into a file."""

    lines: tuple[str, ...]


Part = Paragraph | Heading | Code | Table | str


def list_paragraphs(text: str, indent: str = "") -> list[Part]:
    """The paragraph of a text, nothing of an empty one."""
    return [Paragraph(text, indent)] if text else []


def list_tables(parts: Sequence[Part]) -> tuple[Table, ...]:
    """The tables of a statement in their order, each with the heading before it as its title."""
    tables: list[Table] = []
    title = ""
    for part in parts:
        if isinstance(part, Heading):
            title = part.text.rstrip(":")
        elif isinstance(part, Table):
            tables.append(replace(part, title=part.title or title))
            title = ""
    return tuple(tables)
