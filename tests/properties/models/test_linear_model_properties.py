"""Covariates, blocks, any type of sums of squares: what no unit, zero point or order may alter."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datamill.analysis.assumptions.assumption_checks import AssumptionChecks
from datamill.analysis.assumptions.check import check_assumptions
from datamill.analysis.linear.linear_model import LinearModel, SquaresType
from datamill.analysis.linear.model import fit_linear_model
from datamill.analysis.model_data.cells import FloatArray, ModelFactor, gather_cells
from datamill.analysis.model_data.coding import list_formula_terms
from datamill.analysis.model_data.observations import Covariate

FACTORS = [
    ModelFactor("a", ("p", "q")),
    ModelFactor("b", ("1", "2", "3")),
    ModelFactor("day", ("mon", "tue")),
]
TERMS = list_formula_terms(
    FACTORS, ["x"], [("day",), ("a",), ("b",), ("x",), ("a", "b"), ("a", "x")]
)  # fmt: skip
TYPES = st.sampled_from(["I", "II", "III"])
Data = tuple[np.ndarray, FloatArray, FloatArray]


@st.composite
def make_data(draw: st.DrawFn) -> Data:
    """Codes (n × 3), a covariate and values (n) of an unbalanced design in two blocks."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    cells = [(a, b, day) for a in range(2) for b in range(3) for day in range(2)]
    codes = np.array([cell for cell in cells for _ in range(int(rng.integers(2, 5)))])
    x = rng.uniform(-3, 3, len(codes))
    values = 20 + codes @ np.array([1.0, -0.7, 2.0]) + 0.5 * x + rng.standard_normal(len(codes))
    return codes, x, values


def fit(data: Data, squares: SquaresType) -> LinearModel:
    codes, x, values = data
    cells = gather_cells(FACTORS, codes, values)
    return fit_linear_model(
        cells, terms=TERMS, covariates=[Covariate("x", x)], blocks=["day"], squares=squares
    )


def check(data: Data, model: LinearModel) -> AssumptionChecks:
    codes, x, values = data
    return check_assumptions(
        gather_cells(FACTORS, codes, values),
        model,
        covariates=[Covariate("x", x)],
        when=np.arange(len(x)) * 1.0,
    )


def list_tests(model: LinearModel) -> list[float]:
    assert model.block_gain is not None
    tests = [value for row in model.terms for value in (row.f or 0.0, row.p or 0.0)]
    return [*tests, model.r_squared, model.block_gain.efficiency or 0.0]


@settings(max_examples=30, deadline=None)
@given(make_data(), TYPES, st.sampled_from([1e-9, 3.0, 1e6]), st.sampled_from([0.0, -40.0, 1e5]))
def test_units_and_zero_points_of_response_and_covariate_change_no_test(
    data: Data, squares: SquaresType, scale: float, shift: float
) -> None:
    codes, x, values = data
    before = fit(data, squares)
    other = (codes, (x + shift) / scale, scale * (values + shift))
    after = fit(other, squares)
    assert list_tests(after) == pytest.approx(list_tests(before), rel=1e-6, abs=1e-10)
    assert after.mean.low == pytest.approx(scale * (before.mean.low + shift), rel=1e-8, abs=1e-8 * scale)
    for new, old in zip(after.coefficients, before.coefficients, strict=True):
        by = scale**2 if "x" in new.name else scale
        assert new.value.low == pytest.approx(by * old.value.low, rel=1e-6, abs=1e-7 * by)
        assert new.value.high == pytest.approx(by * old.value.high, rel=1e-6, abs=1e-7 * by)
    for one, two in zip(check(data, before).checks, check(other, after).checks, strict=True):
        assert (one.assumption, one.state) == (two.assumption, two.state)
        assert two.p == pytest.approx(one.p, rel=1e-5, abs=1e-9)


@settings(max_examples=30, deadline=None)
@given(make_data(), TYPES, st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing_but_what_is_about_order(
    data: Data, squares: SquaresType, random: object
) -> None:
    order = list(range(len(data[1])))
    random.shuffle(order)  # type: ignore[attr-defined]
    shuffled = (data[0][order], data[1][order], data[2][order])
    one, two = fit(data, squares), fit(shuffled, squares)
    assert list_tests(two) == pytest.approx(list_tests(one), rel=1e-8, abs=1e-12)
    about = [
        [check.p for check in check(part, model).checks if not check.assumption.startswith("independent")]
        for part, model in ((data, one), (shuffled, two))
    ]
    assert about[1] == pytest.approx(about[0], rel=1e-6)


@settings(max_examples=30, deadline=None)
@given(make_data(), TYPES, st.permutations(range(3)))
def test_renaming_levels_changes_no_test(data: Data, squares: SquaresType, names: list[int]) -> None:
    codes, x, values = data
    renamed = codes.copy()
    renamed[:, 1] = np.array(names)[codes[:, 1]]
    assert list_tests(fit((renamed, x, values), squares)) == pytest.approx(
        list_tests(fit(data, squares)), rel=1e-7, abs=1e-12
    )


@settings(max_examples=30, deadline=None)
@given(make_data())
def test_type_i_adds_up_to_the_total_and_the_highest_terms_agree_in_all_types(data: Data) -> None:
    models = {kind: fit(data, kind) for kind in ("I", "II", "III")}
    first = models["I"]
    assert sum(row.sum_sq for row in first.terms) + first.error_ss == pytest.approx(first.total_ss, rel=1e-9)
    for name in ("a:b", "a:x"):
        squares = [
            next(row.sum_sq for row in models[kind].terms if row.term.name == name) for kind in ("II", "III")
        ]
        assert squares[0] == pytest.approx(squares[1], rel=1e-7)
    assert first.terms[-1].sum_sq == pytest.approx(models["III"].terms[-1].sum_sq, rel=1e-7)


@settings(max_examples=20, deadline=None)
@given(make_data(), st.integers(2, 5))
def test_a_covariate_that_is_the_same_in_each_cell_gives_what_levels_give(data: Data, times: int) -> None:
    # Two ways to the same model: an indicator as a covariate, and the factor itself.
    codes, _, values = data
    cells = gather_cells(FACTORS, codes, values)
    factor = fit_linear_model(cells, terms=list_formula_terms(FACTORS, [], [("a",), ("b",)]))
    terms = list_formula_terms(FACTORS, ["a_is_q"], [("a_is_q",), ("b",)])
    indicator = Covariate("a_is_q", times * codes[:, 0].astype(float))
    covariate = fit_linear_model(cells, terms=terms, covariates=[indicator])
    assert covariate.error_ss == pytest.approx(factor.error_ss, rel=1e-9)
    assert covariate.terms[0].sum_sq == pytest.approx(factor.terms[0].sum_sq, rel=1e-8)
    assert times * covariate.coefficients[0].value.estimate == pytest.approx(
        2 * factor.coefficients[0].value.estimate, rel=1e-8
    )
    assert covariate.lack_of_fit is not None
    assert factor.lack_of_fit is not None
    assert covariate.lack_of_fit.df == factor.lack_of_fit.df
