"""hyperfine's JSON (`--export-json`): each value is the time of a process of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, pairwise, product
from typing import Any

import msgspec

from datamill.experiment.errors import InputError
from datamill.results.foreign.content import Content, convert_document, describe_scalar
from datamill.results.foreign.foreign_results import Execution, ForeignFormat, ForeignResults, Series

_TITLE = "hyperfine JSON"
#: Ways to read parameters out of a command that are tried.
_MOST_TEMPLATES = 4096
_RUNNING_MAXIMUM = "the largest memory of any process so far, not of this one"


class _Result(msgspec.Struct, frozen=True):
    command: str
    times: list[float | None] | None = None
    exit_codes: list[int | None] = []
    memory_usage_byte: list[float | None] = []
    parameters: dict[str, Any] = {}


class _Document(msgspec.Struct, frozen=True):
    results: list[_Result]


def claims_hyperfine(content: Content) -> bool:
    """Whether the document is an object with results that have commands."""
    results = content.document.get("results") if isinstance(content.document, dict) else None
    return isinstance(results, list) and any(isinstance(item, dict) and "command" in item for item in results)


def read_hyperfine(content: Content) -> ForeignResults:
    """Return an execution for each time, with wall time and, where the file has it, peak memory.

    The benchmark is the command with the names of its parameters in place of their values, where
    that is the same for all. Peak memory is excluded when it never falls in the whole file: such
    versions report a running maximum (`RUSAGE_CHILDREN`).

    Raises:
        InputError: a field is missing or wrong.
    """
    results = convert_document(content, content.document, _Document, _TITLE).results
    parameters = [
        {name: describe_scalar(value) for name, value in result.parameters.items()} for result in results
    ]
    names = _find_templates([result.command for result in results], parameters)
    memory = [value for result in results for value in result.memory_usage_byte if value is not None]
    running = len(memory) > 1 and all(before <= after for before, after in pairwise(memory))
    executions: list[Execution] = []
    nonzero = 0
    for index, (result, name, factors) in enumerate(zip(results, names, parameters, strict=True)):
        if result.times is None:
            raise InputError(
                f'this is {_TITLE}, but the field "results[{index}].times" is missing',
                where=content.source,
                remedy="Export with hyperfine --export-json; a file of summaries has no observations.",
            )
        for position, time_s in enumerate(result.times):
            code = result.exit_codes[position] if position < len(result.exit_codes) else 0
            ended = "ended by a signal" if code is None else ""
            nonzero += bool(code)
            series = [Series("wall_time", "second", [time_s], exclusion=ended)]
            if position < len(result.memory_usage_byte):
                reason = ended or (_RUNNING_MAXIMUM if running else "")
                series.append(Series("peak_memory", "byte", [result.memory_usage_byte[position]], reason))
            context = {} if position >= len(result.exit_codes) else {"exit_code": describe_scalar(code)}
            executions.append(Execution(name, factors, series, context))
    notes = []
    if nonzero:
        notes.append(
            f"{nonzero} processes ended with a status other than 0, which hyperfine was told to ignore; "
            "context.exit_code has it"
        )
    return ForeignResults(executions, notes)


def _find_templates(commands: Sequence[str], parameters: Sequence[Mapping[str, str]]) -> list[str]:
    """Return each command with `{name}` in place of its parameters' values, if one template fits all.

    A value may stand in a command by chance (`bench1 --threads 1`): of all ways to replace the first
    command's values, the fullest is taken that gives every command.
    """
    if not parameters or not all(parameters) or len({tuple(sorted(item)) for item in parameters}) > 1:
        return list(commands)
    for template in islice(_list_templates(commands[0], parameters[0]), _MOST_TEMPLATES):
        filled = (_fill(template, values) for values in parameters)
        if all(text == command for text, command in zip(filled, commands, strict=True)):
            return [_fill(template, {name: f"{{{name}}}" for name in parameters[0]})] * len(commands)
    return list(commands)


def _list_templates(command: str, values: Mapping[str, str]) -> Iterator[tuple[tuple[str, str], ...]]:
    """Ways to take a command apart into plain texts and parameters, those with most parameters first."""
    by_value: dict[str, list[str]] = {}
    for name, value in values.items():
        if value:
            by_value.setdefault(value, []).append(name)
    if not by_value:
        return iter(())
    pattern = "|".join(re.escape(value) for value in sorted(by_value, key=len, reverse=True))
    pieces = re.split(f"({pattern})", command)
    choices = [
        [*((name, "") for name in by_value[piece]), ("", piece)] if place % 2 else [("", piece)]
        for place, piece in enumerate(pieces)
    ]
    return product(*choices)


def _fill(template: Sequence[tuple[str, str]], values: Mapping[str, str]) -> str:
    return "".join(values[name] if name else text for name, text in template)


HYPERFINE = ForeignFormat("hyperfine", _TITLE, claims_hyperfine, read_hyperfine)
