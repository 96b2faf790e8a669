"""pyperf's JSON (`-o FILE`): runs are processes, each with warm-ups and values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from datamill.results.foreign.content import Content, convert_document, describe_scalar
from datamill.results.foreign.foreign_results import Execution, ForeignFormat, ForeignResults, Series
from datamill.results.judgement.validity import CALIBRATION, WARM_UP

_TITLE = "pyperf JSON"
#: Names of a value by its unit; pyperf has one value a benchmark.
_RESPONSES = {"second": "time", "byte": "memory", "integer": "count"}

_WARM_UP = f"{WARM_UP}: before the values of its process"
_CALIBRATION = f"{CALIBRATION}: of a process that only sought the number of loops"


class _Run(msgspec.Struct, frozen=True):
    values: list[float | None] = []
    warmups: list[tuple[int, float | None]] = []
    metadata: dict[str, Any] = {}


class _Benchmark(msgspec.Struct, frozen=True):
    runs: list[_Run]
    metadata: dict[str, Any] = {}


class _Document(msgspec.Struct, frozen=True):
    benchmarks: list[_Benchmark]
    version: Any
    metadata: dict[str, Any] = {}


def claims_pyperf(content: Content) -> bool:
    """Whether the document has benchmarks with runs."""
    benchmarks = content.document.get("benchmarks") if isinstance(content.document, dict) else None
    return isinstance(benchmarks, list) and any(
        isinstance(item, dict) and "runs" in item for item in benchmarks
    )


def read_pyperf(content: Content) -> ForeignResults:
    """Return an execution for each run: its warm-ups, excluded, then its values.

    The metadata of file, benchmark and run are context.

    Raises:
        InputError: a field is missing or wrong.
    """
    document = convert_document(content, content.document, _Document, _TITLE)
    executions = []
    for benchmark in document.benchmarks:
        shared = document.metadata | benchmark.metadata
        name = str(shared.get("name", "benchmark"))
        for run in benchmark.runs:
            metadata = shared | run.metadata
            unit = str(metadata.get("unit", "second"))
            # A process that only sought the number of loops has warm-ups and no value.
            reason = _WARM_UP if run.values else _CALIBRATION
            inner = _read_count(metadata.get("inner_loops"), 1) or 1
            loops = _read_count(metadata.get("loops"), None)
            series = Series(
                _RESPONSES.get(unit, "value"),
                unit,
                [*(value for _, value in run.warmups), *run.values],
                exclusions=dict.fromkeys(range(len(run.warmups)), reason),
                iterations=[
                    *(count * inner for count, _ in run.warmups),
                    *([None if loops is None else loops * inner] * len(run.values)),
                ],
            )
            executions.append(Execution(name, {}, [series], _describe(metadata.items())))
    return ForeignResults(executions)


def _read_count(value: object, otherwise: int | None) -> int | None:
    return value if isinstance(value, int) else otherwise


def _describe(metadata: Iterable[tuple[str, Any]]) -> Mapping[str, str]:
    kept = ("name", "unit", "loops", "inner_loops")
    return {name: describe_scalar(value) for name, value in metadata if name not in kept}


PYPERF = ForeignFormat("pyperf", _TITLE, claims_pyperf, read_pyperf)
