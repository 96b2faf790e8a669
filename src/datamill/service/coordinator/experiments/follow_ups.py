"""Which screenings have ended and wait for the experiment that follows, and what became of that."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction

from datamill.experiment.errors import InputError
from datamill.experiment.messages.phrases import count_nouns
from datamill.service.coordinator.state.events import EventKind, NewEvent, add_events
from datamill.service.coordinator.state.rows import select_rows
from datamill.service.models import FleetExperiment
from datamill.service.states import ExperimentState

_DUE = """
SELECT id FROM datamill_experiment
WHERE state = 'completed' AND follow IS NOT NULL AND follow_reason IS NULL ORDER BY id
"""


@dataclass(frozen=True, slots=True)
class EarlierScreening:
    """The screening before an experiment: its number, what it found as JSON, and how many survived."""

    experiment_id: int
    screened: bytes
    survivors: int


def list_due_follow_ups() -> list[int]:
    """Return the screenings that have ended and that the experiment is to follow now."""
    return [number for (number,) in select_rows(_DUE)]


def awaits_follow_up(experiment_id: int) -> bool:
    """Tell whether an experiment is a screening that has ended and that another is to follow now."""
    return experiment_id in list_due_follow_ups()


def note_follow_up(screening: EarlierScreening, number: int, now_s: float) -> None:
    """Say which experiment follows a screening, in the transaction that enters it: only one ever does.

    Raises:
        InputError: when another follows already.
    """
    survived = f"with {count_nouns(screening.survivors, 'factor')} that survived"
    told = survived if screening.survivors else "and none of the screened factors varies in it"
    _note(screening.experiment_id, f"experiment {number} follows, {told}", now_s)


def enter_no_follow_up(experiment_id: int, reason: str, now_s: float) -> None:
    """Say why no experiment follows a screening."""
    with transaction.atomic():
        if awaits_follow_up(experiment_id):
            _note(experiment_id, reason, now_s)


def _note(experiment_id: int, reason: str, now_s: float) -> None:
    due = FleetExperiment.objects.filter(
        pk=experiment_id, state=ExperimentState.COMPLETED, follow__isnull=False, follow_reason__isnull=True
    )
    if not due.update(follow_reason=reason, state_reason=reason):
        raise InputError(f"no experiment is to follow experiment {experiment_id} any more")
    add_events([NewEvent(EventKind.FOLLOWED, experiment_id=experiment_id, detail=reason)], now_s)
