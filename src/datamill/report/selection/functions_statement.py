"""A program's functions, and what changed between two programs, as a statement."""

from __future__ import annotations

from datamill.experiment.messages.numbers import format_count
from datamill.experiment.messages.phrases import count_nouns, finish_sentence
from datamill.report.tables.statement import BLANK, Heading, Paragraph, Part
from datamill.report.tables.table import build_table
from datamill.selection.changes.table_changes import FunctionChange, TableChanges
from datamill.selection.tables.function_table import Function, FunctionTable

_FATES = {
    "changed": "changed",
    "new": "new",
    "deleted": "deleted",
    "renamed": "renamed",
    "lines": "line numbers",
}


def summarize_program(table: FunctionTable) -> list[str]:
    """Return sentences: what the program holds, and what its file does not say."""
    instructions = sum(function.instructions for function in table.functions)
    from_where = "" if table.source == "symbols" else f", from its {table.source}"
    first = (
        f"{count_nouns(len(table.functions), 'function')} of {table.machine}{from_where}, with "
        f"{format_count(instructions)} instructions; {format_count(len(table.data))} named data."
    )
    return [first, *(finish_sentence(f"Lost: {line}") for line in table.lost)]


def state_program(table: FunctionTable) -> list[Part]:
    """Return the table of all functions in the order of their addresses."""
    rows = [_list_function(function) for function in table.functions]
    headers = ("function", "bytes", "instructions", "loops", "calls", "digest")
    return [
        *map(Paragraph, summarize_program(table)),
        BLANK,
        build_table(headers, rows, last_words=1),
    ]


def summarize_changes(changes: TableChanges) -> list[str]:
    """Return sentences: how many functions and data differ, and how."""
    if changes.is_identical:
        return ["Both are the same program: all code and data are equal."]
    changed, data = changes.of_fate("changed"), changes.data
    counts = [
        f"{count_nouns(len(found), 'function')} {words}"
        for fate, words in (
            ("changed", "changed"),
            ("new", "new"),
            ("deleted", "deleted"),
            ("renamed", "renamed"),
        )
        if (found := changes.of_fate(fate))  # type: ignore[arg-type]
    ]
    lines = changes.of_fate("lines")
    if lines:
        counts.append(f"{count_nouns(len(lines), 'function')} differing in line numbers alone")
    if data:
        counts.append(f"{format_count(len(data))} named data changed, new or deleted")
    if not counts:
        counts.append("no function and no named data differ")
    first = finish_sentence(
        f"{counts[0][0].upper()}{counts[0][1:]}" + "".join(f"; {item}" for item in counts[1:])
    )
    told = [first]
    if not changed and not changes.of_fate("new", "deleted") and not data:
        told.append("Nothing that a function does is different.")
    told += [finish_sentence(f"Build: {line}") for line in changes.build]
    told += [
        finish_sentence(f"Lost: {line}") for line in dict.fromkeys((*changes.old.lost, *changes.new.lost))
    ]
    return told


def state_changes(changes: TableChanges) -> list[Part]:
    """Return what differs: functions with their sizes before and after, then data."""
    parts: list[Part] = [*map(Paragraph, summarize_changes(changes))]
    if changes.functions:
        headers = ("function", "", "instructions", "before", "loops", "before")
        fates = list(_FATES)
        # The weightiest first; within a fate as the program has them.
        ordered = sorted(changes.functions, key=lambda change: fates.index(change.fate))
        rows = [_list_change(change) for change in ordered]
        parts += [BLANK, build_table(headers, rows, words=2)]
    if changes.data:
        rows = [
            (
                item.name,
                item.fate,
                "" if item.new is None else format_count(item.new.size),
                "" if item.old is None else format_count(item.old.size),
            )
            for item in changes.data
        ]
        parts += [BLANK, Heading("Data:"), build_table(("data", "", "bytes", "before"), rows, words=2)]
    return parts


def _list_change(change: FunctionChange) -> tuple[str, ...]:
    old, new = change.old, change.new
    name = change.name if old is None or new is None or old.name == new.name else f"{old.name} -> {new.name}"
    return (
        name,
        _FATES[change.fate],
        "" if new is None else format_count(new.instructions),
        "" if old is None else format_count(old.instructions),
        "" if new is None else format_count(new.loops),
        "" if old is None else format_count(old.loops),
    )


def _list_function(function: Function) -> tuple[str, ...]:
    return (
        function.name,
        format_count(function.size),
        format_count(function.instructions),
        format_count(function.loops),
        format_count(len(function.calls)),
        function.code[:12],
    )
