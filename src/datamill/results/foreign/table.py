"""The tidy table of foreign results: one row for each observation."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from datamill.results.foreign.foreign_results import Execution, ForeignResults, Series
from datamill.results.foreign.units import Conversion, find_conversion
from datamill.results.tables.table import CONTEXT_PREFIX, TABLE_SCHEMA

#: Begins the column of a parameter whose own name the tidy table uses for something else.
FACTOR_PREFIX = "factor."

#: Columns before the factors, between factors and context, and their types.
_HEAD = {"file": pl.String(), "trial_id": pl.String(), "replicate": pl.Int64(), "benchmark": pl.String()}
_TAIL = {
    "response": pl.String(), "unit": pl.String(), "measurement": pl.Int64(), "value": pl.Float64(),
    "valid": pl.Boolean(), "exclusion": pl.String(),
}  # fmt: skip
_COUNTED = {f"{CONTEXT_PREFIX}iterations": pl.Int64(), f"{CONTEXT_PREFIX}reported_unit": pl.String()}
_NO_VALUE = "the file gives no value"


@dataclass(frozen=True, slots=True)
class LabelledResults:
    """Results of one file: `label` tells it from the others imported with it, `digest` from any other."""

    label: str
    digest: str
    results: ForeignResults


def build_foreign_table(files: Sequence[LabelledResults], *, independent: bool = False) -> pl.DataFrame:
    """Return the tidy table of foreign files: a row for each observation, excluded ones with their reason.

    Columns: `file`; `trial_id`, one for each execution; `replicate`, counted from 1 in each file and
    design point; `benchmark`; the factors; `response`, `unit`, `measurement` (from 0), `value`,
    `valid`, `exclusion`; and what else is known, as `context.NAME`. Times are brought to seconds and
    sizes to bytes; `context.reported_unit` is the file's unit. With `independent` the caller states
    that measurements inside one execution are replicates: each gets a trial of its own.
    """
    trials: list[_Trial] = []
    columns = _ObservationColumns()
    for file in files:
        replicates: Counter[tuple[str, tuple[tuple[str, str], ...]]] = Counter()
        number = 0
        for execution in file.results.executions:
            point = (execution.benchmark, tuple(sorted(execution.factors.items())))
            pieces = _split_measurements(execution) if independent else [execution]
            for piece in pieces:
                number += 1
                replicates[point] += 1
                trials.append(
                    _Trial(file.label, f"{file.label}-{file.digest}-{number}", replicates[point], piece)
                )
                for series in piece.series:
                    columns.add(len(trials) - 1, series)
    about = _build_trial_columns(trials)
    observations = columns.to_frame()
    table = about[observations["index"]].hstack(observations.drop("index"))
    factors = [name for name in about.columns if name not in _HEAD and not name.startswith(CONTEXT_PREFIX)]
    context = [name for name in about.columns if name.startswith(CONTEXT_PREFIX)]
    counted = [name for name in _COUNTED if table[name].null_count() < table.height]
    return table.select([*_HEAD, *factors, *_TAIL, *counted, *context])


def list_factors(table: pl.DataFrame) -> list[str]:
    """Columns of a foreign table that are parameters of the benchmarks."""
    return [
        name
        for name in table.columns
        if name not in _HEAD and name not in _TAIL and not name.startswith(CONTEXT_PREFIX)
    ]


@dataclass(frozen=True, slots=True)
class _Trial:
    file: str
    trial_id: str
    replicate: int
    execution: Execution


def name_factor_column(name: str) -> str:
    """Return the column of a factor: its name, changed where the tidy table uses it for something else."""
    # A colon stands between the factors of an interaction.
    name = name.replace(":", "_").strip() or "factor"
    taken = name in TABLE_SCHEMA or name in _HEAD or name.startswith(CONTEXT_PREFIX)
    return f"{FACTOR_PREFIX}{name}" if taken else name


def _split_measurements(execution: Execution) -> list[Execution]:
    """Return an execution for each measurement of an execution."""
    length = max((len(series.values) for series in execution.series), default=0)
    pieces = []
    for index in range(length):
        series = [_take_measurement(item, index) for item in execution.series if index < len(item.values)]
        pieces.append(Execution(execution.benchmark, execution.factors, series, execution.context))
    return pieces


def _take_measurement(series: Series, index: int) -> Series:
    return Series(
        series.response,
        series.unit,
        series.values[index : index + 1],
        exclusion=series.exclusion or series.exclusions.get(index, ""),
        iterations=None if series.iterations is None else series.iterations[index : index + 1],
        keep_unit=series.keep_unit,
    )


class _ObservationColumns:
    """Columns of the observations while they grow; the trial of each row is in `index`."""

    def __init__(self) -> None:
        self._index: list[int] = []
        self._counts: list[int] = []
        self._response: list[str] = []
        self._unit: list[str] = []
        self._reported: list[str] = []
        self._values: list[np.ndarray] = []
        self._measurement: list[np.ndarray] = []
        self._iterations: list[int | None] = []
        self._exclusions: dict[int, str] = {}
        self._length = 0

    def add(self, trial: int, series: Series) -> None:
        """Add the values of a series, brought to its base unit."""
        count = len(series.values)
        conversion = Conversion(series.unit, 0, 1) if series.keep_unit else find_conversion(series.unit)
        self._index.append(trial)
        self._counts.append(count)
        self._response.append(series.response)
        self._unit.append(conversion.unit)
        self._reported.append(series.unit)
        self._values.append(_convert(series.values, conversion))
        self._measurement.append(np.arange(count))
        self._iterations.extend(series.iterations if series.iterations is not None else [None] * count)
        for position, value in enumerate(series.values):
            reason = series.exclusion or series.exclusions.get(position, "")
            if value is None:
                reason = reason or _NO_VALUE
            elif not math.isfinite(value):
                reason = reason or f"the file holds {value}"
            if reason:
                self._exclusions[self._length + position] = reason
        self._length += count

    def to_frame(self) -> pl.DataFrame:
        """Return the observations as a frame."""
        which = np.repeat(np.arange(len(self._counts)), self._counts)
        series = pl.DataFrame(
            {
                "index": self._index,
                "response": self._response,
                "unit": self._unit,
                f"{CONTEXT_PREFIX}reported_unit": self._reported,
            },
            schema_overrides={"index": pl.Int64},
        )
        exclusions = [self._exclusions.get(row) for row in range(self._length)]
        values = np.concatenate(self._values) if self._values else np.empty(0)
        return series[which].with_columns(
            pl.Series(
                "measurement",
                np.concatenate(self._measurement) if self._measurement else [],
                dtype=pl.Int64,
            ),
            pl.Series("value", values, dtype=pl.Float64).fill_nan(None),
            pl.Series("exclusion", exclusions, dtype=pl.String),
            pl.Series("valid", [reason is None for reason in exclusions], dtype=pl.Boolean),
            pl.Series(f"{CONTEXT_PREFIX}iterations", self._iterations, dtype=pl.Int64),
        )


def _convert(values: Sequence[float | None], conversion: Conversion) -> np.ndarray:
    """Return values in the base unit; absent and infinite ones as NaN."""
    known: dict[float, float] = {}
    converted = np.empty(len(values))
    for position, value in enumerate(values):
        if value is None or not math.isfinite(value):
            converted[position] = math.nan
            continue
        if value not in known:
            known[value] = conversion.apply(value)
        converted[position] = known[value]
    return converted


def _build_trial_columns(trials: Sequence[_Trial]) -> pl.DataFrame:
    """Return the columns that all observations of an execution share, one row an execution."""
    frame: dict[str, list[str | int | None]] = {
        "file": [trial.file for trial in trials],
        "trial_id": [trial.trial_id for trial in trials],
        "replicate": [trial.replicate for trial in trials],
        "benchmark": [trial.execution.benchmark for trial in trials],
    }
    factors = [_rename(trial.execution.factors) for trial in trials]
    contexts = [
        {f"{CONTEXT_PREFIX}{name}": value for name, value in trial.execution.context.items()}
        for trial in trials
    ]
    for rows in (factors, contexts):
        for name in dict.fromkeys(name for row in rows for name in row):
            if name not in _COUNTED:
                frame[name] = [row.get(name) for row in rows]
    return pl.DataFrame(frame, schema={name: _HEAD.get(name, pl.String()) for name in frame})


def _rename(factors: Mapping[str, str]) -> dict[str, str]:
    renamed: dict[str, str] = {}
    for name, value in factors.items():
        column = name_factor_column(name)
        while column in renamed:
            column += "_"
        renamed[column] = value
    return renamed
