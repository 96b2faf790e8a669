"""Which machines tell most about all others: greedy reduction of the variance that the suite has."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from datamill.platforms.methods.centred import LEAST_VARIANCE, Centred
from datamill.platforms.methods.shared_covariance import find_covariance
from datamill.platforms.scores.score_matrix import FloatArray

#: Variance of an application's ratio to the suite, in units of the mean variance of a pattern: large, so that
#: the first machine is one that stands for most.
_RATIO_VARIANCE = 10.0
#: Passes in which each chosen machine may be exchanged for a better one.
_MOST_PASSES = 5


def choose_greedily(
    logs: FloatArray, count: int, always: Sequence[int] = (), among: Sequence[int] | None = None
) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Choose machines, and return the share of all machines' variance that is left after each.

    Variances are those of `share_covariance` for an application like the suite's benchmarks; no time of an
    application enters (sequential D-optimal and integrated-variance designs: Seo and others 2000). After the
    greedy choice each machine is exchanged for another as long as that leaves less; then they are put in
    the order in which each leaves least.

    Args:
        logs: logarithms of the suite (n × p), without gaps.
        count: how many, those in `always` included.
        always: rows that are chosen whatever they tell.
        among: rows that may be chosen; all by default.
    """
    covariance, noise = _find_prior(logs)
    candidates = [row for row in (range(len(logs)) if among is None else among) if row not in always]
    chosen = list(_reduce_variance(covariance, noise, count, always, candidates))
    for _ in range(_MOST_PASSES):
        best, before = _leave(covariance, chosen, noise), list(chosen)
        for place in range(len(always), len(chosen)):
            for row in candidates:
                if row in chosen:
                    continue
                tried = [*chosen[:place], row, *chosen[place + 1 :]]
                left_then = _leave(covariance, tried, noise)
                if left_then < best * (1 - 1e-9):
                    best, chosen = left_then, tried
        if chosen == before:
            break
    ordered = list(always)
    while len(ordered) < len(chosen):
        rest = [row for row in chosen if row not in ordered]
        ordered.append(min(rest, key=lambda row: _leave(covariance, [*ordered, row], noise)))
    total = float(np.trace(covariance))
    shares = tuple(_leave(covariance, ordered[: place + 1], noise) / total for place in range(len(ordered)))
    return tuple(ordered), shares


def choose_quickly(logs: FloatArray, count: int) -> tuple[int, ...]:
    """The greedy choice alone, without exchanges: milliseconds; arguments as `choose_greedily`."""
    covariance, noise = _find_prior(logs)
    return _reduce_variance(covariance, noise, count, (), range(len(logs)))


def find_variance_left(logs: FloatArray, rows: Sequence[int]) -> float:
    """The share of all machines' variance that is left once these are measured."""
    covariance, noise = _find_prior(logs)
    return _leave(covariance, rows, noise) / float(np.trace(covariance))


def _reduce_variance(
    covariance: FloatArray, noise: float, count: int, always: Sequence[int], candidates: Sequence[int]
) -> tuple[int, ...]:
    """Take the machines in `always`, then in turn the one that takes most variance off all machines."""
    left = covariance.copy()
    chosen: list[int] = []
    while len(chosen) < count:
        gain = (left**2).sum(axis=0) / (np.diagonal(left) + noise)
        if len(chosen) < len(always):
            best = always[len(chosen)]
        else:
            best = max((row for row in candidates if row not in chosen), key=lambda row: float(gain[row]))
        chosen.append(best)
        left = left - np.outer(left[best], left[best]) / (left[best, best] + noise)
    return tuple(chosen)


def _find_prior(logs: FloatArray) -> tuple[FloatArray, float]:
    """Covariance of an application's ratio to the suite over all machines (n × n), and noise of a time."""
    levels = logs.mean(axis=1)
    patterns = logs - levels[:, None]
    patterns = patterns - patterns.mean(axis=0)
    nothing = np.zeros((1, len(logs)))
    given = Centred(levels[None], patterns[None], nothing, np.zeros(1), nothing)
    covariance: FloatArray = find_covariance(given, 1.0, 1.0).trained[0]
    size = max(float((patterns**2).mean()), LEAST_VARIANCE)
    covariance = covariance + _RATIO_VARIANCE * size
    return covariance, LEAST_VARIANCE + 1e-6 * float(np.trace(covariance)) / len(covariance)


def _leave(covariance: FloatArray, chosen: Sequence[int], noise: float) -> float:
    """The sum of variances over all machines once those chosen are measured."""
    rows = np.asarray(chosen, dtype=np.intp)
    inner = covariance[np.ix_(rows, rows)] + noise * np.eye(len(rows))
    across = covariance[rows]
    solved = np.linalg.solve(inner, across)
    return float(np.trace(covariance) - (across * solved).sum())
