"""Observations taken from a table: from plain columns, or from rows of the tidy table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from datamill.analysis.model_data.builds import find_shared_builds, group_by_builds, number_builds
from datamill.analysis.model_data.cells import (
    CellArray,
    Cells,
    FloatArray,
    IntArray,
    ModelFactor,
    gather_cells,
)
from datamill.analysis.model_data.columns import ROW, Lines, encode_factors, read_numbers, read_variable
from datamill.analysis.model_data.formula import Variable
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.experiment.messages.suggestions import suggest_name
from datamill.results.tables.table import CONTEXT_PREFIX, TABLE_SCHEMA, count_put_aside, leave_out_put_aside


@dataclass(frozen=True, slots=True, eq=False)
class Covariate:
    """A continuous explanatory variable: its name, such as `log(size)`, and a value an observation (n)."""

    name: str
    values: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Observations:
    """Values of one response with the levels of its factors.

    `excluded` counts rows of the response that were judged invalid, `put_aside` those that are no
    observations of the question, by what they are (`count_put_aside`); `averaged` counts trials whose
    several measurements became one value, `partly_valid` those with invalid measurements beside
    valid ones. `trials` (n) numbers the trial of every observation where one trial has several,
    which are then no replicates; None where each observation stands for a trial of its own. Where
    `units` are "builds" each observation stands for a build, and `averaged_builds` counts those whose
    several executions became one value; or, where all are kept, `trials` has the number of its build.
    `order` (n) is when the observation came, by number or time; None when nobody said. `transform`
    is what was applied to the response, such as "log", of which its name tells as well.
    """

    response: str
    unit: str
    cells: Cells
    excluded: int
    averaged: int
    partly_valid: int = 0
    averaged_builds: int = 0
    units: Literal["trials", "builds"] = "trials"
    covariates: tuple[Covariate, ...] = ()
    trials: CellArray | None = None
    order: FloatArray | None = None
    transform: str = ""
    put_aside: tuple[tuple[str, int], ...] = ()


def list_tidy_factors(table: pl.DataFrame) -> tuple[str, ...]:
    """Factor columns of a tidy table with more than one level; the package is one if there are several."""
    others = (column for column in table.columns if not column.startswith(CONTEXT_PREFIX))
    names = ["package", *(column for column in others if column not in TABLE_SCHEMA)]
    return tuple(name for name in names if name in table.columns and table[name].n_unique() > 1)


def read_columns(
    table: pl.DataFrame,
    response: str | Variable,
    factors: Sequence[str],
    *,
    covariates: Sequence[Variable] = (),
    trial: str = "",
    order: str = "",
    average: bool = False,
    source: str = "table",
    first_line: int | None = 2,
) -> Observations:
    """Take a response and its explanations from columns of a plain table, one row an observation.

    Levels are ordered by `order_levels`. `trial` names the column that tells trials apart where one
    trial has several observations, `order` the one that tells when they came. With `average` the
    observations of a trial, which are no replicates, become one: means of the response and of the
    covariates. `first_line` is the line of the first row, for messages.

    Raises:
        InputError: a column is missing or named twice, a factor's name holds a colon, there are no
            rows, a level is missing, a value is missing, not a finite number, or outside a
            transform's domain, or a factor changes within a trial that is to be averaged; names
            file, line and column.
    """
    explained = response if isinstance(response, Variable) else Variable(response, response)
    others = [*(covariate.column for covariate in covariates), *(name for name in (trial, order) if name)]
    _refuse_bad_names(table, explained.column, factors, others, source)
    for kind, names in (("factor", factors), ("covariate", [item.name for item in covariates])):
        for name in names:
            if ":" in name:
                raise InputError(
                    f'the {kind} "{name}" holds a colon, which stands between the factors of an interaction',
                    where=source,
                    remedy="Rename the column.",
                )
    _refuse_covariates_named_twice(factors, covariates, source)
    if table.height == 0:
        raise InputError("the table has no rows", where=source, remedy="Add one row for each observation.")
    lines = Lines(source, first_line)
    levels, codes = encode_factors(table, factors, {}, lines)
    values = read_variable(table, explained, lines)
    measured = tuple(Covariate(item.name, read_variable(table, item, lines)) for item in covariates)
    trials = None
    if trial:
        ids = table[trial].cast(pl.String)
        _refuse_nameless_trials(ids, trial, lines)
        trials = _number_trials(ids.to_frame())
    when = read_numbers(table[order], order, lines) if order else None
    averaged = 0
    if average and trials is not None:
        sizes = np.bincount(trials)
        first = np.unique(trials, return_index=True)[1]
        for factor, column in zip(levels, codes, strict=True):
            _refuse_change_within_trial(factor, column != column[first][trials], trial, lines)
        averaged = int(np.sum(sizes > 1))
        values = _average_by(trials, sizes, first, values)
        measured = tuple(Covariate(o.name, _average_by(trials, sizes, first, o.values)) for o in measured)
        codes = tuple(column[first] for column in codes)
        trials, when = None, None if when is None else when[first]
    return Observations(
        response=explained.name,
        unit="",
        cells=gather_cells(levels, codes, values),
        excluded=0,
        averaged=averaged,
        covariates=measured,
        trials=trials,
        order=when,
        transform=explained.transform,
    )


def _refuse_nameless_trials(ids: pl.Series, name: str, lines: Lines) -> None:
    """Refuse rows without a trial: together they would pass for a trial of their own."""
    missing = ids.str.strip_chars().fill_null("") == ""
    if missing.any():
        raise InputError(
            f"column {name} is empty here, so that nothing says which trial the row belongs to",
            where=lines.locate(missing.arg_max() or 0),
            remedy="Fill it in, or remove the line.",
        )


def _refuse_covariates_named_twice(
    factors: Sequence[str], covariates: Sequence[Variable], source: str
) -> None:
    names = [*factors, *(item.name for item in covariates)]
    for item in covariates:
        if names.count(item.name) > 1:
            raise InputError(
                f'"{item.name}" is named twice among covariates and factors',
                where=source,
                remedy="Name it once.",
            )


def _average_by(trials: CellArray, sizes: IntArray, first: IntArray, values: FloatArray) -> FloatArray:
    """Mean of each trial's values, as deviations from its first, so that an offset costs no digits."""
    start = values[first]
    return np.asarray(start + np.bincount(trials, weights=values - start[trials]) / sizes, dtype=np.float64)


def _refuse_change_within_trial(
    factor: ModelFactor, changed: NDArray[np.bool_], trial: str, lines: Lines
) -> None:
    if changed.any():
        raise InputError(
            f"factor {factor.name} changes within a trial, whose observations cannot be averaged then",
            where=lines.locate(int(np.argmax(changed))),
            remedy=f"Compare levels within trials by making the trial a block "
            f"({argument('blocks', trial)} instead of "
            f"{argument('trial', trial)})."
            if trial
            else "Leave the factor out: it varies within trials, and the trial is the experiment's unit.",
        )


def select_response(
    table: pl.DataFrame,
    response: str | Variable,
    factors: Sequence[str],
    *,
    levels: Mapping[str, Sequence[str]] | None = None,
    covariates: Sequence[Variable] = (),
    order: str = "",
    average: bool = True,
    source: str = "table",
    first_line: int | None = None,
) -> Observations:
    """Take the valid rows of one response from a tidy table, one value a trial.

    Several measurements inside one trial are averaged, and covariates with them, since they are not
    replicates; without `average` all are kept, and `Observations.trials` says which belong together.
    Where design points have several builds, the executions of a build are averaged as well
    (`group_by_builds`), or belong together: they are no replicates either.
    Levels come in the order of `levels` where given (those with data), else of `order_levels`.
    `order` names the column that tells when observations came, else that of the table. `first_line` is the
    line of the table's first row, for messages, if it is known.

    Raises:
        InputError: no such response or column, no valid row, a valid row without a finite value or
            without a trial, values in several units, or a factor changes within a trial that is to
            be averaged.
    """
    explained = response if isinstance(response, Variable) else Variable(response, response)
    others = [*(item.column for item in covariates), *([order] if order else [])]
    _refuse_bad_names(table, "value", factors, others, source)
    _refuse_covariates_named_twice(factors, covariates, source)
    numbered = table.with_row_index(ROW).filter(pl.col("response") == explained.column)
    if numbered.height == 0:
        known = ", ".join(table["response"].unique(maintain_order=True).drop_nulls().to_list())
        raise InputError(
            f'there is no response "{explained.column}"', where=source, remedy=f"The responses are: {known}."
        )
    of_valid = numbered.filter(pl.col("valid").fill_null(value=False))
    put_aside = tuple(count_put_aside(numbered).items())
    numbered = leave_out_put_aside(numbered)
    rows, valid = numbered.drop(ROW), of_valid.drop(ROW)
    if valid.height == 0:
        raise InputError(
            f"none of the {rows.height} rows of response {explained.column} is valid",
            where=source,
            remedy="The column exclusion says why.",
        )
    lines = Lines(source, first_line, of_valid[ROW].to_numpy())
    values = read_variable(valid, Variable(explained.name, "value", explained.transform), lines)
    unit = _find_unit(valid, explained.column, source)
    _refuse_nameless_trials(
        rows["trial_id"].cast(pl.String), "trial_id", Lines(source, first_line, numbered[ROW].to_numpy())
    )
    # Two experiments in one table may use the same trial ids.
    identity = [name for name in ("experiment", "trial_id", "attempt") if name in valid.columns]
    _refuse_repeated_rows(valid, identity, explained.column, source)
    invalid = rows.filter(~pl.col("valid").fill_null(value=False)).select(identity).unique()
    partly_valid = valid.select(identity).unique().join(invalid, on=identity, nulls_equal=True).height
    encoded, codes = encode_factors(valid, factors, levels or {}, lines)
    measured = tuple(Covariate(item.name, read_variable(valid, item, lines)) for item in covariates)
    when = _read_order(valid, order, lines)
    # A package that is a factor is run in trials of its own, whatever these are called.
    of_trial = [*identity, *(["package"] if "package" in factors else [])]
    trials = _number_trials(valid.select(of_trial if average else identity))
    sizes = np.bincount(trials)
    averaged, of_value = 0, valid
    if average and np.any(sizes > 1):
        averaged = int(np.sum(sizes > 1))
        first = np.unique(trials, return_index=True)[1]
        for factor, column in zip(encoded, codes, strict=True):
            _refuse_change_within_trial(factor, column != column[first][trials], "", lines)
        values = _average_by(trials, sizes, first, values)
        measured = tuple(Covariate(o.name, _average_by(trials, sizes, first, o.values)) for o in measured)
        codes = tuple(column[first] for column in codes)
        when = None if when is None else when[first]
        of_value = valid[first]
    averaged_builds = 0
    if not average:
        first = np.unique(trials, return_index=True)[1]
        of_value = valid[first]
    of_build = group_by_builds(of_value, list_tidy_factors(of_value), codes if average else ())
    if of_build is not None and not average:
        trials = of_build[trials]
        sizes = np.bincount(trials)
    elif of_build is not None:
        sizes = np.bincount(of_build)
        averaged_builds = int(np.sum(sizes > 1))
        first = np.unique(of_build, return_index=True)[1]
        values = _average_by(of_build, sizes, first, values)
        measured = tuple(Covariate(o.name, _average_by(of_build, sizes, first, o.values)) for o in measured)
        codes = tuple(column[first] for column in codes)
        when = None if when is None else when[first]
        of_value = of_value[first]
    cells = gather_cells(encoded, codes, values)
    if average:
        cells = replace(cells, builds=find_shared_builds(cells.of_row, number_builds(of_value)))
    return Observations(
        response=explained.name,
        unit=unit if not explained.transform else f"{explained.transform} {unit}".strip(),
        cells=cells,
        excluded=rows.height - valid.height,
        averaged=averaged,
        partly_valid=partly_valid,
        averaged_builds=averaged_builds,
        units="trials" if of_build is None else "builds",
        covariates=measured,
        trials=trials if not average and np.any(sizes > 1) else None,
        order=when,
        transform=explained.transform,
        put_aside=put_aside,
    )


def _read_order(valid: pl.DataFrame, order: str, lines: Lines) -> FloatArray | None:
    """When observations came: by the column named, else by the table's own, if that is complete."""
    if order:
        return read_numbers(valid[order], order, lines)
    usual = next((name for name in ("started_unix_ns", "order") if name in valid.columns), "")
    if not usual:
        return None
    numbers = valid[usual].cast(pl.Float64)
    return None if numbers.null_count() else numbers.to_numpy()


def _refuse_repeated_rows(valid: pl.DataFrame, identity: Sequence[str], response: str, source: str) -> None:
    """Refuse one measurement that stands there twice: counted twice it would pass for more evidence."""
    if "measurement" not in valid.columns:
        return
    key = [*identity, *(name for name in ("package", "measurement") if name in valid.columns)]
    repeated = valid.select(key).is_duplicated()
    if repeated.any():
        row = valid.row(repeated.arg_max() or 0, named=True)
        raise InputError(
            f"measurement {row['measurement']} of {response} in trial {row['trial_id']} stands there twice",
            where=source,
            remedy="Remove the second row; two experiments need different names in column experiment.",
        )


def _number_trials(identity: pl.DataFrame) -> CellArray:
    """The number of each row's trial, in the order of appearance."""
    # No name of a table's own column may meet that of the number.
    plain = identity.rename({name: f"{at}" for at, name in enumerate(identity.columns)})
    distinct = plain.unique(maintain_order=True).with_row_index("number")
    joined = plain.join(distinct, on=plain.columns, how="left", nulls_equal=True, maintain_order="left")
    return joined["number"].to_numpy().astype(np.uint32)


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


def _refuse_bad_names(
    table: pl.DataFrame, response: str, factors: Sequence[str], others: Sequence[str], source: str
) -> None:
    columns = ", ".join(table.columns)
    for name in (response, *factors, *others):
        if name not in table.columns:
            near = suggest_name(name, table.columns)
            raise InputError(
                f'there is no column "{name}"',
                where=source,
                remedy=f"{near if near.startswith('Did') else ''} The columns are: {columns}.".strip(),
            )
    if response in factors or response in others:
        role = "factor" if response in factors else "covariate, trial or run order"
        raise InputError(
            f'"{response}" is both response and {role}', where=source, remedy="Name it once only."
        )
    for name in factors:
        if list(factors).count(name) > 1:
            raise InputError(f'factor "{name}" is named twice', where=source, remedy="Name it once.")
