"""What each machine does now."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.contrib.auth.models import User

from datamill.service.accounts import list_visible_experiments
from datamill.service.coordinator.leasing.leases import decode_planned_trial
from datamill.service.coordinator.state.rows import select_rows
from datamill.service.models import Attempt, FleetWorker

#: With the states as they stand in the index of open attempts: SQLite looks through all others else.
_OPEN = "SELECT id FROM datamill_attempt WHERE state IN ('leased', 'taken') AND worker_id IN {list}"


@dataclass(frozen=True, slots=True)
class Doing:
    """The trial that a machine makes since a time.

    Of an experiment that the viewer may not see there is no number, name, trial or package.
    """

    since_unix_s: float
    experiment: int | None
    name: str
    trial_id: str
    package: str


def list_doings(user: User, workers: Iterable[FleetWorker]) -> dict[str, Doing]:
    """Return what machines do, by their identity; of those that do nothing there is no entry."""
    ids = [number for (number,) in select_rows(_OPEN, sorted(worker.pk for worker in workers))]
    attempts = list(
        Attempt.objects.filter(pk__in=ids)
        .select_related("trial__experiment")
        .defer("record", "trial__experiment__text", "trial__experiment__head", "trial__experiment__design")
    )
    numbers = {attempt.trial.experiment_id for attempt in attempts}
    visible = set(list_visible_experiments(user).filter(pk__in=numbers).values_list("pk", flat=True))
    return {
        attempt.worker_id: _describe(attempt)
        if attempt.trial.experiment_id in visible
        else Doing(attempt.leased_unix_s, None, "", "", "")
        for attempt in attempts
    }


def _describe(attempt: Attempt) -> Doing:
    trial = attempt.trial
    return Doing(
        attempt.leased_unix_s,
        trial.experiment_id,
        trial.experiment.name,
        trial.trial_id,
        decode_planned_trial(bytes(trial.plan)).package,
    )
