"""How certain a mean square is, in degrees of freedom, without taking anything for normal."""

from __future__ import annotations

import numpy as np

from datamill.analysis.model_data.cells import FloatArray, IntArray
from datamill.analysis.random_effects.mean_squares import MeanSquare
from datamill.analysis.random_effects.nested_data.execution_means import ExecutionMeans

#: With fewer units than these nothing can be said of their kurtosis.
_FEWEST_UNITS = 4


def find_freedom(averaged: ExecutionMeans, square: MeanSquare) -> float:
    """Degrees of freedom of a chi-square that spreads as the mean square does, at most the usual ones.

    2 S⁴ / Var(S²): the variance is estimated from how much the mean squares of the groups that it pools
    differ, or, where there is one group, from the kurtosis of its values. Heavy tails leave fewer.
    """
    if square.value <= 0:
        return square.df
    if square.level == "measurement":
        # Squares alone are at hand: of a single execution they say nothing of the kurtosis.
        relative = _compare_groups(averaged.within_ss, averaged.counts - 1, square.value)
    elif square.level == "execution" and len(averaged.build_means) > 1:
        residuals = averaged.means - np.repeat(averaged.build_means, averaged.executions_of_builds)
        sums = np.add.reduceat(residuals**2, averaged.builds[:-1])
        relative = _compare_groups(sums, averaged.executions_of_builds - 1, square.value)
    else:
        units = averaged.means if square.level == "execution" else averaged.build_means
        relative = _use_kurtosis(units, square)
    if relative is None or relative <= 0:
        return square.df
    return max(1.0, min(square.df, 2 / relative))


def _compare_groups(sums: FloatArray, dfs: IntArray, pooled: float) -> float | None:
    """Variance of a pooled mean square over its square, from those of its groups; None where there is one.

    In shares of the mean square, so that no unit makes it under- or overflow.
    """
    kept = dfs > 0
    count = int(kept.sum())
    if count < 2:
        return None
    weights = dfs[kept] / dfs[kept].sum()
    deviations = sums[kept] / pooled / dfs[kept] - 1
    return float(np.sum((weights * deviations) ** 2)) * count / (count - 1)


def _find_excess_kurtosis(units: FloatArray) -> float:
    """G2, unbiased for normal units (n ≥ 4); 0 where all are equal."""
    n = units.size
    deviations = units - np.mean(units)
    square = float(np.mean(deviations**2))
    if square == 0:
        return 0.0
    biased = float(np.mean(deviations**4)) / square**2
    return (n - 1) / ((n - 2) * (n - 3)) * ((n + 1) * biased - 3 * (n - 1))


def _use_kurtosis(units: FloatArray, square: MeanSquare) -> float | None:
    """Variance of the variance of independent units over its square; a flat one counts as normal."""
    count = len(units)
    if count < _FEWEST_UNITS:
        return None
    spread = float(np.ptp(units)) or 1.0
    excess = max(0.0, _find_excess_kurtosis(units / spread))
    return 2 / square.df + excess / count
