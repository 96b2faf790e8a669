"""How long trials take, from those that counted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

import msgspec
from django.db.models import Max, Sum

from datamill.experiment.experiment import Experiment
from datamill.results.bundles.bundle_head import BundleHead
from datamill.service.models import Attempt, ExperimentTime, FleetExperiment, Pace, StoredFile, TrialCount
from datamill.service.states import ENDED_TRIALS, OPEN_EXPERIMENTS, AttemptState

#: Earlier trials of a package whose mean time is the estimate for the next ones.
_TIMED_TRIALS = 50
#: Latest attempts among which they are looked for: of a package that none measured, all are looked at.
_LATEST_ATTEMPTS = 5_000


def estimate_trial_times(digests: Sequence[str], experiment: Experiment | None) -> dict[str, float]:
    """Return how long trials of packages took lately, from lease to report, in seconds, by SHA-256.

    Trials before which the machine was rebooted are told apart from others, unless `experiment` is None.
    Packages that no trial measured lately have no entry.
    """
    times = {}
    stored = set(StoredFile.objects.filter(pk__in=set(digests)).values_list("pk", flat=True))
    latest = Attempt.objects.aggregate(latest=Max("pk"))["latest"] or 0
    # What nobody brought, nobody measured.
    for digest in stored:
        attempts = Attempt.objects.filter(
            pk__gt=latest - _LATEST_ATTEMPTS, state=AttemptState.COUNTED, trial__package_sha256=digest
        )
        if experiment is not None:
            attempts = attempts.filter(rebooted=experiment.fleet.reboot == "trial")
        pairs = attempts.order_by("-id").values_list("leased_unix_s", "ended_unix_s")[:_TIMED_TRIALS]
        elapsed_s = [ended - leased for leased, ended in pairs if ended is not None]
        if elapsed_s:
            times[digest] = sum(elapsed_s) / len(elapsed_s)
        elif experiment is not None:
            times |= estimate_trial_times([digest], None)
    return times


def mean_time(times: Mapping[str, float]) -> float | None:
    """Return the mean of the known times, None when none is known."""
    return sum(times.values()) / len(times) if times else None


def list_busy_times() -> dict[str, float]:
    """Return for how long workers have trials of other experiments to make, in seconds, by worker.

    By the counts of trials: how long one held the worker in that experiment, else its pace there, else how
    long its packages took lately. Who takes turns with an experiment slows its pace, not the time held.
    """
    rows = (
        TrialCount.objects.filter(experiment__state__in=OPEN_EXPERIMENTS, trials__gt=0)
        .exclude(state__in=ENDED_TRIALS)
        .values_list("experiment_id", "worker_id")
        .annotate(left=Sum("trials"))
        .order_by()
    )
    waiting = list(rows)
    numbers = {number for number, _, _ in waiting}
    paces = {
        (number, worker_id): max(0.0, last_s - first_s) / trials
        for number, worker_id, trials, first_s, last_s in Pace.objects.filter(
            experiment__in=numbers
        ).values_list("experiment_id", "worker_id", "trials", "first_leased_unix_s", "last_ended_unix_s")
    }
    paces |= {
        (number, worker_id): held_s / attempts
        for number, worker_id, held_s, attempts in ExperimentTime.objects.filter(
            experiment__in=numbers
        ).values_list("experiment_id", "worker_id", "held_s", "attempts")
    }
    usual = _estimate_usual_times(numbers)
    busy: dict[str, float] = defaultdict(float)
    for number, worker_id, left in waiting:
        busy[worker_id] += left * paces.get((number, worker_id), usual[number])
    return busy


def list_packages(head: bytes) -> list[str]:
    """Return the packages of an experiment, by SHA-256, from its head."""
    return [package.sha256 for package in msgspec.json.decode(head, type=BundleHead).packages]


def _estimate_usual_times(numbers: Collection[int]) -> dict[int, float]:
    """Return how long trials of experiments take, by their packages, in seconds; 0 when nobody knows."""
    heads = FleetExperiment.objects.filter(pk__in=numbers).values_list("pk", "head")
    packages = {number: list_packages(bytes(head)) for number, head in heads}
    times = estimate_trial_times([digest for digests in packages.values() for digest in digests], None)
    return {
        number: mean_time({digest: times[digest] for digest in digests if digest in times}) or 0.0
        for number, digests in packages.items()
    }
