"""Tables of calls: which column is the latency, which the index, and which calls were binned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from datamill.analysis.model_data.cells import FloatArray
from datamill.analysis.model_data.observations import Observations
from datamill.analysis.model_data.question import ModelQuestion, select_model_data
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.verbs.inputs.arguments import take_level_lists
from datamill.verbs.inputs.data import load_asked_table, locate_errors

#: Columns that are taken for the latency where none is named, the first that is there.
LATENCIES = ("latency_ns", "latency_us", "latency", "cycles", "duration_ns", "duration")
#: Units that the end of a column's name tells.
_UNITS = {"_ns": "ns", "_us": "us", "_ms": "ms", "_s": "s", "cycles": "cycles"}
_TRUE, _FALSE = ("true", "yes", "1", "t", "+"), ("false", "no", "0", "f", "-", "")


@dataclass(frozen=True, slots=True, eq=False)
class CallTable:
    """Calls of a table: latencies, when each came, and how many events it had (n each); `warnings` are
    clauses.
    """

    observations: Observations
    index: FloatArray
    binned: FloatArray
    warnings: tuple[str, ...]


def read_calls(
    data: Any,
    *,
    latency: str,
    index: str,
    binned: str,
    where: Mapping[str, str | Sequence[str]] | None = None,
) -> CallTable:
    """Read a table of calls.

    Args:
        data: a path of a .csv or .parquet file, or a table in memory.
        latency: the column of latencies, empty for the first of `LATENCIES` that is there.
        index: the column of the order of calls, empty for `index` or, without it, the order of rows.
        binned: the column that marks calls: true or false, 1 or 0, or a number of events.
        where: levels of columns that rows must have.

    Raises:
        InputError: a column is not there or holds something else; names the file.
    """
    asked = load_asked_table(data, ModelQuestion())
    table, warnings = asked.table, []
    with locate_errors(asked.source):
        latency = _find_latency(table, latency)
        _refuse_missing(table, binned, "binned")
        rows = table.height
        table = table.filter(pl.col(latency).is_not_null())
        if table.height < rows:
            warnings.append(f"{rows - table.height} rows without {latency} are left out")
        if index:
            _refuse_missing(table, index, "index")
        elif "index" in table.columns and "index" not in (latency, binned):
            index = "index"
        else:
            index = "row"
            table = table.drop("row", strict=False).with_row_index("row")
        if len({latency, index, binned}) < 3:
            raise InputError("a column is named twice", remedy="Name each once.")
        table = table.with_columns(_count_events(table[binned]).alias(binned))
        question = ModelQuestion(
            response=latency, covariates=(index, binned), where=take_level_lists("where", where)
        )
        selected = select_model_data(table, question, allow_no_factor=True, source=asked.source, first_line=2)
    observations = selected.observations
    moments, events = (item.values for item in observations.covariates)
    unit = next((unit for end, unit in _UNITS.items() if latency.endswith(end)), observations.unit)
    if np.any(observations.cells.lows + observations.cells.origin < 0):
        raise InputError(
            f"column {latency} has negative numbers, which no latency is",
            where=asked.source,
            remedy=f"Name another column by {argument('latency')}.",
        )
    return CallTable(replace(observations, covariates=(), unit=unit), moments, events, tuple(warnings))


def _find_latency(table: pl.DataFrame, latency: str) -> str:
    if latency:
        _refuse_missing(table, latency, "latency")
        return latency
    found = next((name for name in LATENCIES if name in table.columns), "")
    if not found:
        raise InputError(
            f"the table has no column {', '.join(LATENCIES[:-1])} or {LATENCIES[-1]}",
            remedy=f"Name the column of latencies by {argument('latency')}, of {', '.join(table.columns)}.",
        )
    return found


def _refuse_missing(table: pl.DataFrame, name: str, what: str) -> None:
    if name not in table.columns:
        raise InputError(
            f"the table has no column {name}",
            remedy=f"Name another by {argument(what)}, of {', '.join(table.columns)}.",
        )


def _count_events(column: pl.Series) -> pl.Series:
    """The column as a number of events, 0 and 1 where it only marks calls."""
    if column.null_count():
        raise InputError(
            f"column {column.name} is empty in row {column.is_null().arg_true()[0] + 1}",
            remedy="Say of each call whether it was binned.",
        )
    if column.dtype == pl.Boolean:
        return column.cast(pl.Float64)
    if column.dtype.is_numeric():
        numbers = column.cast(pl.Float64)
        if not bool((numbers >= 0).all()):
            raise InputError(f"column {column.name} has numbers below zero, which count no events")
        return numbers
    words = column.cast(pl.String).str.strip_chars().str.to_lowercase()
    # A file of texts has numbers of events as texts.
    numbers = words.cast(pl.Float64, strict=False)
    if not numbers.null_count() and bool((numbers >= 0).all()):
        return numbers
    odd = words.filter(~words.is_in([*_TRUE, *_FALSE]))
    if odd.len():
        raise InputError(
            f'column {column.name} has "{odd[0]}", neither true nor false',
            remedy="Write true or false, 1 or 0, or a number of events.",
        )
    return words.is_in(list(_TRUE)).cast(pl.Float64)
