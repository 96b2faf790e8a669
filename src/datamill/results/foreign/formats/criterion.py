"""criterion's results: JSON Lines of cargo-criterion, and the folder that criterion itself keeps."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from datamill.experiment.errors import InputError
from datamill.results.foreign.content import Content, convert_document
from datamill.results.foreign.foreign_results import Execution, ForeignFormat, ForeignResults, Series

_LINES_TITLE = "cargo-criterion JSON"
_SAMPLE_TITLE = "criterion's sample.json"
#: Names of a value by the unit of the measured totals; other measurements are of the user's own making.
_RESPONSES = {"ns": "time"}


class _Complete(msgspec.Struct, frozen=True):
    id: str
    iteration_count: list[int]
    measured_values: list[float | None]
    unit: str


class _Measured(msgspec.Struct, frozen=True):
    iters: list[float]
    times: list[float | None]


class _Benchmark(msgspec.Struct, frozen=True):
    group_id: str
    function_id: str | None = None
    value_str: str | None = None


def claims_cargo_criterion(content: Content) -> bool:
    """Whether the first line is one of cargo-criterion's messages."""
    return content.first_object.get("reason") in ("benchmark-complete", "group-complete")


def read_cargo_criterion(content: Content) -> ForeignResults:
    """Return one execution for each benchmark: its values are measurements inside one process.

    A value is a measured total divided by its number of iterations. A last part of the id that is a
    number becomes the factor `parameter`.

    Raises:
        InputError: a line is not JSON, or a field is missing or wrong.
    """
    executions, others = [], 0
    for number, line in enumerate(content.lines, start=1):
        if not line.strip():
            continue
        if not line.lstrip().startswith("{"):
            others += 1
            continue
        try:
            message = json.loads(line)
        except json.JSONDecodeError as error:
            raise InputError(
                f"this line is not whole JSON: {error.msg}",
                where=f"{content.source}:{number}",
                remedy="The tool was interrupted or is still writing; let it finish, or measure again.",
            ) from None
        if message.get("reason") != "benchmark-complete":
            continue
        item = convert_document(content, message, _Complete, _LINES_TITLE, line=number)
        name, factors = _split_id(item.id)
        counts = [float(count) for count in item.iteration_count]
        where = f"{content.source}:{number}"
        executions.append(Execution(name, factors, [_divide(counts, item.measured_values, item.unit, where)]))
    notes = [f"{others} lines that are not JSON were passed over"] if others else []
    return ForeignResults(executions, notes)


def claims_criterion_sample(content: Content) -> bool:
    """Whether the document is a `sample.json` of criterion, or a folder of them."""
    return any(path.endswith("sample.json") for path in content.beside) or content.has_keys("iters", "times")


def read_criterion_folder(content: Content) -> ForeignResults:
    """Return one execution for each `sample.json` of criterion's folder, or of the one file given.

    `content.beside` holds each `sample.json` and the `benchmark.json` beside it by path. The folder
    that holds a `sample.json` is a baseline; copies of another baseline are left out, and with
    several baselines the name becomes the factor `baseline`.

    Raises:
        InputError: a `benchmark.json` is missing, or a field is missing or wrong.
    """
    samples = {path: text for path, text in content.beside.items() if path.endswith("sample.json")}
    if not samples:
        raise InputError(
            "these are values of criterion, but not as sample.json: the benchmark has no name",
            where=content.source,
            remedy="Give the folder target/criterion as criterion wrote it.",
        )
    kept: dict[str, str] = {}
    copies = 0
    seen: set[tuple[str, str]] = set()
    for path in sorted(samples, key=_rank_baseline):
        benchmark, _ = _split_folder(path)
        if (benchmark, samples[path]) in seen:
            copies += 1
            continue
        seen.add((benchmark, samples[path]))
        kept[path] = samples[path]
    several = len({_split_folder(path)[1] for path in kept}) > 1
    executions = []
    for path in sorted(kept):
        measured = _convert(path, kept[path], _Measured, _SAMPLE_TITLE)
        about = path.removesuffix("sample.json") + "benchmark.json"
        if about not in content.beside:
            raise InputError(
                "benchmark.json is not in the folder of sample.json: the benchmark has no name",
                where=path,
                remedy="Give the folder target/criterion as criterion wrote it.",
            )
        benchmark = _convert(about, content.beside[about], _Benchmark, "criterion's benchmark.json")
        name = "/".join(part for part in (benchmark.group_id, benchmark.function_id) if part)
        factors: dict[str, str] = {}
        if benchmark.value_str is not None:
            factors["parameter"] = benchmark.value_str
        if several:
            factors["baseline"] = _split_folder(path)[1]
        executions.append(Execution(name, factors, [_divide(measured.iters, measured.times, "ns", path)]))
    notes = [f"{copies} baselines are copies of another and were left out"] if copies else []
    return ForeignResults(executions, notes)


def _rank_baseline(path: str) -> tuple[int, str]:
    """Named baselines first, then `new`, then `base`: of copies the most telling name stays."""
    return ({"new": 1, "base": 2}.get(_split_folder(path)[1], 0), path)


def _split_folder(path: str) -> tuple[str, str]:
    folder = path.rpartition("/")[0]
    benchmark, _, baseline = folder.rpartition("/")
    return benchmark, baseline


def _convert(path: str, text: str, kind: Any, title: str) -> Any:
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(
            f"the JSON is not whole: {error.msg}",
            where=f"{path}:{error.lineno}",
            remedy="The tool was interrupted or is still writing; let it finish, or measure again.",
        ) from None
    return convert_document(Content(path, text), document, kind, title)


def _split_id(full_id: str) -> tuple[str, Mapping[str, str]]:
    name, slash, last = full_id.rpartition("/")
    try:
        float(last)
    except ValueError:
        return full_id, {}
    return (name, {"parameter": last}) if slash else (full_id, {})


def _divide(counts: list[float], totals: list[float | None], unit: str, where: str) -> Series:
    if len(counts) != len(totals) or not all(count > 0 for count in counts):
        raise InputError(
            f"{len(totals)} measured totals do not go with {len(counts)} positive numbers of iterations",
            where=where,
            remedy="Give the file as the tool wrote it.",
        )
    values = [None if total is None else total / count for count, total in zip(counts, totals, strict=True)]
    return Series(_RESPONSES.get(unit, "value"), unit, values, iterations=[int(count) for count in counts])


CARGO_CRITERION = ForeignFormat("cargo-criterion", _LINES_TITLE, claims_cargo_criterion, read_cargo_criterion)
CRITERION = ForeignFormat(
    "criterion", "folder or sample.json of criterion", claims_criterion_sample, read_criterion_folder
)
