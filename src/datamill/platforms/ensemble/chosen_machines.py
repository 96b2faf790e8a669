"""Machines that were chosen by the suite's own scores flatter the suite's benchmarks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from datamill.platforms.ensemble.members import predict_members
from datamill.platforms.methods.centred import center_applications
from datamill.platforms.methods.transposed_ridge import Method
from datamill.platforms.methods.variance_reduction import choose_quickly, find_variance_left
from datamill.platforms.scores.score_matrix import FloatArray, IntArray

#: Machines that leave less than this much of what the greedy choice leaves were chosen, by us or alike.
_AS_CHOSEN = 1.25
#: Larger ratios of errors are chance.
_MOST = 2.0


def find_optimism(
    logs: FloatArray,
    observed: NDArray[np.bool_],
    trained: int,
    taken: IntArray,
    errors: FloatArray,
    weights: FloatArray,
    methods: Sequence[Method],
) -> float:
    """Return by what factor the pseudo-applications' errors are too small for an application; 1: not at all.

    Machines that `choose_machines` proposes tell most about the suite, of which each pseudo-application is a
    part; the application had no part in the choice. Where the trained machines look so chosen, machines are
    chosen anew without each pseudo-application, and its errors compared. The factor is the root mean square
    over them of the ratios of their errors' sizes: an application is one of them, with a ratio of its own.

    Args:
        logs: logarithms of the suite (n × p), trained machines first.
        observed: which of them were measured.
        trained: how many machines are trained.
        taken: columns of the pseudo-applications (P).
        errors: theirs with the machines as they are (P × m), NaN where unknown.
        weights: those of the members.
        methods: the members.
    """
    if trained >= len(logs) - 1:
        return 1.0
    best = find_variance_left(logs, choose_quickly(logs, trained))
    if find_variance_left(logs, range(trained)) > _AS_CHOSEN * best:
        return 1.0
    ratios = []
    for row, column in enumerate(taken):
        others = np.delete(logs, column, axis=1)
        rows = np.asarray(choose_quickly(others, trained), dtype=np.intp)
        rest = np.setdiff1d(np.arange(len(logs)), rows)
        order = np.concatenate([rows, rest])
        given = center_applications(others[order][None], logs[rows, column][None])
        anew = weights @ predict_members(given, methods)[:, 0] - logs[rest, column]
        anew = anew[observed[rest, column]]
        before = errors[row][np.isfinite(errors[row])]
        if len(anew) and len(before):
            ratios.append(min((anew**2).mean() / max(float((before**2).mean()), 1e-12), _MOST**2))
    return max(1.0, float(np.sqrt(np.mean(ratios)))) if ratios else 1.0
