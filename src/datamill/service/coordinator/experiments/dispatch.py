"""The next trial of each idle worker is lent to it: of whose turn it is there, in the order of the plan."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from django.db import transaction

from datamill.service.coordinator.experiments.experiments import hold_experiment, list_cancelling_experiments
from datamill.service.coordinator.leasing.leases import (
    LeasedTrial,
    StoredExperiment,
    decode_planned_trial,
    estimate_lease_s,
    lets_boot,
    list_files,
    load_stored_experiments,
)
from datamill.service.coordinator.leasing.quarantines import find_quarantine, list_quarantined
from datamill.service.coordinator.leasing.standings import list_stopping_experiments
from datamill.service.coordinator.sharing.waiting import ChosenTrial, list_turns
from datamill.service.coordinator.state.events import EventKind, NewEvent, add_events
from datamill.service.coordinator.state.rows import execute_for, insert_rows, select_rows
from datamill.service.models import Attempt, FleetExperiment

_TRIALS = """
SELECT t.id, t.trial_id, t.purpose, t.reboot, t.attempts, t.experiment_id, t.package_sha256, t.plan, w.policy
FROM datamill_trial t JOIN datamill_worker w ON w.worker_id = t.worker_id WHERE t.id IN {list}
"""
_ATTEMPT = (
    "trial_id", "number", "key", "worker_id", "state", "reason", "leased_unix_s", "deadline_unix_s",
    "outcome", "rebooted", "start_s", "inner_start_s", "share", "priority", "turn_unix_s",
)  # fmt: skip
#: Rows of trials as they are lent, each with its place in its worker's queue.
_Turns = Sequence[tuple[ChosenTrial, tuple[Any, ...]]]


def lease_trials(now_s: float, worker_ids: Collection[str] | None = None) -> int:
    """Lend each idle worker, or each of those named, its next trial; return how many were lent.

    None goes out that needs a file in quarantine: its experiment is held, whatever let it go on before.
    """
    with transaction.atomic():
        turns, questions = _find_next(now_s, worker_ids)
        quarantined = list_quarantined() if turns else {}
        while quarantined and _hold_quarantined(turns, questions, quarantined, now_s):
            turns, questions = _find_next(now_s, worker_ids)
        if not turns:
            return 0
        attempts, events = [], []
        for place, row in turns:
            worker_id, leased, experiment_id = place.worker_id, _read_leased(place, row), row[5]
            question = questions[experiment_id]
            deadline_s = now_s + estimate_lease_s(question, leased)
            attempt = (place.trial_row, leased.number, leased.key, worker_id, "leased", "", now_s, deadline_s)
            kept = (place.start_s, place.inner_start_s, place.share, place.priority, place.turn_unix_s)
            attempts.append((*attempt, "", False, *kept))
            events.append(
                NewEvent(EventKind.LEASED, question.user, worker_id, experiment_id, leased.key, row[6])
            )
        insert_rows(Attempt, _ATTEMPT, attempts)
        execute_for(
            "UPDATE datamill_trial SET reboot = TRUE WHERE id IN {list}",
            [place.trial_row for place, _ in turns if place.begins_anew],
        )
        execute_for(
            "UPDATE datamill_trial SET state = 'leased', attempts = attempts + 1 WHERE id IN {list}",
            [place.trial_row for place, _ in turns],
        )
        execute_for(
            "UPDATE datamill_worker SET state = 'busy', orders_sequence = orders_sequence + 1 "
            "WHERE worker_id IN {list}",
            [place.worker_id for place, _ in turns],
        )
        add_events(events, now_s)
    return len(turns)


def _find_next(
    now_s: float, worker_ids: Collection[str] | None
) -> tuple[_Turns, dict[int, StoredExperiment]]:
    """Return the next trial of each idle worker that has one, as rows of `_TRIALS`, and their experiments."""
    passed_over = {*list_cancelling_experiments(), *list_stopping_experiments()}
    places = list_turns(now_s, worker_ids, passed_over)
    rows = {row[0]: row for row in select_rows(_TRIALS, [place.trial_row for place in places])}
    turns = [(place, rows[place.trial_row]) for place in places]
    return turns, load_stored_experiments(row[5] for row in rows.values()) if turns else {}


def _read_leased(place: ChosenTrial, row: tuple[Any, ...]) -> LeasedTrial:
    _, trial_id, purpose, reboot, before, experiment_id, _, plan, policy = row
    key = f"{experiment_id}.{trial_id}.{before + 1}"
    reboots = bool(reboot) or place.begins_anew
    planned = decode_planned_trial(bytes(plan))
    return LeasedTrial(key, before + 1, purpose, reboots, planned, may_boot=lets_boot(bytes(policy)))


def _hold_quarantined(
    turns: _Turns,
    questions: dict[int, StoredExperiment],
    quarantined: dict[str, str],
    now_s: float,
) -> bool:
    """Hold the experiments whose next trials need a file in quarantine; return whether there were any."""
    reasons: dict[int, str] = {}
    for place, row in turns:
        files = [need.sha256 for need in list_files(questions[row[5]], _read_leased(place, row))]
        if reason := find_quarantine([row[6], *files], quarantined):
            reasons.setdefault(row[5], reason)
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
