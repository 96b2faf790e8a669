"""What limits a quantile model, in whole sentences; widths in the unit of the response."""

from __future__ import annotations

from datamill.analysis.quantile.quantile_model import QuantileModel
from datamill.experiment.messages.numbers import count_decimals, format_fixed, name_quantiles
from datamill.report.words.scales import choose_scale


def list_quantile_warnings(model: QuantileModel, response: str, unit: str) -> tuple[str, ...]:
    """The model's warnings, and where its objective has a flat bottom; without their full stop."""
    return (*model.warnings, *_warn_of_flat_bottoms(model, response, unit))


def _warn_of_flat_bottoms(model: QuantileModel, response: str, unit: str) -> tuple[str, ...]:
    flat = [fit for fit in model.fits if fit.is_flat]
    if not flat:
        return ()
    width = _spell_width(model, max(fit.flat_width for fit in flat), response, unit)
    return (
        f"at {name_quantiles([fit.quantile for fit in flat])} quite different coefficients fit as well "
        f"(the objective has a flat bottom{width}); shown is the limit from below",
    )


def _spell_width(model: QuantileModel, width: float, response: str, unit: str) -> str:
    """The largest difference of a coefficient, in the scale of the tables or its own where that is larger."""
    scale = choose_scale(unit, max(width, abs(model.fits[-1].coefficients[0].value.estimate)))
    shown = width * scale.factor
    number = f"{format_fixed(shown, count_decimals(shown, digits=3))} {scale.unit}".rstrip()
    return f", up to {number} wide{'' if unit else f' in the unit of {response}'}"
