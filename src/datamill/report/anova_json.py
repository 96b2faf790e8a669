"""The analysis of variance as JSON, with stable keys and every digit of a double."""

from __future__ import annotations

import json
from typing import Any

from datamill.analysis.observations import Observations
from datamill.analysis.records import AssumptionChecks, Interval, LinearModel


def format_anova_json(observations: Observations, model: LinearModel, checks: AssumptionChecks | None) -> str:
    """Write a model as JSON.

    Keys: `schema` (1); `response`, `unit`, `n`, `cells`, `excluded`, `averaged_trials`, `order`,
    `confidence`, `alpha`, `method`; `factors` (name, levels, low first); `mean` (estimate, low,
    high); `coefficients` (name, term, estimate, low, high, standard_error); `terms` (term, sum_sq,
    df, mean_sq, f, p, and for main effects `levels`: level, estimate, low, high); `error` (sum_sq,
    df, mean_sq); `total` (sum_sq, df); `r_squared`; `lack_of_fit` (sum_sq, df, f, p) or null;
    `balanced`; `not_estimable`; `checks` (assumption, method, statistic, p); `warnings`. F and p
    are null where no test exists; a p of 0 is below the smallest double.
    """
    content: dict[str, Any] = {
        "schema": 1,
        "response": observations.response,
        "unit": observations.unit,
        "n": model.n,
        "cells": model.cells,
        "excluded": observations.excluded,
        "averaged_trials": observations.averaged,
        "order": model.order,
        "confidence": model.confidence,
        "alpha": model.alpha,
        "method": model.method,
        "factors": [{"name": factor.name, "levels": list(factor.levels)} for factor in model.factors],
        "mean": _spell(model.mean),
        "coefficients": [
            {
                "name": item.name,
                "term": item.term,
                **_spell(item.value),
                "standard_error": item.standard_error,
            }
            for item in model.coefficients
        ],
        "terms": [
            {
                "term": row.term.name,
                "sum_sq": row.sum_sq,
                "df": row.term.df,
                "mean_sq": row.mean_sq,
                "f": row.f,
                "p": row.p,
                "levels": [{"level": effect.levels[0], **_spell(effect.value)} for effect in row.effects],
            }
            for row in model.terms
        ],
        "error": {"sum_sq": model.error_ss, "df": model.error_df, "mean_sq": model.error_ms},
        "total": {"sum_sq": model.total_ss, "df": model.n - 1},
        "r_squared": model.r_squared,
        "lack_of_fit": None,
        "balanced": model.balanced,
        "not_estimable": list(model.not_estimable),
        "checks": [],
        "warnings": list(model.warnings),
    }
    if model.lack_of_fit is not None:
        lack = model.lack_of_fit
        content["lack_of_fit"] = {"sum_sq": lack.sum_sq, "df": lack.df, "f": lack.f, "p": lack.p}
    if checks is not None:
        content["checks"] = [
            {
                "assumption": check.assumption,
                "method": check.method,
                "statistic": check.statistic,
                "p": check.p,
            }
            for check in checks.checks
        ]
        content["warnings"] += list(checks.warnings)
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)


def _spell(value: Interval) -> dict[str, float]:
    return {"estimate": value.estimate, "low": value.low, "high": value.high}
