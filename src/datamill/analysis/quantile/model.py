"""Linear quantile regression: effects of factors and covariates on any quantile of a response."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from datamill.analysis.distribution.order_statistics import check_quantiles
from datamill.analysis.linear.reduction import centre_covariates
from datamill.analysis.model_data.question import ModelData
from datamill.analysis.quantile.errors.choose import ErrorEngine, choose_errors
from datamill.analysis.quantile.fit import QuantileProblem
from datamill.analysis.quantile.fits import count_crossings, is_saturated, spell_fits
from datamill.analysis.quantile.quantile_model import QuantileModel
from datamill.analysis.quantile.terms import choose_estimable_terms
from datamill.analysis.quantile.warnings import collect_warnings, describe_method


def fit_quantiles(
    data: ModelData,
    quantiles: Sequence[float],
    *,
    errors: str = "auto",
    confidence: float = 0.95,
    alpha: float = 0.05,
    replicates: int | None = None,
    seed: int = 1,
    block_length: int | None = None,
    bandwidth: str = "hall-sheather",
) -> QuantileModel:
    """Fit the terms of a model to quantiles of its response, with intervals by a stated method.

    Coefficients minimise the sum of check functions exactly (Koenker and Bassett 1978; ASPLOS 2013,
    section 6); where several do, they are the limit from below. Covariates count from their means, as
    in the linear model: there the intercept and the effects of factors hold. `errors` is a key of
    `ERROR_METHODS`. Where trials have several observations, only methods that know about them are
    chosen, and others are marked by a warning. What is drawn depends on `seed` alone. `bandwidth` is
    the rule for densities (nid, kernel, iid): `hall-sheather` or `bofinger`.

    Raises:
        InputError: a quantile is not between 0 and 1, the method does not suit the data, or they
            cannot tell the terms apart.
    """
    asked = check_quantiles(quantiles)
    centred = centre_covariates(data.observations.covariates)
    observations = replace(data.observations, covariates=tuple(covariate for covariate, _ in centred))
    matrix, dropped = choose_estimable_terms(observations, data.terms)
    chosen = choose_errors(observations, matrix, errors)
    cells, trials = observations.cells, observations.trials
    problem = QuantileProblem(matrix, cells.values, cells.origin)
    solutions = problem.solve(asked)
    engine = ErrorEngine(observations, problem, chosen, confidence, replicates, seed, block_length, bandwidth)
    inferences = engine.infer_all(asked, solutions.coefficients)
    fits = spell_fits(
        problem, cells.factors, cells.origin, asked, solutions, inferences, confidence, data.blocks
    )
    crossings = count_crossings(problem, solutions.coefficients)
    return QuantileModel(
        factors=cells.factors,
        covariates=tuple(covariate.name for covariate in observations.covariates),
        terms=matrix.terms,
        n=cells.n,
        trials=None if trials is None else int(np.unique(trials).size),
        cells=cells.counts.size,
        smallest_cell=int(np.min(cells.counts)),
        saturated=is_saturated(matrix),
        fits=fits,
        errors=chosen,
        method=describe_method(engine),
        confidence=confidence,
        alpha=alpha,
        replicates=engine.replicates,
        seed=None if engine.replicates is None else seed,
        not_estimable=dropped,
        crossings=crossings,
        warnings=collect_warnings(engine, fits, dropped, crossings),
        covariate_means=tuple(mean for _, mean in centred),
        blocks=data.blocks,
        units=observations.units,
    )
