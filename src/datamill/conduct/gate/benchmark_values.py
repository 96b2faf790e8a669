"""The values that one execution of a benchmark gives: its time, or what its tool wrote."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

from datamill.conduct.timing.executions import describe_failure, read_last_words, strip_colours
from datamill.execution.command_session import CommandSession
from datamill.experiment.command_lines import list_words
from datamill.experiment.errors import InputError
from datamill.experiment.gate.gate import Benchmark
from datamill.protocol.commands import CommandOutput, CommandRequest
from datamill.protocol.trial import SCHEMA_VERSION
from datamill.results.foreign.files import load_content
from datamill.results.foreign.foreign_results import Execution, Series, is_failure, is_skip
from datamill.results.foreign.recognise import recognise_format
from datamill.results.foreign.units import find_conversion

#: Parameters that tools add to every benchmark, at the value that says nothing.
_IDLE = {"threads": "1"}
_ONLY_STATUS = frozenset({0})
#: With which a shell ends that finds no such program.
_NO_PROGRAM = 127
#: What of a tool's last words a message quotes.
_QUOTED_CHARACTERS = 400


class BenchmarkError(Exception):
    """An execution gave no value; the message says why.

    `lacks_program` says that there was nothing to execute.
    """

    def __init__(self, message: str, *, lacks_program: bool = False) -> None:
        super().__init__(message)
        self.lacks_program = lacks_program


@dataclass(frozen=True, slots=True)
class BenchmarkValues:
    """What one execution gave: seconds by name, and the time that it took.

    `failed` says why of benchmarks that the tool reports as failed, by name; `untimed` holds the units of
    those that it reports without a time. `problem` says how the tool ended where that was otherwise than with
    status 0, although it wrote results.
    """

    by_name: Mapping[str, float]
    time_s: float
    failed: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""
    untimed: Mapping[str, str] = field(default_factory=dict)


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

    A tool that fails where one of its benchmarks does has measured the others all the same.

    Raises:
        BenchmarkError: when its tool's results cannot be read, or when it has no tool and ends otherwise than
            with status 0.
    """
    folder = directory / benchmark.directory
    printed = scratch / "stdout"
    written = folder / benchmark.output if benchmark.output else printed
    if benchmark.output:
        # What the build brought, or the execution before this one, is no result of this one.
        _remove(written)
    output: CommandOutput = "file" if benchmark.tool else "read"
    answer = session.measure(
        CommandRequest(
            schema=SCHEMA_VERSION,
            command=list_words(benchmark.command, shell=None),
            directory=str(folder),
            variables={},
            input=None,
            output=output,
            output_file=str(printed) if benchmark.tool else None,
            timeout_s=0.0,
            levels=dict(levels),
        )
    )
    problem = describe_failure(answer, _ONLY_STATUS)
    if problem and answer.run is not None and benchmark.tool:
        # There test runners say what failed.
        problem += _quote_end(printed)
    # Where a checkout is says nothing to people.
    problem = problem.replace(f"{directory}/", "")
    lacks_program = answer.run is None or answer.run.exit_code == _NO_PROGRAM
    if answer.run is None or (problem and not benchmark.tool):
        raise BenchmarkError(problem, lacks_program=lacks_program)
    time_s = answer.run.wall_time_ns / 1e9
    if not benchmark.tool:
        return BenchmarkValues({benchmark.name: time_s}, time_s)
    try:
        values = _read_results(benchmark, written)
    except BenchmarkError:
        if problem:
            raise BenchmarkError(problem, lacks_program=lacks_program) from None
        raise
    before = f"{benchmark.name}: " if qualified else ""
    return BenchmarkValues(
        {f"{before}{name}": value for name, value in values.by_name.items()},
        time_s,
        {f"{before}{name}": reason for name, reason in values.failed.items()},
        problem,
        {f"{before}{name}": unit for name, unit in values.untimed.items()},
    )


def _quote_end(printed: Path) -> str:
    with suppress(OSError), printed.open("rb") as file:
        if file.read(1) in (b"{", b"["):
            # Results in JSON are no words.
            return ""
    words = " ".join(read_last_words(printed).split())
    return f'; its output ends: "{words[-_QUOTED_CHARACTERS:]}"' if words else ""


def _read_results(benchmark: Benchmark, written: Path) -> BenchmarkValues:
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
    failed: dict[str, str] = {}
    untimed: dict[str, str] = {}
    skips = False
    for execution in results.executions:
        name = _name(benchmark, execution)
        reason = next((item.exclusion for item in execution.series if is_failure(item.exclusion)), "")
        if reason:
            failed[name] = _shorten(reason)
        skips |= any(is_skip(item.exclusion) for item in execution.series)
        series = _choose_time(execution)
        if series is None:
            units = dict.fromkeys(item.unit for item in execution.series if not item.exclusion)
            if units:
                untimed[name] = " and ".join(units)
            continue
        conversion = find_conversion(series.unit)
        values = [
            conversion.apply(value)
            for position, value in enumerate(series.values)
            if value is not None and position not in series.exclusions
        ]
        if values:
            found.setdefault(name, []).append(fmean(values))
    if not found and failed:
        raise BenchmarkError(f"failed: {'; '.join(f'{name} {reason}' for name, reason in failed.items())}")
    if not found and not skips:
        held = f", but {' and '.join(sorted(set(untimed.values())))}" if untimed else ""
        raise BenchmarkError(
            f"wrote results without any time{held}: have it report times (JMH does with -bm avgt)"
        )
    means = {name: fmean(values) for name, values in found.items() if name not in failed}
    untimed = {name: unit for name, unit in untimed.items() if name not in found and name not in failed}
    return BenchmarkValues(means, 0.0, failed, untimed=untimed)


def _shorten(reason: str) -> str:
    """A reason of a tool in one line, of which a whole report is no part."""
    words = " ".join(strip_colours(reason).split())
    return words if len(words) <= _QUOTED_CHARACTERS else f"{words[: _QUOTED_CHARACTERS - 2]} …"


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
