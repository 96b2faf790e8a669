"""Confidence set of a ratio of two estimates."""

from __future__ import annotations

import math

from datamill.analysis.interval import Ratio


def bound_ratio(
    numerator: float,
    denominator: float,
    *,
    numerator_variance: float,
    denominator_variance: float,
    covariance: float = 0.0,
    critical: float,
) -> Ratio | None:
    """Fieller's confidence set of numerator / denominator; None when the denominator is zero.

    `critical` is the two-sided quantile of Student's distribution. The set holds every ratio r
    for which numerator − r · denominator does not differ from zero (Fieller 1954). It is an
    interval exactly when the denominator itself differs from zero.
    """
    if denominator == 0:
        return None
    estimate = numerator / denominator
    # All in units of the denominator, so that no unit makes this over- or underflow.
    above = numerator_variance / denominator / denominator
    below = denominator_variance / denominator / denominator
    shared = covariance / denominator / denominator
    squared = critical * critical
    width = 1.0 - squared * below
    if width <= 0:
        note = "the ratio cannot be bounded: the mean that it divides by may be zero"
        return Ratio(estimate, None, None, note)
    # The textbook's root of b² − a·c, multiplied out: the difference of squares would lose every
    # digit of an interval that is narrow against the ratio.
    spread = above + estimate**2 * below - 2 * estimate * shared - squared * (above * below - shared**2)
    reach = critical * math.sqrt(max(spread, 0.0)) / width
    middle = (estimate - squared * shared) / width
    return Ratio(estimate, middle - reach, middle + reach, "")
