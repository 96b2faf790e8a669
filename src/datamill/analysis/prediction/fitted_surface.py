"""A linear model as a surface: its value, and how sure that is, at any levels and covariates.

The confidence interval is of the mean, s·√(x′(X′X)⁻¹x)·t; the prediction interval of one further observation
adds its own variance under the root (thesis 2015, chapter 1; Draper and Smith 1998, section 3.1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.special import fdtrc, stdtrit

from datamill.analysis.interval import Interval
from datamill.analysis.linear.linear_model import LackOfFit, LinearModel
from datamill.analysis.linear.reduction import centre_covariates, reduce_observations
from datamill.analysis.linear.triangle import solve_triangle
from datamill.analysis.model_data.cells import FloatArray
from datamill.analysis.model_data.coding import Term, code_cells
from datamill.analysis.model_data.matrix import code_model_matrix
from datamill.analysis.model_data.observations import Observations
from datamill.analysis.prediction.prediction import Misfit


@dataclass(frozen=True, slots=True, eq=False)
class FittedSurface:
    """The coefficients of a model and the root of their covariance; `centres` are covariates' means."""

    observations: Observations
    model: LinearModel
    terms: tuple[Term, ...]
    beta: FloatArray
    root: FloatArray
    centres: tuple[float, ...]

    def predict(
        self, levels: Mapping[str, str], covariates: Sequence[float], confidence: float
    ) -> tuple[Interval, Interval]:
        """The mean and one further observation, at levels of all factors but those averaged over.

        Args:
            levels: a level of each factor; one that is missing is averaged over, as blocks are.
            covariates: the value of each of the model's covariates, as its transform has it.
            confidence: level of both intervals.
        """
        row = self._code(levels, covariates)
        estimate = float(row @ self.beta) + self.observations.cells.origin
        share = float(np.sum((row @ self.root) ** 2))
        critical = -float(stdtrit(self.model.error_df, (1 - confidence) / 2))
        sure, new = (critical * np.sqrt(self.model.error_ms * part) for part in (share, 1 + share))
        return (
            Interval(estimate, float(estimate - sure), float(estimate + sure)),
            Interval(estimate, float(estimate - new), float(estimate + new)),
        )

    def _code(self, levels: Mapping[str, str], covariates: Sequence[float]) -> FloatArray:
        """The row of the model matrix, averaged over the factors that have no level."""
        factors = self.observations.cells.factors
        choices = [
            [factor.levels.index(levels[factor.name])]
            if factor.name in levels
            else list(range(len(factor.levels)))
            for factor in factors
        ]
        combinations = list(product(*choices))
        # Without factors there is one combination, of nothing.
        grid = np.array(combinations, dtype=np.int64).reshape(len(combinations), len(factors))
        coded = code_cells(grid, factors, self.terms).mean(axis=0)
        distances = [value - centre for value, centre in zip(covariates, self.centres, strict=True)]
        at = 1
        for term in self.terms:
            for index in term.covariates:
                coded[at : at + term.df] *= distances[index]
            at += term.df
        return np.asarray(coded, dtype=np.float64)


def fit_surface(observations: Observations, model: LinearModel) -> FittedSurface:
    """The surface of a model that was fitted to these observations."""
    centred = centre_covariates(observations.covariates)
    terms = tuple(row.term for row in model.terms)
    matrix = code_model_matrix(observations.cells, [item for item, _ in centred], terms)
    reduction = reduce_observations(observations.cells, matrix)
    q, r = np.linalg.qr(reduction.matrix)
    beta = solve_triangle(r, q.T @ reduction.response)
    root = solve_triangle(r, np.eye(r.shape[1]))
    return FittedSurface(observations, model, terms, beta, root, tuple(middle for _, middle in centred))


def measure_misfit(observations: Observations, model: LinearModel) -> Misfit:
    """How far a model misses the means of the measured combinations of levels and covariates.

    Lack of fit is tested against the error within these combinations (Draper and Smith 1998, section 2.1).
    """
    cells = observations.cells
    columns = [cells.of_row.astype(np.float64), *(item.values for item in observations.covariates)]
    _, group = np.unique(np.column_stack(columns), axis=0, return_inverse=True)
    group = group.reshape(-1)
    counts = np.bincount(group)
    means = np.bincount(group, weights=cells.values) / counts
    pure_ss = float(np.sum((cells.values - means[group]) ** 2))
    pure_df = cells.n - counts.size
    fitted = model.fitted if model.by_row else model.fitted[cells.of_row]
    misses = means - np.bincount(group, weights=fitted) / counts
    worst = int(np.argmax(np.abs(misses)))
    missed = float(means[worst]) + cells.origin
    largest = abs(float(misses[worst]))
    percent = 100 * largest / missed if missed > 0 and not observations.transform else None
    lack_df = model.error_df - pure_df
    if lack_df <= 0 or pure_df <= 0:
        return Misfit(None, saturated=lack_df <= 0, largest=largest, percent=percent)
    lack_ss = max(0.0, model.error_ss - pure_ss)
    if pure_ss <= cells.rounding_ss:
        none = lack_ss <= cells.rounding_ss
        test = None if none else LackOfFit(lack_ss, lack_df, None, None)
        return Misfit(test, saturated=False, largest=largest, percent=percent)
    f = lack_ss / lack_df / (pure_ss / pure_df)
    test = LackOfFit(lack_ss, lack_df, f, float(fdtrc(lack_df, pure_df, f)))
    return Misfit(test, saturated=False, largest=largest, percent=percent)
