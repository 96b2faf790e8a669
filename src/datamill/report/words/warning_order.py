"""Warnings in the order of what they mean for the answer, each said once."""

from __future__ import annotations

import re
from collections.abc import Sequence

#: Warnings that stand on the first screen; the rest is folded away.
MOST_SHOWN = 3
#: What a warning speaks of, the worst for the answer first; all others come before the last line's.
_WORST = (
    r"conclusion depends|no valid data|cannot be compared|not compared|no answer|"
    r"does not fit|changed meanwhile|drift|had another level|was not effective|may in truth be|failed alike",
    r"takes? .*for granted|taken for independent|takes for independent|too small|too few|not covered|"
    r"fewer than|aliased|not be told apart",
)
_LAST = (
    r"older datamill|were averaged|their mean is over|conclusion is the same|kept apart from the host|"
    r"upper bound"
)


def order_warnings(warnings: Sequence[str], packages: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the warnings by what they mean for the answer; one that only names another package is merged.

    `packages` are the names that may stand in them.
    """
    merged = _merge(dict.fromkeys(warnings), packages)
    return tuple(sorted(merged, key=_rank))


def _rank(warning: str) -> int:
    for rank, pattern in enumerate(_WORST):
        if re.search(pattern, warning):
            return rank
    return len(_WORST) + 1 if re.search(_LAST, warning) else len(_WORST)


def _merge(warnings: dict[str, None], packages: Sequence[str]) -> list[str]:
    """Warnings that are the same but for a package and for numbers become one."""
    if len(packages) < 2:
        return list(warnings)
    names = "|".join(re.escape(name) for name in sorted(packages, key=len, reverse=True))
    pattern = re.compile(rf"(?<![\w.-])(?:{names})(?![\w.-])")
    groups: dict[str, list[tuple[str, str]]] = {}
    for text in warnings:
        found = set(pattern.findall(text))
        # Of two packages at once, such as a comparison, nothing can be merged.
        key = re.sub(r"\d[\d\u202f,.]*", "#", pattern.sub("\0", text)) if len(found) == 1 else text
        groups.setdefault(key, []).append((text, *found) if len(found) == 1 else (text, ""))
    return [text for group in groups.values() for text in _join_all(group, pattern, packages)]


def _join_all(group: list[tuple[str, str]], pattern: re.Pattern[str], packages: Sequence[str]) -> list[str]:
    """One warning of several packages; two of one package say different things and stay apart."""
    if len({own for _, own in group}) < len(group):
        return [text for text, _ in group]
    return [_join(group, pattern, packages)]


def _join(group: list[tuple[str, str]], pattern: re.Pattern[str], packages: Sequence[str]) -> str:
    first = group[0][0]
    if len(group) == 1:
        return first
    # In the order of the experiment, whatever the order of trials was.
    name, *others = sorted((name for _, name in group), key=list(packages).index)
    first = next(text for text, own in group if own == name)
    if all(pattern.sub("\0", text) == pattern.sub("\0", first) for text, _ in group):
        return pattern.sub(_list_names([name, *others]), first, count=1)
    return f"{first.rstrip('.')} (much the same for {_list_names(others)})."


def _list_names(names: Sequence[str]) -> str:
    shown = list(names[:4])
    if len(names) > 4:
        return f"{', '.join(shown)} and {len(names) - 4} more"
    return " and ".join([*([", ".join(shown[:-1])] if len(shown) > 1 else []), shown[-1]])
