"""The tidy table: one row for each observation."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from datamill.design.design import Design, DesignFactor, PlannedTrial
from datamill.design.machines import MACHINE_FACTOR, name_block, rename_block
from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Experiment
from datamill.experiment.responses import BUILT_IN_UNITS
from datamill.protocol.trial import TrialRecord
from datamill.results.judgement.doubts import Doubt, judge_disturbances, spell_processes
from datamill.results.judgement.judged_attempts import JudgedAttempts, count_attempts
from datamill.results.judgement.reboots import explain_missing_reboots
from datamill.results.judgement.validity import (
    AGGREGATE,
    CALIBRATION,
    CALIBRATION_REASON,
    REFERENCE_REASON,
    WARM_UP,
    explain_exclusion,
    explain_purpose,
)
from datamill.results.tables.columns import TABLE_COLUMNS
from datamill.results.trials.hardware import HARDWARE_COLUMNS, list_hardware
from datamill.results.trials.responses import evaluate_response, list_built_in_values, list_wanted_responses

_TYPES = {str: pl.String(), int: pl.Int64(), float: pl.Float64(), bool: pl.Boolean()}
#: Columns of the tidy table besides the factors', which stand after `package` under their own names
#: (as strings; the design's order of levels is the meaningful one), and the nuisances' behind them.
TABLE_SCHEMA: dict[str, pl.DataType] = {name: _TYPES[kind] for name, kind in TABLE_COLUMNS.items()}

#: Columns that tell about the circumstances of a trial begin with this; they are no factors of models. They
#: are levels of nuisances that were fixed or drawn, and what other tools tell of imported trials.
CONTEXT_PREFIX = "context."

_HOUR_NS = 3_600_000_000_000
#: Units of responses that are neither in the experiment nor built in: the package did not say.
_UNSTATED_UNIT = ""


def build_table(
    experiment: Experiment,
    design: Design,
    records: Sequence[TrialRecord],
    judged: JudgedAttempts | None = None,
    hardware: Mapping[str, Mapping[str, str]] | None = None,
) -> pl.DataFrame:
    """Return the tidy table: a row for each observation, the excluded ones with their reason.

    Responses of the experiment come first, then the built-in ones and the packages' metrics. An
    attempt without observations keeps a row, without a value, for each response of the experiment. What a
    fleet `judged` says which attempts count, and which machine made each; `hardware` has its machines' levels
    by dimension. What is known of the machine stands in columns `context.arch`, `context.cpu_model` and so
    on, of which none is a factor of an analysis unless it is named.
    Within a response, rows follow the order in which records arrived; nothing is averaged or dropped.

    Raises:
        InputError: when a record is of a trial that the design does not plan.
    """
    planned = {trial.trial_id: trial for trial in design.trials}
    for record in records:
        if record.trial_id not in planned:
            raise InputError(
                f'the log holds trial "{record.trial_id}", which the design does not plan',
                where=experiment.name,
                remedy="Do not mix the logs of two experiments.",
            )
    counted = count_attempts(judged, records)
    unrebooted = explain_missing_reboots(planned, records)
    exclusions = [
        explain_exclusion(record, counted)
        or unrebooted.get((record.trial_id, record.attempt))
        or explain_purpose(planned[record.trial_id])
        for record in records
    ]
    wanted = list_wanted_responses(experiment)
    own = {item.response.name: _Series(item.response.unit) for item in wanted}
    other: dict[str, _Series] = {}

    completed: list[int] = []
    built_ins: list[dict[str, float]] = []
    for index, record in enumerate(records):
        if record.run is None or record.outcome != "completed":
            for series in own.values():
                series.add(index, 0, None)
            continue
        warmup = planned[record.trial_id].warmup
        built_in = list_built_in_values(record.run)
        completed.append(index)
        built_ins.append(built_in)
        for item in wanted:
            series = own[item.response.name]
            series.add_measurements(index, evaluate_response(item, built_in, record.metrics), warmup)
        for name, numbers in record.metrics.items():
            if name not in own:
                series = other.setdefault(name, _Series(_UNSTATED_UNIT))
                series.add_measurements(index, numbers, warmup)

    for name, unit in BUILT_IN_UNITS.items():
        if name not in own:
            having = [
                (index, values[name])
                for index, values in zip(completed, built_ins, strict=True)
                if name in values
            ]
            if having:
                other[name] = _Series(unit)
                other[name].extend(having)

    trials = _build_trial_columns(experiment, design, planned, records, exclusions, judged)
    machines = _build_hardware_columns(design, records, judged, hardware or {})
    trials = trials.hstack(machines)
    observations = pl.concat([series.to_frame(name) for name, series in (own | other).items()])
    table = trials[observations["index"]].hstack(observations.drop("index"))
    table = table.with_columns(exclusion=pl.coalesce("exclusion", "own_exclusion")).with_columns(
        valid=pl.col("exclusion").is_null() & pl.col("value").is_not_null()
    )
    factors = [_name_column(factor) for factor in design.factors if factor.name != "package"]
    factors += machines.columns
    order = list(TABLE_SCHEMA)
    order[order.index("package") + 1 : order.index("package") + 1] = factors
    return table.select(order)


def leave_out_put_aside(table: pl.DataFrame) -> pl.DataFrame:
    """Return a tidy table without the rows that no answer uses because that is the plan.

    These are measurements to warm up, trials for reference and calibration, and what other tools tell beside
    their observations: calibrations and aggregates. A table that does not say why rows are invalid has none.
    Where nothing else is left, all rows stay, so that whoever finds none to use can count them.
    """
    kept = table.filter(~pl.any_horizontal(_list_put_aside(table).values()))
    return kept if kept.height else table


def count_put_aside(table: pl.DataFrame) -> dict[str, int]:
    """Count the rows that `leave_out_put_aside` leaves out, by what they are, in the plural."""
    counts = table.select(**_list_put_aside(table)).sum()
    return {name: count for name, count in counts.row(0, named=True).items() if count}


def _list_put_aside(table: pl.DataFrame) -> dict[str, pl.Expr]:
    """Which rows are put aside, by what they are; none that is judged valid, whatever else it says."""
    if "exclusion" not in table.columns:
        return {"rows": pl.lit(value=False)}
    reason = pl.col("exclusion").cast(pl.String).fill_null("")
    if table.schema.get("valid") == pl.Boolean:
        reason = pl.when(pl.col("valid").fill_null(value=False)).then(pl.lit("")).otherwise(reason)
    return {
        "warm-ups": reason.str.starts_with(f"{WARM_UP}:"),
        "calibrations": reason.str.starts_with(f"{CALIBRATION}:") | (reason == CALIBRATION_REASON),
        "reference trials": reason == REFERENCE_REASON,
        "aggregates": reason.str.starts_with(f"{AGGREGATE}:"),
    }


class _Series:
    """The observations of one response while they grow; a text instead of a value says why there is none."""

    def __init__(self, unit: str) -> None:
        self._unit = unit
        # Arrays of machine numbers: a million boxed ones take longer to free than to compute. NaN stands
        # for an absent value, since no response can be NaN.
        self._index = array("I")
        self._measurement = array("I")
        self._value = array("d")
        self._exclusion: dict[int, str] = {}

    def add_measurements(self, index: int, values: Sequence[float | str], warmup: int) -> None:
        """Add what one execution measured; of several values the first `warmup` are excluded."""
        for measurement, value in enumerate(values):
            if measurement < warmup and len(values) > 1:
                self._exclusion[len(self._value)] = f"{WARM_UP}: among the first {warmup} of its execution"
            self.add(index, measurement, value)

    def add(self, index: int, measurement: int, value: float | str | None) -> None:
        """Add an observation of the attempt at `index`."""
        if isinstance(value, str):
            self._exclusion[len(self._value)] = value
            value = None
        self._index.append(index)
        self._measurement.append(measurement)
        self._value.append(math.nan if value is None else value)

    def extend(self, observations: Sequence[tuple[int, float]]) -> None:
        """Add an observation of each of many attempts: pairs of the attempt's row and the value."""
        self._index.extend(index for index, _ in observations)
        self._measurement.extend(0 for _ in observations)
        self._value.extend(value for _, value in observations)

    def to_frame(self, name: str) -> pl.DataFrame:
        """Return the observations as a frame, with the attempt's row in `index`."""
        rows = len(self._index)
        exclusions = [self._exclusion.get(row) for row in range(rows)] if self._exclusion else None
        # Whole columns: expressions take five times as long, and each look of an experiment makes a table.
        return pl.DataFrame(
            [
                pl.Series("index", np.frombuffer(self._index, dtype=np.uint32)),
                pl.Series("measurement", np.frombuffer(self._measurement, dtype=np.uint32).astype(np.int64)),
                pl.Series("value", np.frombuffer(self._value, dtype=np.float64), nan_to_null=True),
                _repeat("response", name, rows),
                _repeat("unit", self._unit, rows),
                pl.Series("own_exclusion", exclusions, dtype=pl.String)
                if exclusions
                else _repeat("own_exclusion", None, rows),
            ]
        )


def _repeat(name: str, text: str | None, rows: int) -> pl.Series:
    return pl.Series(name, [text], dtype=pl.String).new_from_index(0, rows)


def _name_column(factor: DesignFactor) -> str:
    return factor.name if factor.role == "factor" else f"{CONTEXT_PREFIX}{factor.name}"


def _spell_doubts(doubts: Sequence[Doubt]) -> str | None:
    """Return the rules that an attempt broke and what was seen, None when it broke none."""
    return "; ".join(f"{doubt.rule}: {doubt.seen}" for doubt in doubts) or None


def _spell_busiest(record: TrialRecord) -> str | None:
    """Return the other processes that used most while `run.sh` ran, None where none was seen."""
    return spell_processes(record.disturbance.busiest) or None if record.disturbance else None


def _name_blocks(
    experiment: Experiment, trials: Sequence[PlannedTrial], records: Sequence[TrialRecord]
) -> list[str]:
    """Return the block of each attempt: the hour of the experiment, the boot, or else the planned block.

    Where all ran in one hour, or boot, that divides nothing: with `order = "interleaved"` rounds do. Blocks
    of one machine are none of another.
    """
    planned = [rename_block(trial.levels.get(MACHINE_FACTOR, ""), trial.block) for trial in trials]
    if experiment.block == "hour":
        first = min((record.started_unix_ns for record in records), default=0)
        names = [f"hour {1 + (record.started_unix_ns - first) // _HOUR_NS}" for record in records]
    elif experiment.block == "boot":
        in_order = sorted(records, key=lambda record: record.started_unix_ns)
        numbers = {boot: n for n, boot in enumerate(dict.fromkeys(r.host.boot_id for r in in_order), start=1)}
        names = [f"boot {numbers[record.host.boot_id]}" for record in records]
    else:
        return planned
    if experiment.order == "interleaved" and len(set(names)) == 1:
        return planned
    return [
        name_block(trial.levels.get(MACHINE_FACTOR, ""), name)
        for trial, name in zip(trials, names, strict=True)
    ]


def _build_hardware_columns(
    design: Design,
    records: Sequence[TrialRecord],
    judged: JudgedAttempts | None,
    hardware: Mapping[str, Mapping[str, str]],
) -> pl.DataFrame:
    """Return what is known of each attempt's machine, one row an attempt, without what nobody knows."""
    machines = {} if judged is None else judged.machines
    levels = [
        list_hardware(record.host, hardware.get(machines.get((record.trial_id, record.attempt), "")))
        for record in records
    ]
    taken = {_name_column(factor) for factor in design.factors}
    columns = {
        f"{CONTEXT_PREFIX}{name}": [level[name] for level in levels]
        for name in HARDWARE_COLUMNS
        if f"{CONTEXT_PREFIX}{name}" not in taken
    }
    known = {name: column for name, column in columns.items() if any(level is not None for level in column)}
    return pl.DataFrame(known, schema=dict.fromkeys(known, pl.String()))


def _build_trial_columns(
    experiment: Experiment,
    design: Design,
    planned: Mapping[str, PlannedTrial],
    records: Sequence[TrialRecord],
    exclusions: Sequence[str],
    judged: JudgedAttempts | None,
) -> pl.DataFrame:
    """Return the columns that all observations of an attempt share, one row an attempt."""
    doubts = judge_disturbances(records)
    trials = [planned[record.trial_id] for record in records]
    columns: dict[str, list[Any]] = {
        "experiment": [record.experiment for record in records],
        "trial_id": [record.trial_id for record in records],
        "attempt": [record.attempt for record in records],
        "order": [trial.order for trial in trials],
        "point": [trial.point for trial in trials],
        "replicate": [trial.replicate for trial in trials],
        "build": [trial.build for trial in trials],
        "execution": [trial.execution for trial in trials],
        "purpose": [trial.purpose for trial in trials],
        "block": _name_blocks(experiment, trials, records),
        "seed": [trial.seed for trial in trials],
        "worker": [record.worker.id for record in records],
        "boot_id": [record.host.boot_id for record in records],
        "isolation": [record.isolation.kind for record in records],
        "build_id": [record.build.id if record.build else None for record in records],
        "started_unix_ns": [record.started_unix_ns for record in records],
        "outcome": [record.outcome for record in records],
        "package": [record.package for record in records],
        "exclusion": [exclusion or None for exclusion in exclusions],
        "doubt": [_spell_doubts(doubts.get((record.trial_id, record.attempt), ())) for record in records],
        "quiet_wait_s": [record.quiet.waited_ns / 1e9 if record.quiet else None for record in records],
        "busiest": [_spell_busiest(record) for record in records],
    }
    for factor in design.factors:
        if factor.name != "package":
            columns[_name_column(factor)] = [trial.levels[factor.name] for trial in trials]
        if factor.name == MACHINE_FACTOR and judged is not None:
            # Each attempt is of the machine that made it, also where another made the one that counts.
            columns[_name_column(factor)] = [judged.machines[r.trial_id, r.attempt] for r in records]
    return pl.DataFrame(
        columns, schema={name: TABLE_SCHEMA.get(name, pl.String()) for name in columns}, strict=False
    )
