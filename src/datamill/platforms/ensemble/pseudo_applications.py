"""The suite's own benchmarks, each taken for the application in turn: what the methods learn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from datamill.platforms.ensemble.difficulty import describe_difficulty
from datamill.platforms.ensemble.members import predict_members
from datamill.platforms.methods.centred import Centred, center_applications, hold_out_each
from datamill.platforms.methods.transposed_ridge import Method
from datamill.platforms.scores.score_matrix import FloatArray, IntArray

#: More benchmarks than these are not taken in turn: the time grows with their number, what is learned hardly.
MOST_TAKEN = 60


@dataclass(frozen=True, slots=True, eq=False)
class PseudoApplications:
    """What members predict for benchmarks that are taken for the application.

    `taken` (P) are the benchmarks' columns. `errors` (B × P × m) are ln(predicted / true) by member, NaN
    where the suite has no value of a benchmark on a target; `difficulty` (P × m × f) as
    `describe_difficulty`.
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

    Args:
        logs: logarithms of the suite (n × p), trained machines first, without gaps.
        observed: which of them were measured (n × p); a benchmark with a gap on a trained machine, or on
            every target, is not taken for the application.
        trained: how many machines are trained.
        methods: the members.
        seed: draws which benchmarks are taken where the suite has more than `MOST_TAKEN`.
    """
    # A benchmark that no target has tells nothing of errors there.
    usable = np.flatnonzero(observed[:trained].all(axis=0) & observed[trained:].any(axis=0))
    if not len(usable) or logs.shape[1] < 2:
        targets = len(logs) - trained
        nothing = np.empty((len(methods), 0, targets))
        return PseudoApplications(np.empty(0, np.int64), nothing, np.empty((0, targets, 5)))
    if len(usable) > MOST_TAKEN:
        usable = np.sort(np.random.default_rng(seed).choice(usable, MOST_TAKEN, replace=False))
    suites, own = hold_out_each(logs, usable)
    given = center_applications(suites, own[:, :trained])
    members = predict_members(given, methods)
    true = np.where(observed[trained:, usable].T, own[:, trained:], np.nan)
    return PseudoApplications(usable, members - true, describe_difficulty(given, members))


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
