"""The suite's own benchmarks, each taken for the application in turn: what the methods learn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from datamill.platforms.ensemble.difficulty import describe_difficulty
from datamill.platforms.ensemble.members import predict_members
from datamill.platforms.methods.centred import Centred, center_applications, hold_out_each
from datamill.platforms.methods.shared_covariance import share_covariance
from datamill.platforms.methods.transposed_ridge import Method
from datamill.platforms.scores.score_matrix import FloatArray, IntArray

#: More benchmarks than these are not taken in turn: the time grows with their number, what is learned hardly.
MOST_TAKEN = 60
#: Where fewer benchmarks than these were measured on all trained machines, those count as well that were on
#: this share of them. The errors that come of it are a little larger than the application's.
_ENOUGH, _NEARLY_ALL = 10, 0.8
#: Benchmarks are copies where they differ by less than this share of the median difference of two, which some
#: copies do not move, nor one benchmark unlike all others; or by no more than rounding.
_COPY, _ROUNDING = 0.1, 1e-9
_PREDICT_GAP = share_covariance(1.0, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class PseudoApplications:
    """What members predict for benchmarks that are taken for the application.

    `taken` (P) are the benchmarks' columns, one of several that are copies of each other. `errors`
    (B × P × m) are ln(predicted / true) by member, NaN where the suite has no value of a benchmark on a
    target; `difficulty` (P × m × f) as `describe_difficulty`.
    """

    taken: IntArray
    errors: FloatArray
    difficulty: FloatArray


def predict_pseudo_applications(
    logs: FloatArray,
    observed: NDArray[np.bool_],
    trained: int,
    methods: Sequence[Method],
    seed: int = 0,
) -> PseudoApplications:
    """Predict benchmarks from the rest of the suite, as if each were the application.

    Copies of a benchmark are not taken, and do not predict it: the application has no copy in the suite.

    Args:
        logs: logarithms of the suite (n × p), trained machines first, without gaps.
        observed: which of them were measured (n × p). A benchmark with a gap on a trained machine is taken
            for the application only where fewer than ten have none, and then what it lacks is predicted from
            the other trained machines: not from targets, whose values are what it is to predict.
        trained: how many machines are trained.
        methods: the members.
        seed: draws which benchmarks are taken where the suite has more than `MOST_TAKEN`.
    """
    usable = _find_usable(observed, trained)
    kept = _leave_out_copies(logs, usable)
    columns = np.setdiff1d(np.arange(logs.shape[1]), np.setdiff1d(usable, kept))
    logs, observed, usable = logs[:, columns], observed[:, columns], np.searchsorted(columns, kept)
    if not len(usable) or logs.shape[1] < 2:
        targets = len(logs) - trained
        nothing = np.empty((len(methods), 0, targets))
        return PseudoApplications(np.empty(0, np.int64), nothing, np.empty((0, targets, 5)))
    if len(usable) > MOST_TAKEN:
        usable = np.sort(np.random.default_rng(seed).choice(usable, MOST_TAKEN, replace=False))
    suites, own = hold_out_each(logs, usable)
    for row in np.flatnonzero(~observed[:trained, usable].all(axis=0)):
        have, lack = (np.flatnonzero(observed[:trained, usable[row]] == known) for known in (True, False))
        given = center_applications(suites[row, np.concatenate([have, lack])][None], own[row, have][None])
        own[row, lack] = _PREDICT_GAP(given)[0]
    given = center_applications(suites, own[:, :trained])
    members = predict_members(given, methods)
    true = np.where(observed[trained:, usable].T, own[:, trained:], np.nan)
    return PseudoApplications(columns[usable], members - true, describe_difficulty(given, members))


def _find_usable(observed: NDArray[np.bool_], trained: int) -> IntArray:
    """Columns of benchmarks that some target has, and all trained machines, or nearly all where few do."""
    there = observed[trained:].any(axis=0)
    share = observed[:trained].mean(axis=0)
    whole = np.flatnonzero(there & (share == 1))
    if len(whole) >= _ENOUGH:
        return whole
    return np.flatnonzero(there & (share >= _NEARLY_ALL) & (observed[:trained].sum(axis=0) > 1))


def _leave_out_copies(logs: FloatArray, usable: IntArray) -> IntArray:
    """Leave out benchmarks that differ from one before them by next to nothing on all machines.

    Copies are predicted by each other: they would say that applications are predicted as well as that.
    """
    apart = (logs[:, usable, None] - logs[:, None, usable]).std(axis=0)
    pairs = apart[np.triu_indices(len(usable), 1)]
    if not len(pairs):
        return usable
    limit = max(_COPY * float(np.median(pairs)), _ROUNDING)
    kept: list[int] = []
    for place in range(len(usable)):
        if not (apart[place, kept] < limit).any():
            kept.append(place)
    return usable[kept]


def predict_application(
    logs: FloatArray, times: FloatArray, methods: Sequence[Method]
) -> tuple[Centred, FloatArray]:
    """Return one application centred, and what members predict for it (B × m).

    Args:
        logs: logarithms of the suite (n × p), trained machines first.
        times: logarithms of the application's times on the trained machines (k).
        methods: the members.
    """
    given = center_applications(logs[None], times[None])
    return given, predict_members(given, methods)[:, 0]
