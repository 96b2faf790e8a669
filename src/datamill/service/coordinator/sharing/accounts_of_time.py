"""Machine time by worker and user, and by worker and experiment, kept with every attempt that ends."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection

from datamill.service.coordinator.sharing.fair_queue import USUAL_PRIORITY, USUAL_SHARE

# A worker ends one attempt at a time: no row comes twice. `virtual_s` is what `fair_queue.charge` says.
_CHARGE_USERS = """
INSERT INTO datamill_usertime AS t (worker_id, user_id, attempts, held_s, virtual_s, clock_s, share,
    since_virtual_s, since_held_s)
{rows}
ON CONFLICT (worker_id, user_id) DO UPDATE SET
    attempts = t.attempts + 1,
    held_s = t.held_s + excluded.held_s,
    virtual_s = CASE WHEN t.virtual_s > excluded.since_virtual_s THEN t.virtual_s
        ELSE excluded.since_virtual_s END + excluded.held_s / excluded.share,
    clock_s = excluded.clock_s,
    since_held_s = CASE WHEN excluded.since_virtual_s > t.virtual_s OR excluded.share <> t.share
        THEN t.held_s ELSE t.since_held_s END,
    since_virtual_s = CASE WHEN excluded.since_virtual_s > t.virtual_s OR excluded.share <> t.share
        THEN excluded.since_virtual_s ELSE t.since_virtual_s END,
    share = excluded.share
"""
_CHARGE_EXPERIMENTS = """
INSERT INTO datamill_experimenttime AS t (worker_id, experiment_id, attempts, held_s, virtual_s, start_s,
    priority)
{rows}
ON CONFLICT (worker_id, experiment_id) DO UPDATE SET
    attempts = t.attempts + 1,
    held_s = t.held_s + excluded.held_s,
    virtual_s = CASE WHEN t.virtual_s > excluded.start_s THEN t.virtual_s ELSE excluded.start_s END
        + excluded.held_s / excluded.priority,
    start_s = excluded.start_s,
    priority = excluded.priority
"""
_USER_TYPES = ("varchar", "bigint", "integer", *["float8"] * 6)
_EXPERIMENT_TYPES = ("varchar", "bigint", "integer", *["float8"] * 4)


@dataclass(frozen=True, slots=True)
class EndedTurn:
    """An attempt that no longer holds its worker: whose, for how long, and its place in the queue.

    What attempts of before there were shares do not say is what it usually is.
    """

    worker_id: str
    user_id: int
    experiment_id: int
    held_s: float
    start_s: float | None
    inner_start_s: float | None
    share: float | None
    priority: float | None


def charge_turns(ended: Iterable[EndedTurn]) -> None:
    """Add the time of attempts that ended to the accounts of their users and experiments."""
    users: list[tuple[Any, ...]] = []
    experiments: list[tuple[Any, ...]] = []
    for turn in ended:
        worker_id, held_s = turn.worker_id, turn.held_s
        start_s, inner_s = turn.start_s or 0.0, turn.inner_start_s or 0.0
        share, priority = turn.share or USUAL_SHARE, turn.priority or USUAL_PRIORITY
        users.append(
            (worker_id, turn.user_id, 1, held_s, start_s + held_s / share, inner_s, share, start_s, 0.0)
        )
        experiments.append(
            (worker_id, turn.experiment_id, 1, held_s, inner_s + held_s / priority, inner_s, priority)
        )
    if users:
        _upsert(_CHARGE_USERS, users, _USER_TYPES)
        _upsert(_CHARGE_EXPERIMENTS, experiments, _EXPERIMENT_TYPES)


def _upsert(query: str, rows: Sequence[tuple[Any, ...]], types: Sequence[str]) -> None:
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            # All rows in one statement, as lists of their columns.
            arrays = ", ".join(f"%s::{kind}[]" for kind in types)
            cursor.execute(
                query.replace("{rows}", f"SELECT * FROM unnest({arrays})"),
                [list(column) for column in zip(*rows, strict=True)],
            )
        else:
            marks = ", ".join(["%s"] * len(types))
            cursor.executemany(query.replace("{rows}", f"VALUES ({marks})"), rows)
