"""One turn of the coordinator: what is due at this time is done."""

from __future__ import annotations

from datamill.service.coordinator.experiments.dispatch import find_next_rest, lease_trials
from datamill.service.coordinator.experiments.experiments import settle_experiments
from datamill.service.coordinator.presence.deadlines import expire_leases, find_next_deadline
from datamill.service.coordinator.presence.health import judge_packages, judge_workers
from datamill.service.coordinator.presence.members import move_trials

#: Longest time between two turns, in seconds.
MOST_IDLE_S = 60.0


def step(now_s: float) -> float:
    """Expire, judge, move, settle and lease; return the seconds after which it must be called again."""
    expire_leases(now_s)
    judge_workers(now_s)
    judge_packages(now_s)
    wait_s = move_trials(now_s)
    if settle_experiments(now_s):
        wait_s = 0.0
    lease_trials(now_s)
    for due_s in (find_next_deadline(), find_next_rest(now_s)):
        if due_s is not None:
            wait_s = min(wait_s, due_s - now_s)
    return max(0.0, min(wait_s, MOST_IDLE_S))
