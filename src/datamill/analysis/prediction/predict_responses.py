"""Predictions at levels between those that were measured.

A factor whose asked levels were all measured keeps them as they are. A numeric factor of which some asked
level was not measured becomes a slope: with every interaction that it would have had, so that each
combination of the other factors has its own straight line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from datamill.analysis.assumptions.check import check_assumptions
from datamill.analysis.interval import Interval
from datamill.analysis.model_data.cells import gather_cells
from datamill.analysis.model_data.question import ModelData, ModelQuestion, select_model_data
from datamill.analysis.prediction.asked_points import (
    Point,
    list_combinations,
    list_outside,
    list_sloped,
    refuse_outside,
)
from datamill.analysis.prediction.fitted_surface import FittedSurface, fit_surface, measure_misfit
from datamill.analysis.prediction.numeric_levels import NumericLevels, read_numeric_levels
from datamill.analysis.prediction.prediction import Curve, Prediction, Predictions, Scale
from datamill.analysis.prediction.prediction_warnings import collect_warnings
from datamill.analysis.prediction.slope_scales import choose_scales, describe_slope, try_other_scale
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument

#: Curves of one picture, and points of each.
_MOST_CURVES, _STEPS = 6, 41


def predict_responses(
    table: pl.DataFrame,
    question: ModelQuestion,
    points: Sequence[Point],
    *,
    scales: Mapping[str, Scale],
    extrapolate: bool,
    confidence: float,
    alpha: float,
    levels: Mapping[str, Sequence[str]] | None = None,
    usual_order: int | None = None,
    source: str = "table",
) -> Predictions:
    """Fit a model, and predict its response at every combination of the levels asked for.

    A factor that a point does not name is taken at each of its levels; blocks are averaged over. `scales`
    says how numeric factors enter; of the others it is chosen (`choose_scales`).

    Raises:
        InputError: a level is neither measured nor a number, or lies beyond the measured ones and
            `extrapolate` is not asked for; the data do not allow the model.
    """
    if question.formula or question.covariates:
        raise InputError(
            "the model of a prediction follows from its factors: a formula or covariates cannot be given",
            remedy=f"Name {argument('factors')}, and {argument('scale')} for a numeric one.",
        )
    exact = select_model_data(
        table, question, levels=levels, usual_order=usual_order, allow_no_factor=True, source=source
    )
    response = exact.observations.response
    if scales.get(response) == "log":
        exact = _take_logarithms(exact)
    scales = {name: scale for name, scale in scales.items() if name != response}
    factors = {
        factor.name: factor.levels
        for factor in exact.observations.cells.factors
        if factor.name not in question.blocks
    }
    read = {name: read_numeric_levels(name, labels) for name, labels in factors.items()}
    numeric = {name: numbers for name, numbers in read.items() if numbers is not None}
    sloped = list_sloped(points, scales, factors, numeric)
    asked = list_combinations(points, factors)
    refuse_outside(asked, sloped, exact, numeric, extrapolate=extrapolate)
    fit = choose_scales(exact, sloped, scales, confidence=confidence, alpha=alpha)
    surface = fit_surface(fit.data.observations, fit.model)
    other, ratio = try_other_scale(exact, fit, sloped, confidence=confidence, alpha=alpha)
    slopes = tuple(describe_slope(sloped[name], fit.scales[name], name in scales, ratio) for name in sloped)
    misfit = measure_misfit(fit.data.observations, fit.model)
    checks = check_assumptions(
        fit.data.observations.cells,
        fit.model,
        covariates=fit.data.observations.covariates,
        when=fit.data.observations.order,
    )
    predictions = tuple(
        _predict(point, surface, other, fit.scales, sloped, exact, confidence) for point in asked
    )
    found = Predictions(
        observations=fit.data.observations,
        model=fit.model,
        checks=checks,
        slopes=slopes,
        predictions=predictions,
        curves=_draw_curves(asked, surface, fit.scales, sloped, exact, confidence),
        misfit=misfit,
        blocks=fit.data.blocks,
        confidence=confidence,
        warnings=(),
    )
    return replace(found, warnings=collect_warnings(found))


def _draw_curves(
    asked: Sequence[Mapping[str, str]],
    surface: FittedSurface,
    scales: Mapping[str, Scale],
    sloped: Mapping[str, NumericLevels],
    exact: ModelData,
    confidence: float,
) -> tuple[Curve, ...]:
    """The model along the first slope, through each of the first few combinations of the other levels."""
    if not sloped:
        return ()
    name, levels = next(iter(sloped.items()))
    others = list(dict.fromkeys(tuple((f, v) for f, v in point.items() if f != name) for point in asked))
    reached = [levels.low, levels.high, *(levels.read(point[name]) for point in asked)]
    space = np.geomspace if scales[name] == "log" else np.linspace
    at = [float(value) for value in space(min(reached), max(reached), _STEPS)]
    transform = exact.observations.transform
    curves = []
    for combination in others[:_MOST_CURVES]:
        exactly = {factor: level for factor, level in combination if factor not in sloped}
        found = []
        for value in at:
            # Any level that has been measured: its own number takes its place.
            point = {**dict(combination), name: next(iter(levels.values))}
            covariates = _read_covariates(point, sloped, scales)
            covariates[0] = float(np.log(value)) if scales[name] == "log" else value
            found.append(surface.predict(exactly, covariates, confidence))
        curves.append(
            Curve(
                combination,
                tuple(at),
                tuple(undo_transform(value, transform) for value, _ in found),
                tuple(undo_transform(new, transform) for _, new in found),
                _list_measured(exactly, name, levels, exact) if len(sloped) == 1 else (),
            )
        )
    return tuple(curves)


def _list_measured(
    exactly: Mapping[str, str], name: str, levels: NumericLevels, exact: ModelData
) -> tuple[tuple[float, float], ...]:
    """Level and response of each observation at these levels of the other factors."""
    cells = exact.observations.cells
    names = [factor.name for factor in cells.factors]
    member = np.ones(cells.counts.size, dtype=bool)
    for factor, level in exactly.items():
        index = names.index(factor)
        member &= cells.codes[:, index] == cells.factors[index].levels.index(level)
    index = names.index(name)
    of_level = [levels.values[label] for label in cells.factors[index].levels]
    rows = np.flatnonzero(member[cells.of_row])
    codes = cells.codes[cells.of_row[rows], index]
    responses = (
        undo_transform(Interval(value, value, value), exact.observations.transform).estimate
        for value in (cells.values[rows] + cells.origin).tolist()
    )
    return tuple((of_level[code], response) for code, response in zip(codes.tolist(), responses, strict=True))


def _predict(
    point: Mapping[str, str],
    surface: FittedSurface,
    other: tuple[FittedSurface, Mapping[str, Scale]] | None,
    scales: Mapping[str, Scale],
    sloped: Mapping[str, NumericLevels],
    exact: ModelData,
    confidence: float,
) -> Prediction:
    exactly = {name: level for name, level in point.items() if name not in sloped}
    value, new = surface.predict(exactly, _read_covariates(point, sloped, scales), confidence)
    transform = exact.observations.transform
    beside = None
    if other is not None:
        found = other[0].predict(exactly, _read_covariates(point, sloped, other[1]), confidence)[0]
        beside = undo_transform(found, transform).estimate
    return Prediction(
        tuple(point.items()),
        undo_transform(value, transform),
        undo_transform(new, transform),
        list_outside(point, sloped, exact),
        beside,
        next((levels.read(point[name]) for name, levels in sloped.items()), None),
    )


def _read_covariates(
    point: Mapping[str, str], sloped: Mapping[str, NumericLevels], scales: Mapping[str, Scale]
) -> list[float]:
    values = []
    for name, levels in sloped.items():
        value = levels.read(point[name])
        if scales[name] == "log" and value <= 0:
            raise InputError(
                f"{name}={point[name]} has no logarithm",
                remedy=f"Ask above zero, or give {argument('scale', f'{name}=linear')}.",
            )
        values.append(float(np.log(value)) if scales[name] == "log" else value)
    return values


def undo_transform(value: Interval, transform: str) -> Interval:
    """An interval of a response, of whose logarithm where it is transformed, in its own unit."""
    if not transform:
        return value
    return Interval(*(float(np.exp(end)) for end in (value.estimate, value.low, value.high)))


def _take_logarithms(data: ModelData) -> ModelData:
    """The same data with the logarithm of the response."""
    seen = data.observations
    values = seen.cells.values + seen.cells.origin
    if np.any(values <= 0):
        raise InputError(
            f"{seen.response} has values at or below zero, which have no logarithm",
            remedy=f"Leave its {argument('scale')} out.",
        )
    codes = seen.cells.codes[seen.cells.of_row]
    cells = replace(gather_cells(seen.cells.factors, codes, np.log(values)), builds=seen.cells.builds)
    return replace(data, observations=replace(seen, cells=cells, transform="log"))
