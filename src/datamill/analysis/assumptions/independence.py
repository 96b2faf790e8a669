"""Whether trials depend on when they came: a trend over the run, and likeness of neighbours."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import ndtr, stdtr

from datamill.analysis.assumptions.assumption_checks import CheckResult, CheckState
from datamill.analysis.assumptions.residuals import ResidualSums, take_residuals
from datamill.analysis.linear.linear_model import LinearModel
from datamill.analysis.linear.reduction import centre_covariates
from datamill.analysis.model_data.cells import Cells, FloatArray, IntArray
from datamill.analysis.model_data.matrix import code_model_matrix
from datamill.analysis.model_data.observations import Covariate
from datamill.experiment.messages.arguments import argument, tell
from datamill.experiment.messages.numbers import format_figures, format_fixed, say_p

#: Name of the check for a trend.
TREND = "independent errors: trend"
#: Model matrices up to this many numbers are used whole, so that the statistics have exact moments.
_LARGEST_MATRIX = 4_000_000
#: Neighbours that are less alike than this, and drifts below this part of a standard deviation, do no harm.
_HARMLESS_CORRELATION, _HARMLESS_DRIFT = 0.1, 0.2
_FEWEST = 8


def check_independence(
    cells: Cells,
    model: LinearModel,
    covariates: Sequence[Covariate],
    sums: ResidualSums,
    sequence: IntArray | None,
    *,
    known: bool,
    alpha: float,
) -> tuple[CheckResult, ...]:
    """Look at the residuals in the order in which the observations came.

    `sequence` (n) are the rows in this order, None where they stand in it, and `sums` were taken
    over it. Unless it is `known` that they stand so, what is found is "unknown" at worst. The trend is
    tested as one more covariate of the model (Student), neighbours by their correlation with its exact
    mean and variance given the model matrix (those of independent errors where that is large) and a normal
    approximation; two-sided.
    """
    if cells.n - model.error_df + 2 >= cells.n or cells.n < _FEWEST:
        return ()
    matrix = _code_sequence(cells, model, covariates, sequence)
    found = []
    trend = _test_trend(cells, model, sums, matrix, sequence)
    order = "run order" if known else "order of the rows"
    if trend is not None:
        found.append(_phrase_trend(*trend, order, known=known, alpha=alpha))
    found.append(
        _phrase_neighbours(*_test_neighbours(sums, cells.n, matrix), order, known=known, alpha=alpha)
    )
    return tuple(found)


def sort_by_time(when: FloatArray | None) -> IntArray | None:
    """The rows in the order in which they came; None where they stand in it, or nobody knows it."""
    if when is None or not np.any(np.diff(when) < 0):
        return None
    return np.argsort(when, kind="stable")


def _code_sequence(
    cells: Cells, model: LinearModel, covariates: Sequence[Covariate], sequence: IntArray | None
) -> FloatArray | None:
    """The model matrix in run order (n × p), None where it is too large."""
    if cells.n * (cells.n - model.error_df) > _LARGEST_MATRIX:
        return None
    centred = [covariate for covariate, _ in centre_covariates(covariates)]
    terms = [row.term for row in model.terms]
    dense = code_model_matrix(cells, centred, terms).to_dense()
    dense = dense if sequence is None else dense[sequence]
    lengths = np.sqrt(np.sum(dense**2, axis=0))
    return np.asarray(dense / lengths, dtype=np.float64)


def _test_trend(
    cells: Cells,
    model: LinearModel,
    sums: ResidualSums,
    matrix: FloatArray | None,
    sequence: IntArray | None,
) -> tuple[float, float, float] | None:
    """Student's t of run order as a further covariate, its p, and the drift in standard deviations."""
    n = cells.n
    room, product = sums.room, sums.trend
    if model.by_row and matrix is not None:
        position = np.arange(n) - (n - 1) / 2
        q, _ = np.linalg.qr(matrix)
        left = position - q @ (q.T @ position)
        rows = slice(None) if sequence is None else sequence
        room = float(np.dot(left, left))
        product = float(np.dot(left, take_residuals(cells, model, rows)[0]) / math.sqrt(model.error_ss / n))
    # Nothing is left where the design follows the order, as with a block for each stretch of time.
    if room < 1e-6 * n * (n**2 - 1) / 12:
        return None
    slope = product / room
    df = model.error_df - 1
    rest = max(sums.second - slope**2 * room, 0.0)
    if df < 1 or rest == 0:
        return None
    statistic = slope / math.sqrt(rest / df / room)
    p = 2 * float(stdtr(df, -abs(statistic)))
    return statistic, p, slope * (n - 1) * math.sqrt(model.error_df / n)


def _test_neighbours(sums: ResidualSums, n: int, matrix: FloatArray | None) -> tuple[float, float, float]:
    """The correlation of neighbours as measured, its p, and by how much it departs from what is expected.

    With A the matrix of 1/2 beside the diagonal and M that of the residuals, the correlation is
    e'Ae / e'e; given independent normal errors its mean is tr(MA) / (n − k), and its variance that of a
    ratio of quadratic forms (Durbin and Watson 1950, section 3). Their own statistic counts the first and
    last residual less than others, so that one large one there passes for likeness.
    """
    correlation = sums.neighbours / sums.second
    mean, variance = 0.0, 1.0 / n
    if matrix is not None:
        beside = np.zeros_like(matrix)
        beside[:-1] += matrix[1:] / 2
        beside[1:] += matrix[:-1] / 2
        inverse = np.linalg.inv(matrix.T @ matrix)
        first = matrix.T @ beside @ inverse
        free = n - matrix.shape[1]
        trace = -float(np.trace(first))
        squares = (
            (n - 1) / 2 - 2 * float(np.sum((beside.T @ beside) * inverse.T)) + float(np.sum(first * first.T))
        )
        mean = trace / free
        variance = 2 / (free * (free + 2)) * (squares - trace * mean)
    p = 2 * float(ndtr(-abs(correlation - mean) / math.sqrt(variance))) if variance > 0 else 1.0
    # Residuals of a model are a little opposed, or alike, although the errors are independent.
    return correlation, p, correlation - mean


def _phrase_trend(
    statistic: float, p: float, drift: float, order: str, *, known: bool, alpha: float
) -> CheckResult:
    state: CheckState = "held"
    words, advice = f"no trend over the {order}", ""
    if p < alpha:
        state = "unknown" if not known else "harmless" if abs(drift) < _HARMLESS_DRIFT else "failed"
        way = "up" if drift > 0 else "down"
        words = (
            f"over the {order} the response drifted {way}, by {format_figures(abs(drift), 2)} standard "
            "deviations of the "
            f"error from first to last ({say_p(p)})"
        )
        advice = _advise(known=known)
    method = f"slope of the {order} in the model, Student"
    measure = "drift in standard deviations of the error"
    return CheckResult(TREND, method, statistic, p, state, drift, measure, words, advice)


def _phrase_neighbours(
    statistic: float, p: float, correlation: float, order: str, *, known: bool, alpha: float
) -> CheckResult:
    state: CheckState = "held"
    words, advice = f"neighbours in the {order} are no more alike than others", ""
    if p < alpha:
        small = abs(correlation) < _HARMLESS_CORRELATION
        state = "unknown" if not known else "harmless" if small else "failed"
        like = "alike" if correlation > 0 else "opposed"
        words = (
            f"neighbours in the {order} are {like} (correlation {format_fixed(correlation, 2)}, {say_p(p)})"
        )
        if state == "failed" and correlation > 0:
            words += ": there is less information in the observations than their number suggests"
        advice = _advise(known=known)
    method = f"correlation of neighbours in the {order}"
    measure = "correlation of neighbours"
    return CheckResult(
        "independent errors: neighbours", method, statistic, p, state, correlation, measure, words, advice
    )


def _advise(*, known: bool) -> str:
    if known:
        return tell(
            "In a random order this favours no level but widens all intervals; in an order that follows the "
            "levels it can pass for an effect. Look for what changed meanwhile, such as a machine that warms "
            f"up or other load, or adjust for it by a covariate (of a bundle: "
            f"{argument('covariates', 'order')})."
        )
    return tell(
        "If the rows stand as they were measured, name the column that says when "
        f"({argument('run_order')}) and make time a block or a covariate; if they do not, this says nothing."
    )
