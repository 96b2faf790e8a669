"""Confidence set of a ratio of two estimates."""

from __future__ import annotations

import math

from datamill.analysis.records import Ratio


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
    squared = critical * critical
    a = denominator**2 - squared * denominator_variance
    b = numerator * denominator - squared * covariance
    c = numerator**2 - squared * numerator_variance
    if a <= 0:
        note = "the ratio cannot be bounded: the mean that it divides by may be zero"
        return Ratio(estimate, None, None, note)
    reach = math.sqrt(max(b * b - a * c, 0.0))
    return Ratio(estimate, (b - reach) / a, (b + reach) / a, "")
