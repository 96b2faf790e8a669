"""Difference of two means over several strata, each stratum with the same weight."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from datamill.analysis.contrasts.contrast import (
    PooledError,
    bound_contrast,
    estimate_contrast,
    judge_contrast,
    use_own_errors,
    use_pooled_errors,
)
from datamill.analysis.groups.group_comparison import Group, GroupEstimate, GroupTest
from datamill.analysis.groups.means.mean_tests import STILL
from datamill.analysis.model_data.cells import Cells, ModelFactor, gather_cells


def compare_mean_over_strata(
    pairs: Sequence[tuple[Group, Group]], confidence: float, *, equal_variances: bool
) -> GroupTest:
    """Mean over the strata of the difference of two means (Welch–Satterthwaite, or one pooled variance)."""
    cells = _gather(pairs)
    if equal_variances:
        df = cells.n - cells.counts.size
        pooled = PooledError(float(np.sum(cells.within_ss)) / df, df)
        errors = use_pooled_errors(np.zeros(cells.counts.size, dtype=np.int64), (pooled,))
        name = "Student's t over strata"
    else:
        errors = use_own_errors(cells)
        name = "Welch-Satterthwaite t over strata"
    weights = np.tile([-1.0, 1.0], len(pairs)) / len(pairs)
    contrast = estimate_contrast(cells, weights, errors)
    p = judge_contrast(contrast)
    if p is None:
        return GroupTest(name, "t", None, (), None, (), name, (STILL,))
    estimate = GroupEstimate(
        "difference of means", bound_contrast(contrast, confidence), "response", confidence, name
    )
    statistic = contrast.estimate / contrast.variance**0.5
    method = f"{name}, each stratum with the same weight"
    return GroupTest(name, "t", statistic, (contrast.df,), p, (estimate,), method)


def _gather(pairs: Sequence[tuple[Group, Group]]) -> Cells:
    """Cells of no factor in particular: the groups in their order."""
    groups = [group for pair in pairs for group in pair]
    factor = ModelFactor("group", tuple(str(index) for index in range(len(groups))))
    codes = np.repeat(np.arange(len(groups)), [group.n for group in groups])
    return gather_cells([factor], [codes], np.concatenate([group.values for group in groups]))
