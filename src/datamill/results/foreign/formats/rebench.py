"""ReBench's data file: `#` lines about the environment, then tab-separated measurements."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

from datamill.experiment.errors import InputError
from datamill.results.foreign.content import Content, describe_scalar
from datamill.results.foreign.foreign_results import Execution, ForeignFormat, ForeignResults, Series

_TITLE = "ReBench data file"
_NEEDED = ("invocation", "iteration", "value", "unit", "criterion", "benchmark")
_NOT_FACTORS = {*_NEEDED, "runId"}
#: What the header tells about the machine, if it does.
_ENVIRONMENT = ("userName", "hostName", "osType", "cpu", "clockSpeed", "memory", "manualRun")


def claims_rebench(content: Content) -> bool:
    """Whether the first line that is no comment names ReBench's columns."""
    header = next((line for line in content.lines if line.strip() and not line.startswith("#")), "")
    return set(_NEEDED) <= set(header.split("\t"))


def read_rebench(content: Content) -> ForeignResults:
    """Return an execution for each invocation, with a response for each criterion and its iterations.

    The columns after the benchmark (executor, suite, extraArgs, cores, inputSize, varValue, tag,
    machine) are factors where they hold anything.

    Raises:
        InputError: a line has too few fields or a value that is not a number; names the line.
    """
    columns: list[str] = []
    context: dict[str, str] = {}
    groups: dict[tuple[str, ...], dict[tuple[str, str], _Values]] = {}
    session = 0
    for number, line in enumerate(content.lines, start=1):
        if line.startswith("#") or not line.strip():
            if line.startswith("# Execution Start"):
                session += 1
                context = {"started": line.partition(": ")[2].strip()}
            if line.startswith("# Environment: "):
                context |= _read_environment(line.partition(": ")[2])
            continue
        fields = line.split("\t")
        if set(_NEEDED) <= set(fields):
            repeated = next((name for name in fields if fields.count(name) > 1), None)
            if repeated is not None:
                raise InputError(
                    f'the column "{repeated}" stands there twice',
                    where=f"{content.source}:{number}",
                    remedy="Give the file as the tool wrote it.",
                )
            columns = fields
            continue
        if len(fields) < len(columns):
            raise InputError(
                f"the line has {len(fields)} fields, not {len(columns)}",
                where=f"{content.source}:{number}",
                remedy="The tool was interrupted or is still writing; let it finish, or remove the line.",
            )
        row = dict(zip(columns, fields, strict=False))
        try:
            value = float(row["value"])
        except ValueError:
            raise InputError(
                f'"{row["value"]}" is not a number',
                where=f"{content.source}:{number}",
                remedy="Give the file as the tool wrote it.",
            ) from None
        factors = [f"{name}\t{row[name]}" for name in columns if name not in _NOT_FACTORS and row[name]]
        key = (row["benchmark"], str(session), row["invocation"], json.dumps(context), *factors)
        values = groups.setdefault(key, {}).setdefault((row["criterion"], row["unit"]), _Values())
        values.add(value)
    executions = []
    for (benchmark, _, _, about, *factors), measured in groups.items():
        series = [
            Series(criterion, unit, values.values, exclusions=values.exclusions)
            for (criterion, unit), values in measured.items()
        ]
        pairs = dict(factor.split("\t", 1) for factor in factors)
        executions.append(Execution(benchmark, pairs, series, json.loads(about)))
    return ForeignResults(executions)


class _Values:
    """Values of one criterion in one invocation while they are read."""

    def __init__(self) -> None:
        self.values: list[float | None] = []
        self.exclusions: dict[int, str] = {}

    def add(self, value: float) -> None:
        """Add a value; one that is not finite becomes absent, with its reason."""
        if not math.isfinite(value):
            self.exclusions[len(self.values)] = f"the file holds {value}"
        self.values.append(value if math.isfinite(value) else None)


def _read_environment(text: str) -> Mapping[str, str]:
    try:
        environment = json.loads(text)
    except json.JSONDecodeError:
        return {}
    return {name: describe_scalar(environment[name]) for name in _ENVIRONMENT if name in environment}


REBENCH = ForeignFormat("rebench", _TITLE, claims_rebench, read_rebench)
