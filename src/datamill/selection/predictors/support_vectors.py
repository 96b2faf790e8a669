"""Support vector machines, as the thesis of 2019 trains them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from datamill import _native
from datamill.selection.predictors.case import Case, Fit, keep_labelled
from datamill.selection.predictors.models.kernel_machine import DEGREE, Kernel, KernelMachine
from datamill.selection.predictors.preparation.calibration import fit_platt
from datamill.selection.predictors.preparation.feature_matrix import fit_scaling
from datamill.selection.predictors.preparation.time_weights import weigh_by_time

COST = 1.0
#: Parts from whose predictions by machines of the other parts probabilities are calibrated.
PARTS = 5
#: Cases that are learnt from, the latest ones: the kernel's matrix is held in memory.
MOST_CASES = 3000


def fit_support_vectors(cases: Sequence[Case], *, kernel: Kernel = "rbf") -> KernelMachine:
    """Fit a machine (Cortes and Vapnik 1995) on features divided by their largest absolute value in training.

    As scikit-learn does by default: cost 1, gamma = 1 / (p · variance), a polynomial of degree 3 without a
    constant. Cases are weighed by time (thesis 2019, 1.6). Probabilities are Platt's (1999), from five parts
    in the order of the history; with fewer than five cases of a kind the decision value itself is taken as
    the logit.
    """
    labelled = sorted(keep_labelled(cases), key=lambda case: case.new_order)[-MOST_CASES:]
    scaling = fit_scaling(labelled, logarithmic=False)
    changed = np.asarray([bool(case.changed) for case in labelled])
    hits = int(changed.sum())
    if hits in (0, len(labelled)) or not scaling.names:
        bias = 1.0 if hits and hits == len(labelled) else -1.0
        return KernelMachine(
            scaling, kernel, 1.0, (), (), bias, warnings=("the history has cases of one kind only",)
        )
    matrix, weights = scaling.build_matrix(labelled), weigh_by_time(labelled)
    gamma = 1 / (matrix.shape[1] * max(float(matrix.var()), 1e-12))
    coefficients, bias, converged = _native.fit_machine(matrix, changed, weights, kernel, gamma, COST)
    slope, shift = 1.0, 0.0
    if min(hits, len(labelled) - hits) >= PARTS:
        held = np.empty(len(labelled))
        for part in np.array_split(np.arange(len(labelled)), PARTS):
            rest = np.setdiff1d(np.arange(len(labelled)), part)
            if len(set(changed[rest].tolist())) < 2:
                held[part] = 0.0
                continue
            others, shifted, _ = _native.fit_machine(
                np.ascontiguousarray(matrix[rest]), changed[rest], weights[rest], kernel, gamma, COST
            )
            held[part] = shifted + compare_rows(matrix[part], matrix[rest], kernel, gamma) @ others
        slope, shift = fit_platt(held, changed.astype(np.float64))
    kept = np.flatnonzero(coefficients)
    return KernelMachine(
        scaling,
        kernel,
        gamma,
        tuple(map(tuple, matrix[kept].tolist())),
        tuple(coefficients[kept].tolist()),
        bias,
        slope,
        shift,
        () if converged else ("the machine was not optimised to its end",),
    )


def compare_rows(
    first: NDArray[np.float64], second: NDArray[np.float64], kernel: Kernel, gamma: float
) -> NDArray[np.float64]:
    """Return the kernel of each row of the first (m × p) with each of the second (n × p), m × n."""
    product = first @ second.T
    if kernel == "rbf":
        distance = (first**2).sum(axis=1)[:, None] + (second**2).sum(axis=1)[None, :] - 2 * product
        return np.asarray(np.exp(-gamma * np.maximum(distance, 0.0)))
    return np.asarray(np.tanh(gamma * product) if kernel == "sigmoid" else (gamma * product) ** DEGREE)


def make_machine_fit(kernel: Kernel) -> Fit:
    """Return what fits machines with a kernel."""
    return partial(fit_support_vectors, kernel=kernel)
