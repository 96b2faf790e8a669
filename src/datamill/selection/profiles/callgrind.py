"""What valgrind's callgrind counted, by functions of the program."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from datamill.selection.profiles.profile import FunctionCounts, Profile
from datamill.selection.tables.function_table import FunctionTable

METHOD = "callgrind of valgrind"
_NAME = re.compile(r"(c?(?:ob|fn))=\((\d+)\)(?: (.*))?$")
#: A recursion that callgrind keeps apart: `walk'2`.
_RECURSION = re.compile(r"'\d+$")


@dataclass(slots=True)
class SymbolCounts:
    """Calls and executed instructions of a symbol, without those of its callees."""

    calls: int = 0
    instructions: int = 0


@dataclass(slots=True)
class _Place:
    """Which object and function the lines are about; names are given once and then by their number."""

    names: dict[tuple[str, str], str] = field(default_factory=dict)
    object: str = ""
    function: str = ""
    called_object: str = ""
    called: str = ""


def read_callgrind(lines: Iterable[str], program: str) -> dict[str, SymbolCounts]:
    """Return counts by symbol of the object `program` from a file that callgrind wrote without demangling.

    The line after `calls=` holds what a call cost with all below it, which is not the caller's own. Source:
    valgrind's manual, "Callgrind Format Specification".
    """
    place = _Place()
    counts: dict[str, SymbolCounts] = {}
    is_call = False
    for line in lines:
        line = line.rstrip("\n")
        if match := _NAME.match(line):
            _move(place, match[1], match[2], match[3])
        elif line.startswith("calls="):
            if place.called_object == program:
                calls = int(line[6:].split()[0])
                counts.setdefault(place.called, SymbolCounts()).calls += calls
            place.called_object = place.object
            is_call = True
        elif line[:1].isdigit() or line[:1] in "+-*":
            cost = line.split()
            if not is_call and place.object == program and len(cost) > 1:
                counts.setdefault(place.function, SymbolCounts()).instructions += int(cost[1])
            is_call = False
    return counts


def read_total(lines: Iterable[str]) -> int:
    """Return all instructions of a process, those of libraries too."""
    for line in lines:
        if line.startswith(("totals:", "summary:")):
            return int(line.split()[1])
    return 0


def _move(place: _Place, key: str, number: str, name: str | None) -> None:
    kind = key.removeprefix("c")
    if name is not None:
        place.names[kind, number] = _RECURSION.sub("", name) if kind == "fn" else name
    told = place.names.get((kind, number), "")
    if key == "ob":
        place.object = place.called_object = told
    elif key == "cob":
        place.called_object = told
    elif key == "fn":
        place.function = told
    else:
        place.called = told


def build_profile(benchmark: str, table: FunctionTable, counts: dict[str, SymbolCounts]) -> Profile:
    """Return the profile of a benchmark by the functions of a table.

    A symbol that several functions have gives its counts to each of them, since callgrind does not tell them
    apart: none that was reached is missed. Symbols that the table lacks are left out.
    """
    functions: dict[str, FunctionCounts] = {}
    for function in table.functions:
        found = [counts[name] for name in (function.symbol, *function.aliases) if name in counts]
        if found:
            functions[function.name] = FunctionCounts(
                sum(item.calls for item in found), sum(item.instructions for item in found)
            )
    return Profile(benchmark, METHOD, functions)
