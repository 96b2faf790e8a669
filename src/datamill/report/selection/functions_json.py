"""A program's functions, and what changed between two programs, as JSON."""

from __future__ import annotations

import msgspec

from datamill.experiment.messages.phrases import finish_sentence
from datamill.report.selection.functions_statement import summarize_changes, summarize_program
from datamill.report.tables.envelope import write_result
from datamill.selection.changes.table_changes import TableChanges
from datamill.selection.tables.function_table import FunctionTable


def spell_program(table: FunctionTable) -> str:
    """Write a function table as JSON; what its file does not say are the warnings."""
    return write_result(
        summarize_program(table)[:1],
        msgspec.to_builtins(table),
        [finish_sentence(line) for line in table.lost],
    )


def spell_changes(changes: TableChanges) -> str:
    """Write what changed as JSON: `functions` and `data` that differ, with their `fate`, `old` and `new`."""
    numbers: dict[str, object] = {
        "is_identical": changes.is_identical,
        "functions": [
            {"name": item.name, "fate": item.fate, "old": _spell(item.old), "new": _spell(item.new)}
            for item in changes.functions
        ],
        "data": [
            {"name": item.name, "fate": item.fate, "old": _spell(item.old), "new": _spell(item.new)}
            for item in changes.data
        ],
        "build": list(changes.build),
    }
    warnings = dict.fromkeys((*changes.old.lost, *changes.new.lost))
    return write_result(summarize_changes(changes), numbers, [finish_sentence(line) for line in warnings])


def _spell(item: msgspec.Struct | None) -> object:
    return None if item is None else msgspec.to_builtins(item)
