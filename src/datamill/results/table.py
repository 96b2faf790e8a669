"""The tidy table: one row for each observation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from datamill.design.records import Design, PlannedTrial
from datamill.experiment.records import Experiment
from datamill.experiment.responses import BUILT_IN_UNITS
from datamill.results.responses import evaluate_response, list_built_in_values, list_wanted_responses
from datamill.results.trial_record import TrialRecord
from datamill.results.validity import count_trials_once, explain_exclusion

#: Columns of the tidy table besides the factors', which stand after `package` under their own names
#: (as strings; the design's order of levels is the meaningful one).
TABLE_SCHEMA: dict[str, pl.DataType] = {
    "experiment": pl.String(),
    "trial_id": pl.String(),
    "attempt": pl.Int64(),
    "order": pl.Int64(),
    "point": pl.Int64(),
    "replicate": pl.Int64(),
    "block": pl.String(),
    "seed": pl.Int64(),
    "worker": pl.String(),
    "boot_id": pl.String(),
    "isolation": pl.String(),
    "build_id": pl.String(),
    "started_unix_ns": pl.Int64(),
    "outcome": pl.String(),
    "package": pl.String(),
    "response": pl.String(),
    "unit": pl.String(),
    "measurement": pl.Int64(),
    "value": pl.Float64(),
    "valid": pl.Boolean(),
    "exclusion": pl.String(),
}

#: Units of responses that are neither in the experiment nor built in: the package did not say.
_UNSTATED_UNIT = ""


def build_table(experiment: Experiment, design: Design, records: Sequence[TrialRecord]) -> pl.DataFrame:
    """Return the tidy table: a row for each observation, the excluded ones with their reason.

    Responses of the experiment come first, then the built-in ones, then the packages' metrics. An
    attempt without observations keeps a row, without a value, for each response of the experiment.
    Rows follow the order in which records arrived; nothing is sorted, averaged or dropped.
    """
    planned = {trial.trial_id: trial for trial in design.trials}
    records = [record for record in records if record.trial_id in planned]
    counted = count_trials_once(records)
    wanted = list_wanted_responses(experiment)
    own_names = {item.response.name for item in wanted}

    rows = _Rows()
    for index, record in enumerate(records):
        exclusion = explain_exclusion(record, counted)
        if record.run is None or record.outcome != "completed":
            for item in wanted:
                rows.add(index, item.response.name, item.response.unit, 0, None, exclusion)
            continue
        built_in = list_built_in_values(record.run)
        for item in wanted:
            values = evaluate_response(item, built_in, record.metrics)
            for measurement, value in enumerate(values):
                reason = exclusion or (value if isinstance(value, str) else "")
                number = None if isinstance(value, str) else value
                rows.add(index, item.response.name, item.response.unit, measurement, number, reason)
        for name, value in built_in.items():
            if name not in own_names:
                rows.add(index, name, BUILT_IN_UNITS[name], 0, value, exclusion)
        for name, series in record.metrics.items():
            if name not in own_names:
                for measurement, value in enumerate(series):
                    rows.add(index, name, _UNSTATED_UNIT, measurement, value, exclusion)

    trials = _build_trial_columns(design, planned, records)
    observations = rows.to_frame()
    table = trials[observations["index"]].hstack(observations.drop("index"))
    factors = [factor.name for factor in design.factors if factor.name != "package"]
    order = list(TABLE_SCHEMA)
    order[order.index("package") + 1 : order.index("package") + 1] = factors
    return table.select(order)


class _Rows:
    """Columns of observations while they grow."""

    def __init__(self) -> None:
        self.index: list[int] = []
        self.response: list[str] = []
        self.unit: list[str] = []
        self.measurement: list[int] = []
        self.value: list[float | None] = []
        self.exclusion: list[str | None] = []

    def add(
        self, index: int, response: str, unit: str, measurement: int, value: float | None, exclusion: str
    ) -> None:
        self.index.append(index)
        self.response.append(response)
        self.unit.append(unit)
        self.measurement.append(measurement)
        self.value.append(value)
        self.exclusion.append(exclusion or None)

    def to_frame(self) -> pl.DataFrame:
        frame = pl.DataFrame(
            {
                "index": self.index,
                "response": self.response,
                "unit": self.unit,
                "measurement": self.measurement,
                "value": self.value,
                "exclusion": self.exclusion,
            },
            schema={"index": pl.UInt32()}
            | {
                name: TABLE_SCHEMA[name] for name in ("response", "unit", "measurement", "value", "exclusion")
            },
            strict=False,
        )
        return frame.with_columns(valid=pl.col("exclusion").is_null() & pl.col("value").is_not_null())


def _build_trial_columns(
    design: Design, planned: Mapping[str, PlannedTrial], records: Sequence[TrialRecord]
) -> pl.DataFrame:
    """Return the columns that all observations of an attempt share, one row an attempt."""
    trials = [planned[record.trial_id] for record in records]
    columns: dict[str, list[Any]] = {
        "experiment": [record.experiment for record in records],
        "trial_id": [record.trial_id for record in records],
        "attempt": [record.attempt for record in records],
        "order": [trial.order for trial in trials],
        "point": [trial.point for trial in trials],
        "replicate": [trial.replicate for trial in trials],
        "block": [trial.block for trial in trials],
        "seed": [trial.seed for trial in trials],
        "worker": [record.worker.id for record in records],
        "boot_id": [record.host.boot_id for record in records],
        "isolation": [record.isolation.kind for record in records],
        "build_id": [record.build.id if record.build else None for record in records],
        "started_unix_ns": [record.started_unix_ns for record in records],
        "outcome": [record.outcome for record in records],
        "package": [record.package for record in records],
    }
    for factor in design.factors:
        if factor.name != "package":
            columns[factor.name] = [trial.levels[factor.name] for trial in trials]
    return pl.DataFrame(
        columns, schema={name: TABLE_SCHEMA.get(name, pl.String()) for name in columns}, strict=False
    )
