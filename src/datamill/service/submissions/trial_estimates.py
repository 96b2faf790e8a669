"""How long trials take, from those that counted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from django.db.models import Count, Max

from datamill.experiment.records import Experiment
from datamill.service.models import ENDED_TRIALS, OPEN_EXPERIMENTS, Attempt, AttemptState, Trial

#: Earlier trials of a package whose mean time is the estimate for the next ones.
_TIMED_TRIALS = 50
#: Latest attempts among which they are looked for: of a package that none measured, all would be looked at.
_LATEST_ATTEMPTS = 50_000


def estimate_trial_times(digests: Sequence[str], experiment: Experiment | None) -> dict[str, float]:
    """Return how long trials of packages took lately, from lease to report, in seconds, by SHA-256.

    Trials before which the machine was rebooted are told apart from others, unless `experiment` is None.
    Packages that no trial measured lately have no entry.
    """
    times = {}
    latest = Attempt.objects.aggregate(latest=Max("pk"))["latest"] or 0
    for digest in set(digests):
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
    """Return for how long workers have trials of other experiments to make, in seconds, by worker."""
    rows = (
        Trial.objects.filter(experiment__state__in=OPEN_EXPERIMENTS)
        .exclude(state__in=ENDED_TRIALS)
        .values_list("worker_id", "package_sha256")
        .annotate(count=Count("pk"))
        .order_by()
    )
    waiting = list(rows)
    times = estimate_trial_times([digest for _, digest, _ in waiting], None)
    busy: dict[str, float] = defaultdict(float)
    for worker_id, digest, count in waiting:
        busy[worker_id] += count * times.get(digest, 0.0)
    return busy
