"""Statements of the same analysis for several levels as one: tables that are alike become one table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from datamill.report.tables.statement import BLANK, Heading, Paragraph, Part, list_tables
from datamill.report.tables.table import Table


@dataclass(frozen=True, slots=True)
class LevelStatement:
    """What the analysis of one level says; `lead` and `warnings` are sentences of its `parts`."""

    level: str
    parts: Sequence[Part]
    lead: tuple[str, ...]
    warnings: tuple[str, ...]


def combine_statements(
    by: str, levels: Sequence[LevelStatement], lead: Sequence[str], warnings: Sequence[str]
) -> tuple[Part, ...]:
    """The lead, a table for each kind of table, what else is said, and the warnings.

    Tables of one kind that have other headers at other levels (as where units differ) stay apart.
    """
    parts: list[Part] = [*(Paragraph(text, "  ") for text in lead), BLANK]
    tables = [list_tables(item.parts) for item in levels]
    for number in range(max(map(len, tables), default=0)):
        alike = [
            (item.level, own[number]) for item, own in zip(levels, tables, strict=True) if number < len(own)
        ]
        for table in _merge_tables(by, alike):
            parts += [Heading(f"{table.title}:"), BLANK] if table.title else []
            parts += [replace(table, title=""), BLANK]
    parts += _list_remarks(by, levels)
    parts += [Paragraph(f"Warning: {text}.", "  ") for text in warnings]
    return tuple(parts)


def _merge_tables(by: str, alike: Sequence[tuple[str, Table]]) -> list[Table]:
    if len({(table.headers, table.numeric) for _, table in alike}) == 1:
        return [_stack(by, alike)]
    return [_stack(by, [pair]) for pair in alike]


def _stack(by: str, alike: Sequence[tuple[str, Table]]) -> Table:
    """One table of several with the same headers; the level stands above its rows, or before their names."""
    first = alike[0][1]
    folded = any(table.layout.is_folded for _, table in alike)
    rows: list[tuple[str, ...]] = []
    strong: list[int] = []
    groups: list[tuple[int, str]] = []
    pictures: list[str] = list(first.pictures[:1])
    for level, table in alike:
        start = len(rows)
        strong += [start + index for index in table.strong]
        if not folded:
            groups.append((start, f"{by} {level}"))
            inner = [(index, name) for index, name in table.groups if index]
            groups += [(start + index, f"{by} {level}, {name}") for index, name in inner]
            if table.groups and table.groups[0][0] == 0:
                groups[-1 - len(inner)] = (start, f"{by} {level}, {table.groups[0][1]}")
        rows += [(f"{level}: {row[0]}", *row[1:]) if folded else row for row in table.rows]
        pictures += table.pictures[1:]
    notes = dict.fromkeys(note for _, table in alike for note in table.notes)
    drawn = len(pictures) == len(rows) + 1
    return replace(
        first,
        headers=(f"{by}: {first.headers[0]}", *first.headers[1:]) if folded else first.headers,
        rows=tuple(rows),
        notes=tuple(notes),
        strong=tuple(strong),
        groups=tuple(groups),
        pictures=tuple(pictures) if drawn and len(alike) == 1 else (),
        legend=first.legend if drawn and len(alike) == 1 else "",
    )


def _list_remarks(by: str, levels: Sequence[LevelStatement]) -> list[Part]:
    """Paragraphs that are neither lead nor warning: once where all levels have them, else by level."""
    own = [(item.level, _list_own(item)) for item in levels]
    common = [text for text in own[0][1] if all(text in texts for _, texts in own)] if own else []
    parts: list[Part] = [Paragraph(text, "  ") for text in common]
    for level, texts in own:
        parts += [Paragraph(f"{by} {level}: {text}", "  ") for text in texts if text not in common]
    return parts


def _list_own(item: LevelStatement) -> list[str]:
    said = {*item.lead, *(f"Warning: {text}." for text in item.warnings)}
    texts = [part.text for part in item.parts if isinstance(part, Paragraph)]
    return [text for text in texts if text not in said and not text.startswith("Warning: ")]
