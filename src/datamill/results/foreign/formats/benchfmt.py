"""Go's benchmark format: what `go test -bench` prints, also as `go test -json`, and benchstat reads."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from datamill.results.foreign.content import Content
from datamill.results.foreign.foreign_results import Execution, ForeignFormat, ForeignResults, Series
from datamill.results.foreign.units import find_conversion
from datamill.results.tables.table import CONTEXT_PREFIX

_TITLE = "Go benchmark text"
_RESULT = re.compile(r"Benchmark\S*\s+[0-9]+\s+\S+\s+\S+")
#: benchfmt.parseKeyValueLine: a lower-case letter, then neither blanks nor capitals, a colon, the value.
_CONFIGURATION = re.compile(r"([^\W\dA-Z_][^\sA-Z:]*):(?:[ \t]+(.*))?$")
#: What the testing package says about the machine, once for each process.
_MACHINE = ("goos", "goarch", "cpu")
_END_OF_PROCESS = re.compile(r"(PASS|FAIL|ok\s.*|FAIL\s.*|---\s.*)$")
#: A unit that is brought to its base, perhaps after a prefix (`p99-ns/op`), with its name there.
_UNIT = re.compile(r"([^*/]*-)?(ns|sec|MB|B)(/(?!ns|us|ms|min|hr?$)[^*]*)?")
_TIDY = {"ns": "sec", "sec": "sec", "MB": "B", "B": "B"}
#: Keys of a line `Unit UNIT KEY=VALUE…` by which datamill's export says which response stands behind a unit.
RESPONSE_KEY, UNIT_KEY = "datamill.response", "datamill.unit"
_PROCESSORS = re.compile(r"(.+)-([0-9]+)$")


@dataclass(frozen=True)
class _Growing:
    """Measurements of one benchmark in one process while its lines are read."""

    benchmark: str
    factors: Mapping[str, str]
    context: Mapping[str, str]
    values: dict[str, list[float | None]] = field(default_factory=dict)
    exclusions: dict[str, dict[int, str]] = field(default_factory=dict)
    iterations: dict[str, list[int | None]] = field(default_factory=dict)


def claims_benchfmt(content: Content) -> bool:
    """Whether a line is a benchmark result."""
    if _is_event_stream(content):
        return any("Benchmark" in line for line in content.lines)
    return any(_RESULT.match(line) for line in content.lines)


def read_benchfmt(content: Content) -> ForeignResults:
    """Return an execution for each benchmark of each process, a response for each unit.

    Names are split as benchstat does: `Sort/alg=quick/n=64-8` has the factors `alg`, `n` and
    `gomaxprocs`. A configuration line becomes a factor, except what describes the machine. A
    process ends where the testing package says so (`PASS`, `ok`), or begins to describe it anew.
    Lines of datamill's own export about units give back the names of responses and their units.
    """
    notes: list[str] = []
    executions: list[Execution] = []
    configuration: dict[str, str] = {}
    current: dict[tuple[str, ...], _Growing] = {}
    known: dict[str, tuple[str, str]] = {}
    lines = _list_event_output(content) if _is_event_stream(content) else enumerate(content.lines, start=1)
    for number, line in lines:
        if line.startswith("Benchmark"):
            problem = _add_result(line, configuration, current)
            if problem:
                notes.append(f"line {number} begins like a result, but {problem}: left out")
            continue
        if line.startswith("Unit "):
            known |= _read_unit_line(line)
            continue
        if _END_OF_PROCESS.match(line):
            executions += _close(current, known)
            continue
        match = _CONFIGURATION.match(line)
        if match:
            key, value = match[1], (match[2] or "").strip()
            if key == "goos" and current:
                executions += _close(current, known)
            configuration.pop(key, None)
            if value:
                configuration[key] = value
    executions += _close(current, known)
    return ForeignResults(executions, notes)


def _add_result(line: str, configuration: Mapping[str, str], current: dict[tuple[str, ...], _Growing]) -> str:
    """Add the values of a line; return what is wrong with it, empty when nothing is or it is a heading."""
    fields = line.split()
    if len(fields) == 1:
        # `go test -v` prints the name alone before it measures.
        return ""
    if not re.fullmatch(r"[0-9]+", fields[1]):
        return f'"{fields[1]}" is not a number of iterations'
    pairs = fields[2:]
    if not pairs or len(pairs) % 2:
        return "values and units do not come in pairs"
    numbers: list[float] = []
    for text in pairs[::2]:
        try:
            # Python reads 1_6 as 16, Go and benchstat do not.
            numbers.append(float("" if "_" in text else text))
        except ValueError:
            return f'"{text}" is not a number'
    name = fields[0].removeprefix("Benchmark")
    key = (name, *(f"{item}={value}" for item, value in configuration.items()))
    growing = current.get(key)
    if growing is None:
        benchmark, factors = parse_name(name)
        told = {item: value for item, value in configuration.items() if _is_context(item)}
        machine = {item.removeprefix(CONTEXT_PREFIX): value for item, value in told.items()}
        # benchstat, too, keeps a part of the name apart from a configuration line of the same key.
        others = {
            f"configuration.{item}" if item in factors else item: value
            for item, value in configuration.items()
            if item not in told
        }
        growing = current[key] = _Growing(benchmark, {**others, **factors}, machine)
    for number, unit in zip(numbers, pairs[1::2], strict=True):
        held = growing.values.setdefault(unit, [])
        if not math.isfinite(number):
            growing.exclusions.setdefault(unit, {})[len(held)] = f"the file holds {number}"
        held.append(number if math.isfinite(number) else None)
        growing.iterations.setdefault(unit, []).append(int(fields[1]))
    return ""


def _is_context(key: str) -> bool:
    return key in _MACHINE or key.startswith(CONTEXT_PREFIX)


def _read_unit_line(line: str) -> dict[str, tuple[str, str]]:
    """Response and unit proper behind a unit, where a line about it says so; other keys are benchstat's."""
    unit, *pairs = line.split()[1:] or [""]
    told = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
    if RESPONSE_KEY not in told:
        return {}
    return {unit: (unquote(told[RESPONSE_KEY]), unquote(told.get(UNIT_KEY, "")))}


def _close(current: dict[tuple[str, ...], _Growing], known: Mapping[str, tuple[str, str]]) -> list[Execution]:
    """End a process: hand on what was measured in it."""
    ended = [
        Execution(
            growing.benchmark,
            growing.factors,
            [_make_series(growing, unit, known.get(unit)) for unit in growing.values],
            growing.context,
        )
        for growing in current.values()
    ]
    current.clear()
    return ended


def _make_series(growing: _Growing, unit: str, known: tuple[str, str] | None) -> Series:
    response, proper = known or tidy_unit(unit)
    return Series(
        response,
        proper,
        growing.values[unit],
        exclusions=growing.exclusions.get(unit, {}),
        iterations=growing.iterations[unit],
        keep_unit=known is not None or _UNIT.fullmatch(unit) is None,
    )


def find_imported_name(unit: str) -> tuple[str, str]:
    """Return the response and the base unit that a unit of the format becomes in a table."""
    response, proper = tidy_unit(unit)
    return response, proper if _UNIT.fullmatch(unit) is None else find_conversion(proper).unit


def tidy_unit(unit: str) -> tuple[str, str]:
    """Return benchstat's name of a unit and the unit proper (benchunit.Tidy).

    `ns/op` is (`sec/op`, `ns/op`), `p99-ns/op` (`p99-sec/op`, `ns/op`), `MB/s` (`B/s`, `MB/s`). Only
    `ns` and `MB` above the stroke are brought to their base, as benchstat does.
    """
    match = _UNIT.fullmatch(unit)
    if match is None:
        return unit, unit
    prefix, above, below = match[1] or "", match[2], match[3] or ""
    return f"{prefix}{_TIDY[above]}{below}", f"{above}{below}"


def parse_name(name: str) -> tuple[str, Mapping[str, str]]:
    """Split `Sort/alg=quick/n=64-8` into `Sort` and its factors; parts without a key stay in the name."""
    factors: dict[str, str] = {}
    processors = _PROCESSORS.match(name)
    if processors:
        name = processors[1]
    first, *parts = name.split("/")
    kept = [first]
    for part in parts:
        key, equals, value = part.partition("=")
        if equals and key and value:
            factors[key] = value
        else:
            kept.append(part)
    if processors:
        factors["gomaxprocs"] = processors[2]
    return "/".join(kept), factors


def _is_event_stream(content: Content) -> bool:
    return "Action" in content.first_object and "Package" in content.first_object


def _list_event_output(content: Content) -> Iterator[tuple[int, str]]:
    """Lines that `go test -json` carries in pieces, package by package, each with the line it began on."""
    pieces: dict[str, list[tuple[int, str]]] = {}
    for number, line in enumerate(content.lines, start=1):
        try:
            event = json.loads(line)
        except json.JSONDecodeError:
            continue
        if isinstance(event, dict) and event.get("Action") == "output":
            pieces.setdefault(str(event.get("Package")), []).append((number, str(event.get("Output", ""))))
    for output in pieces.values():
        held, began = "", 0
        for number, piece in output:
            began = began if held else number
            held += piece
            if held.endswith("\n"):
                yield began, held.rstrip("\n")
                held = ""
        if held:
            yield began, held


BENCHFMT = ForeignFormat("benchfmt", _TITLE, claims_benchfmt, read_benchfmt)
