"""Quantile regression as JSON, with stable keys and every digit of a double."""

from __future__ import annotations

from typing import Any

from datamill.analysis.linear.mean_lines import MeanCoefficient, MeanLines
from datamill.analysis.quantile.quantile_model import Described, QuantileModel
from datamill.report.quantiles.answer import bound_p
from datamill.report.tables.interval_json import spell_interval


def spell_quantiles(
    observations: Described, model: QuantileModel, mean: MeanLines | None = None
) -> dict[str, Any]:
    """Write a model as values of JSON.

    Keys: `response`, `unit`, `n`, `trials` (null where each observation is one),
    `units` ("builds" where `trials` counts these), `cells`, `smallest_cell`, `excluded`,
    `put_aside` (rows by what they are),
    `saturated`, `errors`, `method`, `confidence`, `alpha`, `replicates`, `seed`; `factors` (name,
    levels, low first); `covariates`, `covariate_means` (where the model counts them from);
    `quantiles`: for each `quantile`, `objective`, `unique`,
    `flat_width`, `extreme`, `coefficients` (name, term, estimate, low, high, standard_error, p,
    p_is_bound; the intercept first, its term null) and `terms` (term, df, block, p, p_is_bound,
    p_adjusted, detected, and for main effects with more than two levels `levels`
    and `largest_change`, from one of them to another, which holds for all pairs);
    `changes` are the coefficients in the 0/1 coding, from the first level of each factor; `not_estimable`,
    `crossings`; `mean`, what least squares give (`coefficients`, `changes`, `method`), null where they give
    nothing. A bound is null where it is infinite, p where no test
    exists, `flat_width` where data were streamed. p is not adjusted, and with `p_is_bound` at most
    that; p_adjusted is Holm's over the terms at a quantile that are no blocks, of p-values
    extrapolated beyond the draws.
    """
    return {
        "response": observations.response,
        "unit": observations.unit,
        "n": model.n,
        "trials": model.trials,
        "units": model.units,
        "cells": model.cells,
        "smallest_cell": model.smallest_cell,
        "excluded": observations.excluded,
        "put_aside": dict(observations.put_aside),
        "saturated": model.saturated,
        "errors": model.errors,
        "method": model.method,
        "confidence": model.confidence,
        "alpha": model.alpha,
        "replicates": model.replicates,
        "seed": model.seed,
        "factors": [{"name": factor.name, "levels": list(factor.levels)} for factor in model.factors],
        "covariates": list(model.covariates),
        "covariate_means": list(model.covariate_means),
        "quantiles": [
            {
                "quantile": fit.quantile,
                "objective": fit.objective,
                "unique": fit.unique,
                "flat_width": fit.flat_width,
                "extreme": fit.extreme,
                "coefficients": [
                    {
                        "name": row.name,
                        "term": row.term or None,
                        **spell_interval(row.value),
                        "standard_error": row.standard_error,
                        **_spell_p(model, row.p),
                    }
                    for row in fit.coefficients
                ],
                "changes": [
                    {
                        "name": row.name,
                        "term": row.term or None,
                        **spell_interval(row.value),
                        "standard_error": row.standard_error,
                        **_spell_p(model, row.p),
                    }
                    for row in fit.changes
                ],
                "terms": [
                    {
                        "term": term.term.name,
                        "df": term.term.df,
                        "block": term.term.name in model.blocks,
                        **_spell_p(model, term.p),
                        "p_adjusted": term.p_adjusted,
                        "detected": model.passes(term),
                        "levels": [
                            {"level": effect.levels[0], **spell_interval(effect.value)}
                            for effect in term.levels
                        ],
                        "largest_change": None
                        if term.gap is None
                        else {"from": term.gap.low, "to": term.gap.high, **spell_interval(term.gap.value)},
                    }
                    for term in fit.terms
                ],
            }
            for fit in model.fits
        ],
        "not_estimable": list(model.not_estimable),
        "crossings": model.crossings,
        "mean": None
        if mean is None
        else {
            "coefficients": [_spell_mean(row) for row in mean.effects],
            "changes": [_spell_mean(row) for row in mean.changes],
            "confidence": mean.confidence,
            "method": mean.method,
        },
    }


def _spell_mean(row: MeanCoefficient) -> dict[str, Any]:
    return {
        "name": row.name,
        "term": row.term or None,
        **spell_interval(row.value),
        "standard_error": row.standard_error,
        "p": row.p,
    }


def _spell_p(model: QuantileModel, p: float | None) -> dict[str, float | bool | None]:
    told, is_bound = bound_p(model, p)
    return {"p": told, "p_is_bound": is_bound}
