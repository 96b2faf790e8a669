"""How far an experiment is, and how what happened to it is told."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from datamill.protocol.api.events import EventLine
from datamill.protocol.api.fleet.stages import StageLine
from datamill.service.models import Event, FleetExperiment, FleetWorker, Pace, TrialCount
from datamill.service.queue.stages import describe_stages
from datamill.service.states import ENDED_EXPERIMENTS, ENDED_TRIALS, TrialPurpose, TrialState
from datamill.service.submissions.trial_estimates import estimate_trial_times, list_packages, mean_time

#: What people are told of a trial or an attempt that has its record and is no part of the answer.
DONE = "done"


def name_state(purpose: str, state: str) -> str:
    """Return what people are told of the state of a trial or an attempt: only trials of the design count."""
    return DONE if state == TrialState.COUNTED and purpose != TrialPurpose.DESIGN else state


@dataclass(frozen=True, slots=True)
class Progress:
    """Numbers of trials by state: of the design, of debugging, and of the design by worker's name.

    `stages` are builds, profiles and trials of the design, where there are several of these. `finish_s` is
    the estimated time from now until the last trial ends, None when there is no telling.
    """

    trials: dict[str, int]
    debug_trials: dict[str, int]
    workers: dict[str, dict[str, int]]
    finish_s: float | None
    stages: tuple[StageLine, ...] = ()


def count_progress(experiment: FleetExperiment, now_s: float) -> Progress:
    """Return how far an experiment is: by the counts that the database keeps, however many trials it has."""
    trials: dict[str, int] = defaultdict(int)
    debug: dict[str, int] = defaultdict(int)
    workers: dict[str, dict[str, int]] = defaultdict(dict)
    rows = (
        TrialCount.objects.filter(experiment=experiment, trials__gt=0)
        .values_list("purpose", "worker__name", "state", "trials")
        .order_by("worker__name", "state")
    )
    counts = []
    for purpose, worker, state, count in rows:
        counts.append((purpose, state, count))
        if purpose == TrialPurpose.DESIGN:
            trials[state] += count
            workers[worker][state] = count
        elif purpose == TrialPurpose.DEBUG:
            debug[name_state(purpose, state)] += count
    finish_s = _estimate_finish(experiment, workers, now_s)
    return Progress(dict(trials), dict(debug), dict(workers), finish_s, describe_stages(counts))


def _estimate_finish(
    experiment: FleetExperiment, workers: dict[str, dict[str, int]], now_s: float
) -> float | None:
    """Return the time until the slowest worker is done, at the pace that it or its package had so far."""
    if experiment.state in ENDED_EXPERIMENTS:
        return 0.0
    left = {
        name: sum(count for state, count in states.items() if state not in ENDED_TRIALS)
        for name, states in workers.items()
    }
    if not any(left.values()):
        return 0.0
    paces = _read_paces(experiment, now_s)
    if not paces:
        head = FleetExperiment.objects.filter(pk=experiment.pk).values_list("head", flat=True).get()
        usual = mean_time(estimate_trial_times(list_packages(bytes(head)), None))
        return max(left.values()) * usual if usual is not None else None
    usual = sum(paces.values()) / len(paces)
    return max(count * paces.get(name, usual) for name, count in left.items())


def _read_paces(experiment: FleetExperiment, now_s: float) -> dict[str, float]:
    """Return the mean time of a counted trial by worker, from its first lease on, in seconds."""
    rows = Pace.objects.filter(experiment=experiment).values_list(
        "worker__name", "trials", "first_leased_unix_s", "last_ended_unix_s"
    )
    return {worker: max(0.0, min(last, now_s) - first) / count for worker, count, first, last in rows}


def name_workers(events: Iterable[Event]) -> dict[str, str]:
    """Return the names of the workers that events speak of, by identity."""
    ids = {event.worker_id for event in events} - {""}
    return dict(FleetWorker.objects.filter(pk__in=ids).values_list("pk", "name")) if ids else {}


def describe_event(event: Event, worker_name: str = "") -> EventLine:
    """Return an event, or a row with its fields, as the API tells it."""
    return EventLine(
        id=event.id,
        unix_s=event.unix_s,
        kind=event.kind,
        user=event.user,
        worker=worker_name or event.worker_id,
        experiment=event.experiment_id,
        attempt=event.attempt,
        package_sha256=event.package_sha256,
        detail=event.detail,
    )
