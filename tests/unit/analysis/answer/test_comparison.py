import numpy as np
import pytest

from datamill.analysis.contrasts.contrast import PooledError
from datamill.analysis.contrasts.fieller import bound_ratio
from datamill.analysis.levels.packages import compare_packages
from datamill.analysis.model_data.cells import ModelFactor, gather_cells
from datamill.experiment.errors import InputError

PACKAGE = ModelFactor("package", ("old", "new"))
FLAG = ModelFactor("flag", ("-O0", "-O2"))


def test_design_points_weigh_the_same_however_often_they_were_measured() -> None:
    codes = [[0, 0]] * 2 + [[0, 1]] * 8 + [[1, 0]] * 2 + [[1, 1]] * 2
    values = [10, 12] + [20, 22] * 4 + [11, 13] + [31, 33]
    cells = gather_cells([PACKAGE, FLAG], np.array(codes), np.array(values, dtype=float))
    comparison = compare_packages(cells, factor=0, baseline="old", direction="higher")
    assert [mean.value.estimate for mean in comparison.means] == [16, 22]
    assert comparison.pairs[0].difference.estimate == 6
    assert (comparison.pairs[0].higher_cells, comparison.pairs[0].cells) == (2, 2)


def test_a_design_point_that_one_package_lacks_is_left_out_of_both_with_a_warning() -> None:
    codes = [[0, 0]] * 2 + [[0, 1]] * 2 + [[1, 1]] * 2
    values = np.array([1.0, 3.0, 20, 22, 31, 33])
    comparison = compare_packages(
        gather_cells([PACKAGE, FLAG], np.array(codes), values), factor=0, baseline="old", direction="higher"
    )
    assert comparison.means[0].value.estimate == 21
    assert comparison.n == 4
    assert any("1 of 2 design points lack" in warning for warning in comparison.warnings)


def test_packages_without_a_common_design_point_are_not_compared() -> None:
    cells = gather_cells([PACKAGE, FLAG], np.array([[0, 0]] * 2 + [[1, 1]] * 2), np.arange(4.0))
    with pytest.raises(InputError, match="no design point was measured for all packages"):
        compare_packages(cells, factor=0, baseline="old", direction="higher")


def test_single_observations_need_the_error_of_a_model_and_say_so() -> None:
    cells = gather_cells([PACKAGE, FLAG], np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), np.arange(4.0) + 1)
    with pytest.raises(InputError, match="one observation only"):
        compare_packages(cells, factor=0, baseline="old", direction="higher")
    comparison = compare_packages(
        cells,
        factor=0,
        baseline="old",
        direction="higher",
        fallback=(PooledError(1.0, 4), PooledError(4.0, 4)),
    )
    assert any("one observation only" in warning for warning in comparison.warnings)
    narrow, wide = (mean.value.high - mean.value.low for mean in comparison.means)
    assert wide == pytest.approx(2 * narrow)


@pytest.mark.parametrize(("direction", "verdict"), [("higher", "better"), ("lower", "worse")])
def test_the_verdict_follows_the_direction_of_the_response(direction: str, verdict: str) -> None:
    values = np.array([10.0, 10.1, 9.9, 20, 20.1, 19.9])
    cells = gather_cells([PACKAGE], np.array([[0]] * 3 + [[1]] * 3), values)
    pair = compare_packages(cells, factor=0, baseline="old", direction=direction).pairs[0]  # type: ignore[arg-type]
    assert pair.verdict == verdict
    assert pair.ratio is not None
    assert pair.ratio.estimate == pytest.approx(2)


def test_values_that_never_vary_are_compared_as_measured_without_a_test() -> None:
    cells = gather_cells([PACKAGE], np.array([[0]] * 3 + [[1]] * 3), np.array([7.0] * 3 + [8.0] * 3))
    comparison = compare_packages(cells, factor=0, baseline="old", direction="lower")
    pair = comparison.pairs[0]
    assert (pair.p, pair.verdict, pair.difference.low, pair.difference.high) == (
        None,
        "as measured",
        1.0,
        1.0,
    )
    assert any("do not differ at all" in warning for warning in comparison.warnings)


def test_a_ratio_whose_denominator_may_be_zero_is_unbounded_in_words() -> None:
    ratio = bound_ratio(5.0, 1.0, numerator_variance=1.0, denominator_variance=1.0, critical=2.0)
    assert ratio is not None
    assert (ratio.low, ratio.high) == (None, None)
    assert "cannot be bounded" in ratio.note


def test_no_ratio_is_formed_of_means_that_are_not_positive() -> None:
    values = np.array([-1.0, -1.2, -0.9, 2.0, 2.1, 1.8])
    cells = gather_cells([PACKAGE], np.array([[0]] * 3 + [[1]] * 3), values)
    assert compare_packages(cells, factor=0, baseline="old", direction="higher").pairs[0].ratio is None


def test_fiellers_bounds_are_where_the_test_of_the_ratio_turns() -> None:
    ratio = bound_ratio(6.0, 3.0, numerator_variance=0.5, denominator_variance=0.2, critical=2.1)
    assert ratio is not None
    for bound in (ratio.low, ratio.high):
        assert bound is not None
        statistic = (6.0 - bound * 3.0) / np.sqrt(0.5 + bound**2 * 0.2)
        assert abs(statistic) == pytest.approx(2.1)


def test_equal_means_without_variation_are_equal_not_better_by_rounding() -> None:
    codes = np.array([(p, f) for p in range(2) for f in range(2) for _ in range(3)])
    values = np.where(codes[:, 1] == 0, 0.1, 0.7)
    pair = compare_packages(
        gather_cells([PACKAGE, FLAG], codes, values), factor=0, baseline="old", direction="higher"
    ).pairs[0]
    assert (pair.verdict, pair.difference.estimate, pair.higher_cells, pair.lower_cells) == (
        "as measured",
        0,
        0,
        0,
    )


@pytest.mark.parametrize("relative", [1e-3, 1e-8, 1e-12])
def test_the_width_of_a_ratio_s_interval_survives_however_small_the_errors(relative: float) -> None:
    variance = (relative * 1e9) ** 2
    ratio = bound_ratio(
        1.0000001e9, 1e9, numerator_variance=variance, denominator_variance=variance, critical=2.2
    )
    assert ratio is not None
    assert ratio.high is not None
    assert ratio.low is not None
    # 1e-12 is near what a double resolves about 1.
    assert ratio.high - ratio.low == pytest.approx(2 * 2.2 * np.sqrt(2) * relative, rel=1e-3)


def test_the_best_of_three_is_compared_with_every_other_and_adjusted_for_all_pairs() -> None:
    three = ModelFactor("package", ("a", "b", "c"))
    codes = np.repeat([[0], [1], [2]], 4, axis=0)
    values = np.array([5.0, 5.1, 4.9, 5.2, 4.0, 4.2, 3.9, 4.1, 6.0, 6.4, 5.9, 6.1])
    comparison = compare_packages(
        gather_cells([three], codes, values), factor=0, baseline="a", direction="lower"
    )
    assert [(pair.package, pair.baseline, pair.verdict) for pair in comparison.best] == [
        ("b", "a", "better"),
        ("b", "c", "better"),
    ]
    against_baseline = next(pair for pair in comparison.pairs if pair.package == "b")
    assert against_baseline.p is not None
    assert comparison.best[0].p == pytest.approx(against_baseline.p * 3 / 2)
