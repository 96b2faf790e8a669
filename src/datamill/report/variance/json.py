"""Variances of nested measurements as JSON with every digit; null stands for what cannot be known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from datamill.analysis.random_effects.nested_data.within_executions import MeasurementOrder
from datamill.analysis.random_effects.variance_estimate import Share, VarianceEstimate
from datamill.analysis.versions.variances import VersionVariances
from datamill.report.tables.interval_json import spell_known
from datamill.report.variance.statement import phrase_method


def spell_variances(
    versions: Sequence[VersionVariances],
    excluded: int,
    seed: int,
    put_aside: Sequence[tuple[str, int]] = (),
) -> dict[str, Any]:
    """Write the variances of versions as a JSON object; shares are fractions, variances in the unit squared.

    Keys: `response`, `unit`, `excluded`, `put_aside` (rows by what they
    are), `confidence`, `seed`, `method`; `versions`, each with `estimate`, `other_method` (of unbalanced
    data), `impact` and `order`.
    """
    first = versions[0].estimate
    return {
        "response": first.response,
        "unit": first.unit,
        "excluded": excluded,
        "put_aside": dict(put_aside),
        "confidence": first.confidence,
        "seed": seed,
        "method": phrase_method(first),
        "versions": [spell_version(item) for item in versions],
    }


def spell_version(item: VersionVariances) -> dict[str, Any]:
    """Write the variances of one version, what its builds cost, and the order of its measurements."""
    return {
        "version": item.nested.version,
        "balanced": item.nested.balanced,
        "estimate": _spell_estimate(item.estimate),
        "other_method": None if item.other is None else _spell_estimate(item.other),
        "impact": {
            "factor": spell_known(item.impact.factor),
            "bootstrap": spell_known(item.impact.bootstrap),
            "between_sd": item.impact.between_sd,
            "within_sd": item.impact.within_sd,
            "variation_percent": spell_known(item.impact.variation_percent),
            "reason": item.impact.reason,
        },
        "order": _spell_order(item.order),
        "warnings": list(item.warnings),
    }


def _spell_estimate(estimate: VarianceEstimate) -> dict[str, Any]:
    return {
        "method": estimate.method,
        "builds": estimate.builds,
        "executions": estimate.executions,
        "measurements": estimate.measurements,
        "n": estimate.n,
        "mean": spell_known(estimate.mean),
        "df": estimate.df,
        "paper_mean": spell_known(estimate.paper_mean),
        "mean_squares": estimate.mean_squares,
        "variances": estimate.components,
        "standard_deviations": estimate.deviations,
        "unknown": estimate.unknown,
        "uncertainty": _spell_shares(estimate.uncertainty),
        "variation": _spell_shares(estimate.variation),
    }


def _spell_shares(shares: Sequence[Share]) -> dict[str, dict[str, float]]:
    return {
        share.level: {"estimate": share.estimate, "low": share.low, "high": share.high} for share in shares
    }


def _spell_order(order: MeasurementOrder) -> dict[str, Any]:
    trend = order.trend
    return {
        "executions": order.executions,
        "alpha": order.alpha,
        "method": order.method,
        "autocorrelation": order.autocorrelation,
        "trend": None
        if trend is None
        else {
            "first": trend.first,
            "difference": trend.difference,
            "percent": trend.percent,
            "p": trend.p,
            "more_warmup": trend.settles,
            "shift": trend.shift,
        },
    }
