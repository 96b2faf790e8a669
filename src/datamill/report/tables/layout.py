"""Lines of text for a terminal: their width, paragraphs folded to it, and tables."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from datamill.report.words.short_names import apply_short_names

#: Columns of a terminal.
WIDTH = 100


def wrap(text: str, indent: str = "") -> list[str]:
    """Fold a paragraph into lines of the terminal's width, all but the first indented."""
    return textwrap.wrap(apply_short_names(text), WIDTH, subsequent_indent=indent, break_on_hyphens=False)


def lay_out_named(
    rows: Sequence[Sequence[str]], widths: Sequence[int], room: int, rule: int = 0
) -> list[str]:
    """A table, its first row a header, of a name and numbers in columns of these widths.

    A name longer than `room` stands on a line of its own, its numbers on the next. The line below the
    header is at least `rule` long.
    """
    lines = []
    for name, *cells in (tuple(map(apply_short_names, row)) for row in rows):
        numbers = "".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=False)).rstrip()
        if len(name) <= room or not numbers:
            lines.append(name.ljust(room) + numbers)
        else:
            lines += [name, " " * room + numbers]
    return [lines[0], "-" * max(rule, room + sum(widths)), *lines[1:]]


def lay_out_table(rows: Sequence[Sequence[str]], left: int = 0) -> list[str]:
    """A table, its first row a header; the first `left` columns are names, the others numbers."""
    rows = [tuple(map(apply_short_names, row)) for row in rows]
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if index < left else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return [lines[0], "-" * max(map(len, lines)), *lines[1:]]
