"""Which experiments wait for a machine, and whose turn it is on each."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from datamill.service.coordinator.sharing.fair_queue import (
    USUAL_PRIORITY,
    USUAL_SHARE,
    Flow,
    Turn,
    choose_turn,
    weigh_user,
)
from datamill.service.coordinator.state.rows import select_by_index, select_rows

#: Time after which another may have its turn between the trials of a block, in seconds.
LONGEST_BLOCK_S = 4 * 3600.0
# For each idle worker one look at the index `trial_next_of_worker` for every experiment that waits there,
# however many trials that has, and one more; then the accounts of these pairs, and its latest attempt.
_WAITING = """
WITH RECURSIVE waiting(worker_id, experiment_id) AS (
    SELECT w.worker_id, {first}
    FROM datamill_worker w WHERE {state}{chosen}
    UNION ALL
    SELECT n.worker_id, {next}
    FROM waiting n WHERE n.experiment_id IS NOT NULL
)
SELECT n.worker_id, n.experiment_id, p.id, p.purpose, p.reboot, e.reboot, e.owner_id, e.priority, s.share,
    u.virtual_s, u.clock_s, x.virtual_s, l.start_s, l.inner_start_s, l.share, l.priority, l.turn_unix_s,
    i.experiment_id, i.purpose
FROM waiting n
JOIN datamill_experiment e ON e.id = n.experiment_id
JOIN datamill_trial p ON p.id = (
    SELECT f.id FROM datamill_trial f
    WHERE f.worker_id = n.worker_id AND f.experiment_id = n.experiment_id AND f.state = 'planned'
    ORDER BY f.position LIMIT 1)
LEFT JOIN datamill_usershare s ON s.user_id = e.owner_id
LEFT JOIN datamill_usertime u ON u.worker_id = n.worker_id AND u.user_id = e.owner_id
LEFT JOIN datamill_experimenttime x ON x.worker_id = n.worker_id AND x.experiment_id = n.experiment_id
LEFT JOIN datamill_attempt l ON l.id = (
    SELECT a.id FROM datamill_attempt a WHERE a.worker_id = n.worker_id ORDER BY a.id DESC LIMIT 1)
LEFT JOIN datamill_trial i ON i.id = l.trial_id
ORDER BY n.worker_id
"""
_FIRST = """(
    SELECT p.experiment_id FROM datamill_trial p WHERE p.worker_id = w.worker_id AND p.state = 'planned'
    ORDER BY p.experiment_id LIMIT 1)"""
_NEXT = """(
    SELECT p.experiment_id FROM datamill_trial p WHERE p.worker_id = n.worker_id AND p.state = 'planned'
        AND p.experiment_id > n.experiment_id
    ORDER BY p.experiment_id LIMIT 1)"""
_IDLE = "w.state = 'idle' AND w.rests_until_unix_s <= {now}"
# Machines that serve: those that are away, silent, drained or removed are lent to nobody.
_LENT = "SELECT owner_id, COUNT(*) FROM datamill_worker WHERE state IN ('idle', 'busy') GROUP BY owner_id"


@dataclass(frozen=True, slots=True)
class ChosenTrial:
    """Whose turn it is on a worker: a trial, and what its attempt keeps of the queue.

    `begins_anew` says that the trial's block was begun before others had the machine: it is rebooted again.
    """

    worker_id: str
    trial_row: int
    start_s: float
    inner_start_s: float
    share: float
    priority: float
    turn_unix_s: float
    begins_anew: bool


@dataclass(frozen=True, slots=True)
class _Candidate:
    """An experiment that waits for a worker: its place in the queue, its first trial there."""

    flow: Flow
    trial_row: int
    is_block: bool
    goes_on: bool
    begins_anew: bool
    latest: tuple[Any, ...]


def list_turns(
    now_s: float, worker_ids: Collection[str] | None, passed_over: Collection[int]
) -> list[ChosenTrial]:
    """Return whose turn it is on each idle worker, or each of those named, for which somebody waits.

    Experiments that are `passed_over` get none.
    """
    query = _WAITING.replace("{state}", _IDLE.replace("{now}", repr(float(now_s))))
    rows = _select(query, worker_ids)
    if not rows:
        return []
    lent = count_lent()
    places = []
    for worker_id, group in groupby(rows, key=lambda row: row[0]):
        found = [_read_candidate(row, lent, now_s) for row in group if row[1] not in passed_over]
        if place := _choose(str(worker_id), found, now_s):
            places.append(place)
    return places


def count_lent() -> dict[int, int]:
    """Return how many machines that serve each user lends."""
    return dict(select_rows(_LENT))


def _select(query: str, worker_ids: Collection[str] | None) -> list[tuple[Any, ...]]:
    query = query.replace("{first}", _FIRST).replace("{next}", _NEXT)
    if worker_ids is None:
        return select_by_index(query.replace("{chosen}", ""))
    return select_by_index(query.replace("{chosen}", " AND w.worker_id IN {list}"), sorted(worker_ids))


def _read_candidate(row: tuple[Any, ...], lent: dict[int, int], now_s: float) -> _Candidate:
    (_, experiment_id, trial_row, purpose, reboot, policy, owner_id, priority, share, user_virtual_s,
        user_clock_s, virtual_s, *latest, latest_experiment, latest_purpose) = row  # fmt: skip
    flow = Flow(
        experiment_id,
        owner_id,
        weigh_user(USUAL_SHARE if share is None else share, lent.get(owner_id, 0)),
        USUAL_PRIORITY if priority is None else priority,
        user_virtual_s or 0.0,
        user_clock_s or 0.0,
        virtual_s or 0.0,
    )
    is_in_block = policy == "block" and purpose == "design" and not reboot
    follows = latest_experiment == experiment_id and latest_purpose == "design"
    began_s = latest[-1]
    goes_on = is_in_block and follows and began_s is not None and now_s - began_s < LONGEST_BLOCK_S
    return _Candidate(
        flow,
        trial_row,
        is_in_block,
        goes_on,
        is_in_block and latest_experiment is not None and latest_experiment != experiment_id,
        tuple(latest),
    )


def _choose(worker_id: str, found: Sequence[_Candidate], now_s: float) -> ChosenTrial | None:
    """Return whose turn it is: a block that is under way goes on, since its trials share a boot."""
    for item in found:
        if item.goes_on:
            start_s, inner_start_s, share, priority, turn_unix_s = item.latest
            return ChosenTrial(
                worker_id, item.trial_row, start_s, inner_start_s, share, priority, turn_unix_s, False
            )
    clock_s = found[0].latest[0] or 0.0 if found else 0.0
    turn: Turn | None = choose_turn((item.flow for item in found), clock_s)
    if turn is None:
        return None
    chosen = next(item for item in found if item.flow is turn.flow)
    flow = chosen.flow
    return ChosenTrial(
        worker_id,
        chosen.trial_row,
        turn.start_s,
        turn.inner_start_s,
        flow.share,
        flow.priority,
        now_s,
        chosen.begins_anew,
    )
