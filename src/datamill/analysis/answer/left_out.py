"""Observations that an experiment's answer does not use, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from datamill.results.judgement.validity import CALIBRATION_REASON, REFERENCE_REASON, WARM_UP
from datamill.results.tables.table import leave_out_put_aside


@dataclass(frozen=True, slots=True)
class Exclusion:
    """So many `observations` of a response that are left out for one reason."""

    response: str
    reason: str
    observations: int


@dataclass(frozen=True, slots=True)
class PutAside:
    """What no answer uses because that is the plan: measurements to warm up, trials of two other purposes."""

    warm_ups: int
    calibrations: int
    references: int


def list_exclusions(table: pl.DataFrame, responses: Sequence[str]) -> tuple[Exclusion, ...]:
    """Return what is left out, but for what is put aside as planned, the most frequent reason first."""
    reasons = (
        leave_out_put_aside(table)
        .filter(pl.col("response").is_in(list(responses)) & ~pl.col("valid"))
        .group_by("response", pl.col("exclusion").fill_null("no reason given"))
        .len()
        .sort(["len", "response", "exclusion"], descending=[True, False, False])
    )
    return tuple(
        Exclusion(str(response), str(reason), int(count)) for response, reason, count in reasons.iter_rows()
    )


def count_planned_aside(table: pl.DataFrame, responses: Sequence[str]) -> PutAside:
    """Count what is put aside as planned."""
    rows = table.filter(pl.col("response").is_in(list(responses)) & ~pl.col("valid"))
    # Without any exclusion the column has no type.
    reason = pl.col("exclusion").cast(pl.String)

    def count_trials(text: str) -> int:
        return rows.filter(reason == text)["trial_id"].n_unique()

    return PutAside(
        warm_ups=rows.filter(reason.str.starts_with(f"{WARM_UP}:")).height,
        calibrations=count_trials(CALIBRATION_REASON),
        references=count_trials(REFERENCE_REASON),
    )
