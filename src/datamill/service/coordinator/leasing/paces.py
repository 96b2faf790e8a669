"""How fast each worker is in each experiment, kept with every attempt that counts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db import connection

_UPSERT = """
INSERT INTO datamill_pace (experiment_id, worker_id, trials, first_leased_unix_s, last_ended_unix_s)
{rows}
ON CONFLICT (experiment_id, worker_id) DO UPDATE SET
    trials = datamill_pace.trials + excluded.trials,
    first_leased_unix_s = CASE WHEN excluded.first_leased_unix_s < datamill_pace.first_leased_unix_s
        THEN excluded.first_leased_unix_s ELSE datamill_pace.first_leased_unix_s END,
    last_ended_unix_s = CASE WHEN excluded.last_ended_unix_s > datamill_pace.last_ended_unix_s
        THEN excluded.last_ended_unix_s ELSE datamill_pace.last_ended_unix_s END
"""
# PostgreSQL takes all rows in one statement, as lists of their columns.
_POSTGRESQL_ROWS = (
    "SELECT * FROM unnest(%s::bigint[], %s::varchar[], %s::integer[], %s::float8[], %s::float8[])"
)


@dataclass(frozen=True, slots=True)
class CountedTrial:
    """A trial of a design that counts from now on: whose, made by whom, from when to when."""

    experiment_id: int
    worker_id: str
    leased_s: float
    ended_s: float


def add_to_paces(counted: Iterable[CountedTrial]) -> None:
    """Add trials that count to the paces of their workers."""
    sums: dict[tuple[int, str], tuple[int, float, float]] = {}
    for trial in counted:
        key = (trial.experiment_id, trial.worker_id)
        number, first_s, last_s = sums.get(key, (0, trial.leased_s, trial.ended_s))
        sums[key] = (number + 1, min(first_s, trial.leased_s), max(last_s, trial.ended_s))
    if not sums:
        return
    rows = [(*key, *values) for key, values in sums.items()]
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(
                _UPSERT.replace("{rows}", _POSTGRESQL_ROWS),
                [list(column) for column in zip(*rows, strict=True)],
            )
        else:
            cursor.executemany(_UPSERT.replace("{rows}", "VALUES (%s, %s, %s, %s, %s)"), rows)
