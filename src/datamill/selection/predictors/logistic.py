"""Logistic regression whose coefficients are drawn towards 0, or towards those of other projects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from datamill.selection.predictors.case import Case, keep_labelled
from datamill.selection.predictors.models.linear import Logistic
from datamill.selection.predictors.models.scaling import Scaling
from datamill.selection.predictors.preparation.feature_matrix import fit_scaling

#: Weight of the penalty: half the sum of squares of the coefficients times this, beside the sum of
#: log-losses.
PENALTY = 1.0
#: The same of the offsets of benchmarks: their log-odds are taken to differ by 1 from the mean, typically.
OFFSET_PENALTY = 1.0
#: The same of how far coefficients lie from those that other projects taught. Of 1, 4 and 16, by the
#: histories of lz4 and cJSON.
APART_PENALTY = 4.0


def fit_logistic(cases: Sequence[Case], others: Logistic | None = None) -> Logistic:
    """Fit by Newton's method; coefficients are at least 0, since indicators foretell change by high values.

    Benchmarks share the coefficients, and each has an offset that is drawn towards the mean of all, the more
    the fewer its cases (partial pooling: the mode of a logistic model with normal random intercepts of
    variance 1 / `OFFSET_PENALTY`; Gelman and Hill 2007, chapter 14). One benchmark alone has none. The
    intercept is free of the penalty, so that the mean probability in training is the share of changes. A
    history of one kind gets one case of the other kind's weight, so that probabilities are never 0 or 1.

    `others` is what other projects taught: coefficients are then drawn towards its, with their scales, and
    those of features that it lacks towards 0. A history of one kind keeps its coefficients, one without cases
    its intercept too.
    """
    labelled = keep_labelled(cases)
    scaling = _choose_scaling(labelled, others)
    matrix = scaling.build_matrix(labelled)
    changed = np.asarray([bool(case.changed) for case in labelled], dtype=np.float64)
    n, hits = len(labelled), float(changed.sum())
    names = scaling.names
    known = others.coefficients if others is not None else ()
    taught = np.concatenate([known, np.zeros(len(names) - len(known))])
    if not 0 < hits < n or not names:
        warnings = (
            ()
            if 0 < hits < n
            else (
                "the history has cases of one kind only: "
                + ("all get the same probability" if others is None else "other projects rank them"),
            )
        )
        intercept = others.intercept if others is not None and not n else _match_mean(matrix @ taught, hits)
        return Logistic(scaling, intercept, tuple(map(float, taught)), warnings)
    benchmarks = sorted({case.benchmark for case in labelled})
    if len(benchmarks) == 1:
        benchmarks = []
    belongs = [[case.benchmark == name for name in benchmarks] for case in labelled]
    design = np.column_stack([np.ones(n), matrix, np.asarray(belongs, dtype=np.float64).reshape(n, -1)])
    penalty = np.concatenate(
        [
            [0.0],
            np.full(len(known), APART_PENALTY),
            np.full(len(names) - len(known), PENALTY),
            np.full(len(benchmarks), OFFSET_PENALTY),
        ]
    )
    only_up = np.zeros(len(penalty), dtype=bool)
    only_up[1 : 1 + len(names)] = True
    center = np.concatenate([[0.0], taught, np.zeros(len(benchmarks))])
    beta = center.copy()
    beta[0] = _match_mean(matrix @ taught, hits)
    beta = _descend(_Problem(design, changed, penalty, center, only_up), beta)
    slopes, offsets = beta[1 : 1 + len(names)], beta[1 + len(names) :]
    return Logistic(
        scaling,
        float(beta[0]),
        tuple(map(float, slopes)),
        (),
        dict(zip(benchmarks, map(float, offsets), strict=True)),
    )


def _choose_scaling(cases: Sequence[Case], others: Logistic | None) -> Scaling:
    """The features and scales of `others` first, then those that it lacks, by what was seen in training."""
    own = fit_scaling(cases)
    if others is None:
        return own
    theirs = others.scaling
    more = [place for place, name in enumerate(own.names) if name not in theirs.names]
    return Scaling(
        (*theirs.names, *(own.names[place] for place in more)),
        (*theirs.largest, *(own.largest[place] for place in more)),
        theirs.logarithmic,
        (*theirs.units, *(own.units[place] for place in more)),
    )


def _match_mean(linear: NDArray[np.float64], hits: float) -> float:
    """The intercept that makes the mean probability the share of changes, half a case of each kind added."""
    n = len(linear)
    share = (hits + 0.5) / (n + 1.0)
    low, high = -50.0, 50.0
    for _ in range(60):
        middle = (low + high) / 2
        mean = float(expit(middle + linear).mean()) if n else float(expit(middle))
        low, high = (middle, high) if mean < share else (low, middle)
    return (low + high) / 2


@dataclass(frozen=True, slots=True)
class _Problem:
    """What is minimised: the log-loss of n × p, and a penalty on squared distances from `center`."""

    design: NDArray[np.float64]
    changed: NDArray[np.float64]
    penalty: NDArray[np.float64]
    center: NDArray[np.float64]
    only_up: NDArray[np.bool_]

    def loss(self, at: NDArray[np.float64]) -> float:
        """Return the penalised log-loss."""
        linear = self.design @ at
        apart = self.penalty * (at - self.center) ** 2
        return float(np.sum(np.logaddexp(0.0, linear) - self.changed * linear) + 0.5 * np.sum(apart))


def _descend(problem: _Problem, beta: NDArray[np.float64]) -> NDArray[np.float64]:
    """Newton's steps over coefficients that are free: of `only_up` those above 0, or that rise."""
    design, penalty = problem.design, problem.penalty
    for _ in range(200):
        probability = expit(design @ beta)
        gradient = design.T @ (probability - problem.changed) + penalty * (beta - problem.center)
        free = ~problem.only_up | (beta > 0) | (gradient < 0)
        if float(np.abs(gradient[free]).max()) < 1e-8:
            break
        weighted = design[:, free] * (probability * (1 - probability))[:, None]
        hessian = design[:, free].T @ weighted + np.diag(penalty[free] + 1e-12)
        step = np.zeros_like(beta)
        step[free] = np.linalg.solve(hessian, gradient[free])
        beta = _shorten(problem, beta, step)
    return beta


def _shorten(problem: _Problem, beta: NDArray[np.float64], step: NDArray[np.float64]) -> NDArray[np.float64]:
    before, scale = problem.loss(beta), 1.0
    while scale > 1e-10:
        found = beta - scale * step
        found[problem.only_up] = np.maximum(found[problem.only_up], 0.0)
        if problem.loss(found) < before:
            return found
        scale /= 2
    return beta
