"""What functions reach along calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from datamill.selection.tables.function_table import FunctionTable


def build_callers(table: FunctionTable) -> Mapping[str, frozenset[str]]:
    """Return who calls each function, or takes its address or that of data, by name."""
    callers: dict[str, set[str]] = {}
    for function in table.functions:
        for used in (*function.calls, *function.refers_to):
            callers.setdefault(used, set()).add(function.name)
    return {name: frozenset(who) for name, who in callers.items()}


def find_reached(table: FunctionTable, roots: Iterable[str]) -> frozenset[str]:
    """Return functions that calls lead to from `roots`, these included; an address that is taken counts."""
    used = {function.name: (*function.calls, *function.refers_to) for function in table.functions}
    reached: set[str] = set()
    waiting = [name for name in roots if name in used]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += [other for other in used[name] if other in used and other not in reached]
    return frozenset(reached)
