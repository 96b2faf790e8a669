"""The fits of a quantile model as records: coefficients and terms with their intervals and tests."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from datamill.analysis.contrasts.multiplicity import adjust_holm
from datamill.analysis.distribution.order_statistics import count_needed
from datamill.analysis.interval import Interval
from datamill.analysis.linear.linear_model import LevelEffect, LevelGap
from datamill.analysis.model_data.cells import FloatArray, ModelFactor
from datamill.analysis.model_data.coding import Term, code_combinations, name_changes, recode_from_first
from datamill.analysis.model_data.matrix import ModelMatrix
from datamill.analysis.quantile.fit import QuantileProblem, Solutions
from datamill.analysis.quantile.inference import Inference
from datamill.analysis.quantile.quantile_model import QuantileCoefficient, QuantileFit, QuantileTerm


def is_saturated(matrix: ModelMatrix) -> bool:
    """Whether the model has as many coefficients as there are combinations of levels."""
    return matrix.factorial and matrix.by_cell.shape[0] == matrix.by_cell.shape[1]


def count_available(problem: QuantileProblem) -> float:
    """Observations that stand behind a quantile: of the smallest cell, or for each coefficient."""
    if is_saturated(problem.matrix):
        return float(np.min(problem.counts))
    return problem.n / float(problem.matrix.by_cell.shape[1])


def spell_fits(
    problem: QuantileProblem,
    factors: Sequence[ModelFactor],
    origin: float,
    quantiles: Sequence[float],
    solutions: Solutions,
    inferences: Sequence[Inference],
    confidence: float,
    blocks: Sequence[str] = (),
) -> tuple[QuantileFit, ...]:
    """Write the solutions at T quantiles as records; `origin` was taken from all values."""
    available = count_available(problem)
    widths = problem.measure_flat_bottoms(quantiles, solutions)
    sizes = problem.matrix.sizes
    recoded = recode_from_first(factors, problem.matrix.terms)
    fits = []
    for index, (quantile, inference) in enumerate(zip(quantiles, inferences, strict=True)):
        rows, terms = _spell_out(
            problem.matrix, factors, origin, solutions.coefficients[index], inference, confidence, blocks
        )
        reach = float(np.max([row.value.high - row.value.low for row in rows] * sizes))
        width = float(widths[index])
        needed = count_needed(quantile, confidence)
        changes = _spell_changes(
            problem.matrix, factors, origin, solutions.coefficients[index], inference, recoded
        )
        fits.append(
            QuantileFit(
                quantile=quantile,
                coefficients=rows,
                terms=terms,
                objective=float(solutions.objectives[index]),
                unique=bool(solutions.unique[index]),
                flat_width=width,
                flat_share=width if width == 0 else width / reach if reach > 0 else math.inf,
                needed=needed,
                extreme=needed > available,
                changes=changes,
            )
        )
    return tuple(fits)


def _spell_out(
    matrix: ModelMatrix,
    factors: Sequence[ModelFactor],
    origin: float,
    coefficients: FloatArray,
    inference: Inference,
    confidence: float,
    blocks: Sequence[str],
) -> tuple[tuple[QuantileCoefficient, ...], tuple[QuantileTerm, ...]]:
    """Coefficients with their intervals, and the tests of the terms."""
    term_of = [""] * coefficients.size
    for term, columns in zip(matrix.terms, matrix.columns, strict=True):
        term_of[columns] = [term.name] * term.df
    rows = []
    for index, name in enumerate(("intercept", *matrix.names[1:])):
        weights = np.zeros(coefficients.size)
        weights[index] = 1.0
        found = inference.infer(float(coefficients[index]), weights)
        value = found.value
        if index == 0:
            value = Interval(value.estimate + origin, value.low + origin, value.high + origin)
        p = None if index == 0 else found.p
        rows.append(QuantileCoefficient(name, term_of[index], value, found.standard_error, p))
    tests = [inference.test(coefficients[columns], columns) for columns in matrix.columns]
    of_interest = [None if term.name in blocks else p for term, p in zip(matrix.terms, tests, strict=True)]
    terms = tuple(
        QuantileTerm(
            term,
            p,
            adjusted,
            _spell_levels(factors, term, columns, coefficients, inference),
            _find_gap(factors, term, columns, coefficients, inference, confidence),
        )
        for term, columns, p, adjusted in zip(
            matrix.terms, matrix.columns, tests, adjust_holm(of_interest), strict=True
        )
    )
    return tuple(rows), terms


def _spell_changes(
    matrix: ModelMatrix,
    factors: Sequence[ModelFactor],
    origin: float,
    coefficients: FloatArray,
    inference: Inference,
    recoded: FloatArray | None,
) -> tuple[QuantileCoefficient, ...]:
    """The coefficients of the 0/1 coding, which are sums of those of ours."""
    if recoded is None:
        return ()
    names, of_term = ["intercept"], [""]
    for term in matrix.terms:
        own = name_changes(term, factors)
        names += own
        of_term += [term.name] * len(own)
    rows = []
    for index, (name, term_name, weights) in enumerate(zip(names, of_term, recoded, strict=True)):
        found = inference.infer(float(weights @ coefficients), weights)
        value = found.value
        if index == 0:
            value = Interval(value.estimate + origin, value.low + origin, value.high + origin)
        p = None if index == 0 else found.p
        rows.append(QuantileCoefficient(name, term_name, value, found.standard_error, p))
    return tuple(rows)


def _spell_levels(
    factors: Sequence[ModelFactor], term: Term, columns: slice, coefficients: FloatArray, inference: Inference
) -> tuple[LevelEffect, ...]:
    if term.order > 1 or term.df < 2:
        return ()
    labels, rows = code_combinations(term, factors)
    effects = []
    for label, row in zip(labels, rows, strict=True):
        weights = np.zeros(coefficients.size)
        weights[columns] = row
        effects.append(LevelEffect(label, inference.infer(float(weights @ coefficients), weights).value))
    return tuple(effects)


def _find_gap(
    factors: Sequence[ModelFactor],
    term: Term,
    columns: slice,
    coefficients: FloatArray,
    inference: Inference,
    confidence: float,
) -> LevelGap | None:
    """The largest change between two levels of a main effect with more than two.

    Its interval holds for all pairs together (Bonferroni), since the largest is chosen after looking.
    """
    if term.order > 1 or term.df < 2 or term.covariates:
        return None
    labels, rows = code_combinations(term, factors)
    effects = rows @ coefficients[columns]
    low, high = int(np.argmin(effects)), int(np.argmax(effects))
    if low == high:
        low, high = 0, 1
    pairs = len(labels) * (len(labels) - 1) / 2
    weights = np.zeros(coefficients.size)
    weights[columns] = rows[high] - rows[low]
    found = inference.at(1 - (1 - confidence) / pairs).infer(float(weights @ coefficients), weights)
    return LevelGap(labels[low][0], labels[high][0], found.value)


def count_crossings(problem: QuantileProblem, coefficients: FloatArray) -> int:
    """Design points (with covariates, observations) where a higher quantile is fitted below a lower one."""
    last: FloatArray | None = None
    crossed: FloatArray | None = None
    for own in coefficients:
        fitted = problem.fit_values(own[None, :])[0]
        if last is not None:
            size = 1e-12 * max(float(np.max(np.abs(last))), float(np.max(np.abs(fitted))))
            here = fitted < last - size
            crossed = here if crossed is None else crossed | here
        last = fitted
    return 0 if crossed is None else int(np.sum(crossed))
