"""Boosted trees that only rise with each feature, and whose probabilities are calibrated."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from datamill.selection.predictors.case import Case, keep_labelled
from datamill.selection.predictors.models.stumps import Boosted, Stump
from datamill.selection.predictors.preparation.calibration import fit_platt
from datamill.selection.predictors.preparation.feature_matrix import fit_scaling

#: Rounds, the share of each one's step, and the penalty on a leaf's squared value.
ROUNDS, RATE, PENALTY = 60, 0.2, 1.0
#: Parts in the order of the history, each predicted by a model of the others, from which probabilities are
#: calibrated.
PARTS = 5


def fit_boosting(cases: Sequence[Case]) -> Boosted:
    """Fit stumps by Newton boosting of the log-loss (Friedman 2001; Chen and Guestrin 2016, eqs. 5 to 7).

    A split is only taken where the side above has the larger value, so that more change never makes a case
    less likely. Probabilities are calibrated on predictions of parts of the history by models of the other
    parts, with Platt's targets (1999) and a slope of at least 0; with fewer than five cases of a kind they
    are left as they are.
    """
    labelled = sorted(keep_labelled(cases), key=lambda case: case.new_order)
    changed = np.asarray([bool(case.changed) for case in labelled], dtype=np.float64)
    hits = int(changed.sum())
    warnings: tuple[str, ...] = ()
    if hits in (0, len(labelled)):
        warnings = ("the history has cases of one kind only: all get the same probability",)
    scaling = fit_scaling(labelled)
    start, stumps = _boost(scaling.build_matrix(labelled), changed)
    if min(hits, len(labelled) - hits) < PARTS:
        if not warnings:
            warnings = ("fewer than five cases of a kind: probabilities are not calibrated",)
        return Boosted(scaling, start, stumps, warnings=warnings)
    held = np.empty(len(labelled))
    for part in np.array_split(np.arange(len(labelled)), PARTS):
        rest = np.setdiff1d(np.arange(len(labelled)), part)
        others = fit_scaling([labelled[index] for index in rest])
        begun, trees = _boost(others.build_matrix([labelled[index] for index in rest]), changed[rest])
        held[part] = _add_up(others.build_matrix([labelled[index] for index in part]), begun, trees)
    slope, shift = fit_platt(held, changed)
    return Boosted(scaling, start, stumps, slope, shift, warnings)


def _boost(matrix: NDArray[np.float64], changed: NDArray[np.float64]) -> tuple[float, tuple[Stump, ...]]:
    share = (changed.sum() + 0.5) / (len(changed) + 1.0)
    start = float(logit(share))
    total = np.full(len(changed), start)
    orders = [np.argsort(column, kind="stable") for column in matrix.T]
    stumps: list[Stump] = []
    for _ in range(ROUNDS):
        probability = expit(total)
        found = _find_stump(matrix, orders, changed - probability, probability * (1 - probability))
        if found is None:
            break
        stumps.append(found)
        total += np.where(matrix[:, found.feature] >= found.least, found.above, found.below)
    return start, tuple(stumps)


def _find_stump(
    matrix: NDArray[np.float64],
    orders: list[NDArray[np.intp]],
    pull: NDArray[np.float64],
    weight: NDArray[np.float64],
) -> Stump | None:
    best, gain = None, 1e-9
    for feature, order in enumerate(orders):
        values = matrix[order, feature]
        cuts = np.flatnonzero(np.diff(values) > 0)
        if not len(cuts):
            continue
        pulls, weights = np.cumsum(pull[order]), np.cumsum(weight[order])
        below = pulls[cuts] / (weights[cuts] + PENALTY)
        above = (pulls[-1] - pulls[cuts]) / (weights[-1] - weights[cuts] + PENALTY)
        gains = pulls[cuts] * below + (pulls[-1] - pulls[cuts]) * above
        gains -= pulls[-1] ** 2 / (weights[-1] + PENALTY)
        gains[above <= below] = -np.inf
        at = int(np.argmax(gains))
        if gains[at] > gain:
            gain = float(gains[at])
            middle = float((values[cuts[at]] + values[cuts[at] + 1]) / 2)
            best = Stump(feature, middle, RATE * float(below[at]), RATE * float(above[at]))
    return best


def _add_up(matrix: NDArray[np.float64], start: float, stumps: tuple[Stump, ...]) -> NDArray[np.float64]:
    total = np.full(len(matrix), start)
    for stump in stumps:
        total += np.where(matrix[:, stump.feature] >= stump.least, stump.above, stump.below)
    return total
