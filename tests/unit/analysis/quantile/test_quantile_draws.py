"""Draws of cell quantiles, and what becomes of them."""

import numpy as np
import pytest
from scipy.stats import beta, binom, chi2, norm

from datamill.analysis.quantile.errors.draws import draw_targets, sort_cells
from datamill.analysis.quantile.errors.sandwich import choose_bandwidth
from datamill.analysis.quantile.inference import CovarianceInference, DrawnInference


def test_every_cell_is_sorted_by_itself() -> None:
    rng = np.random.default_rng(1)
    cells, values = rng.integers(0, 4, 500).astype(np.uint32), rng.standard_normal(500)
    ordered = sort_cells(cells, values, 4)
    for cell in range(4):
        own = ordered.values[ordered.starts[cell] : ordered.starts[cell + 1]]
        assert np.array_equal(own, np.sort(values[cells == cell]))


def test_positions_between_order_statistics_are_interpolated_and_those_beyond_go_on_outwards() -> None:
    ordered = sort_cells(np.zeros(4, dtype=np.uint32), np.array([10.0, 1.0, 4.0, 2.0]), 1)
    found = ordered.interpolate(np.array([[1.0, 1.5, 3.0, 3.25, 4.0, 4.5, 0.5]]))[0]
    assert found[:5] == pytest.approx([1.0, 1.5, 4.0, 5.5, 10.0])
    assert found[5] > 10.0
    assert found[6] < 1.0


def test_the_interval_of_one_cell_is_the_distribution_free_one() -> None:
    n, quantile = 100, 0.7
    values = np.arange(1.0, n + 1)
    ordered = sort_cells(np.zeros(n, dtype=np.uint32), values, 1)
    targets = draw_targets(quantile, np.array([n]), 100_000, np.random.default_rng(1))
    drawn = ordered.interpolate(targets + 0.5)[0]
    low, high = np.quantile(drawn, [0.025, 0.975])
    # Counts k have probability binom(n, quantile); the value lies between numbers k and k + 1.
    assert abs(low - (binom.ppf(0.025, n, quantile) + 0.5)) <= 0.5
    assert abs(high - (binom.ppf(0.975, n, quantile) + 0.5)) <= 0.5
    assert low == pytest.approx(n * beta.ppf(0.025, 70.5, 30.5), abs=1.0)


def test_stratified_counts_have_the_binomial_mean_and_variance() -> None:
    targets = draw_targets(0.99, np.array([50, 5000]), 20_000, np.random.default_rng(2))
    for own, n in zip(targets, (50, 5000), strict=True):
        assert np.mean(own) == pytest.approx(0.99 * n, abs=0.02)
        assert np.var(own) == pytest.approx(0.99 * 0.01 * n + 1 / 12, rel=0.03)


def test_draws_give_the_p_value_of_their_normal_distribution_also_where_none_reaches_zero() -> None:
    z = norm.ppf((np.arange(9999) + 0.5) / 9999)
    for centre in (0.0, 1.0, 2.5, 6.0, 12.0):
        inference = DrawnInference(z[:, None] + centre, 0.95)
        found = inference.infer(centre, np.ones(1))
        assert found.p is not None
        expected = min(1.0, 2 * norm.sf(centre))
        assert np.log10(found.p) == pytest.approx(np.log10(expected), abs=0.03 + 0.01 * centre**2)
        assert found.value.low == pytest.approx(centre - 1.96, abs=0.01)


def test_degrees_of_freedom_widen_intervals_and_raise_p() -> None:
    z = norm.ppf((np.arange(9999) + 0.5) / 9999)[:, None] + 2.2
    plain = DrawnInference(z, 0.95).infer(2.2, np.ones(1))
    few = DrawnInference(z, 0.95, np.array([5.0])).infer(2.2, np.ones(1))
    assert few.value.high - 2.2 == pytest.approx(2.571, abs=0.03)
    assert plain.p is not None
    assert few.p is not None
    assert plain.p < 0.05 < few.p


def test_the_joint_test_of_draws_is_that_of_their_covariance() -> None:
    rng = np.random.default_rng(3)
    root = np.array([[1.0, 0.0], [0.9, 0.5]])
    estimate = np.array([2.0, 1.0])
    draws = estimate + rng.standard_normal((20_000, 2)) @ root.T
    tested = DrawnInference(draws, 0.95).test(estimate, slice(0, 2))
    covariance = root @ root.T
    wald = CovarianceInference(covariance, 1e9, 0.95).test(estimate, slice(0, 2))
    assert wald == pytest.approx(chi2.sf(estimate @ np.linalg.solve(covariance, estimate), 2), rel=1e-6)
    assert tested == pytest.approx(wald, rel=0.1)


def test_a_window_of_quantiles_stays_between_0_and_1() -> None:
    for rule in ("hall-sheather", "bofinger"):
        for quantile in (0.001, 0.5, 0.999):
            width = choose_bandwidth(quantile, 10, rule=rule)
            assert 0 < quantile - width < quantile + width < 1
    assert choose_bandwidth(0.5, 1000) < choose_bandwidth(0.5, 100)


def test_draws_of_exactly_zero_speak_for_both_sides() -> None:
    # 900 of 999 draws are zero but for rounding, the others positive, as ties make them.
    drawn = np.concatenate([np.full(900, 1e-17), np.linspace(1, 2, 99)])
    inference = DrawnInference(np.stack([drawn + 5, drawn], axis=1)[:, 1:], 0.95)
    found = inference.infer(0.0, np.array([1.0]))
    assert found.p == 1.0
    assert found.value.low == 0.0 < found.value.high


def test_an_estimate_of_zero_is_not_told_from_zero_though_all_draws_lie_beyond() -> None:
    inference = DrawnInference(np.linspace(1, 2, 999)[:, None], 0.95)
    found = inference.infer(0.0, np.array([1.0]))
    assert (found.value.low, found.p) == (0.0, 1.0)


@pytest.mark.parametrize("replicates", [199, 399, 999])
def test_p_is_below_five_percent_just_where_the_interval_leaves_out_zero(replicates: int) -> None:
    for below in range(replicates // 10):
        drawn = np.concatenate([-np.ones(below), np.linspace(1, 2, replicates - below)])
        found = DrawnInference(drawn[:, None], 0.95).infer(1.5, np.array([1.0]))
        assert found.p is not None
        assert (found.p < 0.05) == (found.value.low > 0)
