"""asv's results (`results/MACHINE/COMMIT-ENVIRONMENT.json`, version 2)."""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import msgspec

from datamill.experiment.errors import InputError
from datamill.results.foreign.content import Content, convert_document, describe_scalar
from datamill.results.foreign.foreign_results import (
    FAILED,
    SKIPPED,
    Execution,
    ForeignFormat,
    ForeignResults,
    Series,
)

_TITLE = "asv results"
#: Response and unit by what the name of a benchmark begins with.
KINDS = {
    "time": ("time", "seconds"),
    "timeraw": ("time", "seconds"),
    "peakmem": ("peak_memory", "bytes"),
    "mem": ("memory", "bytes"),
    "track": ("track", "unit"),
}


class _Document(msgspec.Struct, frozen=True):
    version: int
    commit_hash: str
    results: dict[str, list[Any]]
    result_columns: list[str]
    params: dict[str, Any] = {}
    env_name: str = ""
    python: str = ""
    requirements: dict[str, Any] = {}
    env_vars: dict[str, Any] = {}


class _Row(msgspec.Struct, frozen=True):
    """What is used of the columns of one benchmark; without parameters there is one combination."""

    result: list[Any] | None = None
    params: list[list[Any]] = []
    samples: list[list[float] | None] | None = None


def claims_asv(content: Content) -> bool:
    """Whether the document has results with the columns of asv."""
    return content.has_keys("commit_hash", "results")


def read_asv(content: Content) -> ForeignResults:
    """Return one execution for each benchmark and combination of parameters.

    asv does not say which process a recorded value comes from, so that all are measurements inside
    one execution; without recorded values (`--record-samples`) there is the median that it keeps.
    Names of parameters and units come from `benchmarks.json`, if it is there. Requirements and
    environment variables of the matrix are the factors `req.NAME` and `env.NAME`.

    Raises:
        InputError: another version, or a field is missing or wrong.
    """
    given = content.document
    if given.get("version") != 2:
        raise InputError(
            f"these are asv results of version {given.get('version')}; version 2 can be read",
            where=content.source,
            remedy="Bring them up to date with asv update.",
        )
    document = convert_document(content, given, _Document, _TITLE)
    about = _read_benchmarks(content)
    context = {name: describe_scalar(value) for name, value in document.params.items()}
    context |= {"commit": document.commit_hash, "env_name": document.env_name, "python": document.python}
    matrix = {f"req.{name}": describe_scalar(value) for name, value in document.requirements.items()}
    matrix |= {f"env.{name}": describe_scalar(value) for name, value in document.env_vars.items()}
    executions, medians = [], 0
    for name, values in document.results.items():
        row = dict(zip(document.result_columns, values, strict=False))
        where = f'results["{name}"]'
        fields = convert_document(content, row, _Row, f"{_TITLE} ({where})")
        combinations = list(product(*fields.params))
        results = fields.result or [None] * len(combinations)
        samples = fields.samples or [None] * len(results)
        if not len(results) == len(combinations) == len(samples):
            raise InputError(
                f"this is {_TITLE}, but {where} has {len(results)} results for {len(combinations)} "
                "combinations of parameters",
                where=content.source,
                remedy="Give the file as the tool wrote it.",
            )
        kind = name.rpartition(".")[2].partition("_")[0]
        response, unit = KINDS.get(kind, ("value", ""))
        known = about.get(name, {})
        unit = str(known.get("unit", unit)) if kind == "track" else unit
        # "unit" is what asv calls the unit of a tracked number that has none.
        unit = "" if unit == "unit" else unit
        names = [str(item) for item in known.get("param_names", [])]
        names += [f"param{index + 1}" for index in range(len(names), len(fields.params))]
        for combination, result, recorded in zip(combinations, results, samples, strict=True):
            factors = {key: _clean_parameter(value) for key, value in zip(names, combination, strict=False)}
            medians += recorded is None and result is not None and not _is_nan(result) and response == "time"
            series = _make_series(response, unit, result, recorded)
            executions.append(Execution(name, {**factors, **matrix}, [series], context))
    notes = ["asv does not tell processes apart: values of a benchmark count as one execution"]
    if medians:
        notes.append(
            f"{medians} times are medians, all that asv kept; run with --record-samples to keep the values"
        )
    return ForeignResults(executions, notes)


def _make_series(response: str, unit: str, result: Any, recorded: Sequence[float] | None) -> Series:
    if recorded:
        return Series(response, unit, recorded)
    if result is None:
        return Series(response, unit, [None], exclusion=FAILED)
    if _is_nan(result):
        return Series(response, unit, [None], exclusion=f"{SKIPPED} (n/a)")
    if not isinstance(result, (int, float)) or isinstance(result, bool):
        return Series(response, unit, [None], exclusion=f'"{result}" is not a number')
    return Series(response, unit, [float(result)])


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _clean_parameter(text: object) -> str:
    """Return a parameter without the quotation marks of Python's `repr`."""
    try:
        value = ast.literal_eval(str(text))
    except (ValueError, SyntaxError):
        return str(text)
    return value if isinstance(value, str) else str(text)


def _read_benchmarks(content: Content) -> Mapping[str, Mapping[str, Any]]:
    try:
        about = json.loads(content.beside.get("benchmarks.json", "{}"))
    except json.JSONDecodeError:
        return {}
    return {name: value for name, value in about.items() if isinstance(value, dict)}


ASV = ForeignFormat("asv", _TITLE, claims_asv, read_asv)
