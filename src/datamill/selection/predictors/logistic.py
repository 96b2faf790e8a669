"""Logistic regression with a penalty on the squared coefficients."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from datamill.selection.predictors.case import Case, keep_labelled
from datamill.selection.predictors.models.linear import Logistic
from datamill.selection.predictors.preparation.feature_matrix import fit_scaling

#: Weight of the penalty: half the sum of squares of the coefficients times this, beside the sum of
#: log-losses.
PENALTY = 1.0
#: The same of the offsets of benchmarks: their log-odds are taken to differ by 1 from the mean, typically.
OFFSET_PENALTY = 1.0


def fit_logistic(cases: Sequence[Case]) -> Logistic:
    """Fit by Newton's method; coefficients are at least 0, since indicators foretell change by high values.

    Benchmarks share the coefficients, and each has an offset that is drawn towards the mean of all, the more
    the fewer its cases (partial pooling: the mode of a logistic model with normal random intercepts of
    variance 1 / `OFFSET_PENALTY`; Gelman and Hill 2007, chapter 14). One benchmark alone has none. The
    intercept is free of the penalty, so that the mean probability in training is the share of changes. A
    history of one kind gets one case of the other kind's weight, so that probabilities are never 0 or 1.
    """
    labelled = keep_labelled(cases)
    scaling = fit_scaling(labelled)
    matrix = scaling.build_matrix(labelled)
    changed = np.asarray([bool(case.changed) for case in labelled], dtype=np.float64)
    n, hits = len(labelled), float(changed.sum())
    share = (hits + 0.5) / (n + 1.0)
    warnings = (
        () if 0 < hits < n else ("the history has cases of one kind only: all get the same probability",)
    )
    start = float(np.log(share / (1 - share)))
    names = scaling.names
    if warnings or not names:
        return Logistic(scaling, start, (0.0,) * len(names), warnings)
    benchmarks = sorted({case.benchmark for case in labelled})
    if len(benchmarks) == 1:
        benchmarks = []
    belongs = [[case.benchmark == name for name in benchmarks] for case in labelled]
    design = np.column_stack([np.ones(n), matrix, np.asarray(belongs, dtype=np.float64).reshape(n, -1)])
    penalty = np.concatenate([[0.0], np.full(len(names), PENALTY), np.full(len(benchmarks), OFFSET_PENALTY)])
    only_up = np.zeros(len(penalty), dtype=bool)
    only_up[1 : 1 + len(names)] = True
    beta = np.zeros(len(penalty))
    beta[0] = start
    beta = _descend(design, changed, beta, penalty, only_up)
    slopes, offsets = beta[1 : 1 + len(names)], beta[1 + len(names) :]
    return Logistic(
        scaling,
        float(beta[0]),
        tuple(map(float, slopes)),
        warnings,
        dict(zip(benchmarks, map(float, offsets), strict=True)),
    )


def _descend(
    design: NDArray[np.float64],
    changed: NDArray[np.float64],
    beta: NDArray[np.float64],
    penalty: NDArray[np.float64],
    only_up: NDArray[np.bool_],
) -> NDArray[np.float64]:
    """Newton's steps over coefficients that are free: of `only_up` those above 0, or that rise."""
    for _ in range(200):
        probability = expit(design @ beta)
        gradient = design.T @ (probability - changed) + penalty * beta
        free = ~only_up | (beta > 0) | (gradient < 0)
        if float(np.abs(gradient[free]).max()) < 1e-8:
            break
        weighted = design[:, free] * (probability * (1 - probability))[:, None]
        hessian = design[:, free].T @ weighted + np.diag(penalty[free] + 1e-12)
        step = np.zeros_like(beta)
        step[free] = np.linalg.solve(hessian, gradient[free])
        beta = _shorten(design, changed, beta, step, penalty, only_up)
    return beta


def _shorten(
    design: NDArray[np.float64],
    changed: NDArray[np.float64],
    beta: NDArray[np.float64],
    step: NDArray[np.float64],
    penalty: NDArray[np.float64],
    only_up: NDArray[np.bool_],
) -> NDArray[np.float64]:
    def loss(at: NDArray[np.float64]) -> float:
        linear = design @ at
        return float(np.sum(np.logaddexp(0.0, linear) - changed * linear) + 0.5 * np.sum(penalty * at**2))

    before, scale = loss(beta), 1.0
    while scale > 1e-10:
        found = beta - scale * step
        found[only_up] = np.maximum(found[only_up], 0.0)
        if loss(found) < before:
            return found
        scale /= 2
    return beta
