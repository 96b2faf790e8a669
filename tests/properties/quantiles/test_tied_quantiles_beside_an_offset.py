"""Where observations tie, an offset they have in common changes no p-value: 1000000.1 is no exact number."""

import numpy as np
import polars as pl
import pytest
from running.nightly import choose_count

import datamill
from datamill.analysis.quantile.errors.ranks import restore_decimals
from datamill.analysis.quantile.inference import DrawnInference

OFFSETS = [1_000_000, 12_345_678]


def make_tenths(offset: int, seed: int, rate: float) -> pl.DataFrame:
    """Responses in tenths, which add up over two factors, of 300 trials."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 3, 300), rng.integers(0, 2, 300)
    tenths = (rng.poisson(rate, 300) + a + b).tolist()
    y = [float(f"{offset + tenth // 10}.{tenth % 10}") for tenth in tenths]
    return pl.DataFrame({"a": np.array(list("pqr"))[a], "b": np.array(["low", "high"])[b], "y": y})


def fit(table: pl.DataFrame, errors: str, order: int) -> tuple[list[list[float]], list[float | None]]:
    model = datamill.quantiles(
        table,
        response="y",
        factors=["a", "b"],
        order=order,
        quantiles=[0.5, 0.75],
        errors=errors,
        replicates=199 if errors in ("binomial", "rows") else None,
    ).model
    rows = [row for one in model.fits for row in one.coefficients[1:]]
    intervals = [[row.value.estimate, row.value.low, row.value.high] for row in rows]
    return intervals, [row.p for row in rows] + [term.p for one in model.fits for term in one.terms]


@pytest.mark.parametrize("rate", [0.15, 0.6, 1.5])
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("errors", ["binomial", "rows", "iid", "nid", "kernel", "rank"])
def test_intervals_and_p_of_tied_responses_do_not_heed_their_offset(
    errors: str, order: int, rate: float
) -> None:
    for seed in range(choose_count(1, 3)):
        intervals, p_values = fit(make_tenths(0, seed, rate), errors, order)
        for offset in OFFSETS:
            moved, same = fit(make_tenths(offset, seed, rate), errors, order)
            assert np.array(moved) == pytest.approx(np.array(intervals), abs=1e-6)
            assert [p is None for p in same] == [p is None for p in p_values]
            assert [p for p in same if p is not None] == pytest.approx(
                [p for p in p_values if p is not None], abs=1e-4
            )


@pytest.mark.parametrize("offset", [0, *OFFSETS])
def test_kernel_errors_of_what_ties_are_none_and_not_those_of_rounding(offset: int) -> None:
    for seed in range(choose_count(2, 6)):
        intervals, p_values = fit(make_tenths(offset, seed, 0.15), "kernel", 2)
        for (estimate, low, high), p in zip(intervals, p_values, strict=False):
            assert high - low > 1e-6
            assert p is None or abs(estimate) > 1e-6 or p > 0.05


def test_draws_as_far_apart_as_rounding_sets_them_are_the_same() -> None:
    rng = np.random.default_rng(1)
    draws = np.array([5.0, 0.1, 0.2]) + 1e-10 * rng.integers(-1, 2, (999, 3))
    inference = DrawnInference(draws, 0.95, resolution=4e-10)
    assert inference.infer(0.1, np.array([0.0, 1.0, 0.0])).p is None
    assert inference.test(np.array([0.1, 0.2]), slice(1, 3)) is None
    exact = DrawnInference(draws, 0.95)
    assert exact.infer(0.1, np.array([0.0, 1.0, 0.0])).p is not None


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e6])
def test_decimals_come_back_from_deviations_and_other_numbers_stay(unit: float) -> None:
    tenths = np.array([-30.0, -1.0, 0.0, 2.0, 7.0])
    deviations = (1e6 * unit + tenths / 10 * unit) - 1e6 * unit
    resolution = 4 * float(np.finfo(np.float64).eps) * 1e6 * unit
    assert restore_decimals(deviations, resolution) == pytest.approx(tenths / 10 * unit, rel=1e-14, abs=0)
    others = np.random.default_rng(1).normal(size=50) * unit
    assert restore_decimals(others, resolution) is others
