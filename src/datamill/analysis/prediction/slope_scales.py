"""In what the response is a straight line: a numeric factor, or its logarithm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from datamill.analysis.linear.linear_model import LinearModel
from datamill.analysis.linear.model import fit_linear_model
from datamill.analysis.model_data.cells import gather_cells
from datamill.analysis.model_data.coding import list_formula_terms
from datamill.analysis.model_data.observations import Covariate
from datamill.analysis.model_data.question import ModelData
from datamill.analysis.prediction.fitted_surface import FittedSurface, fit_surface
from datamill.analysis.prediction.numeric_levels import NumericLevels
from datamill.analysis.prediction.prediction import Scale, Slope
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.experiment.messages.numbers import format_figures, format_given

#: Levels that are this many times apart are spread: a logarithm is thought of.
_SPREAD = 3.0


@dataclass(frozen=True, slots=True, eq=False)
class ScaledFit:
    """A model in some scales of its slopes."""

    data: ModelData
    model: LinearModel
    scales: Mapping[str, Scale]


def choose_scales(
    exact: ModelData,
    sloped: Mapping[str, NumericLevels],
    given: Mapping[str, Scale],
    *,
    confidence: float,
    alpha: float,
) -> ScaledFit:
    """The model whose slopes have the given scales, and of the others those that leave the smaller error.

    Both scales have as many coefficients, so that errors compare. A logarithm is thought of where levels are
    above zero, three or more, and spread; between two levels nothing in the data speaks for either.
    """
    chosen: dict[str, Scale] = {name: given.get(name, "linear") for name in sloped}
    for name, scale in chosen.items():
        if scale == "log" and sloped[name].low <= 0:
            raise InputError(
                f"{name} has levels at or below zero, which have no logarithm",
                remedy=f"Give {argument('scale', f'{name}=linear')}.",
            )
    fit = _fit_scales(exact, sloped, chosen, confidence=confidence, alpha=alpha)
    for name, levels in sloped.items():
        if name in given or len(levels.values) < 3 or not _is_spread(levels):
            continue
        other = _fit_scales(exact, sloped, {**fit.scales, name: "log"}, confidence=confidence, alpha=alpha)
        if other.model.error_ss < fit.model.error_ss:
            fit = other
    return fit


def try_other_scale(
    exact: ModelData, fit: ScaledFit, sloped: Mapping[str, NumericLevels], *, confidence: float, alpha: float
) -> tuple[tuple[FittedSurface, Mapping[str, Scale]] | None, float | None]:
    """The surface in the other scale of the only slope, and its error sum of squares over this one's."""
    if len(sloped) != 1:
        return None, None
    ((name, levels),) = sloped.items()
    if not _is_spread(levels):
        return None, None
    scales: dict[str, Scale] = {name: "log" if fit.scales[name] == "linear" else "linear"}
    other = _fit_scales(exact, sloped, scales, confidence=confidence, alpha=alpha)
    ratio = other.model.error_ss / fit.model.error_ss if fit.model.error_ss > 0 else None
    return (fit_surface(other.data.observations, other.model), scales), ratio


def describe_slope(levels: NumericLevels, scale: Scale, given: bool, ratio: float | None) -> Slope:
    """A slope as the answer tells it; `ratio` is the other scale's error sum of squares over this one's."""
    count = len(levels.values)
    error_ratio = None
    if given:
        why = "as asked for"
    elif not _is_spread(levels):
        why = (
            "its levels reach zero or below, where there is no logarithm"
            if levels.low <= 0
            else f"its levels lie within a factor of {format_given(_SPREAD)}, where both scales are nearly "
            "the same"
        )
    elif count < 3:
        why = "between two levels nothing in the data speaks for a logarithm or against it"
    else:
        error_ratio = ratio
        other = "a straight line" if scale == "log" else "a line in its logarithm"
        times = "a larger" if ratio is None else f"{format_figures(ratio)} times the"
        why = f"{other} leaves {times} error sum of squares"
    return Slope(levels.factor, scale, levels.unit, levels.low, levels.high, count, why, error_ratio)


def _is_spread(levels: NumericLevels) -> bool:
    return levels.low > 0 and levels.high / levels.low >= _SPREAD


def _fit_scales(
    exact: ModelData,
    sloped: Mapping[str, NumericLevels],
    scales: Mapping[str, Scale],
    *,
    confidence: float,
    alpha: float,
) -> ScaledFit:
    data = follow_slopes(exact, sloped, scales)
    model = fit_linear_model(
        data.observations.cells,
        terms=data.terms,
        covariates=data.observations.covariates,
        blocks=data.blocks,
        confidence=confidence,
        alpha=alpha,
        transform=data.observations.transform,
    )
    return ScaledFit(data, model, dict(scales))


def follow_slopes(
    exact: ModelData, sloped: Mapping[str, NumericLevels], scales: Mapping[str, Scale]
) -> ModelData:
    """The same data with some factors as covariates, in every term that these factors stood in."""
    if not sloped:
        return exact
    seen = exact.observations
    names = [factor.name for factor in seen.cells.factors]
    codes = seen.cells.codes[seen.cells.of_row]
    kept = [index for index, name in enumerate(names) if name not in sloped]
    covariates, written = [], {}
    for name, levels in sloped.items():
        index = names.index(name)
        of_level = np.array([levels.values[label] for label in seen.cells.factors[index].levels])
        if scales[name] == "log":
            of_level = np.log(of_level)
        written[name] = f"log({name})" if scales[name] == "log" else name
        covariates.append(Covariate(written[name], of_level[codes[:, index]]))
    factors = tuple(seen.cells.factors[index] for index in kept)
    gathered = gather_cells(factors, codes[:, kept], seen.cells.values + seen.cells.origin)
    cells = replace(gathered, builds=seen.cells.builds)
    terms = [tuple(written.get(names[index], names[index]) for index in term.factors) for term in exact.terms]
    return replace(
        exact,
        observations=replace(seen, cells=cells, covariates=tuple(covariates)),
        terms=list_formula_terms(factors, [item.name for item in covariates], terms),
    )
