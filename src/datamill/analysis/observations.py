"""Observations taken from a table: from plain columns, or from rows of the tidy table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from datamill.analysis.cells import Cells, Factor, FloatArray, encode_levels, gather_cells, order_levels
from datamill.experiment.errors import InputError
from datamill.results.table import TABLE_SCHEMA

#: Columns without which a table is not the tidy one.
_TIDY_COLUMNS = ("trial_id", "response", "value", "valid")


@dataclass(frozen=True, slots=True, eq=False)
class Observations:
    """Values of one response with the levels of its factors.

    `excluded` counts rows of the response that were judged invalid; `averaged` counts trials whose
    several measurements became one value, `partly_valid` those with invalid measurements beside
    valid ones.
    """

    response: str
    unit: str
    cells: Cells
    excluded: int
    averaged: int
    partly_valid: int = 0


def is_tidy(table: pl.DataFrame) -> bool:
    """Whether this is datamill's tidy table: one row an observation, the response in a column."""
    return all(column in table.columns for column in _TIDY_COLUMNS)


def list_tidy_factors(table: pl.DataFrame) -> tuple[str, ...]:
    """Factor columns of a tidy table with more than one level; the package is one if there are several."""
    names = ["package", *(column for column in table.columns if column not in TABLE_SCHEMA)]
    return tuple(name for name in names if name in table.columns and table[name].n_unique() > 1)


def read_columns(
    table: pl.DataFrame,
    response: str,
    factors: Sequence[str],
    *,
    source: str = "table",
    first_line: int = 2,
) -> Observations:
    """Take a response and factors from columns of a plain table, one row an observation.

    Levels are ordered by `order_levels`. `first_line` is the line of the first row, for messages.

    Raises:
        InputError: a column is missing or named twice, a factor's name holds a colon, there are no
            rows, a level is missing, or a value is missing or not a finite number; names file, line
            and column.
    """
    _refuse_bad_names(table, response, factors, source)
    for name in factors:
        if ":" in name:
            raise InputError(
                f'the factor "{name}" holds a colon, which stands between the factors of an interaction',
                where=source,
                remedy="Rename the column.",
            )
    if table.height == 0:
        raise InputError("the table has no rows", where=source, remedy="Add one row for each observation.")
    labels: dict[str, list[str]] = {}
    for name in factors:
        column = table[name].cast(pl.String).fill_null("").str.strip_chars()
        empty = (column == "").arg_max() if (column == "").any() else None
        if empty is not None:
            raise InputError(
                f"factor {name} has no level here",
                where=f"{source}:{empty + first_line}",
                remedy=f"Fill in column {name}, or remove the line.",
            )
        labels[name] = column.to_list()
    values = _read_numbers(table[response], response, source, first_line)
    levels = {name: order_levels(column) for name, column in labels.items()}
    return Observations(response, "", _gather(labels, levels, values), excluded=0, averaged=0)


def select_response(
    table: pl.DataFrame,
    response: str,
    factors: Sequence[str],
    *,
    levels: Mapping[str, Sequence[str]] | None = None,
    source: str = "table",
) -> Observations:
    """Take the valid rows of one response from a tidy table, one value a trial.

    Several measurements inside one trial are averaged: they are not replicates. Levels come in
    the order of `levels` where given (those with data), else of `order_levels`.

    Raises:
        InputError: no such response or column, no valid row, a valid row without a finite value, or
            values in several units.
    """
    _refuse_bad_names(table, "value", factors, source)
    rows = table.filter(pl.col("response") == response)
    if rows.height == 0:
        known = ", ".join(table["response"].unique(maintain_order=True).drop_nulls().to_list())
        raise InputError(
            f'there is no response "{response}"', where=source, remedy=f"The responses are: {known}."
        )
    valid = rows.filter(pl.col("valid").fill_null(value=False))
    if valid.height == 0:
        raise InputError(
            f"none of the {rows.height} rows of response {response} is valid",
            where=source,
            remedy="The column exclusion says why.",
        )
    numbers = _read_numbers(valid["value"], f"value of {response}", source, None)
    valid = valid.with_columns(pl.Series("value", numbers))
    unit = _find_unit(valid, response, source)
    # Two experiments in one table may use the same trial ids.
    identity = [name for name in ("experiment", "trial_id", "attempt") if name in valid.columns]
    grouping = list(dict.fromkeys((*identity, *factors)))
    trials = valid.group_by(grouping, maintain_order=True).agg(
        pl.col("value").mean(), pl.len().alias("_measurements")
    )
    invalid = rows.filter(~pl.col("valid").fill_null(value=False)).select(identity).unique()
    partly_valid = trials.select(identity).unique().join(invalid, on=identity, nulls_equal=True).height
    labels = {name: trials[name].cast(pl.String).fill_null("").to_list() for name in factors}
    chosen = {name: _order_given(labels[name], (levels or {}).get(name)) for name in factors}
    return Observations(
        response=response,
        unit=unit,
        cells=_gather(labels, chosen, trials["value"].to_numpy().astype(np.float64)),
        excluded=rows.height - valid.height,
        averaged=int((trials["_measurements"] > 1).sum()),
        partly_valid=partly_valid,
    )


def _find_unit(valid: pl.DataFrame, response: str, source: str) -> str:
    units = (
        valid["unit"].drop_nulls().unique(maintain_order=True).to_list() if "unit" in valid.columns else []
    )
    if len(units) > 1:
        raise InputError(
            f"{response} is in several units: {', '.join(units)}",
            where=source,
            remedy="Bring all values to one unit.",
        )
    return str(units[0]) if units else ""


def _order_given(labels: Sequence[str], given: Sequence[str] | None) -> tuple[str, ...]:
    if given is None:
        return order_levels(labels)
    seen = set(labels)
    return (*(level for level in given if level in seen), *order_levels(seen - set(given)))


def _gather(
    labels: Mapping[str, Sequence[str]], levels: Mapping[str, tuple[str, ...]], values: FloatArray
) -> Cells:
    factors = tuple(Factor(name, levels[name]) for name in labels)
    codes = np.empty((values.size, len(factors)), dtype=np.int64)
    for index, factor in enumerate(factors):
        codes[:, index] = encode_levels(labels[factor.name], factor)
    return gather_cells(factors, codes, values)


def _refuse_bad_names(table: pl.DataFrame, response: str, factors: Sequence[str], source: str) -> None:
    columns = ", ".join(table.columns)
    for name in (response, *factors):
        if name not in table.columns:
            raise InputError(
                f'there is no column "{name}"', where=source, remedy=f"The columns are: {columns}."
            )
    if response in factors:
        raise InputError(
            f'"{response}" is both response and factor', where=source, remedy="Name it once only."
        )
    for name in factors:
        if list(factors).count(name) > 1:
            raise InputError(f'factor "{name}" is named twice', where=source, remedy="Name it once.")


def _read_numbers(column: pl.Series, name: str, source: str, first_line: int | None) -> FloatArray:
    if column.dtype == pl.String:
        numbers = column.str.strip_chars().cast(pl.Float64, strict=False)
    elif column.dtype.is_numeric():
        numbers = column.cast(pl.Float64)
    else:
        raise InputError(
            f"column {name} holds {column.dtype}, not numbers", where=source, remedy="Name another column."
        )
    bad = ~numbers.is_finite().fill_null(value=False)
    if bad.any():
        row = bad.arg_max() or 0
        given = column[row]
        where = source if first_line is None else f"{source}:{row + first_line}"
        raise InputError(
            f'{name} is "{"" if given is None else given}", which is not a finite number',
            where=where,
            remedy="Correct the value, or remove the line.",
        )
    return numbers.to_numpy().astype(np.float64)
