"""Models in a unit that suits their size, as a table shows them: nanoseconds rather than 3e-09 seconds."""

from __future__ import annotations

from dataclasses import replace

from datamill.analysis.linear.linear_model import LevelEffect, LinearModel
from datamill.analysis.quantile.quantile_model import QuantileModel
from datamill.report.words.scales import Scale, choose_effect_scale


def choose_model_scale(model: LinearModel, unit: str) -> Scale:
    """Scale for everything that tables show of a model; values of a transform stay as they are.

    A covariate's slope has no part in it: it is as large as its own unit makes it.
    """
    if model.transform:
        return Scale(1.0, unit)
    slopes = {row.term.name for row in model.terms if row.term.covariates}
    effects = [item.value.estimate for item in model.coefficients if item.term not in slopes]
    return choose_effect_scale(unit, model.mean.estimate, effects)


def name_square(unit: str) -> str:
    """A unit's square, for mean squares: `ms²`, `(MB/s)²`."""
    if not unit:
        return ""
    return f"{unit}²" if unit.isalpha() else f"({unit})²"


def scale_model(model: LinearModel, factor: float) -> LinearModel:
    """The model of values that are `factor` times as large, in what tables show of it."""
    square, gain = factor**2, model.block_gain
    return replace(
        model,
        mean=model.mean.scaled(factor),
        coefficients=tuple(
            replace(item, value=item.value.scaled(factor), standard_error=item.standard_error * factor)
            for item in model.coefficients
        ),
        terms=tuple(
            replace(
                row,
                sum_sq=row.sum_sq * square,
                mean_sq=row.mean_sq * square,
                effects=tuple(_scale_effect(effect, factor) for effect in row.effects),
                means=tuple(_scale_effect(mean, factor) for mean in row.means),
                gap=None if row.gap is None else replace(row.gap, value=row.gap.value.scaled(factor)),
            )
            for row in model.terms
        ),
        error_ss=model.error_ss * square,
        error_ms=model.error_ms * square,
        total_ss=model.total_ss * square,
        block_gain=None
        if gain is None
        else replace(gain, sum_sq=gain.sum_sq * square, error_ms_without=gain.error_ms_without * square),
    )


def scale_quantile_effects(model: QuantileModel, factor: float) -> QuantileModel:
    """The coefficients of a quantile model of values that are `factor` times as large."""
    return replace(
        model,
        fits=tuple(
            replace(
                fit,
                coefficients=tuple(
                    replace(item, value=item.value.scaled(factor)) for item in fit.coefficients
                ),
            )
            for fit in model.fits
        ),
    )


def _scale_effect(effect: LevelEffect, factor: float) -> LevelEffect:
    return replace(effect, value=effect.value.scaled(factor))
