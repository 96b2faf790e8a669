"""The values that one execution of a benchmark gives: its time, or what its tool wrote."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from datamill.conduct.timing.executions import describe_failure
from datamill.execution.command_session import CommandSession
from datamill.experiment.command_lines import list_words
from datamill.experiment.errors import InputError
from datamill.experiment.gate.gate import Benchmark
from datamill.protocol.commands import CommandOutput, CommandRequest
from datamill.protocol.trial import SCHEMA_VERSION
from datamill.results.foreign.files import load_content
from datamill.results.foreign.foreign_results import Execution, Series
from datamill.results.foreign.recognise import recognise_format
from datamill.results.foreign.units import find_conversion

#: Parameters that tools add to every benchmark, at the value that says nothing.
_IDLE = {"threads": "1"}
_ONLY_STATUS = frozenset({0})


class BenchmarkError(Exception):
    """An execution gave no value; the message says why."""


@dataclass(frozen=True, slots=True)
class BenchmarkValues:
    """What one execution gave: seconds by name, and the time that it took."""

    by_name: Mapping[str, float]
    time_s: float


def execute_benchmark(
    session: CommandSession,
    benchmark: Benchmark,
    directory: Path,
    scratch: Path,
    levels: Mapping[str, str],
    *,
    qualified: bool = False,
) -> BenchmarkValues:
    """Execute a benchmark once in the files of a revision.

    Args:
        session: executes it.
        benchmark: which one.
        directory: of the revision's files, where builds run.
        scratch: folder for what it writes to standard output.
        levels: of factors of its process.
        qualified: whether names of a tool stand behind that of the benchmark.

    Raises:
        BenchmarkError: when it ends otherwise than with status 0, or its tool's results cannot be read.
    """
    folder = directory / benchmark.directory
    written = folder / benchmark.output if benchmark.output else scratch / "stdout"
    if benchmark.output:
        # What the build brought, or the execution before this one, is no result of this one.
        _remove(written)
    to_file = bool(benchmark.tool) and not benchmark.output
    output: CommandOutput = "file" if to_file else "read"
    answer = session.measure(
        CommandRequest(
            schema=SCHEMA_VERSION,
            command=list_words(benchmark.command, shell=None),
            directory=str(folder),
            variables={},
            input=None,
            output=output,
            output_file=str(written) if to_file else None,
            timeout_s=0.0,
            levels=dict(levels),
        )
    )
    problem = describe_failure(answer, _ONLY_STATUS)
    if problem or answer.run is None:
        # Where a checkout is says nothing to people.
        raise BenchmarkError(problem.replace(f"{directory}/", ""))
    time_s = answer.run.wall_time_ns / 1e9
    if not benchmark.tool:
        return BenchmarkValues({benchmark.name: time_s}, time_s)
    values = _read_results(benchmark, written)
    if qualified:
        values = {f"{benchmark.name}: {name}": value for name, value in values.items()}
    return BenchmarkValues(values, time_s)


def _read_results(benchmark: Benchmark, written: Path) -> dict[str, float]:
    place = benchmark.output or "standard output"
    try:
        content, _ = load_content(written)
        form = recognise_format(content, forced=benchmark.tool)
    except InputError as problem:
        raise BenchmarkError(f"wrote no results of {benchmark.tool}: {place}: {problem.message}") from None
    except OSError as problem:
        raise BenchmarkError(f"wrote no results of {benchmark.tool}: {place}: {problem.strerror}") from None
    try:
        results = form.read(content)
    except InputError as problem:
        raise BenchmarkError(
            f"wrote no results of {benchmark.tool}: {place}: {problem.message}. {problem.remedy}"
        ) from None
    found: dict[str, list[float]] = {}
    for execution in results.executions:
        series = _choose_time(execution)
        if series is None:
            continue
        conversion = find_conversion(series.unit)
        values = [
            conversion.apply(value)
            for position, value in enumerate(series.values)
            if value is not None and position not in series.exclusions
        ]
        if values:
            found.setdefault(_name(benchmark, execution), []).append(fmean(values))
    if not found:
        raise BenchmarkError("wrote results without any time")
    return {name: fmean(values) for name, values in found.items()}


def _choose_time(execution: Execution) -> Series | None:
    """The first response in seconds, for which less is better; of each benchmark the same."""
    return next(
        (
            series
            for series in execution.series
            if not series.exclusion and find_conversion(series.unit).unit.partition("/")[0] == "s"
        ),
        None,
    )


def _name(benchmark: Benchmark, execution: Execution) -> str:
    factors = " ".join(
        f"{name}={level}" for name, level in execution.factors.items() if _IDLE.get(name) != level
    )
    return " ".join(part for part in (execution.benchmark, factors) if part) or benchmark.name


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
