"""The mean of a version over its independent units: builds, or what there is below them."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtri

from datamill.analysis.contrasts.contrast import find_critical
from datamill.analysis.distribution.skewed_means import find_telling_skewness
from datamill.analysis.interval import Interval
from datamill.analysis.model_data.cells import FloatArray
from datamill.analysis.random_effects.mean_squares import compute_mean_squares, compute_paper_variance
from datamill.analysis.random_effects.nested_data.execution_means import (
    average_executions,
    is_rounding,
    list_units,
)
from datamill.analysis.random_effects.nested_data.nested_values import NestedValues
from datamill.analysis.random_effects.variance_estimate import Level
from datamill.analysis.versions.version_comparison import VersionMean
from datamill.experiment.errors import InputError


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
    alike = is_rounding(math.sqrt(top.value), values)
    variance = 0.0 if alike else top.value / found.top_count
    reach = find_critical(confidence, found.top_df) * math.sqrt(variance)
    paper = 0.0 if alike else compute_paper_variance(found)
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
        skewness=0.0 if alike else find_telling_skewness(list_units(averaged, values, top.level)),
    )


def list_unit_means(values: NestedValues, level: Level) -> FloatArray:
    """Means of a version's builds or executions, or its measurements, in ascending order."""
    averaged = average_executions(values)
    return np.sort(list_units(averaged, values, level)) + averaged.origin
