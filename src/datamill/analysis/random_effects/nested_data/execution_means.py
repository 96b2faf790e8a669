"""Nested measurements reduced to what all estimators need: a mean and a sum of squares of each execution."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamill._native import nested_means
from datamill.analysis.model_data.cells import FloatArray, IntArray
from datamill.analysis.random_effects.nested_data.nested_values import NestedValues
from datamill.analysis.random_effects.variance_estimate import Level

#: A spread of fewer roundings of a value than this counts as no spread.
_ROUNDINGS = 8.0


@dataclass(frozen=True, slots=True, eq=False)
class ExecutionMeans:
    """The executions of one version (E) in their builds (l).

    `means` (E) are deviations from `origin`, one of the measurements, so that a large common offset costs no
    digits; `within_ss` (E) sums of squares about them, in the unit squared; `counts` (E) measurements of each
    execution. Build k has the executions from `builds[k]` up to `builds[k + 1]`; `build_means` (l) are
    unweighted means of its executions' means, deviations from `origin` as well.
    """

    origin: float
    means: FloatArray
    within_ss: FloatArray
    counts: IntArray
    builds: IntArray
    build_means: FloatArray

    @property
    def executions_of_builds(self) -> IntArray:
        """Number of executions of each build (l)."""
        return np.diff(self.builds)


def average_executions(nested: NestedValues) -> ExecutionMeans:
    """Reduce each execution to its mean and sum of squares, and each build to the mean of its executions."""
    origin = float(nested.values[0])
    # Deviations of equal values are exactly 0, and so is then what they vary by.
    means, within, build_means = nested_means(nested.values - origin, nested.executions, nested.builds)
    return ExecutionMeans(origin, means, within, np.diff(nested.executions), nested.builds, build_means)


def list_units(averaged: ExecutionMeans, nested: NestedValues, level: Level) -> FloatArray:
    """Means of the units of a level as deviations from `origin`: of builds, executions or measurements."""
    if level == "build":
        return averaged.build_means
    return averaged.means if level == "execution" else nested.values - averaged.origin


def is_rounding(spread: float, *nested: NestedValues) -> bool:
    """Whether a spread of means of these values, in their unit, is no more than their rounding explains."""
    largest = max(float(np.max(np.abs(item.values))) for item in nested)
    return spread <= _ROUNDINGS * float(np.finfo(np.float64).eps) * largest
