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
    covariance = _find_prior(logs)
    noise = LEAST_VARIANCE + 1e-6 * float(np.trace(covariance)) / len(covariance)
    candidates = [row for row in (range(len(logs)) if among is None else among) if row not in always]
    chosen = list(always)
    while len(chosen) < count:
        left = [_leave(covariance, [*chosen, row], noise) for row in candidates if row not in chosen]
        rows = [row for row in candidates if row not in chosen]
        chosen.append(rows[int(np.argmin(left))])
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


def _find_prior(logs: FloatArray) -> FloatArray:
    """The covariance of an application's ratio to the suite, over all machines (n × n)."""
    levels = logs.mean(axis=1)
    patterns = logs - levels[:, None]
    patterns = patterns - patterns.mean(axis=0)
    nothing = np.zeros((1, len(logs)))
    given = Centred(levels[None], patterns[None], nothing, np.zeros(1), nothing)
    covariance: FloatArray = find_covariance(given, 1.0, 1.0).trained[0]
    size = max(float((patterns**2).mean()), LEAST_VARIANCE)
    return covariance + _RATIO_VARIANCE * size


def _leave(covariance: FloatArray, chosen: Sequence[int], noise: float) -> float:
    """The sum of variances over all machines once those chosen are measured."""
    rows = np.asarray(chosen, dtype=np.intp)
    inner = covariance[np.ix_(rows, rows)] + noise * np.eye(len(rows))
    across = covariance[rows]
    solved = np.linalg.solve(inner, across)
    return float(np.trace(covariance) - (across * solved).sum())
