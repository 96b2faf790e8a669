"""Which function of one build is which of another."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass

from datamill.selection.tables.function_table import Function


@dataclass(frozen=True, slots=True)
class Matches:
    """Pairs of functions of both builds, and those that only one has, in the order of their tables."""

    pairs: tuple[tuple[Function, Function], ...]
    deleted: tuple[Function, ...]
    new: tuple[Function, ...]


def match_functions(old: Iterable[Function], new: Iterable[Function]) -> Matches:
    """Match the functions of two builds.

    In turn, each among those that are left: by name with the same code; clones of one function by their
    code, since compilers number clones anew; by name; clones by their name without these numbers; by symbol
    and file, where a name got or lost what tells duplicates apart; and by code alone where exactly one
    function on each side has it, which finds renamed and moved ones. A function that was renamed and edited
    at once is one deleted and one new. What has no symbol is matched by its place: as many between the same
    neighbours follow each other as before.
    """
    before, after = list(old), list(new)
    by_name = {function.name: function for function in after}
    paired: dict[str, Function] = {}
    # Most are the same in both: only what is left is worth grouping.
    for item in before:
        other = by_name.get(item.name)
        if other is not None and other.code == item.code:
            paired[item.name] = other
    taken = set(paired)
    left: list[Function] = []
    others = [item for item in after if item.name not in taken]
    for key in _KEYS:
        left = [item for item in before if item.name not in paired]
        _match_by(key, left, others, paired)
        found = {paired[item.name].name for item in left if item.name in paired}
        others = [item for item in others if item.name not in found]
    _match_nameless(before, after, paired)
    left = [item for item in before if item.name not in paired]
    found = {item.name for item in paired.values()}
    others = [item for item in after if item.name not in found]
    return Matches(
        tuple((item, paired[item.name]) for item in before if item.name in paired),
        tuple(item for item in left if item.name not in paired),
        tuple(others),
    )


def _match_by(
    key: Callable[[Function], Hashable | None],
    before: list[Function],
    after: list[Function],
    paired: dict[str, Function],
) -> None:
    """Pair functions whose key occurs once on each side."""
    first, second = _group(key, before), _group(key, after)
    for found, items in first.items():
        others = second.get(found, [])
        if len(items) == len(others) == 1:
            paired[items[0].name] = others[0]


def _match_nameless(before: list[Function], after: list[Function], paired: dict[str, Function]) -> None:
    """Pair functions without symbols that are left between two neighbours that are paired."""
    if all(item.symbol or item.name in paired for item in before):
        return
    back = {other.name: name for name, other in paired.items()}
    gaps = _find_gaps(after, lambda item: back.get(item.name))
    for neighbours, items in _find_gaps(
        before, lambda item: item.name if item.name in paired else None
    ).items():
        others = gaps.get(neighbours, [])
        if len(items) == len(others):
            paired.update((item.name, other) for item, other in zip(items, others, strict=True))


def _find_gaps(
    functions: list[Function], anchor_of: Callable[[Function], str | None]
) -> dict[tuple[str, str], list[Function]]:
    """Functions without symbols and without a pair, by the pairs before and after them; "" at an end."""
    gaps: dict[tuple[str, str], list[Function]] = {}
    last = ""
    gap: list[Function] = []
    for item in functions:
        anchor = anchor_of(item)
        if anchor is not None:
            if gap:
                gaps[last, anchor] = gap
            last, gap = anchor, []
        elif not item.symbol:
            gap = [*gap, item]
    if gap:
        gaps[last, ""] = gap
    return gaps


def _group(
    key: Callable[[Function], Hashable | None], functions: list[Function]
) -> dict[Hashable, list[Function]]:
    groups: dict[Hashable, list[Function]] = {}
    for function in functions:
        found = key(function)
        if found is not None:
            groups.setdefault(found, []).append(function)
    return groups


#: Numbers that compilers count anew in each build.
_NUMBERS = re.compile(r"\.\d+\b")

_KEYS: tuple[Callable[[Function], Hashable | None], ...] = (
    lambda function: (function.clone_of, function.code) if function.clone_of else None,
    lambda function: function.name,
    lambda function: _NUMBERS.sub("", function.name) if function.clone_of else None,
    lambda function: (function.symbol, function.file) if function.symbol else None,
    lambda function: function.code,
)
