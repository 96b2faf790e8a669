"""What functions reach along calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from datamill.selection.tables.function_table import FunctionTable


def find_users(table: FunctionTable, names: Iterable[str]) -> Mapping[str, frozenset[str]]:
    """Return who calls each of `names` or takes its address, by name; unused ones are left out."""
    wanted = frozenset(names)
    users: dict[str, set[str]] = {}
    for function in table.functions:
        if wanted.isdisjoint(function.calls) and wanted.isdisjoint(function.refers_to):
            continue
        for used in wanted.intersection((*function.calls, *function.refers_to)):
            users.setdefault(used, set()).add(function.name)
    return {name: frozenset(who) for name, who in users.items()}


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
