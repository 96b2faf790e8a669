"""The analysis of variance as JSON, with stable keys and every digit of a double."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from datamill.analysis.assumptions.assumption_checks import AssumptionChecks
from datamill.analysis.levels.level_changes import LevelChanges
from datamill.analysis.linear.linear_model import LinearModel
from datamill.analysis.model_data.observations import Observations
from datamill.analysis.quantile.quantile_model import QuantileModel
from datamill.report.changes.json import spell_changes
from datamill.report.tables.interval_json import spell_interval


def spell_anova(
    observations: Observations,
    model: LinearModel,
    checks: AssumptionChecks | None,
    quantiles: QuantileModel | None = None,
    changes: LevelChanges | None = None,
) -> dict[str, Any]:
    """Write a model as values of JSON.

    Keys: `response`, `unit`, `n`, `cells`, `excluded`, `put_aside` (rows by what
    they are), `averaged_trials`, `averaged_builds`, `order`,
    `confidence`, `alpha`, `method`, `squares` (type of the sums of squares); `factors` (name,
    levels, low first); `covariates` (name, mean, where the model counts it from); `mean` (estimate,
    low, high); `changes` (of each factor, for each package or all: factor, group, n; `level` and
    `against`, the better and the worse one of the two levels that differ most, difference and ratio with
    low and high, p, verdict; `levels`: level, n, mean, and `change` against one and the same level);
    `coefficients`, half-changes where a factor has two levels (name, term, estimate, low, high,
    standard_error); `terms` (term, block, sum_sq, df, mean_sq, f, p, p_holm, and for main effects
    `levels` and `adjusted_means`: level, estimate, low,
    high); `shares` (term, levels, percent of the mean, standard_error); `error` (sum_sq, df,
    mean_sq); `total` (sum_sq, df); `r_squared`; `lack_of_fit` (sum_sq, df, f, p) or null; `blocks`
    (names, sum_sq, df, f, p, error_mean_sq_without, efficiency) or null; `balanced`;
    `not_estimable`; `checks` (assumption, method, statistic, p, state, size, measure, words,
    advice); `error_shape` and `most_influential` or null; `trust`, `advice`; `quantiles` (quantile,
    coefficients with name, term, estimate, low, high, p) where they were fitted. F and
    p are null where no test exists; a p of 0 is below the smallest double.
    """
    content: dict[str, Any] = {
        "response": observations.response,
        "unit": observations.unit,
        "n": model.n,
        "cells": model.cells,
        "excluded": observations.excluded,
        "put_aside": dict(observations.put_aside),
        "averaged_trials": observations.averaged,
        "averaged_builds": observations.averaged_builds,
        "order": model.order,
        "confidence": model.confidence,
        "alpha": model.alpha,
        "method": model.method,
        "squares": model.squares,
        "factors": [{"name": factor.name, "levels": list(factor.levels)} for factor in model.factors],
        "covariates": [{"name": item.name, "mean": item.mean} for item in model.covariates],
        "mean": spell_interval(model.mean),
        "changes": spell_changes(changes),
        "coefficients": [
            {
                "name": item.name,
                "term": item.term,
                **spell_interval(item.value),
                "standard_error": item.standard_error,
            }
            for item in model.coefficients
        ],
        "terms": [
            {
                "term": row.term.name,
                "block": row.block,
                "sum_sq": row.sum_sq,
                "df": row.term.df,
                "mean_sq": row.mean_sq,
                "f": row.f,
                "p": row.p,
                "p_holm": row.p_holm,
                "levels": [
                    {"level": effect.levels[0], **spell_interval(effect.value)} for effect in row.effects
                ],
                "adjusted_means": [
                    {"level": mean.levels[0], **spell_interval(mean.value)} for mean in row.means
                ],
            }
            for row in model.terms
        ],
        "shares": [
            {
                "term": share.term,
                "levels": list(share.levels),
                "percent": share.percent,
                "standard_error": share.standard_error,
            }
            for share in model.shares
        ],
        "error": {"sum_sq": model.error_ss, "df": model.error_df, "mean_sq": model.error_ms},
        "total": {"sum_sq": model.total_ss, "df": model.n - 1},
        "r_squared": model.r_squared,
        "lack_of_fit": None,
        "blocks": None,
        "balanced": model.balanced,
        "not_estimable": list(model.not_estimable),
        "checks": [],
        "error_shape": None,
        "most_influential": None,
        "trust": None,
        "advice": "",
        "quantiles": [],
    }
    if model.lack_of_fit is not None:
        lack = model.lack_of_fit
        content["lack_of_fit"] = {"sum_sq": lack.sum_sq, "df": lack.df, "f": lack.f, "p": lack.p}
    if model.block_gain is not None:
        gain = model.block_gain
        content["blocks"] = {
            "names": list(gain.blocks),
            "sum_sq": gain.sum_sq,
            "df": gain.df,
            "f": gain.f,
            "p": gain.p,
            "error_mean_sq_without": gain.error_ms_without,
            "efficiency": gain.efficiency,
        }
    if checks is not None:
        content["checks"] = [asdict(check) for check in checks.checks]
        content["error_shape"] = None if checks.shape is None else asdict(checks.shape)
        content["most_influential"] = None if checks.influential is None else asdict(checks.influential)
        content["trust"], content["advice"] = checks.trust, checks.advice
    if quantiles is not None:
        content["quantiles"] = [
            {
                "quantile": fit.quantile,
                "coefficients": [
                    {"name": item.name, "term": item.term, **spell_interval(item.value), "p": item.p}
                    for item in fit.coefficients
                ],
            }
            for fit in quantiles.fits
        ]
    return content
