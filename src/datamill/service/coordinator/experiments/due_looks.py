"""Batches of experiments that grow: which have ended and wait for a look, and what was decided."""

from __future__ import annotations

import msgspec

from datamill.results.bundles.decisions import Decision
from datamill.service.coordinator.state.rows import select_rows
from datamill.service.models import Look

# A batch has ended when nothing of it may go or is under way. The first design trial that waits is of a later
# one: trials are stored in their order. Where none waits though later batches were planned, all of their
# trials were cancelled, and there is nothing to decide.
_DUE = """
SELECT e.id, l.number FROM datamill_experiment e
JOIN datamill_look l ON l.experiment_id = e.id AND l.last_position = e.open_position AND l.decision IS NULL
WHERE e.state = 'running' AND e.open_position IS NOT NULL AND NOT e.releasing
    AND NOT EXISTS (
        SELECT 1 FROM datamill_trial t WHERE t.experiment_id = e.id AND t.state IN ('planned', 'leased'))
    AND COALESCE((
        SELECT t.position FROM datamill_trial t
        WHERE t.experiment_id = e.id AND t.state = 'waiting' AND t.purpose = 'design' ORDER BY t.id LIMIT 1
    ) > e.open_position, l.number = (SELECT MAX(m.number) FROM datamill_look m WHERE m.experiment_id = e.id))
ORDER BY e.id
"""
_AWAITING = """
SELECT EXISTS (SELECT 1 FROM datamill_trial t WHERE t.experiment_id = e.id AND t.state = 'waiting'),
    (SELECT l.decision IS NULL AND l.last_position = e.open_position FROM datamill_look l
        WHERE l.experiment_id = e.id ORDER BY l.number DESC LIMIT 1)
FROM datamill_experiment e WHERE e.id = %s AND e.open_position IS NOT NULL
"""
_STOPPING = """
SELECT e.id FROM datamill_experiment e JOIN datamill_look l ON l.experiment_id = e.id AND l.stops
WHERE e.state IN ('running', 'held') AND EXISTS (
    SELECT 1 FROM datamill_trial t WHERE t.experiment_id = e.id AND t.state = 'waiting')
ORDER BY e.id
"""
_DECISION = msgspec.json.Decoder(Decision)


def list_due_looks() -> list[tuple[int, int]]:
    """Return the experiments that go on when they were looked at, each with the number of the look."""
    return [(experiment_id, number) for experiment_id, number in select_rows(_DUE)]


def awaits_look(experiment_id: int) -> bool:
    """Tell whether an experiment of which nothing may go has not ended: it is looked at, or being ended.

    Where all trials of later batches were cancelled, as those of stopped packages are, none decides any more.
    """
    rows = select_rows(_AWAITING, [experiment_id])
    return any(waiting or is_last for waiting, is_last in rows)


def list_stopping_by_looks() -> list[int]:
    """Return the experiments that a look stopped and that have trials left to cancel."""
    return [number for (number,) in select_rows(_STOPPING)]


def read_decisions(experiment_id: int) -> tuple[Decision, ...]:
    """Return what was decided after each batch so far, in order."""
    rows = Look.objects.filter(experiment=experiment_id, decision__isnull=False).order_by("number")
    return tuple(_DECISION.decode(bytes(raw or b"")) for raw in rows.values_list("decision", flat=True))


def explain_decision(experiment_id: int) -> str:
    """Return why a look stopped an experiment; empty where none did."""
    raw = Look.objects.filter(experiment=experiment_id, stops=True).values_list("decision", flat=True).first()
    if raw is None:
        return ""
    return f"it stopped by its rule: {_DECISION.decode(bytes(raw)).reason}"
