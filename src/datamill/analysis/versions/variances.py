"""All that nested measurements of one version tell of its variances, put together."""

from __future__ import annotations

import math
from dataclasses import dataclass

from datamill.analysis.random_effects.impact import BuildImpact, estimate_impact
from datamill.analysis.random_effects.nested_data.execution_means import (
    ExecutionMeans,
    average_executions,
)
from datamill.analysis.random_effects.nested_data.nested_values import NestedValues
from datamill.analysis.random_effects.nested_data.within_executions import (
    MeasurementOrder,
    StartTrend,
    check_measurement_order,
)
from datamill.analysis.random_effects.variance import VarianceMethod, estimate_variances
from datamill.analysis.random_effects.variance_estimate import VarianceEstimate
from datamill.experiment.messages.numbers import format_figures, format_fixed


@dataclass(frozen=True, slots=True, eq=False)
class VersionVariances:
    """One version: its values, means of its executions, variances, and what the order of measurements tells.

    `other` is the estimate by the method that was not asked for, where the data are not balanced; both agree
    otherwise, but for variances that are 0. `warnings` are those of all parts.
    """

    nested: NestedValues
    averaged: ExecutionMeans
    estimate: VarianceEstimate
    other: VarianceEstimate | None
    impact: BuildImpact
    order: MeasurementOrder
    warnings: tuple[str, ...]


def analyze_version(
    nested: NestedValues, confidence: float, *, method: VarianceMethod = "means", seed: int = 1
) -> VersionVariances:
    """Estimate variances, shares and impact of one version, and check the order of its measurements.

    Raises:
        InputError: there is one measurement only.
    """
    estimate = estimate_variances(nested, confidence, method=method, seed=seed)
    other = None
    if not nested.balanced:
        second: VarianceMethod = "means" if method == "reml" else "reml"
        other = estimate_variances(nested, confidence, method=second, seed=seed)
    order = check_measurement_order(nested)
    return VersionVariances(
        nested=nested,
        averaged=average_executions(nested),
        estimate=estimate,
        other=other,
        impact=estimate_impact(nested, confidence, seed=seed),
        order=order,
        warnings=(*estimate.warnings, *describe_order(order, estimate)),
    )


def describe_order(order: MeasurementOrder, estimate: VarianceEstimate) -> tuple[str, ...]:
    """What a trend or autocorrelation inside executions does to the estimate, in sentences."""
    found = []
    if order.trend is not None:
        found.append(_describe_trend(order.trend, order, estimate))
    if order.autocorrelation is not None:
        found.append(_describe_autocorrelation(order.autocorrelation, estimate))
    return tuple(found)


def _describe_trend(trend: StartTrend, order: MeasurementOrder, estimate: VarianceEstimate) -> str:
    which = "measurement lies" if trend.first == 1 else f"{trend.first} measurements lie"
    side = "above" if trend.difference > 0 else "below"
    size = "" if trend.percent is None else f"{format_figures(abs(trend.percent), 2)}% "
    p = "< 1e-300" if trend.p < 1e-300 else f"= {format_figures(trend.p, 2)}"
    text = (
        f"measurements of an execution depend on when they come: the first {which} {size}{side} the later "
        f"ones on average (p {p}, {order.executions} executions)"
    )
    if order.few:
        text += "; with so few executions a slow drift to either side looks the same"
    if trend.settles is None or trend.shift is None:
        return f"{text}; the trend goes on beyond their middle, so that more warm-up does not end it"
    moved = []
    half = (estimate.mean.high - estimate.mean.low) / 2
    if estimate.mean.estimate:
        sign = "−" if trend.shift < 0 else "+"
        moved.append(f"{sign}{format_figures(100 * abs(trend.shift / estimate.mean.estimate), 2)}%")
    if half > 0:
        moved.append(f"{format_figures(abs(trend.shift) / half, 2)} of its interval's half-width")
    effect = f", which moves the mean by {', '.join(moved)}" if moved else ""
    return f"{text}. The warm-up is too short: leave out {trend.settles} more{effect}"


def _describe_autocorrelation(correlation: float, estimate: VarianceEstimate) -> str:
    alike = "alike" if correlation > 0 else "opposed"
    sign = "−" if correlation < 0 else ""
    text = (
        f"neighbouring measurements of an execution are {alike} (correlation "
        f"{sign}{format_fixed(abs(correlation), 2)})"
    )
    above = next((level for level in ("execution", "build") if level in estimate.mean_squares), "")
    if above:
        less, more = ("understated", "overstated") if correlation > 0 else ("overstated", "understated")
        return (
            f"{text}: the interval of the mean rests on means of executions and stays valid, but the share "
            f"of measurements is {less} and that of {above}s {more}"
        )
    if correlation <= 0:
        return f"{text}: the interval, which takes them as independent, is too wide"
    near = min(correlation, 0.99)
    wider = math.sqrt((1 + near) / (1 - near))
    return (
        f"{text}: the interval, which takes them as independent, should be at least "
        f"{format_fixed(wider, 1)} times as wide"
    )
