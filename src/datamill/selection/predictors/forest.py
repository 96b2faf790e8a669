"""Random forests, as the thesis of 2019 trains them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from datamill import _native
from datamill.selection.predictors.case import Case, Fit, keep_labelled
from datamill.selection.predictors.models.forest import Forest, Tree
from datamill.selection.predictors.preparation.feature_matrix import fit_scaling
from datamill.selection.predictors.preparation.time_weights import weigh_by_time

SEED = 2019


def fit_forest(cases: Sequence[Case], *, trees: int = 100, seed: int = SEED) -> Forest:
    """Grow a forest (Breiman 2001) on features divided by their largest absolute value in training.

    As scikit-learn does by default: √p features are tried for each split by Gini's impurity, leaves are pure,
    each tree has n rows drawn with replacement. Cases are weighed by time (thesis 2019, 1.6).
    """
    labelled = keep_labelled(cases)
    scaling = fit_scaling(labelled, logarithmic=False)
    warnings = _warn_of_one_kind(labelled)
    if not labelled or not scaling.names:
        share = sum(bool(case.changed) for case in labelled) / len(labelled) if labelled else 0.0
        return Forest(scaling, (Tree((-1,), (share,), (0,), (0,)),), warnings)
    features, values, left, right, starts = _native.grow_forest(
        scaling.build_matrix(labelled),
        np.asarray([bool(case.changed) for case in labelled]),
        weigh_by_time(labelled),
        trees,
        max(1, math.isqrt(len(scaling.names))),
        seed,
    )
    grown = tuple(
        Tree(
            tuple(features[start:end].tolist()),
            tuple(values[start:end].tolist()),
            tuple(left[start:end].tolist()),
            tuple(right[start:end].tolist()),
        )
        for start, end in pairwise(starts.tolist())
    )
    return Forest(scaling, grown, warnings)


def make_forest_fit(trees: int) -> Fit:
    """Return what grows forests of so many trees."""
    return partial(fit_forest, trees=trees)


def _warn_of_one_kind(labelled: Sequence[Case]) -> tuple[str, ...]:
    kinds = {bool(case.changed) for case in labelled}
    return () if len(kinds) == 2 else ("the history has cases of one kind only: all get the same score",)
