"""What no change of unit, order of rows, coding or batches may alter in quantile regression over cells."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datamill._native import CellFit, CellStream, SortedCells, fit_cells, select_cell_quantiles

QUANTILES = [0.1, 0.25, 0.5, 0.75, 0.9]
#: Constant, two factors of two levels, one of three; no interactions.
DESIGN = np.array(
    [[1.0, a, b, c == 0, c == 1] for a in (-1, 1) for b in (-1, 1) for c in range(3)], dtype=np.float64
)
CELLS = DESIGN.shape[0]


@st.composite
def make_rows(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Cells and values: unbalanced, smooth or with many ties, each cell at least once."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(CELLS, 300))
    cells = np.concatenate([np.arange(CELLS), rng.integers(0, CELLS, n - CELLS)]).astype(np.uint32)
    shape = draw(st.sampled_from(["smooth", "ties", "heavy"]))
    if shape == "smooth":
        values = rng.lognormal(0, 0.5, n) + cells % 3
    elif shape == "ties":
        values = rng.integers(0, 4, n).astype(np.float64) - 1
    else:
        values = rng.standard_cauchy(n)
    return cells, values


def fit(cells: np.ndarray, values: np.ndarray, design: np.ndarray = DESIGN) -> CellFit:
    found = fit_cells(cells, values, design, QUANTILES)
    assert found.certified.all()
    return found


@settings(max_examples=60, deadline=None)
@given(make_rows(), st.integers(-300, 300))
def test_a_power_of_two_as_unit_changes_no_digit(rows: tuple[np.ndarray, np.ndarray], power: int) -> None:
    cells, values = rows
    plain, scaled = fit(cells, values), fit(cells, np.ldexp(values, power))
    assert np.array_equal(np.ldexp(plain.coefficients, power), scaled.coefficients)
    assert np.array_equal(plain.basis, scaled.basis)


@settings(max_examples=60, deadline=None)
@given(make_rows(), st.sampled_from([1e-9, 1e-3, 60.0, 3.7e12]), st.integers(-(2**40), 2**40))
def test_another_unit_or_zero_point_keeps_the_solution(
    rows: tuple[np.ndarray, np.ndarray], unit: float, zero: int
) -> None:
    cells, values = rows
    plain, scaled = fit(cells, values), fit(cells, values * unit)
    size = np.abs(plain.coefficients).max()
    assert scaled.coefficients / unit == pytest.approx(plain.coefficients, abs=1e-12 * size)
    # Whole numbers, so that moving them is exact.
    whole = np.floor(values * 16)
    plain, moved = fit(cells, whole), fit(cells, whole + zero)
    size = np.abs(whole).max() + 1
    assert moved.coefficients[:, 1:] == pytest.approx(plain.coefficients[:, 1:], abs=1e-12 * size)
    rounding = 1e-12 * size + 4 * np.spacing(abs(float(zero)))
    assert moved.coefficients[:, 0] - zero == pytest.approx(plain.coefficients[:, 0], abs=rounding)


@settings(max_examples=60, deadline=None)
@given(make_rows(), st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing(rows: tuple[np.ndarray, np.ndarray], random: object) -> None:
    cells, values = rows
    order = np.random.default_rng(random.getrandbits(32)).permutation(values.size)  # type: ignore[attr-defined]
    plain, mixed = fit(cells, values), fit(cells[order], values[order])
    assert np.array_equal(plain.coefficients, mixed.coefficients)
    assert np.array_equal(plain.objective, mixed.objective)


@settings(max_examples=60, deadline=None)
@given(make_rows(), st.integers(0, 2**32 - 1))
def test_another_coding_of_the_same_model_fits_the_same_values(
    rows: tuple[np.ndarray, np.ndarray], seed: int
) -> None:
    cells, values = rows
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(5, 5)))[0] * rng.uniform(0.5, 2, 5)
    plain, recoded = fit(cells, values), fit(cells, values, DESIGN @ basis)
    assert recoded.fitted == pytest.approx(plain.fitted, abs=1e-9 * np.abs(values).max())


@settings(max_examples=60, deadline=None)
@given(make_rows(), st.integers(0, 2**32 - 1))
def test_a_weight_counts_as_that_many_rows(rows: tuple[np.ndarray, np.ndarray], seed: int) -> None:
    cells, values = rows
    weights = np.random.default_rng(seed).integers(0, 4, values.size)
    weights[:CELLS] += 1
    copied = SortedCells(np.repeat(cells, weights), np.repeat(values, weights), CELLS)
    weighted = SortedCells(cells, values, CELLS, weights.astype(np.float64))
    assert np.array_equal(weighted.select(QUANTILES), copied.select(QUANTILES))
    one, other = weighted.fit(DESIGN, QUANTILES), copied.fit(DESIGN, QUANTILES)
    assert np.array_equal(one.coefficients, other.coefficients)
    assert one.objective == pytest.approx(other.objective, rel=1e-12)


@settings(max_examples=60, deadline=None)
@given(make_rows(), st.integers(1, 120), st.sampled_from([1, 1 << 20]))
def test_batches_give_the_bits_of_the_whole(
    rows: tuple[np.ndarray, np.ndarray], batch: int, most_values: int
) -> None:
    cells, values = rows

    def stream(design: np.ndarray | None) -> object:
        passes = CellStream(CELLS, QUANTILES, design, most_values)
        while passes.plan():
            for start in range(0, values.size, batch):
                passes.read(cells[start : start + batch], values[start : start + batch])
        return passes.finish()

    assert np.array_equal(stream(None), select_cell_quantiles(cells, values, CELLS, QUANTILES))
    streamed, whole = stream(DESIGN), fit(cells, values)
    assert isinstance(streamed, CellFit)
    assert np.array_equal(streamed.coefficients, whole.coefficients)
    assert np.array_equal(streamed.unique, whole.unique)


@settings(max_examples=60, deadline=None)
@given(make_rows())
def test_a_cells_quantile_is_the_order_statistic_that_numpy_finds(
    rows: tuple[np.ndarray, np.ndarray],
) -> None:
    cells, values = rows
    selected = SortedCells(cells, values, CELLS).select([0.25, 0.5, 0.75])
    for cell in range(CELLS):
        # Sums of quarters are exact, so that numpy's rule and ours cannot differ by rounding.
        wanted = np.quantile(values[cells == cell], [0.25, 0.5, 0.75], method="inverted_cdf")
        assert np.array_equal(selected[:, cell], wanted)


@settings(max_examples=30, deadline=None)
@given(make_rows())
def test_weights_below_the_fitted_values_bracket_the_quantile(rows: tuple[np.ndarray, np.ndarray]) -> None:
    cells, values = rows
    sorted_cells = SortedCells(cells, values, CELLS)
    selected = sorted_cells.select(QUANTILES)
    targets = np.outer(QUANTILES, sorted_cells.counts)
    assert np.all(sorted_cells.weigh_below(selected) < targets + 1e-9)
    assert np.all(sorted_cells.weigh_below(selected, inclusive=True) > targets - 1e-9)


def test_what_cannot_be_used_is_refused() -> None:
    cells, values = np.array([0, 1, 5], np.uint32), np.array([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="cell number 5 is not below 2"):
        select_cell_quantiles(cells, values, 2, [0.5])
    with pytest.raises(ValueError, match="2 cell numbers for 3 values"):
        select_cell_quantiles(cells[:2], values, 6, [0.5])
    with pytest.raises(ValueError, match=r"quantile 1\.5 is not between 0 and 1"):
        select_cell_quantiles(cells, values, 6, [1.5])
    with pytest.raises(ValueError, match="not linearly independent over the cells with data"):
        fit_cells(cells, values, np.eye(6), [0.5])
    with pytest.raises(ValueError, match="3 rows for 6 cells"):
        SortedCells(cells, values, 6).fit(np.eye(3), [0.5])
    with pytest.raises(ValueError, match="weight -1 is negative"):
        SortedCells(cells, values, 6, np.array([1.0, -1.0, 1.0]))
    with pytest.raises(ValueError, match="no pass is under way"):
        CellStream(6, [0.5]).read(cells, values)
