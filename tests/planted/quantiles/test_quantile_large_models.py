"""Errors of models too large to solve for each draw exactly, and of tails that few trials decide."""

import time
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from datamill.analysis.model_data.cells import ModelFactor, gather_cells
from datamill.analysis.model_data.coding import list_formula_terms
from datamill.analysis.model_data.formula import list_factorial_terms
from datamill.analysis.model_data.matrix import build_model_matrix
from datamill.analysis.model_data.observations import Observations
from datamill.analysis.model_data.question import ModelData
from datamill.analysis.quantile.errors import counts
from datamill.analysis.quantile.errors.draws import draw_targets, sort_cells
from datamill.analysis.quantile.errors.smooth import smooth_counts, solve_smooth
from datamill.analysis.quantile.fit import QuantileProblem
from datamill.analysis.quantile.model import fit_quantiles


def make_data(
    levels: tuple[int, ...], values: np.ndarray, order: int = 2, trials: np.ndarray | None = None
) -> ModelData:
    factors = [ModelFactor(f"f{i}", tuple(f"l{level}" for level in range(n))) for i, n in enumerate(levels)]
    points = np.array(list(product(*(range(n) for n in levels))))
    codes = np.repeat(points, values.size // points.shape[0], axis=0)
    terms = list_formula_terms(factors, (), list_factorial_terms([factor.name for factor in factors], order))
    return ModelData(Observations("y", "", gather_cells(factors, codes, values), 0, 0, trials=trials), terms)


def test_900_design_points_and_148_coefficients_are_answered_in_seconds() -> None:
    rng = np.random.default_rng(1)
    data = make_data((4, 5, 5, 9), rng.lognormal(size=6300))
    started_s = time.process_time()
    model = fit_quantiles(data, [0.5])
    # An exact solution of each of 999 draws takes a minute.
    assert time.process_time() - started_s < 20
    assert model.errors == "binomial"
    assert "counts smoothed, as the model is too large" in model.method
    assert len(model.fits[0].coefficients) == 148


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9])
def test_draws_of_smoothed_counts_spread_as_exact_ones(quantile: float) -> None:
    rng = np.random.default_rng(2)
    data = make_data((2, 3, 3, 4), rng.lognormal(size=72 * 22))
    cells = data.observations.cells
    problem = QuantileProblem(build_model_matrix(data.observations, data.terms), cells.values)
    fit = problem.solve([quantile]).coefficients[0]
    ordered = sort_cells(cells.of_row, cells.values, cells.counts.size)
    targets = draw_targets(quantile, ordered.counts, 499, np.random.default_rng(3))
    exact = counts._solve(problem, quantile, targets, cells.counts.astype(np.float64))
    smooth = solve_smooth(problem, smooth_counts(problem, quantile, fit), targets)
    ratio = np.std(smooth, axis=0) / np.std(exact, axis=0)
    assert np.median(ratio) == pytest.approx(1.0, abs=0.06)
    assert np.all((ratio > 0.85) & (ratio < 1.15))
    along = [np.corrcoef(one, other)[0, 1] for one, other in zip(smooth.T, exact.T, strict=True)]
    assert min(along) > 0.93


def test_intervals_of_smoothed_counts_cover_no_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counts, "_MOST_WALKED", 0)
    rng = np.random.default_rng(4)
    missed, replications = np.zeros(3), 100
    for seed in range(replications):
        model = fit_quantiles(
            make_data((2,) * 6, rng.lognormal(size=64 * 17)), [0.1, 0.5, 0.9], replicates=199, seed=seed
        )
        for place, fit in enumerate(model.fits):
            rows = fit.coefficients[1:]
            missed[place] += np.mean([row.value.low > 0 or row.value.high < 0 for row in rows])
    # 21 effects of one data set are nearly independent; the bound is that of a quarter as many.
    for count in missed:
        assert count * 5 <= binom.ppf(0.9999, replications * 5, 0.05)


def draw_bursts(rng: np.random.Generator, trials: int, size: int) -> np.ndarray:
    """Latencies of trials that differ much in scale, so that few have nearly all that is slow."""
    return (rng.exponential(1, (trials, size)) * rng.lognormal(0, 1, (trials, 1))).ravel()


def test_where_few_trials_have_the_tail_no_more_effects_are_found_than_alpha_allows() -> None:
    rng = np.random.default_rng(5)
    trials, size, replications = 8 * 7, 300, 300
    number = np.repeat(np.arange(trials), size).astype(np.uint32)
    alarms, told = 0, 0
    for seed in range(replications):
        data = make_data((2, 2, 2), draw_bursts(rng, trials, size), 2, number)
        model = fit_quantiles(data, [0.99], replicates=199, seed=seed)
        assert model.errors == "cluster"
        alarms += sum(row.p is not None and row.p < 0.05 for row in model.fits[0].coefficients[1:])
        told += any("a few trials have most of what lies beyond" in text for text in model.warnings)
    # Six effects of one data set are not quite independent: the bound is that of half as many.
    assert alarms / 2 <= binom.ppf(0.9999, 3 * replications, 0.05)
    assert told > replications / 4


def test_where_trials_share_alike_the_degrees_of_freedom_are_those_of_their_number() -> None:
    rng = np.random.default_rng(6)
    trials, size = 8 * 7, 100
    number = np.repeat(np.arange(trials), size).astype(np.uint32)
    values = rng.standard_normal(trials * size) + 0.7 * rng.standard_normal(trials)[number]
    data = make_data((2, 2, 2), values, 2, number)
    model = fit_quantiles(data, [0.5], replicates=199)
    assert not any("a few trials" in text for text in model.warnings)
    matrix = build_model_matrix(data.observations, data.terms)
    problem = QuantileProblem(matrix, data.observations.cells.values)
    fit = problem.solve([0.5]).coefficients[0]
    df = counts.count_freedom(problem, 0.5, counts.count_excess(problem, 0.5, fit, number))
    assert np.all(df > 30)
    assert np.all(df <= trials - fit.size)
