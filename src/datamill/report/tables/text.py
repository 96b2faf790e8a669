"""Statements and tables as lines of text for a terminal, folded to its width."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from itertools import chain

from datamill.report.tables.statement import Code, Heading, Paragraph, Part
from datamill.report.tables.table import Table
from datamill.report.words.short_names import apply_short_names

#: Columns of a terminal.
WIDTH = 100


def render_text(parts: Sequence[Part]) -> str:
    """A statement for a terminal."""
    return "\n".join(chain.from_iterable(map(render_part, parts)))


def render_part(part: Part) -> list[str]:
    """The lines of a part."""
    if isinstance(part, Paragraph):
        return [part.margin + line for line in wrap(part.text, part.indent)]
    if isinstance(part, Table):
        return lay_out_table(part)
    if isinstance(part, Code):
        return [f"  {line}" for line in part.lines]
    return wrap(part.text) if isinstance(part, Heading) else [part]


def wrap(text: str, indent: str = "") -> list[str]:
    """Fold a paragraph into lines of the terminal's width, all but the first indented."""
    return textwrap.wrap(apply_short_names(text), WIDTH, subsequent_indent=indent, break_on_hyphens=False)


def lay_out_table(table: Table) -> list[str]:
    """The lines of a table: header, a line below it, rows."""
    rows = [tuple(map(apply_short_names, row)) for row in (table.headers, *table.rows)]
    layout = table.layout
    if layout.room:
        lines = [_lay_out_named(row, layout.widths, layout.room) for row in rows]
        rule = max(layout.rule or 0, layout.room + sum(layout.widths))
    elif layout.is_folded:
        return _fold_columns(rows)
    else:
        if table.pictures:
            rows = [(*row, picture) for row, picture in zip(rows, table.pictures, strict=True)]
        numeric = (*table.numeric, *([True] if table.pictures else []))
        lines = [[line] for line in _align_cells(rows, numeric, layout.gap)]
        if table.over:
            lines.insert(0, [_center_names(rows, table, layout.gap)])
        rule = max(len(line) for line in chain.from_iterable(lines))
    head = lines[: 2 if table.over else 1]
    for index, heading in reversed(table.groups):
        lines.insert(len(head) + index, [apply_short_names(heading)])
    body = list(chain.from_iterable(lines[len(head) :]))
    below = [] if layout.rule is None else ["-" * rule]
    legend = wrap(table.legend)
    return [*(layout.margin + line for line in (*chain.from_iterable(head), *below, *body)), *legend]


def _align_cells(rows: Sequence[Sequence[str]], numeric: Sequence[bool], gap: int) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        (" " * gap)
        .join(
            cell.rjust(width) if number else cell.ljust(width)
            for cell, width, number in zip(row, widths, numeric, strict=True)
        )
        .rstrip()
        for row in rows
    ]


def _lay_out_named(row: Sequence[str], widths: Sequence[int], room: int) -> list[str]:
    """A row whose name, where it is longer than its room, stands on a line of its own."""
    name, *cells = row
    numbers = "".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=False)).rstrip()
    return [name.ljust(room) + numbers] if len(name) <= room or not numbers else [name, " " * room + numbers]


def _center_names(rows: Sequence[Sequence[str]], table: Table, gap: int) -> str:
    """The line of names over several headers, each in the middle of its columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    names, start = [], 0
    for name, count in table.over:
        room = sum(widths[start : start + count]) + gap * (count - 1)
        names.append(f"{name:^{room}}")
        start += count
    return (" " * gap).join(names).rstrip()


def _fold_columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """As many columns side by side as the line holds, the others below, each time with the names."""
    widths = [max(map(len, column)) + 1 for column in zip(*rows, strict=True)]
    lines: list[str] = []
    start = 1
    while start < len(widths):
        end, room = start, widths[0]
        while end < len(widths) and (end == start or room + widths[end] <= WIDTH):
            room += widths[end]
            end += 1
        block = [
            row[0].ljust(widths[0])
            + "".join(row[column].rjust(widths[column]) for column in range(start, end)).rstrip()
            for row in rows
        ]
        lines += [block[0], "-" * room, *(line.rstrip() for line in block[1:])]
        start = end
        if start < len(widths):
            lines.append("")
    return lines
