from itertools import product

import numpy as np
import pytest

from datamill.analysis.answer.influence import rank_terms
from datamill.analysis.assumptions.check import check_assumptions
from datamill.analysis.contrasts.multiplicity import adjust_holm
from datamill.analysis.linear.model import fit_linear_model
from datamill.analysis.model_data.cells import Cells, ModelFactor, gather_cells, order_levels
from datamill.analysis.model_data.coding import Term
from datamill.analysis.model_data.observations import Covariate
from datamill.experiment.errors import InputError

TWO = ("low", "high")


def make_cells(
    shape: tuple[int, ...], *, replicates: int = 3, without: tuple[tuple[int, ...], ...] = (), seed: int = 1
) -> Cells:
    rng = np.random.default_rng(seed)
    points = [point for point in product(*(range(size) for size in shape)) if point not in without]
    codes = np.array([point for point in points for _ in range(replicates)])
    values = 10 + codes @ np.arange(1.0, len(shape) + 1) + rng.normal(0, 0.5, len(codes))
    factors = [
        ModelFactor(f"x{index + 1}", tuple(f"l{level}" for level in range(size)))
        for index, size in enumerate(shape)
    ]
    return gather_cells(factors, codes, values)


def test_a_combination_without_data_takes_only_the_highest_interaction_with_it() -> None:
    model = fit_linear_model(make_cells((2, 3, 2), without=((1, 2, 1),)), order=3)
    assert model.not_estimable == ("x1:x2:x3",)
    assert "x1:x2:x3" not in [row.term.name for row in model.terms]
    assert any("1 of 12 combinations" in warning and "x1:x2:x3" in warning for warning in model.warnings)


def test_only_the_interaction_that_is_hidden_is_left_out_not_its_neighbours() -> None:
    without = tuple((1, 2, level) for level in range(2))
    model = fit_linear_model(make_cells((2, 3, 2), without=without), order=2)
    assert model.not_estimable == ("x1:x2",)
    assert [row.term.name for row in model.terms] == ["x1", "x2", "x3", "x1:x3", "x2:x3"]


def test_two_factors_that_always_change_together_get_no_numbers_where_lost_trials_made_them_so() -> None:
    cells = make_cells((2, 2, 2), without=tuple((a, 1 - a, c) for a in range(2) for c in range(2)))
    with pytest.raises(InputError, match="the effects of x1 and x2 cannot be told apart"):
        fit_linear_model(cells, order=3)
    model = fit_linear_model(cells, order=3, leave_out_aliased=True)
    assert [row.term.name for row in model.terms] == ["x3"]
    assert {"x1", "x2", "x1:x2"} <= set(model.not_estimable)


def test_factors_that_all_change_together_are_refused() -> None:
    cells = make_cells((2, 2), without=((0, 1), (1, 0)))
    with pytest.raises(InputError, match="x1 and x2 cannot be told apart"):
        fit_linear_model(cells, order=2)


def test_each_group_of_aliased_factors_is_named_by_itself() -> None:
    codes = np.array([(a, a, c, c) for a in range(2) for c in range(2) for _ in range(3)])
    factors = [ModelFactor(name, TWO) for name in "abcd"]
    values = np.random.default_rng(1).normal(0, 1, len(codes))
    with pytest.raises(InputError, match=r"of a and b cannot .* other; the effects of c and d cannot"):
        fit_linear_model(gather_cells(factors, codes, values), order=1)


def test_a_model_that_leaves_out_what_is_there_is_not_called_sound() -> None:
    codes = np.array([point for point in product(range(2), range(2)) for _ in range(20)])
    noise = np.random.default_rng(3).exponential(0.1, len(codes))
    values = 5.0 * (codes[:, 0] == codes[:, 1]) + noise
    cells = gather_cells([ModelFactor("a", TWO), ModelFactor("b", TWO)], codes, values)
    checks = check_assumptions(cells, fit_linear_model(cells, order=1))
    assert checks.checks[0].state == "failed"
    assert checks.trust == "neither"
    assert "leaves out something that is there" in checks.advice
    full = check_assumptions(cells, fit_linear_model(cells, order=2))
    assert "complete model" not in [check.assumption for check in full.checks]


@pytest.mark.parametrize("size", [1e160, 1e-160, 1e307])
def test_covariates_that_have_no_square_are_refused(size: float) -> None:
    rng = np.random.default_rng(1)
    cells = gather_cells([], np.zeros((20, 0), dtype=np.int64), rng.normal(0, 1, 20))
    covariate = Covariate("x", size * rng.normal(0, 1, 20))
    with pytest.raises(InputError, match=r"values of x .* cannot be squared"):
        fit_linear_model(cells, terms=[Term("x", (), 1, (0,))], covariates=[covariate])


def test_a_balanced_design_says_that_all_types_agree_and_an_unbalanced_one_that_it_is_type_iii() -> None:
    assert "all types agree" in fit_linear_model(make_cells((2, 3)), order=2).method
    codes = np.array([(0, 0), (0, 1), (0, 1), (1, 0), (1, 1), (1, 1), (0, 0), (0, 0)])
    values = np.array([1.0, 2, 3, 2, 5, 4, 1.5, 1.2])
    factors = [ModelFactor("a", TWO), ModelFactor("b", TWO)]
    assert "Type III" in fit_linear_model(gather_cells(factors, codes, values), order=2).method


def test_as_many_coefficients_as_observations_are_refused_with_a_remedy() -> None:
    with pytest.raises(InputError, match="4 observations cannot estimate 4 coefficients") as caught:
        fit_linear_model(make_cells((2, 2), replicates=1), order=2)
    assert "lower order" in caught.value.remedy


def test_a_constant_response_is_refused() -> None:
    cells = gather_cells([ModelFactor("a", TWO)], np.array([[0], [0], [1], [1]]), np.full(4, 7.5))
    with pytest.raises(InputError, match=r"constant: all 4 observations are 7\.5"):
        fit_linear_model(cells, order=1)


def test_a_factor_with_one_level_is_refused_by_name() -> None:
    cells = gather_cells(
        [ModelFactor("a", TWO), ModelFactor("b", ("only",))],
        np.array([[0, 0], [0, 0], [1, 0], [1, 0]]),
        np.arange(4.0),
    )
    with pytest.raises(InputError, match="factor b has only one level"):
        fit_linear_model(cells, order=1)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 1e200])
def test_values_that_have_no_square_are_refused(bad: float) -> None:
    with pytest.raises(InputError):
        gather_cells([ModelFactor("a", TWO)], np.array([[0], [1]]), np.array([1.0, bad]))


@pytest.mark.parametrize("offset", [0.0, 0.1, 1e9 + 0.1])
def test_a_response_without_any_error_gets_exact_effects_and_no_test(offset: float) -> None:
    values = offset + np.array([0.1, 0.1, 0.1, 0.3, 0.3, 0.3])
    cells = gather_cells([ModelFactor("a", TWO)], np.array([[0], [0], [0], [1], [1], [1]]), values)
    model = fit_linear_model(cells, order=1)
    assert model.coefficients[0].value.estimate == pytest.approx(0.1, abs=1e-6)
    assert (model.terms[0].f, model.terms[0].p) == (None, None)
    assert model.error_ss == 0
    assert any("do not differ at all" in warning for warning in model.warnings)


def test_interactions_that_the_model_leaves_out_are_noticed() -> None:
    codes = np.array([point for point in product(range(2), range(2)) for _ in range(6)])
    noise = np.random.default_rng(3).normal(0, 0.1, len(codes))
    cells = gather_cells(
        [ModelFactor("a", TWO), ModelFactor("b", TWO)], codes, 5.0 * (codes[:, 0] == codes[:, 1]) + noise
    )
    model = fit_linear_model(cells, order=1)
    assert model.lack_of_fit is not None
    assert any("leave out interactions" in warning for warning in model.warnings)
    assert fit_linear_model(cells, order=2).lack_of_fit is None
    checks = check_assumptions(cells, model)
    assert "complete model" in {check.assumption for check in checks.checks if check.state == "failed"}
    said = [warning for warning in (*model.warnings, *checks.warnings) if "lack of fit" in warning]
    assert len(said) == 1


def test_the_largest_effect_has_an_interval_and_its_share_is_of_the_total() -> None:
    cells = make_cells((2, 3))
    influence = rank_terms(cells, fit_linear_model(cells, order=2))
    shares = [item.share for item in influence.terms]
    assert shares == sorted(shares, reverse=True)
    for item in influence.terms:
        assert item.largest.low < item.largest.estimate < item.largest.high
        assert item.largest_percent is not None
        assert item.largest_percent.low <= item.largest_percent.estimate <= item.largest_percent.high


def test_holm_multiplies_the_smallest_most_and_never_changes_the_order() -> None:
    assert adjust_holm([0.01, 0.04, 0.03]) == pytest.approx((0.03, 0.06, 0.06))
    assert adjust_holm([0.5, None, 0.9]) == (1.0, None, 1.0)


@pytest.mark.parametrize(
    ("labels", "ordered"),
    [
        (["+", "-"], ("-", "+")),
        (["high", "low"], ("low", "high")),
        (["100", "9", "10"], ("9", "10", "100")),
        (["100MB", "10MB"], ("10MB", "100MB")),
        (["xz", "bzip2"], ("bzip2", "xz")),
        (["on", "off"], ("off", "on")),
        (["nan", "1", "inf"], ("1", "inf", "nan")),
    ],
)
def test_levels_are_ordered_as_a_reader_would(labels: list[str], ordered: tuple[str, ...]) -> None:
    assert order_levels(labels) == ordered


def test_a_drift_over_the_run_order_is_not_advised_away_as_nothing() -> None:
    rng = np.random.default_rng(4)
    codes = rng.permutation(np.array([(a, b) for a in range(2) for b in range(2)] * 15))
    values = 10 + rng.normal(0, 1, len(codes)) + np.linspace(0, 4, len(codes))
    cells = gather_cells([ModelFactor("a", TWO), ModelFactor("b", TWO)], codes, values)
    model = fit_linear_model(cells, order=2)
    checks = check_assumptions(cells, model, when=np.arange(len(codes), dtype=np.float64))
    assert {check.assumption for check in checks.checks if check.state == "failed"} == {
        "independent errors: trend",
        "independent errors: neighbours",
    }
    assert checks.trust == "means"
    assert "Nothing speaks against" not in checks.advice
    assert "in a random order the intervals hold" in checks.advice


@pytest.mark.parametrize("outlier", [0, 1, 30, -2, -1])
def test_one_outlier_does_not_make_neighbours_alike_wherever_it_stands(outlier: int) -> None:
    rng = np.random.default_rng(11)
    codes = rng.permutation(np.array([(a, b) for a in range(2) for b in range(2)] * 15))
    values = 10 + rng.normal(0, 1, len(codes))
    values[outlier] += 40
    cells = gather_cells([ModelFactor("a", TWO), ModelFactor("b", TWO)], codes, values)
    checks = check_assumptions(
        cells, fit_linear_model(cells, order=2), when=np.arange(len(codes), dtype=np.float64)
    )
    found = next(item for item in checks.checks if item.assumption == "independent errors: neighbours")
    assert found.state == "held"
    assert found.p > 0.2
    assert found.size is not None
    assert abs(found.size) < 0.1
