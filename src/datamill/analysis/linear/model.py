"""Linear model of factors and covariates and its analysis of variance, fitted on a few rows a cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import fdtrc, stdtrit

from datamill.analysis.contrasts.contrast import NO_VARIATION
from datamill.analysis.contrasts.multiplicity import adjust_holm
from datamill.analysis.interval import Interval
from datamill.analysis.linear.aliases import ALIASED_REMEDY, find_aliased, name_aliased
from datamill.analysis.linear.effect_shares import share_effects
from datamill.analysis.linear.linear_model import (
    BlockGain,
    Coefficient,
    CovariateMean,
    LackOfFit,
    LevelEffect,
    LevelGap,
    LinearModel,
    SquaresType,
    TermRow,
)
from datamill.analysis.linear.reduction import Reduction, centre_covariates, reduce_observations
from datamill.analysis.linear.sums_of_squares import (
    SQUARES_IN_WORDS,
    list_spans,
    sum_squares,
    sum_squares_last,
)
from datamill.analysis.linear.triangle import solve_triangle
from datamill.analysis.model_data.cells import (
    LARGEST_SQUARED,
    SMALLEST_SQUARED,
    Cells,
    FloatArray,
    refuse_missing_levels,
)
from datamill.analysis.model_data.coding import Term, code_combinations, list_terms
from datamill.analysis.model_data.matrix import ModelMatrix, code_model_matrix
from datamill.analysis.model_data.observations import Covariate
from datamill.experiment.errors import InputError
from datamill.experiment.messages.numbers import format_figures, format_given, say_p
from datamill.experiment.messages.phrases import join_names, phrase_left_out

#: Largest model matrix, in numbers; beyond it the fit would take minutes and gigabytes.
_LARGEST_MATRIX = 20_000_000


@dataclass(frozen=True, slots=True, eq=False)
class _Fit:
    """Terms that the data can tell apart, and the decomposition of their columns."""

    terms: tuple[Term, ...]
    dropped: tuple[str, ...]
    confounded: tuple[str, ...]
    matrix: ModelMatrix
    reduction: Reduction
    q: FloatArray
    r: FloatArray


def fit_linear_model(
    cells: Cells,
    *,
    order: int | None = None,
    terms: Sequence[Term] | None = None,
    covariates: Sequence[Covariate] = (),
    blocks: Sequence[str] = (),
    squares: SquaresType = "III",
    confidence: float = 0.95,
    alpha: float = 0.01,
    transform: str = "",
    leave_out_aliased: bool = False,
) -> LinearModel:
    """Fit the mean and the terms by least squares (QR).

    The terms are those given, or main effects and interactions of up to `order` factors. Interactions
    that the data cannot tell from others are left out, the highest orders first, and named in a
    warning. Main effects that the data cannot tell apart are refused, since leaving them out would give
    their effect to others; with `leave_out_aliased` they are left out, as where lost trials made a
    balanced design so. `blocks` names factors whose conditions are a nuisance. In a balanced design all
    types of sums of squares agree. Intervals are Student's, at level `confidence`. `transform` is that
    of the response: a transformed one has no shares of its mean, which depend on its unit.

    Raises:
        InputError: a factor has one level only, a covariate or the response is constant, main effects
            are combinations of each other (names them), there are not more observations than
            coefficients, or the model is too large.
    """
    asked = list_terms(cells.factors, 1 if order is None else order) if terms is None else tuple(terms)
    highest = max((term.order for term in asked), default=0) if order is None else order
    _refuse_unusable(cells, highest, asked, covariates)
    centred = centre_covariates(covariates)
    fit = _choose_terms(cells, asked, [covariate for covariate, _ in centred], leave_out_aliased)
    parameters, n = fit.r.shape[1], cells.n
    error_df = n - parameters
    if error_df <= 0:
        raise InputError(
            f"{n} observations cannot estimate {parameters} coefficients and the error",
            remedy="Choose a lower order of interactions, fewer factors, or add replicates.",
        )
    reduced = fit.reduction
    saturated = reduced.rest_df == error_df
    effects = fit.q.T @ reduced.response
    beta = solve_triangle(fit.r, effects)
    root = solve_triangle(fit.r, np.eye(parameters))
    rest_ss = reduced.rest_ss
    lack_ss = 0.0 if saturated else float(np.sum((reduced.response - reduced.matrix @ beta) ** 2))
    error_ss = rest_ss + lack_ss
    if error_ss <= cells.rounding_ss:
        error_ss = rest_ss = lack_ss = 0.0
    error_ms = error_ss / error_df
    grand = float(np.sum(cells.counts * cells.means) / n)
    total_ss = float(np.sum(cells.within_ss) + np.sum(cells.counts * (cells.means - grand) ** 2))

    half_width = -float(stdtrit(error_df, (1 - confidence) / 2)) * np.sqrt(error_ms)
    spread = np.sqrt(np.sum(root**2, axis=1))
    mean = _interval(cells.origin + beta[0], half_width * spread[0])
    coefficients: list[Coefficient] = []
    rows: list[TermRow] = []
    sums = sum_squares(fit.r, effects, fit.terms, squares)
    for term, columns, sum_sq in zip(fit.terms, list_spans(fit.terms), sums, strict=True):
        names = fit.matrix.names[columns]
        for name, value, scale in zip(names, beta[columns], spread[columns], strict=True):
            interval = _interval(value, half_width * scale)
            error = float(scale * np.sqrt(error_ms))
            coefficients.append(Coefficient(name, term.name, interval, error))
        levels = _bound_levels(cells, term, beta[columns], root[columns], half_width)
        error = float(np.sqrt(error_ms))
        gap = _find_gap(cells, term, beta[columns], root[columns], error, error_df, confidence)
        means = _bound_means(cells, term, columns, beta, root, half_width)
        f = sum_sq / term.df / error_ms if error_ms > 0 else None
        p = None if f is None else float(fdtrc(term.df, error_df, f))
        block = term.name in blocks
        rows.append(TermRow(term, sum_sq, sum_sq / term.df, f, p, levels, block=block, gap=gap, means=means))

    lack = _test_lack_of_fit(lack_ss, error_df - reduced.rest_df, rest_ss, reduced.rest_df)
    fitted, leverage = _fit_rows(cells, fit, beta, root, saturated=saturated)
    return LinearModel(
        factors=cells.factors,
        n=n,
        cells=int(cells.counts.size),
        order=highest,
        mean=mean,
        coefficients=tuple(coefficients),
        terms=_adjust_terms(rows),
        error_ss=error_ss,
        error_df=error_df,
        error_ms=error_ms,
        total_ss=total_ss,
        r_squared=1.0 - error_ss / total_ss,
        lack_of_fit=lack,
        pure_error_df=reduced.rest_df,
        balanced=cells.balanced and fit.matrix.factorial,
        not_estimable=fit.dropped,
        confidence=confidence,
        alpha=alpha,
        method=_describe_method(cells, fit, squares),
        warnings=_collect_warnings(cells, fit, lack, error_ms, alpha),
        fitted=fitted,
        leverage=leverage,
        weights=_weigh_cells(cells, fit),
        squares=squares,
        covariates=tuple(CovariateMean(item.name, middle) for item, middle in centred),
        by_row=not fit.matrix.factorial,
        shares=() if transform else share_effects(cells.factors, fit.terms, mean, beta, root, error_ms),
        transform=transform,
        covariance=error_ms * (root @ root.T),
        block_gain=_judge_blocks(fit, effects, blocks, error_ss, error_df),
    )


def _refuse_unusable(
    cells: Cells, order: int, terms: Sequence[Term], covariates: Sequence[Covariate]
) -> None:
    if (cells.factors or covariates) and order < 1:
        raise InputError(f"interactions of order {order} do not exist", remedy="The order starts at 1.")
    if not terms:
        raise InputError("there is no factor", remedy="Name at least one factor.")
    for covariate in covariates:
        if np.all(covariate.values == covariate.values[0]):
            raise InputError(
                f"covariate {covariate.name} is {format_given(covariate.values[0])} everywhere",
                remedy="Leave it out: what does not change explains nothing.",
            )
    for index in range(len(cells.factors)):
        refuse_missing_levels(cells, index)
    if not np.any(cells.values):
        raise InputError(
            f"the response is constant: all {cells.n} observations are {format_given(cells.origin)}",
            remedy="There is no variation to analyse; check that the column is the right one.",
        )
    parameters = 1 + sum(term.df for term in terms)
    if parameters * max(parameters, cells.counts.size) > _LARGEST_MATRIX:
        raise InputError(
            f"a model with {parameters} coefficients over {cells.counts.size} cells is too large",
            remedy="Choose a lower order of interactions.",
        )


def _choose_terms(
    cells: Cells, listed: tuple[Term, ...], covariates: Sequence[Covariate], leave_out_aliased: bool
) -> _Fit:
    """Leave out interactions that the data cannot tell apart, until the others can be estimated."""
    terms = listed
    confounded: dict[str, None] = {}
    while terms:
        matrix = code_model_matrix(cells, covariates, terms)
        _refuse_magnitudes(matrix)
        reduction = reduce_observations(cells, matrix)
        q, r = np.linalg.qr(reduction.matrix)
        groups = find_aliased(r, terms)
        hidden = [term for group in groups for term in group]
        if not hidden:
            dropped = tuple(term.name for term in listed if term not in terms)
            return _Fit(terms, dropped, tuple(confounded), matrix, reduction, q, r)
        highest = max(term.order for term in hidden)
        if highest == 1 and not leave_out_aliased:
            raise InputError(name_aliased(groups), remedy=ALIASED_REMEDY)
        leaving = [term for term in hidden if term.order == highest]
        if highest == 1 or any(term.covariates for term in leaving):
            confounded.update(dict.fromkeys(term.name for term in leaving))
        # A model without a term has no interaction that contains it either.
        terms = tuple(term for term in terms if not any(term.contains(out) for out in leaving))
    together = tuple(confounded) or tuple(term.name for term in listed)
    raise InputError(
        f"{join_names(together)} always change together, so that their effects cannot be told apart",
        remedy="Leave out all but one of them, or measure the missing combinations.",
    )


def _refuse_magnitudes(matrix: ModelMatrix) -> None:
    """Refuse covariates, and products of covariates, whose squares leave the range of a double."""
    chosen = [term.covariates for term in matrix.terms if term.covariates]
    for product, covariates in zip(matrix.products, dict.fromkeys(chosen), strict=True):
        largest = float(np.max(np.abs(product)))
        if not SMALLEST_SQUARED < largest < LARGEST_SQUARED:
            name = next(term.name for term in matrix.terms if term.covariates == covariates)
            raise InputError(
                f"values of {name} differ by {format_figures(largest, 2)}, which cannot be squared in double "
                "precision",
                remedy="Give covariates in another unit.",
            )


def _bound_levels(
    cells: Cells, term: Term, beta: FloatArray, root: FloatArray, half_width: float
) -> tuple[LevelEffect, ...]:
    if term.order > 1 or term.covariates:
        return ()
    labels, rows = code_combinations(term, cells.factors)
    spread = np.sqrt(np.sum((rows @ root) ** 2, axis=1))
    return tuple(
        LevelEffect(label, _interval(value, half_width * scale))
        for label, value, scale in zip(labels, rows @ beta, spread, strict=True)
    )


def _bound_means(
    cells: Cells, term: Term, columns: slice, beta: FloatArray, root: FloatArray, half_width: float
) -> tuple[LevelEffect, ...]:
    """Means of the model at each level, other factors' levels with the same weight (as emmeans has them).

    Coding sums to zero and covariates are centred, so that all terms but the level's own average out.
    """
    if term.order > 1 or term.covariates:
        return ()
    labels, rows = code_combinations(term, cells.factors)
    values = beta[0] + rows @ beta[columns]
    spread = np.sqrt(np.sum((root[0] + rows @ root[columns]) ** 2, axis=1))
    return tuple(
        LevelEffect(label, _interval(cells.origin + value, half_width * scale))
        for label, value, scale in zip(labels, values, spread, strict=True)
    )


def _find_gap(
    cells: Cells,
    term: Term,
    beta: FloatArray,
    root: FloatArray,
    error: float,
    error_df: int,
    confidence: float,
) -> LevelGap | None:
    """The largest difference between two levels of a main effect, whose interval allows for the choice."""
    if term.order > 1 or term.covariates:
        return None
    labels, rows = code_combinations(term, cells.factors)
    effects = rows @ beta
    low, high = int(np.argmin(effects)), int(np.argmax(effects))
    if low == high:
        low, high = 0, 1
    pairs = len(labels) * (len(labels) - 1) // 2
    critical = -float(stdtrit(error_df, (1 - confidence) / 2 / pairs))
    spread = float(np.sqrt(np.sum(((rows[high] - rows[low]) @ root) ** 2)))
    value = _interval(effects[high] - effects[low], critical * error * spread)
    return LevelGap(labels[low][0], labels[high][0], value)


def _adjust_terms(rows: Sequence[TermRow]) -> tuple[TermRow, ...]:
    adjusted = iter(adjust_holm([row.p for row in rows if not row.block]))
    return tuple(row if row.block else replace(row, p_holm=next(adjusted)) for row in rows)


def _fit_rows(
    cells: Cells, fit: _Fit, beta: FloatArray, root: FloatArray, *, saturated: bool
) -> tuple[FloatArray, FloatArray]:
    """Fitted deviations and leverages: by cell, or by observation where there are covariates."""
    by_cell, products = fit.matrix.by_cell, fit.matrix.products
    if fit.matrix.factorial:
        fitted = cells.means.copy() if saturated else by_cell @ beta
        return fitted, np.sum(fit.q**2, axis=1) / cells.counts
    # In a cell everything is a plane in the products of covariates: planes first, then the rows.
    size = products.shape[0] + 1
    members = [np.flatnonzero(fit.matrix.of_product == product - 1) for product in range(size)]
    planes = [by_cell[:, columns] @ beta[columns] for columns in members]
    roots = [by_cell[:, columns] @ root[columns] for columns in members]
    fitted, leverage = planes[0][cells.of_row], np.zeros(cells.n)
    for first in range(size):
        if first:
            fitted += planes[first][cells.of_row] * products[first - 1]
        for second in range(first, size):
            share = np.sum(roots[first] * roots[second], axis=1)[cells.of_row]
            for product in (first, second):
                if product:
                    share *= products[product - 1]
            leverage += share if first == second else 2 * share
    return fitted, np.clip(leverage, 0.0, 1.0)


def _weigh_cells(cells: Cells, fit: _Fit) -> FloatArray:
    if not fit.matrix.factorial:
        return np.zeros((fit.r.shape[1], 0))
    weights = np.sqrt(cells.counts.astype(np.float64))
    return np.asarray(solve_triangle(fit.r, fit.q.T * weights), dtype=np.float64)


def _judge_blocks(
    fit: _Fit, effects: FloatArray, blocks: Sequence[str], error_ss: float, error_df: int
) -> BlockGain | None:
    spans = [(term, span) for term, span in zip(fit.terms, list_spans(fit.terms), strict=True)]
    last = [c for term, span in spans if term.name in blocks for c in range(span.start, span.stop)]
    if not last:
        return None
    sum_sq = sum_squares_last(fit.r, effects, [c for c in range(effects.size) if c not in last], last)
    df, error_ms = len(last), error_ss / error_df
    without = (error_ss + sum_sq) / (error_df + df)
    f = sum_sq / df / error_ms if error_ms > 0 else None
    return BlockGain(
        tuple(term.name for term, _ in spans if term.name in blocks),
        sum_sq,
        df,
        f,
        None if f is None else float(fdtrc(df, error_df, f)),
        without,
        without / error_ms if error_ms > 0 else None,
    )


def _test_lack_of_fit(lack_ss: float, lack_df: int, within_ss: float, within_df: int) -> LackOfFit | None:
    if lack_df <= 0 or within_df <= 0:
        return None
    if within_ss <= 0:
        return LackOfFit(lack_ss, lack_df, None, None)
    f = (lack_ss / lack_df) / (within_ss / within_df)
    return LackOfFit(lack_ss, lack_df, f, float(fdtrc(lack_df, within_df, f)))


def _interval(value: float, half_width: float) -> Interval:
    return Interval(float(value), float(value - half_width), float(value + half_width))


def _describe_method(cells: Cells, fit: _Fit, squares: SquaresType) -> str:
    several = any(len(factor.levels) > 2 for factor in cells.factors)
    coding = "-1/+1 coding, sum-to-zero for more than two levels" if several else "-1/+1 coding"
    parts = [f"least squares over {cells.counts.size} cells"]
    if cells.factors:
        parts.append(coding)
    if not fit.matrix.factorial:
        parts.append("covariates counted from their means")
    balanced = cells.balanced and fit.matrix.factorial
    parts.append(
        "sums of squares: " + ("balanced, so that all types agree" if balanced else SQUARES_IN_WORDS[squares])
    )
    return "; ".join(parts)


def _collect_warnings(
    cells: Cells, fit: _Fit, lack: LackOfFit | None, error_ms: float, alpha: float
) -> tuple[str, ...]:
    warnings = []
    empty = cells.possible - cells.counts.size
    if fit.confounded:
        warnings.append(
            f"the data cannot tell {join_names(fit.confounded)} from other terms, since they always change "
            "together; left out of the model: "
            f"{join_names(fit.dropped)}"
        )
    elif fit.dropped:
        warnings.append(phrase_left_out(fit.dropped, empty, cells.possible))
    elif empty:
        warnings.append(f"{empty} of {cells.possible} combinations of levels have no data")
    if error_ms == 0:
        warnings.append(NO_VARIATION)
    elif lack is not None and (lack.p is None or lack.p < alpha):
        warnings.append(
            "the model seems to leave out interactions that are there (lack of fit, "
            f"{say_p(lack.p or 0.0)}): "
            "its error is larger than that of measuring. Add interactions, or terms of covariates"
        )
    return tuple(warnings)
