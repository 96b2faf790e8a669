"""What functions reach along calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from datamill.selection.tables.function_table import FunctionTable


def find_users(table: FunctionTable, names: Iterable[str]) -> Mapping[str, frozenset[str]]:
    """Return who calls each of `names` or takes its address, by name; unused ones are left out.

    Who uses data whose pointers lead to other data uses these too.
    """
    wanted = frozenset(names)
    leads_to = _find_data_on_the_way(table, wanted)
    ways = frozenset(leads_to)
    users: dict[str, set[str]] = {}
    for function in table.functions:
        if ways.isdisjoint(function.calls) and ways.isdisjoint(function.refers_to):
            continue
        for used in ways.intersection((*function.calls, *function.refers_to)):
            for name in leads_to[used]:
                users.setdefault(name, set()).add(function.name)
    return {name: frozenset(who) for name, who in users.items()}


def _find_data_on_the_way(table: FunctionTable, wanted: frozenset[str]) -> Mapping[str, set[str]]:
    """What a function may use to use one of `wanted`: itself, and for data those that point to them."""
    leads_to = {name: {name} for name in wanted}
    pointing: dict[str, list[str]] = {}
    for item in table.data:
        for name in item.refers_to:
            pointing.setdefault(name, []).append(item.name)
    if not pointing:
        return leads_to
    for name in wanted.intersection(item.name for item in table.data):
        seen = {name}
        waiting = list(pointing.get(name, ()))
        while waiting:
            at = waiting.pop()
            if at not in seen:
                seen.add(at)
                leads_to.setdefault(at, set()).add(name)
                waiting += pointing.get(at, ())
    return leads_to


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
