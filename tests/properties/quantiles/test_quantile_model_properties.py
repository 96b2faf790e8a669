"""What must hold for a quantile model of any data."""

from itertools import product

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from datamill.analysis.model_data.question import ModelQuestion, select_model_data
from datamill.analysis.quantile.model import fit_quantiles
from datamill.analysis.quantile.quantile_model import QuantileModel

QUANTILES = (0.25, 0.5, 0.8)
SEEDS = st.integers(0, 10_000)
#: Powers of two are exact; others to rounding.
FACTORS = st.sampled_from([1e-9, 2.0**-20, 0.001, 3.0, 1024.0, 1e6])


def make_table(seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    cells = list(product("ab", "uvw"))
    rows = [cell for cell in cells for _ in range(int(rng.integers(6, 15)))]
    values = rng.lognormal(size=len(rows)) * np.array([1 + (row[0] == "b") for row in rows])
    return pl.DataFrame(
        {
            "f": [row[0] for row in rows],
            "g": [row[1] for row in rows],
            "y": values,
            "x": rng.random(len(rows)),
        }
    )


def fit(table: pl.DataFrame, formula: str = "y ~ f + g", errors: str = "auto") -> QuantileModel:
    replicates = 199 if errors in ("auto", "rows") else None
    data = select_model_data(table, ModelQuestion(formula=formula))
    return fit_quantiles(data, QUANTILES, errors=errors, replicates=replicates)


def collect(model: QuantileModel) -> np.ndarray:
    """Estimates and bounds of all coefficients at all quantiles (T × p × 3)."""
    return np.array(
        [[[r.value.estimate, r.value.low, r.value.high] for r in own.coefficients] for own in model.fits]
    )


def compare(ours: np.ndarray, theirs: np.ndarray) -> None:
    size = np.max(np.abs(theirs[np.isfinite(theirs)]))
    same = np.isclose(ours, theirs, rtol=1e-7, atol=1e-9 * size) | (ours == theirs)
    assert np.all(same), (ours[~same], theirs[~same])


@settings(max_examples=25, deadline=None)
@given(
    SEEDS,
    FACTORS,
    st.sampled_from(["y ~ f * g", "y ~ f + g", "y ~ f + x"]),
    st.sampled_from(["auto", "nid", "kernel"]),
)
def test_another_unit_changes_every_number_by_its_factor(
    seed: int, factor: float, formula: str, errors: str
) -> None:
    table = make_table(seed)
    scaled = fit(table.with_columns(pl.col("y") * factor), formula, errors)
    compare(collect(scaled), factor * collect(fit(table, formula, errors)))


@settings(max_examples=25, deadline=None)
@given(SEEDS, st.sampled_from([-1e6, -3.0, 0.5, 1e4]), st.sampled_from(["y ~ f * g", "y ~ f + g"]))
def test_a_shift_of_the_response_shifts_the_intercept_alone(seed: int, shift: float, formula: str) -> None:
    table = make_table(seed).with_columns((pl.col("y") * 2**20).round() / 2**20)
    moved = collect(fit(table.with_columns(pl.col("y") + shift), formula))
    expected = collect(fit(table, formula))
    expected[:, 0, :] += shift
    compare(moved, expected)


@settings(max_examples=25, deadline=None)
@given(SEEDS, st.sampled_from(["y ~ f * g", "y ~ f + g"]))
def test_the_order_of_the_rows_does_not_matter(seed: int, formula: str) -> None:
    table = make_table(seed)
    shuffled = table.sample(fraction=1, shuffle=True, seed=seed)
    assert np.array_equal(collect(fit(shuffled, formula)), collect(fit(table, formula)))


@settings(max_examples=25, deadline=None)
@given(SEEDS)
def test_names_of_levels_do_not_matter_and_turning_two_of_them_round_turns_the_sign(seed: int) -> None:
    table = make_table(seed)
    own = fit(table)
    renamed = fit(table.with_columns(pl.col("f").replace_strict({"a": "old", "b": "older"})))
    assert np.array_equal(collect(renamed), collect(own))
    turned = fit(table.with_columns(pl.col("f").replace_strict({"a": "z", "b": "y"})))
    for one, other in zip(own.fits, turned.fits, strict=True):
        if not one.unique:
            # Which of several solutions is chosen may depend on the order of the cells.
            continue
        size = abs(one.coefficients[0].value.estimate)
        assert abs(one.coefficients[1].value.estimate + other.coefficients[1].value.estimate) < 1e-9 * size


@settings(max_examples=25, deadline=None)
@given(SEEDS)
def test_a_table_twice_over_has_the_same_estimates(seed: int) -> None:
    table = make_table(seed)
    once, twice = fit(table, "y ~ f * g"), fit(pl.concat([table, table]), "y ~ f * g")
    compare(collect(twice)[:, :, 0], collect(once)[:, :, 0])
    for one, other in zip(once.fits, twice.fits, strict=True):
        assert abs(other.objective - 2 * one.objective) <= 1e-9 * other.objective


@settings(max_examples=25, deadline=None)
@given(SEEDS)
def test_p_values_agree_with_intervals(seed: int) -> None:
    for own in fit(make_table(seed)).fits:
        for row in own.coefficients[1:]:
            assert row.p is not None
            # Percentiles of 199 draws are interpolated; counts are whole.
            if abs(row.p - 0.05) > 0.011:
                assert (row.p < 0.05) == (row.value.low > 0 or row.value.high < 0)
