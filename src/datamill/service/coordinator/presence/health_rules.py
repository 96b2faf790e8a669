"""When a worker fails too often, and when a package is what fails: rules on counts alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, inf, lgamma

#: How much more often than its peers a worker must fail, and by how unlikely a chance, to be drained.
DRAIN_RATIO = 2.0
DRAIN_ALPHA = 0.01
#: Failures that are a pattern: in a large fleet a single one can be beyond chance.
DRAIN_FAILURES = 3
#: Lost attempts, and workers among them, that put a package under suspicion.
POISON_LOST = 3
POISON_WORKERS = 2


@dataclass(frozen=True, slots=True)
class Account:
    """Attempts of a worker that ended, and how many of them failed for reasons of the host."""

    ended: int
    failed: int


_NOBODY = Account(0, 0)


def find_failing_workers(accounts: Mapping[str, Account], others: Account = _NOBODY) -> dict[str, str]:
    """Return the workers that fail at least twice as often as their peers, beyond chance; and why, in words.

    The peers of a worker are all others together; `others` are peers who are not judged. Chance is judged by
    Fisher's exact test, one-sided.
    """
    ended = others.ended + sum(account.ended for account in accounts.values())
    failed = others.failed + sum(account.failed for account in accounts.values())
    failing = {}
    for worker_id, account in accounts.items():
        peers = Account(ended - account.ended, failed - account.failed)
        if account.failed < DRAIN_FAILURES or not peers.ended:
            continue
        rate, usual = account.failed / account.ended, peers.failed / peers.ended
        if rate >= DRAIN_RATIO * usual and compute_fisher_p(account, peers) < DRAIN_ALPHA:
            failing[worker_id] = (
                f"{account.failed} of its {account.ended} attempts failed, "
                f"of its peers' {peers.failed} of {peers.ended}"
            )
    return failing


def compute_fisher_p(one: Account, others: Account) -> float:
    """Return the chance that `one` fails at least so often when all fail equally (Fisher's exact test)."""
    total, failed = one.ended + others.ended, one.failed + others.failed
    whole = _log_ways(total, one.ended)
    chance, before = 0.0, inf
    for k in range(one.failed, min(one.ended, failed) + 1):
        term = exp(_log_ways(failed, k) + _log_ways(total - failed, one.ended - k) - whole)
        chance += term
        # Beyond their peak terms fall faster and faster: the rest is less than what is told.
        if term < before and term < chance * 1e-12:
            break
        before = term
    return min(chance, 1.0)


def _log_ways(n: int, k: int) -> float:
    """Logarithm of the ways to choose k of n; minus infinity where there is none."""
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) if 0 <= k <= n else -inf


def is_poison(lost: int, workers: int, completed: int) -> bool:
    """Tell whether a package brings machines down, by attempts that were lost and completed under it."""
    return lost >= POISON_LOST and workers >= POISON_WORKERS and not completed
