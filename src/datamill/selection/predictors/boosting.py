"""Boosted trees that only rise with each feature, and whose probabilities are calibrated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
#: What a split gains at least: less is rounding.
_LEAST_GAIN = 1e-9


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
    columns = _sort_columns(matrix)
    stumps: list[Stump] = []
    for _ in range(ROUNDS):
        probability = expit(total)
        found = _find_stump(columns, changed - probability, probability * (1 - probability))
        if found is None:
            break
        stumps.append(found)
        total += np.where(matrix[:, found.feature] >= found.least, found.above, found.below)
    return start, tuple(stumps)


@dataclass(frozen=True, slots=True)
class _SortedColumns:
    """The rows by each feature, p × n, and where a value is followed by a larger one, p × (n - 1)."""

    order: NDArray[np.intp]
    values: NDArray[np.float64]
    is_cut: NDArray[np.bool_]


def _sort_columns(matrix: NDArray[np.float64]) -> _SortedColumns:
    order = np.argsort(matrix, axis=0, kind="stable").T.copy()
    values = np.take_along_axis(matrix.T, order, axis=1)
    return _SortedColumns(order, values, np.diff(values, axis=1) > 0)


def _find_stump(
    columns: _SortedColumns, pull: NDArray[np.float64], weight: NDArray[np.float64]
) -> Stump | None:
    """The split of the largest gain whose side above has the larger value; None where none gains."""
    if not columns.is_cut.any():
        return None
    pulls = np.cumsum(pull[columns.order], axis=1)
    weights = np.cumsum(weight[columns.order], axis=1)
    rest, rest_weight = pulls[:, -1:] - pulls[:, :-1], weights[:, -1:] - weights[:, :-1]
    below = pulls[:, :-1] / (weights[:, :-1] + PENALTY)
    above = rest / (rest_weight + PENALTY)
    gains = pulls[:, :-1] * below + rest * above - pulls[:, -1:] ** 2 / (weights[:, -1:] + PENALTY)
    gains[~columns.is_cut | (above <= below)] = -np.inf
    feature, at = np.unravel_index(int(np.argmax(gains)), gains.shape)
    if gains[feature, at] <= _LEAST_GAIN:
        return None
    middle = float((columns.values[feature, at] + columns.values[feature, at + 1]) / 2)
    return Stump(int(feature), middle, RATE * float(below[feature, at]), RATE * float(above[feature, at]))


def _add_up(matrix: NDArray[np.float64], start: float, stumps: tuple[Stump, ...]) -> NDArray[np.float64]:
    total = np.full(len(matrix), start)
    for stump in stumps:
        total += np.where(matrix[:, stump.feature] >= stump.least, stump.above, stump.below)
    return total
