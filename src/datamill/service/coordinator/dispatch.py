"""The next trial of each idle worker is lent to it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise

from django.db import transaction
from django.db.models import Min

from datamill.service.coordinator.events import EventKind, NewEvent, add_events
from datamill.service.coordinator.experiments import list_cancelling_experiments
from datamill.service.coordinator.questions import (
    LeasedTrial,
    decode_planned_trial,
    estimate_lease_s,
    load_questions,
)
from datamill.service.coordinator.rows import execute_for, insert_rows, select_rows
from datamill.service.models import Attempt, Worker, WorkerState

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
    """Lend each idle worker, or each of those named, its next trial; return how many were lent."""
    with transaction.atomic():
        query = _NEXT.replace("{first}", _choose_first(list_cancelling_experiments()))
        query = query.replace("{now}", repr(float(now_s)))
        if worker_ids is None:
            rows = select_rows(query.replace("{chosen}", ""))
        else:
            rows = select_rows(query.replace("{chosen}", " AND w.worker_id IN {list}"), sorted(worker_ids))
        if not rows:
            return 0
        questions = load_questions(row[6] for row in rows)
        attempts, events = [], []
        for worker_id, row_id, trial_id, purpose, reboot, before, experiment_id, sha256, plan in rows:
            key = f"{experiment_id}.{trial_id}.{before + 1}"
            question = questions[experiment_id]
            trial = decode_planned_trial(bytes(plan))
            leased = LeasedTrial(key, before + 1, purpose, bool(reboot), trial)
            deadline_s = now_s + estimate_lease_s(question, leased)
            attempts.append((row_id, before + 1, key, worker_id, "leased", "", now_s, deadline_s, "", False))
            events.append(NewEvent(EventKind.LEASED, question.user, worker_id, experiment_id, key, sha256))
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


def find_next_rest(now_s: float) -> float | None:
    """Return when the first of the workers that rest may be lent a trial again; None when none rests."""
    ends = Worker.objects.filter(state=WorkerState.IDLE, rests_until_unix_s__gt=now_s)
    first: float | None = ends.aggregate(first=Min("rests_until_unix_s"))["first"]
    return first


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
