"""What no change of unit, order of rows or names may alter."""

from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from datamill.analysis.distribution.boxes import summarize_box
from datamill.analysis.levels.packages import compare_packages
from datamill.analysis.linear.linear_model import LinearModel
from datamill.analysis.linear.model import fit_linear_model
from datamill.analysis.model_data.cells import ModelFactor, gather_cells, order_levels
from datamill.analysis.model_data.observations import read_columns

FACTORS = [ModelFactor("a", ("p", "q")), ModelFactor("b", ("1", "2", "3"))]


@st.composite
def make_data(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Codes (n × 2) and values (n) of an unbalanced 2 × 3 design, at least two replicates a cell."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    codes = [cell for cell in product(range(2), range(3)) for _ in range(int(rng.integers(2, 5)))]
    values = 20 + rng.normal(0, 3, 6)[[3 * a + b for a, b in codes]] + rng.normal(0, 1, len(codes))
    return np.array(codes), values


def fit(codes: np.ndarray, values: np.ndarray) -> LinearModel:
    return fit_linear_model(gather_cells(FACTORS, codes, values), order=2)


def list_tests(model: LinearModel) -> list[float]:
    return [value for row in model.terms for value in (row.f or 0.0, row.p or 0.0)] + [model.r_squared]


@settings(max_examples=40, deadline=None)
@given(make_data(), st.sampled_from([1e-9, 1e-3, 7.0, 1e6]), st.sampled_from([0.0, -50.0, 1e4]))
def test_another_unit_or_zero_point_changes_estimates_alone(
    data: tuple[np.ndarray, np.ndarray], scale: float, shift: float
) -> None:
    codes, values = data
    before, after = fit(codes, values), fit(codes, scale * (values + shift))
    assert list_tests(after) == pytest.approx(list_tests(before), rel=1e-6, abs=1e-12)
    assert after.mean.low == pytest.approx(scale * (before.mean.low + shift), rel=1e-9, abs=1e-9 * scale)
    for new, old in zip(after.coefficients, before.coefficients, strict=True):
        assert new.value.low == pytest.approx(scale * old.value.low, rel=1e-7, abs=1e-7 * scale)
        assert new.value.high == pytest.approx(scale * old.value.high, rel=1e-7, abs=1e-7 * scale)


@settings(max_examples=40, deadline=None)
@given(make_data(), st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing(data: tuple[np.ndarray, np.ndarray], random: object) -> None:
    codes, values = data
    order = list(range(len(values)))
    random.shuffle(order)  # type: ignore[attr-defined]
    table = pl.DataFrame(
        {"a": [f"p{code}" for code in codes[:, 0]], "b": [str(code) for code in codes[:, 1]], "y": values}
    )
    models = [
        fit_linear_model(read_columns(rows, "y", ["a", "b"]).cells, order=2) for rows in (table, table[order])
    ]
    assert list_tests(models[0]) == pytest.approx(list_tests(models[1]), rel=1e-9)
    for one, other in zip(models[0].coefficients, models[1].coefficients, strict=True):
        assert one.name == other.name
        assert one.value.estimate == pytest.approx(other.value.estimate, rel=1e-8, abs=1e-10)


@settings(max_examples=40, deadline=None)
@given(make_data(), st.permutations(range(3)))
def test_renaming_levels_moves_effects_and_keeps_tests(
    data: tuple[np.ndarray, np.ndarray], names: list[int]
) -> None:
    codes, values = data
    renamed = codes.copy()
    renamed[:, 1] = np.array(names)[codes[:, 1]]
    before, after = fit(codes, values), fit(renamed, values)
    assert list_tests(after) == pytest.approx(list_tests(before), rel=1e-7)
    for old, new in enumerate(names):
        one, other = before.terms[1].effects[old].value, after.terms[1].effects[new].value
        assert (one.low, one.high) == pytest.approx((other.low, other.high), rel=1e-8, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(make_data())
def test_swapping_the_packages_turns_difference_and_ratio_around(
    data: tuple[np.ndarray, np.ndarray],
) -> None:
    cells = gather_cells(FACTORS, *data)
    forth, back = (
        compare_packages(cells, factor=0, baseline=name, direction="lower").pairs[0] for name in "pq"
    )
    assert forth.difference.low == pytest.approx(-back.difference.high)
    assert forth.p == pytest.approx(back.p)
    assert {forth.verdict, back.verdict} in ({"better", "worse"}, {"uncertain"})
    assert forth.ratio is not None
    assert back.ratio is not None
    assume(forth.ratio.low is not None and back.ratio.high is not None and forth.ratio.low > 0)
    assert forth.ratio.low == pytest.approx(1 / back.ratio.high)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60))
def test_a_box_summary_is_ordered_and_loses_no_value(values: list[float]) -> None:
    box = summarize_box(np.array(values))
    numbers = (box.low_whisker, box.low_quartile, box.median, box.high_quartile, box.high_whisker)
    assert list(numbers) == sorted(numbers)
    assert box.n == len(values)
    inside = sum(box.low_whisker <= value <= box.high_whisker for value in values)
    assert inside + len(box.beyond) == len(values)


@given(st.lists(st.text(max_size=8), min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_the_order_of_levels_does_not_depend_on_the_order_of_rows(labels: list[str], random: object) -> None:
    shuffled = list(labels)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert order_levels(labels) == order_levels(shuffled)
    assert set(order_levels(labels)) == set(labels)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.integers(0, 2**32 - 1), st.floats(2.0, 6.0), st.floats(1.0, 6.0))
def test_the_ratio_may_be_one_exactly_when_the_difference_may_be_zero(
    seed: int, gap: float, spread: float
) -> None:
    rng = np.random.default_rng(seed)
    codes = np.repeat([[0], [1]], 3, axis=0)
    values = 10 + gap * codes[:, 0] + np.where(codes[:, 0] == 1, spread, 0.5) * rng.standard_normal(6)
    cells = gather_cells([FACTORS[0]], codes, values)
    pair = compare_packages(cells, factor=0, baseline="p", direction="lower").pairs[0]
    assume(pair.ratio is not None and pair.ratio.low is not None)
    assert pair.ratio is not None
    assert pair.ratio.low is not None
    assert pair.ratio.high is not None
    assume(min(abs(pair.difference.low), abs(pair.difference.high)) > 1e-9)
    assert (pair.ratio.low <= 1 <= pair.ratio.high) == (pair.difference.low <= 0 <= pair.difference.high)
