"""The mean of a version over its independent units: builds, or what there is below them."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtri

from datamill.analysis.contrast import find_critical
from datamill.analysis.random_effects.comparison_records import VersionMean
from datamill.analysis.random_effects.execution_means import average_executions
from datamill.analysis.random_effects.mean_squares import NestedSquares, compute_mean_squares
from datamill.analysis.random_effects.records import Level, NestedValues
from datamill.analysis.records import Interval
from datamill.experiment.errors import InputError

#: A spread below this many roundings of a value is none.
_ROUNDINGS = 8.0


def estimate_version_mean(values: NestedValues, confidence: float) -> VersionMean:
    """Mean of a version, every build with the same weight, and in a build every execution.

    Its variance is that of the build means over their number, which holds whether or not builds have equally
    many executions (E[S²_V / l] is the mean's variance, EPEW 2006 section 3.1). With a single build its
    executions take the place of builds, and with a single execution the measurements.

    Raises:
        InputError: the version has a single measurement.
    """
    averaged = average_executions(values)
    found = compute_mean_squares(averaged)
    if not found.squares:
        raise InputError(
            f"version {values.version} has a single measurement of {values.response}: nothing says how "
            "far off it is",
            remedy="Measure several builds of it, or at least several executions.",
        )
    top = found.squares[0]
    mean = averaged.origin + found.top_mean
    rounding = _ROUNDINGS * float(np.finfo(np.float64).eps) * float(np.max(np.abs(values.values)))
    alike = math.sqrt(top.value) <= rounding
    variance = 0.0 if alike else top.value / found.top_count
    reach = find_critical(confidence, found.top_df) * math.sqrt(variance)
    paper = 0.0 if alike else _find_paper_variance(found)
    paper_reach = float(ndtri((1 + confidence) / 2)) * math.sqrt(paper)
    return VersionMean(
        version=values.version,
        level=top.level,
        units=found.top_count,
        builds=values.build_count,
        executions=found.executions,
        measurements=found.measurements,
        n=int(values.values.size),
        value=Interval(mean, mean - reach, mean + reach),
        paper=Interval(mean, mean - paper_reach, mean + paper_reach),
        df=found.top_df,
        variance=variance,
        spread=math.sqrt(variance * found.top_count),
    )


def _find_paper_variance(found: NestedSquares) -> float:
    """The variance of the mean in EPEW 2006 equation 17: each mean square over all units of its level.

    A level that was not repeated has no mean square: what it adds cannot be seen.
    """
    executions = found.builds * found.executions
    units: dict[Level, float] = {
        "build": found.builds,
        "execution": executions,
        "measurement": executions * found.measurements,
    }
    return sum(square.value / units[square.level] for square in found.squares)
