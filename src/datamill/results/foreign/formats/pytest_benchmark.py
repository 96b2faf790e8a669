"""pytest-benchmark's JSON (`--benchmark-json=FILE`): one process, rounds inside each benchmark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from datamill.experiment.errors import InputError
from datamill.results.foreign.content import Content, convert_document, describe_scalar
from datamill.results.foreign.foreign_results import Execution, ForeignFormat, ForeignResults, Series

_TITLE = "pytest-benchmark JSON"
#: How the tool writes a parameter that JSON cannot hold; its address is another one in each process.
_UNSERIALIZABLE = "UNSERIALIZABLE["
#: Long lists that say nothing of a measurement that the model of the processor does not say.
_LEFT_OUT = {"flags"}


class _Stats(msgspec.Struct, frozen=True):
    data: list[float | None] | None = None
    iterations: int | None = None


class _Options(msgspec.Struct, frozen=True):
    timer: str | None = None
    disable_gc: bool | None = None
    warmup: bool | int | None = None


class _Benchmark(msgspec.Struct, frozen=True):
    name: str
    stats: _Stats
    fullname: str = ""
    group: str | None = None
    params: dict[str, Any] | None = None
    param: str | None = None
    extra_info: dict[str, Any] = {}
    options: _Options = _Options()


class _Document(msgspec.Struct, frozen=True):
    benchmarks: list[_Benchmark]
    machine_info: dict[str, Any]
    commit_info: dict[str, Any] | None = None
    datetime: str = ""
    version: str = ""


def claims_pytest_benchmark(content: Content) -> bool:
    """Whether the document has benchmarks, a machine and a commit."""
    return content.has_keys("benchmarks", "machine_info", "commit_info")


def read_pytest_benchmark(content: Content) -> ForeignResults:
    """Return one execution for each benchmark: its rounds are measurements inside one process.

    A value is the time of one call, which is a round divided by its iterations. The benchmark is the full
    name without the part in brackets, whose parameters are factors. Machine, commit, group and options are
    context.

    Raises:
        InputError: a field is missing or wrong, or the file holds summaries only.
    """
    document = convert_document(content, content.document, _Document, _TITLE)
    shared = _flatten("", document.machine_info) | _flatten("commit", document.commit_info or {})
    shared |= {"datetime": document.datetime, "pytest_benchmark_version": document.version}
    executions = []
    for index, benchmark in enumerate(document.benchmarks):
        stats = benchmark.stats
        if stats.data is None:
            raise InputError(
                f'this is {_TITLE}, but the field "benchmarks[{index}].stats.data" is missing: it holds '
                "summaries, not the observations behind them",
                where=content.source,
                remedy="Write the file with pytest --benchmark-json=FILE, or add --benchmark-save-data "
                "to --benchmark-save and --benchmark-autosave.",
            )
        context = shared | _flatten("", msgspec.structs.asdict(benchmark.options))
        context |= _flatten("extra_info", benchmark.extra_info)
        if benchmark.group is not None:
            context["group"] = benchmark.group
        series = Series("time", "second", stats.data, iterations=[stats.iterations] * len(stats.data))
        executions.append(Execution(_name(benchmark), _list_factors(benchmark), [series], context))
    return ForeignResults(executions)


def _name(benchmark: _Benchmark) -> str:
    name = benchmark.fullname or benchmark.name
    return name.removesuffix(f"[{benchmark.param}]") if benchmark.param is not None else name


def _list_factors(benchmark: _Benchmark) -> Mapping[str, str]:
    """The parameters; `param`, which is pytest's name for all of them, where one is an object."""
    params = benchmark.params or {}
    factors = {name: describe_scalar(value) for name, value in params.items()}
    kept = {name: level for name, level in factors.items() if not level.startswith(_UNSERIALIZABLE)}
    whole = len(kept) == len(factors) and (kept or benchmark.param is None)
    return kept if whole else kept | {"param": benchmark.param or ""}


def _flatten(prefix: str, given: Mapping[str, object]) -> dict[str, str]:
    """Texts of all fields under names such as `cpu.count`."""
    found: dict[str, str] = {}
    for name, value in given.items():
        key = f"{prefix}.{name}" if prefix else name
        if isinstance(value, dict):
            found |= _flatten(key, value)
        elif name not in _LEFT_OUT and value is not None:
            found[key] = describe_scalar(value)
    return found


PYTEST_BENCHMARK = ForeignFormat("pytest-benchmark", _TITLE, claims_pytest_benchmark, read_pytest_benchmark)
