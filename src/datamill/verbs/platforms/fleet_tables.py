"""Scores and times that a coordinator sent, as tables, and the prediction that it makes of them."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import polars as pl

from datamill.experiment.errors import InputError
from datamill.protocol.api.machines import PackageTimes, ScoreList
from datamill.verbs.platforms.platform_inputs import add_notes
from datamill.verbs.platforms.predict import PredictedPlatforms, predict_platforms


@dataclass(frozen=True, slots=True, eq=False)
class FleetTables:
    """What a coordinator sent as tables; `scores` is None where others are used, `notes` are sentences."""

    scores: pl.DataFrame | None
    times: pl.DataFrame
    notes: tuple[str, ...]


def tabulate_fleet(scores: ScoreList | None, times: PackageTimes) -> FleetTables:
    """Return scores and times of a coordinator as the verbs about platforms take them.

    Raises:
        InputError: there are no scores; says how to get some.
    """
    if scores is None:
        return FleetTables(None, _tabulate_times(times), times.warnings)
    return FleetTables(_tabulate_scores(scores), _tabulate_times(times), (*times.warnings, *scores.warnings))


def predict_from_fleet(
    scores: ScoreList, times: PackageTimes, *, confidence: float | None = None
) -> PredictedPlatforms:
    """Predict a package of a fleet's experiment on every machine of the scores that did not run it.

    Raises:
        InputError: as `predict_platforms`, or there are no scores.
    """
    tables = tabulate_fleet(scores, times)
    return add_notes(predict_platforms(tables.scores, tables.times, confidence=confidence), tables.notes)


def _tabulate_scores(scores: ScoreList) -> pl.DataFrame:
    if not scores.scores:
        raise InputError(
            "there are no scores of machines yet: no experiment that you may see has run the fingerprint "
            "suite",
            where="scores",
            remedy="Run it on all machines: datamill platforms suite fingerprint, then "
            "datamill submit fingerprint/experiment.toml.",
        )
    return pl.DataFrame([msgspec.structs.asdict(item) for item in scores.scores])


def _tabulate_times(times: PackageTimes) -> pl.DataFrame:
    rows = [msgspec.structs.asdict(item) for item in times.times]
    kind = "score" if all(item.seconds is None for item in times.times) else "seconds"
    table = pl.DataFrame(rows, schema_overrides={"seconds": pl.Float64, "score": pl.Float64})
    return table.select(
        pl.lit(times.application).alias("application"), pl.col("machine"), pl.col("replicate"), pl.col(kind)
    )
