"""Variances of nested measurements: what can be known, and what is said of the rest."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest

from datamill.analysis.random_effects.impact import estimate_impact
from datamill.analysis.random_effects.mean_squares import compute_mean_squares
from datamill.analysis.random_effects.nested_data.execution_means import average_executions
from datamill.analysis.random_effects.nested_data.nested_values import NestedValues
from datamill.analysis.random_effects.nested_data.within_executions import check_measurement_order
from datamill.analysis.random_effects.reml import fit_reml
from datamill.analysis.random_effects.variance import estimate_variances
from datamill.analysis.random_effects.variance_estimate import VarianceEstimate
from datamill.analysis.versions.variances import analyze_version
from datamill.experiment.errors import InputError
from datamill.report.tables.text import render_text
from datamill.report.variance.answer import phrase_impact
from datamill.report.variance.statement import state_variances


def nest(values: list[list[list[float]]]) -> NestedValues:
    """Values by build, execution and measurement."""
    executions = [execution for build in values for execution in build]
    return NestedValues(
        version="1.0",
        response="time",
        unit="s",
        values=np.array([value for execution in executions for value in execution]),
        executions=np.cumsum([0, *map(len, executions)]),
        builds=np.cumsum([0, *map(len, values)]),
    )


def plant(
    builds: int, executions: int, measurements: int, spread: tuple[float, float, float], seed: int = 1
) -> NestedValues:
    rng = np.random.default_rng(seed)
    shape = (builds, executions, measurements)
    values = 100 + sum(
        sd * rng.normal(size=(*shape[: level + 1], *[1] * (2 - level))) for level, sd in enumerate(spread)
    )
    return nest(np.broadcast_to(values, shape).tolist())


def list_numbers(estimate: VarianceEstimate) -> list[float]:
    shares = [*estimate.uncertainty, *estimate.variation]
    intervals = [estimate.mean, estimate.paper_mean]
    return [
        *(number for item in intervals for number in (item.estimate, item.low, item.high)),
        *(number for item in shares for number in (item.estimate, item.low, item.high)),
        *estimate.mean_squares.values(),
        *estimate.components.values(),
        estimate.df,
    ]


def test_mean_squares_and_variances_are_those_of_equations_14_to_16() -> None:
    nested = nest([[[1.0, 3.0], [4.0, 6.0]], [[10.0, 10.0], [11.0, 13.0]]])
    estimate = estimate_variances(nested)
    # Execution means 2, 5 | 10, 12; build means 3.5 | 11.
    assert estimate.mean_squares["measurement"] == pytest.approx((2 + 2 + 0 + 2) / 4)
    assert estimate.mean_squares["execution"] == pytest.approx((4.5 + 2) / 2)
    assert estimate.mean_squares["build"] == pytest.approx(7.5**2 / 2)
    assert estimate.components["execution"] == pytest.approx(3.25 - 1.5 / 2)
    assert estimate.components["build"] == pytest.approx(28.125 - 3.25 / 2)
    assert estimate.mean.estimate == pytest.approx(7.25)
    # Student's t with one degree of freedom, of the build means alone.
    assert estimate.mean.high - 7.25 == pytest.approx(12.7062047 * math.sqrt(28.125 / 2))
    paper = 1.5 / 8 + 3.25 / 4 + 28.125 / 2
    assert estimate.paper_mean.high - 7.25 == pytest.approx(1.959964 * math.sqrt(paper))


def test_shares_add_up_and_lie_in_their_intervals() -> None:
    estimate = estimate_variances(plant(8, 4, 10, (2.0, 1.0, 3.0)))
    for shares in (estimate.uncertainty, estimate.variation):
        assert sum(share.estimate for share in shares) == pytest.approx(1)
        assert all(0 <= share.low <= share.estimate <= share.high <= 1 for share in shares)
    assert estimate.uncertainty[0].estimate > estimate.variation[0].estimate


def test_one_build_leaves_a_two_level_model_that_says_so() -> None:
    estimate = estimate_variances(plant(1, 5, 10, (2.0, 1.0, 3.0)))
    assert set(estimate.components) == {"execution", "measurement"}
    assert "cannot be known" in estimate.unknown["build"]
    assert estimate.df == 4
    assert any("one build only" in warning for warning in estimate.warnings)


def test_one_execution_of_each_build_counts_as_part_of_the_build() -> None:
    estimate = estimate_variances(plant(6, 1, 10, (2.0, 1.0, 3.0)))
    assert set(estimate.components) == {"build", "measurement"}
    assert "one execution" in estimate.unknown["execution"]
    expected = estimate.mean_squares["build"] - estimate.mean_squares["measurement"] / 10
    assert estimate.components["build"] == pytest.approx(expected)


def test_one_measurement_of_each_execution_counts_as_part_of_the_execution() -> None:
    estimate = estimate_variances(plant(6, 4, 1, (2.0, 1.0, 3.0)))
    assert set(estimate.components) == {"build", "execution"}
    assert estimate.components["execution"] == estimate.mean_squares["execution"]


@pytest.mark.parametrize("shape", [(1, 1, 9), (1, 9, 1), (9, 1, 1)])
@pytest.mark.parametrize("method", ["means", "reml"])
def test_where_one_level_is_repeated_the_mean_has_the_interval_of_independent_values(
    shape: tuple[int, int, int], method: str
) -> None:
    nested = plant(*shape, (1.0, 1.0, 1.0))
    estimate = estimate_variances(nested, method=method)  # type: ignore[arg-type]
    half = 2.306004 * float(np.std(nested.values, ddof=1)) / 3
    assert estimate.mean.high - estimate.mean.estimate == pytest.approx(half, rel=1e-6)
    assert estimate.uncertainty == ()
    assert len(estimate.unknown) == 2


@pytest.mark.parametrize("method", ["means", "reml"])
@pytest.mark.parametrize("value", [0.0, 0.1, 1e12])
def test_equal_values_give_zeros_and_a_warning_and_no_number_that_is_none(method: str, value: float) -> None:
    nested = nest([[[value] * 3] * 2] * 4)
    estimate = estimate_variances(nested, method=method)  # type: ignore[arg-type]
    assert all(math.isfinite(number) for number in list_numbers(estimate))
    assert set(estimate.components.values()) == {0.0}
    assert estimate.uncertainty == ()
    assert any("are equal" in warning for warning in estimate.warnings)
    assert estimate_impact(nested).factor is None


@pytest.mark.parametrize("method", ["means", "reml"])
def test_measurements_that_never_differ_inside_executions_cause_no_division_by_zero(method: str) -> None:
    nested = nest([[[float(build + 2 * execution)] * 3 for execution in range(4)] for build in (1, 5, 2)])
    estimate = estimate_variances(nested, method=method)  # type: ignore[arg-type]
    assert all(math.isfinite(number) for number in list_numbers(estimate))
    assert estimate.components["measurement"] == 0


def test_executions_that_never_differ_inside_builds_leave_no_impact_factor_but_its_reason() -> None:
    impact = estimate_impact(nest([[[1.0], [1.0]], [[2.0], [2.0]], [[4.0], [4.0]]]))
    assert impact.factor is None
    assert "builds are all that matters" in impact.reason
    assert impact.variation_percent is not None


def test_a_single_measurement_is_refused() -> None:
    with pytest.raises(InputError, match="one measurement"):
        estimate_variances(nest([[[1.0]]]))


def test_values_too_large_to_be_squared_are_refused() -> None:
    with pytest.raises(InputError, match="too large to be squared"):
        estimate_variances(nest([[[1e300, 2e300], [3e300, 1e300]], [[2e300, 1e300], [1e300, 4e300]]]))


def test_missing_executions_are_counted_in_a_warning_and_both_methods_shown() -> None:
    nested = nest([[[1.0, 2.0], [3.0, 2.0]], [[5.0, 6.0]], [[4.0, 5.0], [4.0, 4.5]]])
    found = analyze_version(nested, 0.95)
    assert any("1 of 3 builds do not have the usual 2 executions" in item for item in found.warnings)
    assert found.other is not None
    assert found.other.method == "restricted maximum likelihood"
    assert found.estimate.df < 2


def test_effective_numbers_are_such_that_the_variance_of_the_mean_is_their_sum() -> None:
    nested = nest([[[1.0, 2.0, 4.0], [3.0, 2.0]], [[5.0, 6.0]], [[4.0, 5.0], [4.0], [4.5, 9.0]]])
    found = compute_mean_squares(average_executions(nested))
    expects = found.squares[0].expects
    assert expects["execution"] == pytest.approx(1 / found.executions)
    assert expects["measurement"] == pytest.approx(1 / (found.executions * found.measurements))
    assert found.executions == pytest.approx(3 / (1 / 2 + 1 + 1 / 3))


@pytest.mark.parametrize("scale", [1e-9, 1e9])
@pytest.mark.parametrize("method", ["means", "reml"])
def test_the_unit_does_not_matter(scale: float, method: str) -> None:
    nested = plant(6, 3, 5, (2.0, 1.0, 3.0))
    other = NestedValues("1.0", "time", "s", nested.values * scale, nested.executions, nested.builds)
    here, there = (estimate_variances(item, method=method) for item in (nested, other))  # type: ignore[arg-type]
    assert there.mean.low == pytest.approx(here.mean.low * scale, rel=1e-9)
    assert there.components["build"] == pytest.approx(here.components["build"] * scale**2, rel=1e-6)
    assert there.uncertainty[0].low == pytest.approx(here.uncertainty[0].low, rel=1e-6)


def test_a_common_offset_costs_no_digits() -> None:
    nested = plant(6, 3, 5, (2.0, 1.0, 3.0))
    rounded = np.round(nested.values * 1024) / 1024
    near = NestedValues("1.0", "time", "s", rounded, nested.executions, nested.builds)
    far = NestedValues("1.0", "time", "s", rounded + 2.0**40, nested.executions, nested.builds)
    assert estimate_variances(far).components == pytest.approx(estimate_variances(near).components, rel=1e-9)


def test_restricted_maximum_likelihood_is_a_maximum() -> None:
    nested = plant(6, 3, 5, (2.0, 1.0, 3.0), seed=2)
    averaged = average_executions(nested)
    fit, squares = fit_reml(averaged), compute_mean_squares(averaged).squares
    # Balanced and inside the boundary: the same as by mean squares.
    expected = estimate_variances(nested).components
    assert min(expected.values()) > 0
    assert fit.components == pytest.approx(expected, rel=1e-6)
    assert fit.mean_variance == pytest.approx(squares[0].value / 6, rel=1e-6)


def test_the_impact_factor_is_one_without_builds_that_differ_and_large_with() -> None:
    none, large = (estimate_impact(plant(20, 5, 3, (sd, 1.0, 0.1))).factor for sd in (0.0, 5.0))
    assert none is not None
    assert large is not None
    assert none.low <= 1.0 <= none.high
    assert large.low > 2


def add_to_measurements(nested: NestedValues, effect: list[float]) -> NestedValues:
    """The same with an effect of the position, of as many as there are measurements in an execution."""
    values = nested.values + np.tile(effect, nested.execution_count)
    return NestedValues(
        nested.version, nested.response, nested.unit, values, nested.executions, nested.builds
    )


def test_a_warm_up_that_is_too_short_is_found_with_its_length_and_size() -> None:
    nested = add_to_measurements(plant(8, 4, 40, (1.0, 1.0, 0.5)), [2.0] * 6 + [0.0] * 34)
    found = analyze_version(nested, 0.95)
    trend = found.order.trend
    assert trend is not None
    assert trend.settles in (6, 7)
    assert trend.difference == pytest.approx(2.0, abs=0.4)
    assert trend.shift == pytest.approx(-2.0 * 6 / 40, abs=0.1)
    assert any("The warm-up is too short: leave out" in warning for warning in found.warnings)


def test_a_trend_through_whole_executions_is_not_called_warm_up() -> None:
    nested = add_to_measurements(plant(8, 4, 40, (1.0, 1.0, 0.5)), np.linspace(0, 4, 40).tolist())
    found = analyze_version(nested, 0.95)
    assert found.order.trend is not None
    assert found.order.trend.settles is None
    assert any("more warm-up does not end it" in warning for warning in found.warnings)


def test_steady_measurements_have_no_trend_and_no_warning() -> None:
    found = analyze_version(plant(20, 4, 40, (1.0, 1.0, 0.5)), 0.95)
    assert found.order.trend is None
    assert found.order.autocorrelation is None
    assert found.warnings == ()


@pytest.mark.parametrize(("builds", "said"), [(3, True), (5, True), (9, True), (10, False)])
def test_intervals_of_few_builds_say_that_they_presume_normal_means(builds: int, said: bool) -> None:
    """Five builds in two modes hold the mean in 82 to 85% of experiments, ten in 89 to 94%."""
    found = estimate_variances(plant(builds, 4, 10, (1.0, 1.0, 0.5)), 0.95)
    assert any("the interval presumes that their means are normal" in it for it in found.warnings) == said


def test_a_rate_that_was_measured_at_95_percent_says_so_at_any_confidence() -> None:
    found = estimate_variances(plant(5, 4, 10, (1.0, 1.0, 0.5)), 0.8)
    assert any("intervals at 95% of so few hold the mean in 82" in warning for warning in found.warnings)


def test_neighbours_that_are_alike_are_reported_and_the_interval_stays_that_of_means() -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(size=(40, 50))
    for place in range(1, 50):
        values[:, place] = 0.6 * values[:, place - 1] + 0.8 * values[:, place]
    found = analyze_version(nest(values.reshape(8, 5, 50).tolist()), 0.95)
    assert found.order.trend is None
    assert found.order.autocorrelation == pytest.approx(0.6, abs=0.07)
    assert any("stays valid" in warning for warning in found.warnings)


def test_short_executions_are_not_searched_for_trends() -> None:
    assert check_measurement_order(plant(8, 4, 5, (1.0, 1.0, 1.0))).executions == 0


def test_an_impact_factor_below_one_has_an_interval_of_its_own_and_is_called_none() -> None:
    for seed in range(50):
        found = analyze_version(plant(8, 3, 2, (0.0, 1.0, 0.5), seed=seed), 0.95)
        factor = found.impact.factor
        assert factor is not None
        assert factor.low < factor.estimate < factor.high
        if factor.estimate < 1:
            assert "no impact was detected (1 means no impact, less is chance)" in phrase_impact(found)
            break
    else:
        raise AssertionError("chance never brought the factor below 1")


@pytest.mark.parametrize(
    ("mean", "unit"), [(100.0, "ms"), (1e40, "x"), (5e-20, "s"), (0.0, "ops"), (3e11, "ns")]
)
def test_tables_of_values_of_any_size_fit_the_terminal(mean: float, unit: str) -> None:
    size = mean or 1e9
    found = []
    for seed, name in enumerate(("a-version-of-a-long-name", "another-version-of-a-long-name")):
        nested = plant(10, 3, 4, (0.2, 0.1, 0.05), seed=seed)
        nested = replace(nested, version=name, unit=unit, values=mean + size * (nested.values - 100))
        found.append(analyze_version(nested, 0.95))
    text = render_text(state_variances(found, 0))
    levels = text.partition("by level")[2].partition("SD: standard deviation")[0]
    assert max(len(line) for line in levels.splitlines()) <= 100
    assert "another-version-of-a-long-name:" in levels
    assert not re.search(r"0000|[eE][-+]?[0-9]{2}(?! x| s)", levels.split("\n", 1)[1]), levels
