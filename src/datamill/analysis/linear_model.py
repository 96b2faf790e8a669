"""Factorial linear model and its analysis of variance, fitted on the distinct cells."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import solve_triangular
from scipy.stats import f as f_distribution
from scipy.stats import t as t_distribution

from datamill.analysis.cells import Cells, FloatArray
from datamill.analysis.coding import Term, code_cells, code_combinations, list_terms, name_columns
from datamill.analysis.contrast import NO_VARIATION
from datamill.analysis.records import Coefficient, Interval, LackOfFit, LevelEffect, LinearModel, TermRow
from datamill.experiment.errors import InputError

#: Below this fraction of its length a column is a combination of the columns before it.
_RANK_TOLERANCE = 1e-9
#: Largest model matrix, in numbers; beyond it the fit would take minutes and gigabytes.
_LARGEST_MATRIX = 20_000_000


def fit_linear_model(
    cells: Cells, *, order: int, confidence: float = 0.95, alpha: float = 0.01
) -> LinearModel:
    """Fit mean, main effects and interactions of up to `order` factors by least squares (QR).

    Terms that the cells with data cannot tell apart are left out, the highest orders first, and
    named in a warning. Sums of squares are Type III over sum-to-zero coding; in a balanced design
    all types agree. Intervals are Student's, at level `confidence`.

    Raises:
        InputError: a factor has one level only, the response is constant, there are not more
            observations than coefficients, or the model is too large.
    """
    _refuse_unusable(cells, order)
    weights = np.sqrt(cells.counts.astype(np.float64))
    terms, dropped, matrix, (q, r) = _choose_terms(cells, order, weights)
    count, parameters, n = matrix.shape[0], matrix.shape[1], cells.n
    error_df = n - parameters
    if error_df <= 0:
        raise InputError(
            f"{n} observations cannot estimate {parameters} coefficients and the error",
            remedy="Choose a lower order of interactions, fewer factors, or add replicates.",
        )
    beta = solve_triangular(r, q.T @ (weights * cells.means))
    root = solve_triangular(r, np.eye(parameters))
    fitted = cells.means.copy() if count == parameters else matrix @ beta
    within_ss = float(np.sum(cells.within_ss))
    lack_ss = 0.0 if count == parameters else float(np.sum(cells.counts * (cells.means - fitted) ** 2))
    error_ss = within_ss + lack_ss
    if error_ss <= cells.rounding_ss:
        error_ss = within_ss = lack_ss = 0.0
    error_ms = error_ss / error_df
    grand = float(np.sum(cells.counts * cells.means) / n)
    total_ss = float(np.sum(cells.within_ss) + np.sum(cells.counts * (cells.means - grand) ** 2))

    half_width = float(t_distribution.isf((1 - confidence) / 2, error_df)) * np.sqrt(error_ms)
    spread = np.sqrt(np.sum(root**2, axis=1))
    coefficients, rows = [], []
    start = 1
    for term in terms:
        columns = slice(start, start + term.df)
        start += term.df
        for name, value, scale in zip(
            name_columns(term, cells.factors), beta[columns], spread[columns], strict=True
        ):
            interval = _interval(value, half_width * scale)
            error = float(scale * np.sqrt(error_ms))
            coefficients.append(Coefficient(name, term.name, interval, error))
        rows.append(_test_term(cells, term, beta[columns], root[columns], error_ms, error_df, half_width))

    lack = _test_lack_of_fit(lack_ss, count - parameters, within_ss, n - count)
    return LinearModel(
        factors=cells.factors,
        n=n,
        cells=count,
        order=order,
        mean=_interval(cells.origin + beta[0], half_width * spread[0]),
        coefficients=tuple(coefficients),
        terms=tuple(rows),
        error_ss=error_ss,
        error_df=error_df,
        error_ms=error_ms,
        total_ss=total_ss,
        r_squared=1.0 - error_ss / total_ss,
        lack_of_fit=lack,
        pure_error_df=n - count,
        balanced=cells.balanced,
        not_estimable=dropped,
        confidence=confidence,
        alpha=alpha,
        method=_describe_method(cells),
        warnings=_collect_warnings(cells, dropped, lack, error_ms, alpha),
        fitted=fitted,
        leverage=np.sum(q**2, axis=1) / cells.counts,
        weights=solve_triangular(r, q.T * weights),
    )


def _refuse_unusable(cells: Cells, order: int) -> None:
    if order < 1:
        raise InputError(f"interactions of order {order} do not exist", remedy="The order starts at 1.")
    if not cells.factors:
        raise InputError("there is no factor", remedy="Name at least one factor.")
    for index, factor in enumerate(cells.factors):
        seen = np.unique(cells.codes[:, index])
        if seen.size < 2:
            raise InputError(
                f'factor {factor.name} has only one level with data: "{factor.levels[int(seen[0])]}"',
                remedy="Leave the factor out, or add data at another level.",
            )
        if seen.size < len(factor.levels):
            missing = [level for code, level in enumerate(factor.levels) if code not in seen]
            raise InputError(
                f"factor {factor.name} has no data at level {', '.join(missing)}",
                remedy="Leave the level out, or add data at it.",
            )
    if not np.any(cells.values):
        raise InputError(
            f"the response is constant: all {cells.n} observations are {cells.origin:g}",
            remedy="There is no variation to analyse; check that the column is the right one.",
        )
    terms = list_terms(cells.factors, order)
    parameters = 1 + sum(term.df for term in terms)
    if parameters * max(parameters, cells.counts.size) > _LARGEST_MATRIX:
        raise InputError(
            f"a model with {parameters} coefficients over {cells.counts.size} cells is too large",
            remedy="Choose a lower order of interactions.",
        )


def _choose_terms(
    cells: Cells, order: int, weights: FloatArray
) -> tuple[tuple[Term, ...], tuple[str, ...], FloatArray, tuple[FloatArray, FloatArray]]:
    """Terms that the cells can tell apart, the names of those left out, the matrix and its weighted QR."""
    listed = terms = list_terms(cells.factors, order)
    while terms:
        matrix = code_cells(cells.codes, cells.factors, terms)
        q, r = np.linalg.qr(matrix * weights[:, None])
        hidden = _find_hidden(r, terms)
        if not hidden:
            dropped = tuple(term.name for term in listed if term not in terms)
            return terms, dropped, matrix, (q, r)
        highest = max(term.order for term in hidden)
        leaving = [term for term in hidden if term.order == highest]
        # A model without a term has no interaction that contains it either.
        terms = tuple(term for term in terms if not any(term.contains(out) for out in leaving))
    raise InputError(
        "the factors always change together, so that no effect can be told from another",
        remedy="Leave out all but one of them, or measure the missing combinations.",
    )


def _find_hidden(triangle: FloatArray, terms: Sequence[Term]) -> list[Term]:
    """Terms with a coefficient that the cells do not determine: those the null space touches."""
    parameters = triangle.shape[1]
    lengths = np.sqrt(np.sum(triangle**2, axis=0))
    if triangle.shape[0] == parameters and np.all(np.abs(np.diag(triangle)) > _RANK_TOLERANCE * lengths):
        return []
    _, singular, right = np.linalg.svd(triangle, full_matrices=True)
    rank = int(np.sum(singular > _RANK_TOLERANCE * singular[0]))
    null_space = right[rank:].T
    hidden, start = [], 1
    for term in terms:
        if rank < parameters and float(np.max(np.abs(null_space[start : start + term.df]))) > 1e-7:
            hidden.append(term)
        start += term.df
    return hidden


def _test_term(
    cells: Cells,
    term: Term,
    beta: FloatArray,
    root: FloatArray,
    error_ms: float,
    error_df: int,
    half_width: float,
) -> TermRow:
    # root @ root.T is the covariance block C of the term; its QR gives beta' C^-1 beta without forming C.
    triangle = np.linalg.qr(root.T, mode="r") if term.df > 1 else np.sqrt(np.sum(root**2, keepdims=True))
    sum_sq = float(np.sum(solve_triangular(triangle, beta, trans="T") ** 2))
    mean_sq = sum_sq / term.df
    f = mean_sq / error_ms if error_ms > 0 else None
    effects: tuple[LevelEffect, ...] = ()
    if term.order == 1:
        labels, rows = code_combinations(term, cells.factors)
        spread = np.sqrt(np.sum((rows @ root) ** 2, axis=1))
        effects = tuple(
            LevelEffect(label, _interval(value, half_width * scale))
            for label, value, scale in zip(labels, rows @ beta, spread, strict=True)
        )
    p = None if f is None else float(f_distribution.sf(f, term.df, error_df))
    return TermRow(term, sum_sq, mean_sq, f, p, effects)


def _test_lack_of_fit(lack_ss: float, lack_df: int, within_ss: float, within_df: int) -> LackOfFit | None:
    if lack_df <= 0 or within_df <= 0:
        return None
    if within_ss <= 0:
        return LackOfFit(lack_ss, lack_df, None, None)
    f = (lack_ss / lack_df) / (within_ss / within_df)
    return LackOfFit(lack_ss, lack_df, f, float(f_distribution.sf(f, lack_df, within_df)))


def _interval(value: float, half_width: float) -> Interval:
    return Interval(float(value), float(value - half_width), float(value + half_width))


def _describe_method(cells: Cells) -> str:
    several = any(len(factor.levels) > 2 for factor in cells.factors)
    coding = "-1/+1 coding, sum-to-zero for more than two levels" if several else "-1/+1 coding"
    squares = "balanced, so that all types agree" if cells.balanced else "Type III"
    return f"least squares over {cells.counts.size} cells; {coding}; sums of squares: {squares}"


def _collect_warnings(
    cells: Cells,
    dropped: tuple[str, ...],
    lack: LackOfFit | None,
    error_ms: float,
    alpha: float,
) -> tuple[str, ...]:
    warnings = []
    empty = cells.possible - cells.counts.size
    if dropped:
        shown = ", ".join(dropped[:8]) + (f" and {len(dropped) - 8} more" if len(dropped) > 8 else "")
        warnings.append(
            f"not estimable, because {empty} of {cells.possible} combinations of levels have no data, "
            f"and left out of the model: {shown}"
        )
    elif empty:
        warnings.append(f"{empty} of {cells.possible} combinations of levels have no data")
    if error_ms == 0:
        warnings.append(NO_VARIATION)
    elif lack is not None and (lack.p is None or lack.p < alpha):
        warnings.append(
            "the model seems to leave out interactions that are there (lack of fit, "
            f"p {'< 1e-300' if not lack.p else f'= {lack.p:.2g}'}): "
            "its error is larger than that of measuring"
        )
    return tuple(warnings)
