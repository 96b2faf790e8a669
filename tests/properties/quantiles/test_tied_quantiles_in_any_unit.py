"""Where observations tie (counts, rounded times) rounding of the fit decides nothing, in any unit."""

import numpy as np
import polars as pl
import pytest
from running.nightly import choose_count

import datamill

#: Each with its own rounding of what is equal in whole numbers.
UNITS = [0.1, 1 / 3, 1e-12, 7e9]


def make_counts(seed: int) -> pl.DataFrame:
    """Counts of 18 trials with 15 observations each, in 3 × 2 design points."""
    rng = np.random.default_rng(seed)
    trial = np.repeat(np.arange(18), 15)
    return pl.DataFrame(
        {
            "mode": np.array(list("pqr"))[trial % 3],
            "load": np.array(["low", "high"])[trial // 3 % 2],
            "trial": trial,
            "y": rng.poisson(2 + rng.gamma(1, 1, 18)[trial]).astype(float),
        }
    )


def fit(table: pl.DataFrame, errors: str, order: int) -> list[tuple[list[float], float | None]]:
    model = datamill.quantiles(
        table,
        response="y",
        factors=["mode", "load"],
        order=order,
        trial="trial",
        quantiles=[0.25, 0.5, 0.9],
        errors=errors,
        replicates=199 if errors == "cluster" else None,
    ).model
    rows = [row for one in model.fits for row in one.coefficients]
    return [([row.value.estimate, row.value.low, row.value.high], row.p) for row in rows]


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("errors", ["cluster", "iid"])
@pytest.mark.parametrize("unit", UNITS)
def test_intervals_and_p_of_counts_do_not_heed_the_unit(unit: float, errors: str, order: int) -> None:
    for seed in (0, 1, 3, 16, 36):
        table = make_counts(seed)
        plain = fit(table, errors, order)
        other = fit(table.with_columns(pl.col("y") * unit), errors, order)
        for (interval, p), (scaled, same) in zip(plain, other, strict=True):
            assert [end / unit for end in scaled] == pytest.approx(interval, rel=1e-6, abs=1e-6)
            assert same == (None if p is None else pytest.approx(p, abs=1e-6))


def test_what_ties_is_not_found_to_differ_by_rounding_alone() -> None:
    for seed in range(6):
        for unit in UNITS:
            for interval, p in fit(make_counts(seed).with_columns(pl.col("y") * unit), "iid", 2):
                width = (interval[2] - interval[1]) / unit
                assert width == 0 or width > 1e-6
                assert width > 0 or p is None


def test_one_observation_far_away_changes_no_interval_of_the_others() -> None:
    rng = np.random.default_rng(5)
    table = pl.DataFrame({"mode": ["p", "q"] * 100, "y": rng.normal(100, 1, 200)})
    for errors in ("iid", "nid"):
        near, far = (
            datamill.quantiles(
                table.with_columns(y=pl.when(pl.int_range(pl.len()) == 7).then(away).otherwise(pl.col("y"))),
                response="y",
                factors=["mode"],
                quantiles=[0.5],
                errors=errors,
            ).model.fits[0]
            for away in (1e3, 1e12)
        )
        for row, same in zip(near.coefficients, far.coefficients, strict=True):
            assert same.standard_error == pytest.approx(row.standard_error, rel=1e-3)


@pytest.mark.parametrize("unit", [1.0, 0.1])
@pytest.mark.parametrize("step", [1.0, 0.1])
def test_a_limit_of_ranks_that_is_zero_but_for_rounding_leaves_zero_in_the_interval(
    unit: float, step: float
) -> None:
    for seed in range(choose_count(10, 25)):
        rng = np.random.default_rng(seed)
        size = rng.integers(0, 6, 150).astype(float)
        y = rng.poisson(3 + 0.5 * size) * unit
        table = pl.DataFrame(
            {"mode": np.array(list("pqr"))[np.arange(150) // 5 % 3], "size": size * step, "y": y}
        )
        model = datamill.quantiles(
            table, formula="y ~ mode + size", quantiles=[0.25, 0.5], errors="rank"
        ).model
        for row in (row for fit_ in model.fits for row in fit_.coefficients[1:]):
            if row.value.low <= 1e-9 and row.value.high >= -1e-9:
                assert row.value.low <= 0 <= row.value.high
                assert row.p is None or row.p >= 0.05
