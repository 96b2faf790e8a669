"""Which method gives the errors of a quantile model, and the errors that it gives."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from datamill import _native
from datamill.analysis.model_data.cells import FloatArray
from datamill.analysis.model_data.matrix import ModelMatrix
from datamill.analysis.model_data.observations import Observations
from datamill.analysis.quantile.errors.counts import infer_from_counts, is_walked
from datamill.analysis.quantile.errors.draws import sort_cells
from datamill.analysis.quantile.errors.ranks import infer_from_ranks
from datamill.analysis.quantile.errors.sandwich import (
    estimate_iid_covariance,
    estimate_kernel_covariance,
    estimate_nid_covariance,
)
from datamill.analysis.quantile.fit import QuantileProblem
from datamill.analysis.quantile.fits import is_saturated
from datamill.analysis.quantile.inference import CovarianceInference, DrawnInference, Inference
from datamill.analysis.quantile.quantile_model import ERROR_METHODS
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument

#: Draws where each is a look-up, a short walk, one of many steps together, and a fit of its own.
_LOOK_UPS, _WALKS, _SMOOTHED, _REFITS = 9999, 999, 199, 499
#: Fits of their own where there are many observations.
_LARGE_REFITS = 199
#: Draws for each coefficient of a term, so that they tell how these vary together.
_DRAWS_FOR_EACH = 6
#: Look-ups of all cells together.
_MOST_LOOK_UPS = 2_000_000
#: Observations, and numbers in their matrix, up to which a bootstrap with covariates takes seconds.
_FEW_ROWS, _FEW_NUMBERS = 10_000, 500_000
#: Methods that draw.
_DRAWING = ("binomial", "cluster", "block", "rows")


def choose_errors(observations: Observations, matrix: ModelMatrix, asked: str) -> str:
    """Return the method to use, `auto` resolved by what the data are.

    Raises:
        InputError: there is no such method, or the data lack what it needs.
    """
    if asked not in ERROR_METHODS:
        raise InputError(
            f'there is no method "{asked}" for errors', remedy=f"There are: {', '.join(ERROR_METHODS)}."
        )
    if asked == "auto":
        if have_several_observations(observations):
            return "cluster"
        if matrix.factorial:
            return "binomial"
        # Where both can be had, the bootstrap covers better: nid is too narrow where little lies beyond.
        n, p = observations.cells.n, matrix.by_cell.shape[1]
        return "rows" if n <= _FEW_ROWS or n * p <= _FEW_NUMBERS else "nid"
    if asked == "binomial" and not matrix.factorial:
        raise InputError(
            "binomial errors exist for models of factors alone, and this one has a covariate",
            remedy="Choose nid, kernel, rank or rows, or leave it to auto.",
        )
    if asked == "cluster" and not have_several_observations(observations):
        raise InputError(
            "cluster errors need several observations in a trial, and these have one each",
            remedy=f"Name the column that tells trials apart with {argument('trial')}, or choose "
            "another method.",
        )
    if asked == "block" and observations.order is None:
        raise InputError(
            "block errors need to know when the observations came",
            remedy=f"Name the column that says so with {argument('run_order')}.",
        )
    return asked


def have_several_observations(observations: Observations) -> bool:
    """Whether some trial has several observations."""
    trials = observations.trials
    return trials is not None and np.unique(trials).size < trials.size


def are_trials_nested(observations: Observations) -> bool:
    """Whether every trial belongs to one combination of levels."""
    trials = observations.trials
    if trials is None:
        return True
    of_row = observations.cells.of_row
    first = np.zeros(int(trials.max()) + 1, dtype=of_row.dtype)
    first[trials] = of_row
    return bool(np.all(first[trials] == of_row))


@dataclass(frozen=True, slots=True, eq=False)
class ErrorEngine:
    """Gives the errors of a problem's coefficients at one quantile after another, by one method."""

    observations: Observations
    problem: QuantileProblem
    method: str
    confidence: float
    asked_replicates: int | None
    seed: int
    block_length: int | None
    bandwidth: str = "hall-sheather"
    #: Observations at a quantile whose density came out as not positive.
    not_positive: dict[float, int] = field(default_factory=dict)
    #: Degrees of freedom at a quantile of the coefficient whose errors are known worst, from counts by trial.
    least_freedom: dict[float, float] = field(default_factory=dict)

    @property
    def by_counts(self) -> bool:
        """Whether counts are drawn, not observations resampled."""
        return self.method == "binomial" or (self.method == "cluster" and self.problem.matrix.factorial)

    @property
    def smoothed(self) -> bool:
        """Whether drawn counts are smoothed, as an exact solution of each draw would take too long."""
        return self.by_counts and not is_saturated(self.problem.matrix) and not is_walked(self.problem)

    @property
    def unit(self) -> Literal["trial", "build"]:
        """What observations belong to that are no replicates of each other."""
        return "build" if self.observations.units == "builds" else "trial"

    @property
    def replicates(self) -> int | None:
        """Number of draws; None where nothing is drawn."""
        if self.method not in _DRAWING:
            return None
        if self.asked_replicates:
            return self.asked_replicates
        if not self.by_counts:
            return _REFITS if self.problem.n <= _FEW_ROWS else _LARGE_REFITS
        matrix = self.problem.matrix.by_cell
        if self.smoothed:
            most = max(term.df for term in self.problem.matrix.terms)
            return max(_SMOOTHED, min(_WALKS, _DRAWS_FOR_EACH * most))
        if matrix.shape[0] > matrix.shape[1] or self.method == "cluster":
            return _WALKS
        return max(_WALKS, min(_LOOK_UPS, _MOST_LOOK_UPS // int(matrix.shape[0])))

    def infer_all(self, quantiles: list[float], coefficients: FloatArray) -> list[Inference]:
        """Return what is known about the errors of the coefficients (T × p) at each quantile."""
        if self.replicates is None:
            pairs = zip(quantiles, coefficients, strict=True)
            return [self._infer_by_formula(quantile, own) for quantile, own in pairs]
        if self.method == "cluster":
            groups = int(np.unique(np.asarray(self.observations.trials)).size)
            refuse_few_groups(
                groups,
                coefficients.shape[1],
                self.observations.units,
                f"Add {self.observations.units} or choose fewer terms: observations within a {self.unit} are "
                "not replicates.",
            )
        if self.by_counts:
            return self._draw_counts(quantiles, coefficients, self.replicates)
        return self._resample(quantiles, coefficients, self.replicates)

    def _infer_by_formula(self, quantile: float, coefficients: FloatArray) -> Inference:
        problem = self.problem
        if self.method == "rank":
            limits, bad = infer_from_ranks(problem, quantile, coefficients, self.confidence)
            if bad:
                self.not_positive[quantile] = bad
            return limits
        if self.method == "kernel":
            covariance = estimate_kernel_covariance(problem, quantile, coefficients, rule=self.bandwidth)
        elif self.method == "iid":
            covariance = estimate_iid_covariance(problem, quantile, coefficients, rule=self.bandwidth)
        else:
            covariance, bad = estimate_nid_covariance(problem, quantile, rule=self.bandwidth)
            if bad:
                self.not_positive[quantile] = bad
        return CovarianceInference(covariance, problem.values.size - coefficients.size, self.confidence)

    def _draw_counts(
        self, quantiles: list[float], coefficients: FloatArray, replicates: int
    ) -> list[Inference]:
        cells = self.observations.cells
        ordered = sort_cells(cells.of_row, cells.values, cells.counts.size)
        found = [
            infer_from_counts(
                self.problem,
                ordered,
                quantile,
                own,
                confidence=self.confidence,
                replicates=replicates,
                seed=self.seed,
                trials=self.observations.trials if self.method == "cluster" else None,
            )
            for quantile, own in zip(quantiles, coefficients, strict=True)
        ]
        for quantile, inference in zip(quantiles, found, strict=True):
            if inference.df is not None:
                self.least_freedom[quantile] = float(np.min(inference.df))
        return [*found]

    def _resample(self, quantiles: list[float], coefficients: FloatArray, replicates: int) -> list[Inference]:
        matrix, values = self.problem.matrix, self.problem.values
        cell_of_row, products, clusters, scheme, block = matrix.cell_of_row, matrix.products, None, "rows", 0
        groups, parameters = values.size, coefficients.shape[1]
        if self.method == "cluster":
            assert self.observations.trials is not None
            # Weights instead of counts leave no draw without data at some level.
            scheme, clusters = "exponential", self.observations.trials
            groups = int(np.unique(clusters).size)
        elif self.method == "block":
            assert self.observations.order is not None
            order = np.argsort(self.observations.order, kind="stable")
            cell_of_row, values = np.ascontiguousarray(cell_of_row[order]), values[order]
            products = np.ascontiguousarray(products[:, order])
            scheme, block = "blocks", self.block_length or choose_block_length(values.size)
            groups = max(1, values.size // block)
        if self.method == "block":
            refuse_few_groups(groups, parameters, "blocks", "Choose shorter blocks, or fewer terms.")
        draws = _native.bootstrap_general(
            matrix.by_cell,
            cell_of_row,
            products,
            matrix.of_product,
            values,
            np.asarray(quantiles),
            clusters,
            scheme,
            replicates,
            self.seed,
            block,
        )
        found: list[Inference] = []
        for index, own in enumerate(coefficients):
            drawn = draws[:, index, :]
            drawn = drawn[np.all(np.isfinite(drawn), axis=1)]
            if 2 * drawn.shape[0] < replicates:
                raise InputError(
                    f"only {drawn.shape[0]} of {replicates} bootstrap draws have data at every combination "
                    "that the model needs",
                    remedy="Choose other errors, fewer terms, or add observations.",
                )
            df = None
            if self.method != "rows":
                # What p coefficients take from the spread of so few groups.
                grown = groups + parameters if scheme == "exponential" else groups
                drawn = own + (drawn - own) * np.sqrt(grown / (groups - parameters))
                df = np.full(parameters, float(groups - parameters))
            found.append(DrawnInference(drawn, self.confidence, df, matrix.sizes, self.problem.resolution))
        return found


def refuse_few_groups(groups: int, parameters: int, name: str, remedy: str) -> None:
    """Refuse to estimate errors from no more groups than coefficients."""
    if groups <= parameters:
        raise InputError(
            f"{groups} {name} cannot tell {parameters} coefficients and their errors", remedy=remedy
        )


def choose_block_length(n: int) -> int:
    """Length of blocks of successive observations: n to the power of 1/3, at least 2."""
    return max(2, round(math.cbrt(n)))
