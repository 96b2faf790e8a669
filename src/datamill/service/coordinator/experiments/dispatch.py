"""The next trial of each idle worker is lent to it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Any

from django.db import transaction

from datamill.service.coordinator.experiments.experiments import hold_experiment, list_cancelling_experiments
from datamill.service.coordinator.leasing.leases import (
    LeasedTrial,
    StoredExperiment,
    decode_planned_trial,
    estimate_lease_s,
    list_files,
    load_stored_experiments,
)
from datamill.service.coordinator.leasing.quarantines import find_quarantine, list_quarantined
from datamill.service.coordinator.leasing.standings import list_stopping_experiments
from datamill.service.coordinator.state.events import EventKind, NewEvent, add_events
from datamill.service.coordinator.state.rows import execute_for, insert_rows, select_rows
from datamill.service.models import Attempt, FleetExperiment

# One look at the index `trial_next_of_worker` for each worker: oldest experiment first, trials in order.
_NEXT = """
SELECT n.worker_id, t.id, t.trial_id, t.purpose, t.reboot, t.attempts, t.experiment_id, t.package_sha256,
    t.plan
FROM (
    SELECT w.worker_id, {first} AS trial FROM datamill_worker w
    WHERE w.state = 'idle' AND w.rests_until_unix_s <= {now}{chosen}
) n
JOIN datamill_trial t ON t.id = n.trial
"""
_FIRST = """(
    SELECT p.id FROM datamill_trial p WHERE p.worker_id = w.worker_id AND p.state = 'planned'{between}
    ORDER BY p.experiment_id, p.position LIMIT 1
)"""


def lease_trials(now_s: float, worker_ids: Collection[str] | None = None) -> int:
    """Lend each idle worker, or each of those named, its next trial; return how many were lent.

    None goes out that needs a file in quarantine: its experiment is held, whatever let it go on before.
    """
    with transaction.atomic():
        rows, questions = _find_next(now_s, worker_ids)
        quarantined = list_quarantined() if rows else {}
        while quarantined and _hold_quarantined(rows, questions, quarantined, now_s):
            rows, questions = _find_next(now_s, worker_ids)
        if not rows:
            return 0
        attempts, events = [], []
        for row in rows:
            worker_id, row_id, leased, experiment_id, sha256 = (
                row[0],
                row[1],
                _read_leased(row),
                row[6],
                row[7],
            )
            question = questions[experiment_id]
            deadline_s = now_s + estimate_lease_s(question, leased)
            attempts.append(
                (row_id, leased.number, leased.key, worker_id, "leased", "", now_s, deadline_s, "", False)
            )
            events.append(
                NewEvent(EventKind.LEASED, question.user, worker_id, experiment_id, leased.key, sha256)
            )
        insert_rows(
            Attempt,
            ("trial_id", "number", "key", "worker_id", "state", "reason", "leased_unix_s", "deadline_unix_s",
             "outcome", "rebooted"),
            attempts,
        )  # fmt: skip
        execute_for(
            "UPDATE datamill_trial SET state = 'leased', attempts = attempts + 1 WHERE id IN {list}",
            [row[1] for row in rows],
        )
        execute_for(
            "UPDATE datamill_worker SET state = 'busy', orders_sequence = orders_sequence + 1 "
            "WHERE worker_id IN {list}",
            [row[0] for row in rows],
        )
        add_events(events, now_s)
    return len(rows)


def _find_next(
    now_s: float, worker_ids: Collection[str] | None
) -> tuple[list[tuple[Any, ...]], dict[int, StoredExperiment]]:
    """Return the next trial of each idle worker that has one, as rows of `_NEXT`, and their experiments."""
    passed_over = {*list_cancelling_experiments(), *list_stopping_experiments()}
    query = _NEXT.replace("{first}", _choose_first(sorted(passed_over)))
    query = query.replace("{now}", repr(float(now_s)))
    if worker_ids is None:
        rows = select_rows(query.replace("{chosen}", ""))
    else:
        rows = select_rows(query.replace("{chosen}", " AND w.worker_id IN {list}"), sorted(worker_ids))
    return rows, load_stored_experiments(row[6] for row in rows) if rows else {}


def _read_leased(row: tuple[Any, ...]) -> LeasedTrial:
    _, _, trial_id, purpose, reboot, before, experiment_id, _, plan = row
    key = f"{experiment_id}.{trial_id}.{before + 1}"
    return LeasedTrial(key, before + 1, purpose, bool(reboot), decode_planned_trial(bytes(plan)))


def _hold_quarantined(
    rows: list[tuple[Any, ...]],
    questions: dict[int, StoredExperiment],
    quarantined: dict[str, str],
    now_s: float,
) -> bool:
    """Hold the experiments whose next trials need a file in quarantine; return whether there were any."""
    reasons: dict[int, str] = {}
    for row in rows:
        files = [need.sha256 for need in list_files(questions[row[6]], _read_leased(row))]
        if reason := find_quarantine([row[7], *files], quarantined):
            reasons.setdefault(row[6], reason)
    for experiment_id, reason in reasons.items():
        stored = FleetExperiment.objects.defer("text", "head", "design").get(pk=experiment_id)
        hold_experiment(stored, reason, now_s)
    return bool(reasons)


def find_next_rest(now_s: float) -> float | None:
    """Return when the first of the workers that rest may be lent a trial again; None when none rests."""
    ((first,),) = select_rows(
        "SELECT MIN(rests_until_unix_s) FROM datamill_worker "
        "WHERE state = 'idle' AND rests_until_unix_s > %s",
        [now_s],
    )
    return None if first is None else float(first)


def _choose_first(passed_over: Sequence[int]) -> str:
    """Return the expression for a worker's next trial, of other experiments than these.

    A look for each range between them: passing over their trials one by one takes long, of which there may be
    millions.
    """
    if not passed_over:
        return _FIRST.replace("{between}", "")
    bounds = [-1, *passed_over, None]
    looks = [
        _FIRST.replace(
            "{between}",
            f" AND p.experiment_id > {low}" + ("" if high is None else f" AND p.experiment_id < {high}"),
        )
        for low, high in pairwise(bounds)
    ]
    return f"COALESCE({', '.join(looks)})"
