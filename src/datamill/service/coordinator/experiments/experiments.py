"""Experiments go on, wait for a person, and end."""

from __future__ import annotations

import msgspec
from django.contrib.auth.models import User
from django.db import transaction

from datamill.experiment.errors import InputError, QuestionError
from datamill.protocol.trial import TrialRecord
from datamill.results.bundles.decisions import Decision
from datamill.results.trials.responses import check_response_names, list_wanted_responses
from datamill.service.coordinator.experiments.due_looks import (
    awaits_look,
    explain_decision,
    list_due_looks,
    list_stopping_by_looks,
)
from datamill.service.coordinator.leasing.dependents import of_open_batch
from datamill.service.coordinator.leasing.leases import load_stored_experiments
from datamill.service.coordinator.leasing.ledger import Ledger
from datamill.service.coordinator.leasing.quarantines import find_quarantine_of_rest
from datamill.service.coordinator.leasing.standings import cancel_more_stopped_trials, explain_stops
from datamill.service.coordinator.state.events import EventKind, NewEvent, add_events
from datamill.service.coordinator.state.rows import execute, select_rows
from datamill.service.models import FleetExperiment, Look
from datamill.service.states import OPEN_EXPERIMENTS, AttemptState, ExperimentState

#: Trials that one step lets go or cancels: more would keep reports waiting.
MOST_RELEASED = 5_000
#: Why an experiment waits whose trials are still being stored.
ENTERING = "its trials are being entered"
# A look at the index for each state. In one that debugs, only debug trials are planned or leased. Where
# batches wait for looks the first design trial that waits tells whether any may go: they are stored in order.
_PROGRESS = """
SELECT e.id, e.state, e.releasing,
    EXISTS (SELECT 1 FROM datamill_trial t WHERE t.experiment_id = e.id AND t.state = 'waiting'
        AND e.open_position IS NULL) OR COALESCE((
            SELECT t.position FROM datamill_trial t WHERE t.experiment_id = e.id AND t.state = 'waiting'
                AND t.purpose = 'design' AND e.open_position IS NOT NULL ORDER BY t.id LIMIT 1
        ) <= e.open_position, FALSE),
    EXISTS (SELECT 1 FROM datamill_trial t WHERE t.experiment_id = e.id AND t.state = 'planned'),
    EXISTS (SELECT 1 FROM datamill_trial t WHERE t.experiment_id = e.id AND t.state = 'leased')
FROM datamill_experiment e WHERE e.state IN ('debugging', 'held', 'running') AND e.state_reason <> %s
ORDER BY e.id
"""
_DEBUGGED = """
SELECT COUNT(*), SUM(CASE WHEN t.state = 'counted' AND a.outcome = 'completed' THEN 1 ELSE 0 END)
FROM datamill_trial t LEFT JOIN datamill_attempt a ON a.trial_id = t.id AND a.state = 'counted'
WHERE t.experiment_id = %s AND t.purpose = 'debug'
"""
_DEBUG_RECORDS = """
SELECT a.record FROM datamill_trial t JOIN datamill_attempt a ON a.trial_id = t.id AND a.state = 'counted'
WHERE t.experiment_id = %s AND t.purpose = 'debug' ORDER BY a.id
"""
_RECORD = msgspec.json.Decoder(TrialRecord)
# A trial may go when it needs nothing, or when that is done; and none whose batch waits for a look, nor what
# only such trials need.
_RELEASE = f"""
UPDATE datamill_trial SET state = 'planned' WHERE id IN (
    SELECT t.id FROM datamill_trial t JOIN datamill_experiment e ON e.id = t.experiment_id
    WHERE t.experiment_id = %s AND t.state = 'waiting' AND (t.needs_id IS NULL OR EXISTS (
        SELECT 1 FROM datamill_attempt a
        WHERE a.trial_id = t.needs_id AND a.state = 'counted' AND a.outcome = 'completed'))
        AND (e.open_position IS NULL OR {of_open_batch("t", "e.open_position")})
    ORDER BY t.id LIMIT %s
)
"""
_CANCEL = """
UPDATE datamill_trial SET state = 'cancelled' WHERE id IN (
    SELECT id FROM datamill_trial WHERE experiment_id = %s AND state IN ('waiting', 'planned') LIMIT %s
)
"""


def settle_experiments(now_s: float) -> bool:
    """Release designs whose debug trials went well, hold the others, and end what has nothing left to do.

    Returns:
        Whether trials are left that were not let go or cancelled yet: then call again soon.
    """
    with transaction.atomic():
        unfinished = cancel_more_stopped_trials()
        for number in list_stopping_by_looks():
            stored = FleetExperiment.objects.defer("text", "head", "design").get(pk=number)
            unfinished |= _cancel_trials(stored)
        for number in list_cancelling_experiments():
            stored = FleetExperiment.objects.defer("text", "head", "design").get(pk=number)
            unfinished |= _cancel_trials(stored)
        for number, state, releasing, waiting, planned, leased in select_rows(_PROGRESS, [ENTERING]):
            if planned or leased or waiting:
                debugged = state == ExperimentState.DEBUGGING and not (planned or leased)
                if not debugged and not (releasing and state == ExperimentState.RUNNING):
                    continue
            elif awaits_look(number):
                continue
            stored = FleetExperiment.objects.defer("text", "head", "design").get(pk=number)
            if not (planned or leased or waiting):
                why = "; ".join(filter(None, (explain_decision(stored.id), explain_stops(stored.id))))
                if stored.follow is not None and not why:
                    why = "the screening has ended; the experiment that it came before is planned now"
                _change(stored, ExperimentState.COMPLETED, why, now_s, EventKind.COMPLETED)
                continue
            if state == ExperimentState.DEBUGGING:
                _judge_debug_trials(stored, now_s)
            if stored.state == ExperimentState.RUNNING:
                unfinished |= _release_trials(stored)
    return unfinished


def _release_trials(stored: FleetExperiment) -> bool:
    """Let waiting trials go whose batch has come, as many as one step may; return whether there are more."""
    return _note_rest(stored, execute(_RELEASE, [stored.id, MOST_RELEASED]))


def _cancel_trials(stored: FleetExperiment) -> bool:
    """Cancel trials that were not begun, as many as one step may; return whether there are more."""
    return _note_rest(stored, execute(_CANCEL, [stored.id, MOST_RELEASED]))


def _note_rest(stored: FleetExperiment, changed: int) -> bool:
    """Note, and return, whether a step that changed so many trials left some."""
    more = changed == MOST_RELEASED
    if stored.releasing != more:
        stored.releasing = more
        stored.save(update_fields=["releasing"])
    return more


def _judge_debug_trials(stored: FleetExperiment, now_s: float) -> None:
    """Release or hold a design whose debug trials have all ended."""
    ((number, well),) = select_rows(_DEBUGGED, [stored.id])
    failed = number - (well or 0)
    if failed:
        reason = f"{failed} of {number} debug trials did not complete"
        _change(stored, ExperimentState.HELD, reason, now_s, EventKind.HELD)
    elif unanswered := _find_unanswered(stored.id):
        _change(stored, ExperimentState.HELD, unanswered, now_s, EventKind.HELD)
    elif stored.hold:
        reason = "its debug trials completed; it waits for its owner"
        _change(stored, ExperimentState.HELD, reason, now_s, EventKind.HELD)
    else:
        reason = f"its {number} debug trials completed"
        _change(stored, ExperimentState.RUNNING, reason, now_s, EventKind.RELEASED)


def _find_unanswered(experiment_id: int) -> str:
    """Return which response the debug trials did not give a name for; empty when they gave all."""
    asked = load_stored_experiments([experiment_id])[experiment_id].experiment
    wanted = list_wanted_responses(asked)
    for (record,) in select_rows(_DEBUG_RECORDS, [experiment_id]):
        try:
            check_response_names(_RECORD.decode(bytes(record)), wanted, where="")
        except QuestionError as problem:
            return f"{problem.message}. {problem.remedy}"
    return ""


def enter_decision(experiment_id: int, decision: Decision, now_s: float) -> bool:
    """Keep what a look decided, and let the next batch go or end the experiment.

    Returns:
        Whether it was kept: nothing happens unless this very look is due (`list_due_looks`), so that
        a decision which comes twice, or after the experiment was held or ended, changes nothing.
    """
    with transaction.atomic():
        if (experiment_id, decision.look) not in list_due_looks():
            return False
        stored = FleetExperiment.objects.defer("text", "head", "design").get(pk=experiment_id)
        looks = Look.objects.filter(experiment=experiment_id)
        stops = decision.decision == "stop"
        following = looks.filter(number=decision.look + 1).values_list("last_position", flat=True).first()
        if following is None and not stops:
            raise ValueError(f"experiment {experiment_id} has no batch behind look {decision.look}")
        looks.filter(number=decision.look).update(
            stops=stops, decision=msgspec.json.encode(decision), decided_unix_s=now_s
        )
        stored.state_reason = decision.reason
        if not stops:
            stored.open_position = following
        stored.save(update_fields=["state_reason", "open_position"])
        detail = f"Look {decision.look}: {'it stops' if stops else 'it goes on'}, {decision.reason}"
        add_events([NewEvent(EventKind.LOOKED, experiment_id=experiment_id, detail=detail)], now_s)
        if stops:
            _cancel_trials(stored)
        else:
            _release_trials(stored)
    return True


def hold_unlooked(experiment_id: int, look: int, reason: str, now_s: float) -> None:
    """Let an experiment wait for a person whose look is due and cannot be made."""
    with transaction.atomic():
        if (experiment_id, look) in list_due_looks():
            stored = FleetExperiment.objects.defer("text", "head", "design").get(pk=experiment_id)
            hold_experiment(stored, reason, now_s)


def cancel_experiment(experiment_id: int, user: User, now_s: float) -> None:
    """End an experiment: trials that were not begun are cancelled, those under way end and do not count.

    Of a large one, the next steps cancel the rest; none of them is leased meanwhile.

    Raises:
        InputError: when there is none, it is another user's, or it has ended.
    """
    with transaction.atomic():
        stored = find_own_experiment(experiment_id, user)
        if stored.state not in OPEN_EXPERIMENTS:
            raise InputError(f"experiment {experiment_id} has ended: it is {stored.state}")
        ledger = Ledger(now_s)
        under_way = ledger.load_attempts(
            "a.state IN ('leased', 'taken') AND t.experiment_id IN {list}", [experiment_id]
        )
        ledger.load_workers({attempt.worker_id for attempt in under_way})
        for attempt in under_way:
            if attempt.state == AttemptState.LEASED:
                ledger.cancel(attempt, f"{user.username} cancelled the experiment")
        ledger.write()
        execute(
            "UPDATE datamill_trial SET state = 'cancelled' WHERE experiment_id = %s AND state = 'leased'",
            [experiment_id],
        )
        _change(stored, ExperimentState.CANCELLED, "", now_s, EventKind.CANCELLED, user.username)
        _cancel_trials(stored)


def release_experiment(experiment_id: int, user: User, now_s: float) -> None:
    """Let the design of an experiment go that debugs or is held; debug trials not begun are dropped.

    Raises:
        InputError: when there is none, it is another user's, nothing waits, or a package is in quarantine.
    """
    with transaction.atomic():
        stored = find_own_experiment(experiment_id, user)
        if stored.state not in (ExperimentState.DEBUGGING, ExperimentState.HELD):
            raise InputError(f"experiment {experiment_id} is not held: it is {stored.state}")
        if stored.state_reason == ENTERING:
            raise InputError(f"the trials of experiment {experiment_id} are being entered: wait a while")
        poisoned = find_quarantine_of_rest(experiment_id)
        if poisoned:
            raise InputError(
                f"a package of experiment {experiment_id} is in quarantine: {poisoned}",
                remedy="An administrator can lift the quarantine.",
            )
        execute(
            "UPDATE datamill_trial SET state = 'cancelled' WHERE experiment_id = %s AND purpose = 'debug' "
            "AND state IN ('waiting', 'planned')",
            [experiment_id],
        )
        reason = f"released by {user.username}"
        _change(stored, ExperimentState.RUNNING, reason, now_s, EventKind.RELEASED, user.username)
        _release_trials(stored)


def drop_entry(experiment_id: int, reason: str, now_s: float) -> None:
    """Cancel an experiment whose trials are not all there, unless it is past that."""
    stored = FleetExperiment.objects.filter(
        pk=experiment_id, state__in=OPEN_EXPERIMENTS, state_reason=ENTERING
    ).first()
    if stored is not None:
        _change(stored, ExperimentState.CANCELLED, reason, now_s, EventKind.CANCELLED)
        _cancel_trials(stored)


def drop_unfinished_entries(now_s: float) -> int:
    """Cancel the experiments whose trials a coordinator that ended did not store; return how many."""
    with transaction.atomic():
        numbers = list(
            FleetExperiment.objects.filter(state__in=OPEN_EXPERIMENTS, state_reason=ENTERING).values_list(
                "pk", flat=True
            )
        )
        for number in numbers:
            drop_entry(number, "the coordinator ended before all its trials were entered", now_s)
    return len(numbers)


def hold_experiment(stored: FleetExperiment, reason: str, now_s: float) -> None:
    """Let an experiment wait for a person; attempts under way go on."""
    execute(
        "UPDATE datamill_trial SET state = 'waiting' WHERE experiment_id = %s AND state = 'planned'",
        [stored.id],
    )
    _change(stored, ExperimentState.HELD, reason, now_s, EventKind.HELD)


def list_cancelling_experiments() -> list[int]:
    """Return the cancelled experiments that have trials left to cancel."""
    query = "SELECT id FROM datamill_experiment WHERE state = 'cancelled' AND releasing ORDER BY id"
    return [number for (number,) in select_rows(query)]


def find_own_experiment(experiment_id: int, user: User) -> FleetExperiment:
    """Return an experiment that a user may change: its owner's, or anybody's for an administrator.

    Raises:
        InputError: when there is none, or it is another user's.
    """
    stored = FleetExperiment.objects.filter(pk=experiment_id).defer("text", "head", "design").first()
    if stored is None or not (user.is_staff or stored.public or stored.owner_id == user.pk):
        raise InputError(f"there is no experiment {experiment_id}")
    if not user.is_staff and stored.owner_id != user.pk:
        raise InputError(f"experiment {experiment_id} is another user's", remedy="Ask its owner.")
    return stored


def _change(
    stored: FleetExperiment,
    state: ExperimentState,
    reason: str,
    now_s: float,
    kind: EventKind,
    user: str = "",
) -> None:
    stored.state, stored.state_reason = state, reason
    if state not in OPEN_EXPERIMENTS:
        stored.ended_unix_s = now_s
    stored.save(update_fields=["state", "state_reason", "ended_unix_s"])
    add_events([NewEvent(kind, user=user, experiment_id=stored.id, detail=reason)], now_s)
