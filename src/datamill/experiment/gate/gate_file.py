"""The file of a gate, usually `gate.toml`: `[gate]` and a table for each benchmark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from datamill.experiment.errors import InputError
from datamill.experiment.file.fields import take_table, take_typed
from datamill.experiment.file.source import Source
from datamill.experiment.gate.gate import (
    DEFAULT_ALPHA,
    DEFAULT_LIMIT,
    DEFAULT_WITHIN_S,
    MOST_ALPHA,
    Benchmark,
    Gate,
)
from datamill.experiment.messages.mistakes import Mistakes
from datamill.experiment.messages.suggestions import suggest_name
from datamill.experiment.quantities import parse_duration, parse_share

GATE_FILE = "gate.toml"
_GATE = ("base", "head", "build", "within", "alpha", "limit", "tolerate")
_BENCHMARK = ("name", "command", "tool", "output", "directory", "setup", "package")
_MOST_BENCHMARKS = 200
#: Scripts of a package, which run where the package is.
_SETUP, _RUN = "./setup.sh", "./run.sh"


def parse_gate(text: str, *, name: str, tools: Sequence[str]) -> Gate:
    """Return the gate that a file describes.

    Args:
        text: of the file, TOML.
        name: of the file, for messages.
        tools: whose results can be read.

    Raises:
        InputError: for text that is not TOML, an unknown key, a value of the wrong kind, or no benchmark; all
            mistakes at once.
    """
    source = Source(name, text)
    tables = source.parse()
    mistakes = Mistakes()
    mistakes.attempt(lambda: source.check_keys(tables, ("gate", "benchmark"), ""), None)
    empty: Mapping[str, Any] = {}
    table = mistakes.attempt(lambda: take_table(tables, "gate", source), empty)
    mistakes.attempt(lambda: source.check_keys(table, _GATE, "gate"), None)

    def text_of(key: str, default: str) -> str:
        return mistakes.attempt(lambda: take_typed(table, key, str, default, source, "gate").strip(), default)

    def share_of(key: str, default: float) -> float:
        if key not in table or (key == "tolerate" and table[key] in (0, "0", "0%")):
            return default
        return mistakes.attempt(lambda: parse_share(table[key], where=source.locate("gate", key)), default)

    within_s = DEFAULT_WITHIN_S
    if "within" in table:
        within_s = mistakes.attempt(
            lambda: parse_duration(table["within"], where=source.locate("gate", "within")), within_s
        )
    entries = tables.get("benchmark", [])
    benchmarks: list[Benchmark] = []
    if not isinstance(entries, list) or not 0 < len(entries) <= _MOST_BENCHMARKS:
        mistakes.attempt(partial(_refuse_number, source), None)
        entries = []
    for index, entry in enumerate(entries):
        made = mistakes.attempt(partial(_parse_benchmark, entry, index, source, tools), None)
        if made is not None:
            benchmarks.append(made)
    gate = Gate(
        benchmarks=tuple(benchmarks),
        base=text_of("base", ""),
        head=text_of("head", "HEAD"),
        build=text_of("build", ""),
        build_place=source.locate("gate", "build"),
        within_s=within_s,
        alpha=share_of("alpha", DEFAULT_ALPHA),
        limit=share_of("limit", DEFAULT_LIMIT),
        tolerate=share_of("tolerate", 0.0),
    )
    mistakes.attempt(partial(_check_names, gate, source), None)
    mistakes.refuse()
    return gate


def _parse_benchmark(entry: Mapping[str, Any], index: int, source: Source, tools: Sequence[str]) -> Benchmark:
    where = partial(source.locate, "benchmark", occurrence=index)
    if not isinstance(entry, Mapping):
        raise InputError("a benchmark is a table", where=where("name"), remedy="Write [[benchmark]].")
    source.check_keys(entry, _BENCHMARK, "benchmark", occurrence=index)
    given = {}
    for key in _BENCHMARK:
        value = entry.get(key, "")
        if not isinstance(value, str):
            raise InputError(f"{key} must be a text in quotes", where=where(key))
        given[key] = value.strip()
    package = given.pop("package")
    if package:
        if given["command"] or given["directory"]:
            raise InputError(
                "a package has its own command and folder",
                where=where("package"),
                remedy="Leave command and directory out.",
            )
        given |= {
            "command": _RUN,
            "directory": package,
            "setup": given["setup"] or f"test ! -e {_SETUP} || {_SETUP}",
        }
    if not given["command"]:
        raise InputError(
            "a benchmark needs a command",
            where=where("name"),
            remedy='Write command = "./prog data", or package = "FOLDER".',
        )
    if given["tool"] and given["tool"] not in tools:
        raise InputError(
            f'there is no tool "{given["tool"]}" whose results can be read',
            where=where("tool"),
            remedy=suggest_name(given["tool"], list(tools)),
        )
    if given["output"] and not given["tool"]:
        raise InputError(
            "output says where a tool writes its results, and no tool is named",
            where=where("output"),
            remedy=f"Write tool = one of {', '.join(tools)}.",
        )
    return Benchmark(
        **{**given, "name": given["name"] or package or given["command"]},
        setup_place=where("package" if package else "setup"),
    )


def _refuse_number(source: Source) -> None:
    raise InputError(
        f"a gate has 1 to {_MOST_BENCHMARKS} benchmarks",
        where=source.name,
        remedy='Write [[benchmark]] with a name and command = "./prog data" for each.',
    )


def _check_names(gate: Gate, source: Source) -> None:
    names = [benchmark.name for benchmark in gate.benchmarks]
    twice = next((name for number, name in enumerate(names) if name in names[:number]), None)
    if twice is not None:
        raise InputError(
            f'two benchmarks are called "{twice}"', where=source.name, remedy="Give each its own name."
        )
    if not 0 < gate.alpha < MOST_ALPHA:
        raise InputError(
            "alpha is the chance of a false alarm, above 0 and below 0.5",
            where=source.locate("gate", "alpha"),
            remedy="Write alpha = 0.05.",
        )
