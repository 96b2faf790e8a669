"""What becomes of a response's analysis without the trials that may have been disturbed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from datamill.analysis.answer.response import ResponseAnalysis, analyze_response
from datamill.design.design import Design
from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Experiment, Response

#: Of all trials, one in so many is the most that may be undisturbed where the host itself is to blame.
_MOST_DOUBTFUL_PARTS = 10


@dataclass(frozen=True, slots=True, eq=False)
class DoubtfulTrials:
    """Of a response's `trials`, so many are `doubtful`; `without` is the analysis of the others.

    `without` is None where the others could not be analysed, which `problem` explains, or where so few are
    left that they would say nothing: then the `host` itself was not quiet.
    """

    doubtful: int
    trials: int
    host: bool
    without: ResponseAnalysis | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class BrokenRule:
    """A rule that so many `trials` broke; of the `first` one is what was `seen`."""

    rule: str
    trials: int
    first: str
    seen: str


def list_broken_rules(table: pl.DataFrame, responses: Sequence[str]) -> tuple[BrokenRule, ...]:
    """Return the rules that trials broke, the one with the most trials first.

    An attempt that another one stands in for is in no figure, and so not here.
    """
    trials = (
        table.filter(
            pl.col("response").is_in(list(responses)) & pl.col("valid") & pl.col("doubt").is_not_null()
        )
        .unique("trial_id", keep="first", maintain_order=True)
        .select("trial_id", pl.col("doubt").cast(pl.String).str.split("; "))
        .explode("doubt")
        .with_columns(pl.col("doubt").str.splitn(": ", 2).struct.rename_fields(["rule", "seen"]))
        .unnest("doubt")
    )
    if trials.height == 0:
        return ()
    rules = (
        trials.group_by("rule", maintain_order=True)
        .agg(pl.len().alias("trials"), pl.first("trial_id"), pl.first("seen"))
        .sort("trials", descending=True, maintain_order=True)
    )
    return tuple(
        BrokenRule(str(rule), int(count), str(trial), str(seen))
        for rule, count, trial, seen in rules.iter_rows()
    )


def count_doubtful(table: pl.DataFrame, response: str) -> tuple[int, int]:
    """Return how many trials with valid observations of a response are doubtful, and how many there are."""
    rows = table.filter((pl.col("response") == response) & pl.col("valid"))
    doubtful = rows.filter(pl.col("doubt").is_not_null())
    return doubtful["trial_id"].n_unique(), rows["trial_id"].n_unique()


def leave_out_doubtful(
    experiment: Experiment, design: Design, table: pl.DataFrame, response: Response
) -> DoubtfulTrials | None:
    """Analyse a response without its doubtful trials; None where it has none."""
    doubtful, trials = count_doubtful(table, response.name)
    if not doubtful:
        return None
    if _MOST_DOUBTFUL_PARTS * (trials - doubtful) <= trials:
        return DoubtfulTrials(doubtful, trials, host=True, without=None)
    quiet = table.with_columns(valid=pl.col("valid") & pl.col("doubt").is_null())
    try:
        without = analyze_response(experiment, design, quiet, response)
    except InputError as error:
        return DoubtfulTrials(doubtful, trials, host=False, without=None, problem=error.message)
    return DoubtfulTrials(doubtful, trials, host=False, without=without)
