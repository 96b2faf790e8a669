"""An evaluation as JSON."""

from __future__ import annotations

from typing import Any

from datamill.analysis.interval import Interval
from datamill.platforms.evaluation.platform_evaluation import PlatformEvaluation
from datamill.platforms.evaluation.size_errors import SizeErrors
from datamill.platforms.evaluation.thresholds import ThresholdCurve
from datamill.platforms.evaluation.worst_models import WorstModels
from datamill.report.tables.interval_json import spell_interval


def spell_evaluation(evaluation: PlatformEvaluation) -> dict[str, Any]:
    """All figures; errors in shares of the mean time."""
    plan = evaluation.plan
    return {
        "machines": list(plan.machines),
        "benchmarks": list(plan.benchmarks),
        "sizes": [
            {"size": size, "sets": plan.count_sets(size), "all": plan.is_exhaustive(size)}
            for size in plan.sizes
        ],
        "seed": plan.seed,
        "confidence": evaluation.confidence,
        "at": evaluation.at,
        "normalised_by": "mean time of the application on all machines",
        "errors": [_spell_errors(item) for item in evaluation.errors],
        "thresholds": [_spell_curve(item) for item in evaluation.thresholds],
        "worst_decile": [_spell_worst(item) for item in evaluation.worst],
    }


def _spell_errors(item: SizeErrors) -> dict[str, Any]:
    box = item.box
    return {
        "strategy": item.variant.strategy,
        "limit": item.variant.limit or None,
        "size": item.size,
        "models": item.models,
        "unanswered": item.unanswered,
        "mean_predictors": item.predictors,
        "nrmse": {
            "median": spell_interval(item.median),
            "p75": spell_interval(item.upper_quartile),
            "p95": spell_interval(item.percentile_95),
            "worst": item.worst,
            "mean": {
                **spell_interval(item.mean),
                "by_model": _spell_ends(item.mean_of_models),
            },
            "lower_quartile": box.low_quartile,
            "whiskers": [box.low_whisker, box.high_whisker],
        },
        "target_error": dict(zip(("median", "p75", "p95", "worst"), item.target_errors, strict=True)),
        "not_above_zero": item.absurd,
    }


def _spell_ends(value: Interval) -> dict[str, float]:
    return {"low": value.low, "high": value.high}


def _spell_curve(curve: ThresholdCurve) -> dict[str, Any]:
    return {
        "strategy": curve.variant.strategy,
        "limit": curve.variant.limit or None,
        "size": curve.size,
        "undefined": curve.undefined,
        "thresholds": [
            {
                "adjusted_r2": item.adjusted_r2,
                "models": item.models,
                "share": spell_interval(item.share),
                "p95": spell_interval(item.percentile_95),
                "p99": spell_interval(item.percentile_99),
                "worst": item.worst,
            }
            for item in curve.thresholds
        ],
    }


def _spell_worst(worst: WorstModels) -> dict[str, Any]:
    return {
        "strategy": worst.variant.strategy,
        "limit": worst.variant.limit or None,
        "size": worst.size,
        "models": worst.models,
        "targets": worst.targets,
        "low": worst.low,
        "high": worst.high,
        "by_machine": dict(worst.machines),
        "by_application": dict(worst.applications),
        "half_of_them": list(worst.blamed),
        "worst_of_others": worst.worst_of_others,
    }
