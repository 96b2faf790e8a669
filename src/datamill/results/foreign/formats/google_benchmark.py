"""Google Benchmark's JSON (`--benchmark_out=FILE`): one process, with repetitions inside it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from datamill.results.foreign.content import Content, convert_document, describe_scalar
from datamill.results.foreign.foreign_results import (
    FAILED,
    SKIPPED,
    Execution,
    ForeignFormat,
    ForeignResults,
    Series,
)
from datamill.results.judgement.validity import AGGREGATE

_TITLE = "Google Benchmark JSON"
#: Keys of an entry that are no counters.
_KNOWN = {
    "name", "family_index", "per_family_instance_index", "run_name", "run_type", "repetitions",
    "repetition_index", "threads", "iterations", "real_time", "cpu_time", "time_unit", "label",
    "aggregate_name", "aggregate_unit", "error_occurred", "error_message", "skipped", "skip_message",
}  # fmt: skip
#: Parts of a name that tell how the time is taken, not what is measured.
_SETTINGS = {"real_time", "manual_time", "process_time"}
_SETTING_KEYS = {"repeats", "min_time", "min_warmup_time", "iterations", "threads"}
#: Aggregates over the arguments of a benchmark, which have no repetitions of their own.
_FITS = {"BigO", "RMS"}
_COUNTER_UNITS = {
    "bytes_per_second": "B/s", "items_per_second": "items/s",
    # What a memory manager of the benchmark reports.
    "max_bytes_used": "B", "total_allocated_bytes": "B", "net_heap_growth": "B",
}  # fmt: skip
#: How the library before 1.5, which does not say which entries are aggregates, calls them.
_AGGREGATE_NAME = re.compile(r"(.+)_(mean|median|stddev|cv|BigO|RMS)")


class _Document(msgspec.Struct, frozen=True):
    benchmarks: list[dict[str, Any]]
    context: dict[str, Any] = {}


class _Entry(msgspec.Struct, frozen=True):
    name: str
    run_name: str = ""
    run_type: str = "iteration"
    aggregate_name: str = ""
    aggregate_unit: str = "time"
    time_unit: str = "ns"
    iterations: int | None = None
    threads: int = 1
    real_time: float | None = None
    cpu_time: float | None = None
    label: str = ""
    error_occurred: bool = False
    error_message: str = ""
    skipped: bool = False
    skip_message: str = ""


def claims_google_benchmark(content: Content) -> bool:
    """Whether the document has a context and benchmarks with a real time or an error."""
    benchmarks = content.document.get("benchmarks") if isinstance(content.document, dict) else None
    if not isinstance(benchmarks, list) or not content.has_keys("context"):
        return False
    return any(isinstance(item, dict) and "name" in item and "runs" not in item for item in benchmarks)


def read_google_benchmark(content: Content) -> ForeignResults:
    """Return one execution for each benchmark: its repetitions are measurements inside one process.

    Arguments in a name become factors: `n:64` under its own name, `64` as `arg1`, `arg2` and so on.
    Aggregates (mean, median, stddev, cv) are kept as excluded values; counters are responses.

    Raises:
        InputError: a field is missing or wrong.
    """
    document = convert_document(content, content.document, _Document, _TITLE)
    names = {str(given.get("name")) for given in document.benchmarks}
    context = {name: describe_scalar(value) for name, value in document.context.items()}
    points: dict[tuple[str, str], tuple[_Entry, list[tuple[_Entry, dict[str, float]]]]] = {}
    for index, given in enumerate(document.benchmarks):
        entry = convert_document(content, given, _Entry, f"{_TITLE} (benchmarks[{index}])")
        if "run_type" not in given:
            entry = _find_aggregate(entry, names)
        counters = {
            name: float(value)
            for name, value in given.items()
            if name not in _KNOWN and isinstance(value, (int, float)) and not isinstance(value, bool)
        }
        key = (entry.run_name or entry.name, entry.label)
        points.setdefault(key, (entry, []))[1].append((entry, counters))
    executions = []
    aggregates_only = 0
    for (run_name, label), (first, entries) in points.items():
        benchmark, factors = parse_name(run_name)
        factors = dict(factors)
        factors.setdefault("threads", str(first.threads))
        if label:
            factors.setdefault("label", label)
        executions.append(Execution(benchmark, factors, _gather_series(entries), context))
        aggregates_only += all(
            entry.run_type == "aggregate" and entry.aggregate_name not in _FITS for entry, _ in entries
        )
    notes = []
    if aggregates_only:
        notes.append(
            f"{aggregates_only} benchmarks have aggregates only; run with "
            "--benchmark_report_aggregates_only=false to keep the observations"
        )
    if context.get("library_build_type") == "debug":
        notes.append("the benchmark library was a debug build")
    return ForeignResults(executions, notes)


def _find_aggregate(entry: _Entry, names: Collection[str]) -> _Entry:
    """The entry as an aggregate, where its name says it is one: of another entry, or beside its fellows."""
    match = _AGGREGATE_NAME.fullmatch(entry.name)
    if match is None:
        return entry
    fellows = all(f"{match[1]}_{name}" in names for name in ("mean", "median", "stddev"))
    fits = all(f"{match[1]}_{name}" in names for name in _FITS)
    if match[1] not in names and not fellows and not fits:
        return entry
    return msgspec.structs.replace(entry, run_name=match[1], run_type="aggregate", aggregate_name=match[2])


def _gather_series(entries: list[tuple[_Entry, dict[str, float]]]) -> list[Series]:
    """Responses of one benchmark; entries of another time unit make a series of their own."""
    series: dict[tuple[str, str, str], tuple[list[float | None], list[int | None]]] = {}
    for entry, counters in entries:
        reason = ""
        if entry.error_occurred:
            reason = f"{FAILED}: {entry.error_message or 'no message'}"
        elif entry.skipped:
            # On purpose (SkipWithMessage).
            reason = f"{SKIPPED}: {entry.skip_message or 'no message'}"
        elif entry.run_type == "aggregate":
            reason = f"{AGGREGATE}: {entry.aggregate_name or 'a figure'} of the repetitions, no observation"
        percent = entry.run_type == "aggregate" and entry.aggregate_unit == "percentage"
        unit = "1" if percent else entry.time_unit
        values = {"real_time": (unit, entry.real_time), "cpu_time": (unit, entry.cpu_time)}
        values |= {
            name: ("1" if percent else _COUNTER_UNITS.get(name, "1"), number)
            for name, number in counters.items()
        }
        for name, (unit_of, number) in values.items():
            missing = f'the field "{name}" is missing' if number is None else ""
            # A benchmark that failed reports zeros.
            kept = None if entry.error_occurred or entry.skipped else number
            held, counts = series.setdefault((name, unit_of, reason or missing), ([], []))
            held.append(kept)
            counts.append(entry.iterations)
    return [
        Series(name, unit, values, exclusion=reason, iterations=counts)
        for (name, unit, reason), (values, counts) in series.items()
    ]


def parse_name(run_name: str) -> tuple[str, Mapping[str, str]]:
    """Split `BM_Sort<int>/n:64/4/real_time` into `BM_Sort<int>` and its arguments."""
    parts = _split_outside_brackets(run_name)
    kept = [parts[0]]
    factors: dict[str, str] = {}
    positional = 0
    for part in parts[1:]:
        key, colon, value = part.partition(":")
        if part in _SETTINGS or (colon and key in _SETTING_KEYS):
            continue
        if colon and key and value:
            factors[key] = value
        elif re.fullmatch(r"-?[0-9]+", part):
            positional += 1
            factors[f"arg{positional}"] = part
        else:
            kept.append(part)
    return "/".join(kept), factors


def _split_outside_brackets(name: str) -> list[str]:
    parts, depth = [""], 0
    for sign in name:
        depth += (sign == "<") - (sign == ">")
        if sign == "/" and depth <= 0:
            parts.append("")
        else:
            parts[-1] += sign
    return parts


GOOGLE_BENCHMARK = ForeignFormat("google-benchmark", _TITLE, claims_google_benchmark, read_google_benchmark)
