"""Kernels for nested measurements against plain numpy that enumerates what they draw."""

from collections import Counter
from itertools import permutations, product

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from datamill import _native

Floats = NDArray[np.float64]
Nested = list[list[Floats]]


def flatten(builds: Nested) -> tuple[Floats, NDArray[np.int64], NDArray[np.int64]]:
    executions = [execution for build in builds for execution in build]
    return (
        np.concatenate(executions),
        np.cumsum([0] + [len(execution) for execution in executions]),
        np.cumsum([0] + [len(build) for build in builds]),
    )


def make_builds(seed: int, builds: int, *, balanced: bool = True, origin: float = 100.0) -> Nested:
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(builds):
        center = origin + rng.normal(0, 3)
        counts = [7] * 3 if balanced else rng.integers(1, 40, size=rng.integers(2, 6)).tolist()
        made.append([center + rng.normal(0, 2) + rng.normal(0, 5, count) for count in counts])
    return made


@pytest.mark.parametrize("balanced", [True, False])
def test_means_and_squares_are_those_of_numpy(balanced: bool) -> None:
    builds = make_builds(1, 12, balanced=balanced)
    means, squares, build_means = _native.nested_means(*flatten(builds))
    executions = [execution for build in builds for execution in build]
    np.testing.assert_allclose(means, [e.mean() for e in executions], rtol=1e-14)
    np.testing.assert_allclose(squares, [((e - e.mean()) ** 2).sum() for e in executions], rtol=1e-12)
    expected = [np.mean([e.mean() for e in build]) for build in builds]
    np.testing.assert_allclose(build_means, expected, rtol=1e-14)


def test_mean_squares_are_equations_14_to_16() -> None:
    values = np.array(make_builds(2, 10))
    found = _native.nested_mean_squares(*flatten(list(values)))
    execution_means = values.mean(axis=2)
    expected = (
        values.mean(),
        execution_means.mean(axis=1).var(ddof=1),
        execution_means.var(axis=1, ddof=1).mean(),
        values.var(axis=2, ddof=1).mean(),
    )
    assert found == pytest.approx(expected, rel=1e-12)


def test_what_all_values_have_in_common_costs_no_digits() -> None:
    rng = np.random.default_rng(3)
    # Sixteenths, so that adding the origin is exact.
    values = rng.integers(-(2**9), 2**9, 2 * 4 * 100) / 16
    offsets = np.arange(0, 801, 100), np.array([0, 4, 8])
    near = _native.nested_mean_squares(values, *offsets)
    far = _native.nested_mean_squares(values + 1e9, *offsets)
    assert far[0] == pytest.approx(near[0] + 1e9, rel=1e-15)
    assert far[3] == pytest.approx(near[3], rel=1e-12), "deviations from a mean that is exact enough"
    # An execution's mean itself is a double next to 1e9: it is off by up to 6e-8.
    assert far[1:3] == pytest.approx(near[1:3], rel=1e-6)
    squares = _native.nested_means(values + 1e9, *offsets)[1]
    np.testing.assert_allclose(squares, _native.nested_means(values, *offsets)[1], rtol=1e-12)


def test_a_level_that_is_not_repeated_is_nan() -> None:
    mean, version, build, execution = _native.nested_mean_squares(
        np.array([1.0, 3.0]), np.array([0, 1, 2]), np.array([0, 2])
    )
    assert (mean, build) == (2.0, 2.0)
    assert np.isnan([version, execution]).all()


@pytest.mark.parametrize(
    ("executions", "builds", "sentence"),
    [
        ([0, 2, 4], [0, 2], "offsets of executions end with 4, not with 5"),
        ([0, 2, 2, 5], [0, 3], "number 1 of the executions is empty"),
        ([0, 2, 5], [0, 3], "offsets of builds end with 3, not with 2"),
        ([1, 2, 5], [0, 2], "offsets of executions begin with 0"),
    ],
)
def test_offsets_that_do_not_fit_are_refused(executions: list[int], builds: list[int], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        _native.nested_means(np.arange(5.0), np.array(executions), np.array(builds))


def test_bootstrap_draws_each_choice_of_builds_equally_often() -> None:
    a, b = np.array([10.0, 11.0]), np.array([20.0, 23.0])
    expected = Counter(
        (round(np.mean(y) - np.mean(x), 9), round(np.mean(y) / np.mean(x), 9))
        for x in product(a, repeat=2)
        for y in product(b, repeat=2)
    )
    differences, ratios = _native.resample_builds(a, b, 16_000, 5)
    found = Counter(
        (round(d, 9), round(r, 9)) for d, r in zip(differences.tolist(), ratios.tolist(), strict=True)
    )
    assert found.keys() == expected.keys()
    frequencies = [found[key] for key in expected], [1000 * expected[key] for key in expected]
    assert stats.chisquare(*frequencies).pvalue > 1e-4


def test_bootstrap_spreads_as_numpy_says() -> None:
    rng = np.random.default_rng(6)
    a, b = rng.normal(50, 4, 30), rng.normal(1e9, 9, 25)
    differences, _ = _native.resample_builds(a, b, 100_000, 7)
    expected = a.var() / 30 + b.var() / 25
    assert differences.var() == pytest.approx(expected, rel=0.03)
    assert differences.mean() == pytest.approx(b.mean() - a.mean(), abs=5 * (expected / 1e5) ** 0.5)


def judge_with_numpy(chosen: Nested, u: float) -> tuple[tuple[float, float], bool, bool]:
    """Welch's statistic and degrees of freedom, rounded; whether intervals of either kind are apart."""
    figures = []
    for group in (chosen[:2], chosen[2:]):
        execution_means = [np.array([e.mean() for e in build]) for build in group]
        build_means = np.array([means.mean() for means in execution_means])
        pooled = np.concatenate(execution_means)
        s2_b = sum(((x - x.mean()) ** 2).sum() for x in execution_means) / (len(pooled) - 2)
        values = [e for build in group for e in build]
        s2_e = sum(((e - e.mean()) ** 2).sum() for e in values) / (sum(map(len, values)) - len(values))
        lower = sum(
            s2_b / len(build) + s2_e / len(build) ** 2 * sum(1 / len(e) for e in build) for build in group
        )
        paper = u * np.sqrt(lower / 4 + build_means.var(ddof=1) / 2)
        figures.append((build_means, paper, pooled.mean(), u * stats.sem(pooled)))
    (a, paper_a, pooled_a, wrong_a), (b, paper_b, pooled_b, wrong_b) = figures
    if a[0] == a[1] and b[0] == b[1]:
        # The same build twice in both groups: nothing varies.
        key = (0.0 if a[0] == b[0] else float(np.copysign(np.inf, b[0] - a[0])), 2.0)
    else:
        variances = a.var(ddof=1) / 2, b.var(ddof=1) / 2
        df = sum(variances) ** 2 / (variances[0] ** 2 + variances[1] ** 2)
        key = (round(float((b.mean() - a.mean()) / np.sqrt(sum(variances))), 6) + 0.0, round(float(df), 6))
    return (
        key,
        bool(abs(a.mean() - b.mean()) > paper_a + paper_b),
        bool(abs(pooled_a - pooled_b) > wrong_a + wrong_b),
    )


@pytest.mark.parametrize("balanced", [True, False])
@pytest.mark.parametrize(("count", "disjoint"), [(5, True), (3, False)])
def test_every_pair_of_groups_is_compared_as_numpy_compares_it(
    balanced: bool, count: int, disjoint: bool
) -> None:
    builds, u, repetitions = make_builds(8, count, balanced=balanced), 0.6, 20_000
    found = _native.simulate_comparisons(*flatten(builds), [2], repetitions, u, 9)
    assert found.disjoint.tolist() == [disjoint]
    numbers = range(count)
    choices = list(permutations(numbers, 4)) if disjoint else list(product(numbers, repeat=4))
    outcomes = [judge_with_numpy([builds[at] for at in chosen], u) for chosen in choices]
    expected = Counter(key for key, _, _ in outcomes)
    seen = Counter(
        (round(t, 6) + 0.0, round(df, 6))
        for t, df in zip(found.welch_t[0].tolist(), found.welch_df[0].tolist(), strict=True)
    )
    assert seen.keys() == expected.keys()
    frequencies = [repetitions * times / len(choices) for times in expected.values()]
    assert stats.chisquare([seen[key] for key in expected], frequencies).pvalue > 1e-4
    for rule, count_found in ((1, int(found.paper[0])), (2, int(found.executions[0]))):
        share = float(np.mean([outcome[rule] for outcome in outcomes]))
        assert 0 < share < 1
        deviation = np.sqrt(share * (1 - share) / repetitions)
        assert count_found / repetitions == pytest.approx(share, abs=5 * deviation)
        if disjoint:
            alarms = {outcome[0] for outcome in outcomes if outcome[rule]}
            assert count_found == sum(seen[key] for key in alarms), "an alarm goes with its statistic"


def test_one_build_is_compared_by_the_two_level_model() -> None:
    values, u = np.array(make_builds(10, 6)), 1.5
    means = values.mean(axis=2)
    reach = u * np.sqrt(values.var(axis=2, ddof=1).mean(axis=1) / 21 + means.var(axis=1, ddof=1) / 3)
    apart = [
        abs(means[i].mean() - means[j].mean()) > reach[i] + reach[j] for i, j in permutations(range(6), 2)
    ]
    found = _native.simulate_comparisons(*flatten(list(values)), [1, 3], 20_000, u, 11)
    share = np.mean(apart)
    assert 0.1 < share < 0.9
    assert found.single_build / 20_000 == pytest.approx(share, abs=5 * np.sqrt(share * (1 - share) / 20_000))
    assert found.paper[0] == -1
    assert np.isnan(found.welch_t[0]).all()
    assert np.isfinite(found.welch_t[1]).all()


def test_false_alarms_are_nominal_by_builds_and_many_by_executions() -> None:
    rng = np.random.default_rng(12)
    values = rng.normal(0, 3, (150, 1, 1)) + rng.normal(0, 1, (150, 20, 1)) + rng.normal(0, 1, (150, 20, 10))
    found = _native.simulate_comparisons(*flatten(list(values)), [5, 20], 20_000, 1.96, 13)
    by_builds = (2 * stats.t.sf(abs(found.welch_t), found.welch_df) < 0.05).mean(axis=1)
    by_executions = (2 * stats.t.sf(abs(found.execution_t), found.execution_df) < 0.05).mean(axis=1)
    assert by_builds == pytest.approx(0.05, abs=0.012)
    assert (by_executions > 0.5).all()
    assert (found.paper < 0.05 * 20_000).all(), "intervals that do not overlap are the stricter rule"


def find_variances(builds: list[Floats]) -> tuple[float, float]:
    """Half the mean squared difference between and within builds; equal objects are the same build."""
    between = [np.mean((x[:, None] - y[None, :]) ** 2) / 2 for x, y in permutations(builds, 2) if x is not y]
    return float(np.mean(between)), float(np.mean([x.var(ddof=1) for x in builds if len(x) > 1]))


def test_impact_factors_are_those_of_pairs_in_the_data_and_in_each_draw() -> None:
    rng = np.random.default_rng(14)
    builds = [rng.normal(rng.normal(1e6, 2), 1, size) for size in (2, 4, 1, 3)]
    offsets = np.cumsum([0, 2, 4, 1, 3])
    factor, between_sd, within_sd, draws = _native.resample_impact(
        np.concatenate(builds), offsets, 20_000, 15
    )
    between, within = find_variances(builds)
    assert (between_sd**2, within_sd**2) == pytest.approx((between, within), rel=1e-6)
    assert factor == pytest.approx(np.sqrt(between / within), rel=1e-6)
    expected: Counter[float] = Counter()
    for chosen in product(range(4), repeat=4):
        if len(set(chosen)) > 1:
            between, within = find_variances([builds[number] for number in chosen])
            expected[round(float(np.sqrt(between / within)), 5)] += 1
    found = Counter(np.round(draws, 5).tolist())
    assert found.keys() == expected.keys()
    total = expected.total()
    frequencies = [found[key] for key in expected], [20_000 * n / total for n in expected.values()]
    assert stats.chisquare(*frequencies).pvalue > 1e-4


def test_fewer_than_two_builds_are_refused() -> None:
    one = np.arange(4.0), np.array([0, 2, 4]), np.array([0, 2])
    with pytest.raises(ValueError, match="two builds or more"):
        _native.simulate_comparisons(*one, [1], 10, 1.96, 1)
    with pytest.raises(ValueError, match="two builds or more"):
        _native.resample_impact(one[0], np.array([0, 4]), 10, 1)
    with pytest.raises(ValueError, match="no builds"):
        _native.resample_builds(one[0], np.array([]), 10, 1)
