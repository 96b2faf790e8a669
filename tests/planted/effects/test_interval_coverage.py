"""Intervals and tests on data whose truth is known: they must err as often as they say, no more."""

import numpy as np
import pytest
from running.nightly import choose_count
from scipy.stats import binom

from datamill.analysis.assumptions.check import check_assumptions
from datamill.analysis.contrasts.contrast import PooledError
from datamill.analysis.levels.comparison import Comparison
from datamill.analysis.levels.level_changes import LevelChange, find_largest_changes
from datamill.analysis.levels.level_means import estimate_level_means
from datamill.analysis.levels.packages import compare_packages
from datamill.analysis.linear.model import fit_linear_model
from datamill.analysis.model_data.cells import Cells, ModelFactor, gather_cells

REPLICATIONS = choose_count(400, 1000)

PACKAGE = ModelFactor("package", ("first", "second"))
FLAG = ModelFactor("flag", ("-O0", "-O2", "-O3"))
ASLR = ModelFactor("aslr", ("off", "on"))


def lay_out(factors: list[ModelFactor], replicates: int) -> np.ndarray:
    axes = [range(len(factor.levels)) for factor in factors] + [range(replicates)]
    return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)[:, : len(factors)]


def assert_rate(hits: int, expected: float, trials: int = REPLICATIONS) -> None:
    """The count must lie where the binomial distribution puts it but for one time in 10 000."""
    low, high = binom.interval(0.9999, trials, expected)
    assert low <= hits <= high, f"{hits} of {trials} is {hits / trials:.4f}, expected {expected}"


def assert_rate_at_most(hits: int, expected: float, trials: int = REPLICATIONS) -> None:
    assert hits <= binom.ppf(0.9999, trials, expected), f"{hits / trials:.4f}, at most {expected}"


def make_cells(rng: np.random.Generator, spread: tuple[float, float], replicates: int = 3) -> Cells:
    codes = lay_out([PACKAGE, FLAG, ASLR], replicates)
    truth = 100 + np.array([-6.0, 2.0, 4.0])[codes[:, 1]]
    noise = rng.standard_normal(codes.shape[0]) * np.array(spread)[codes[:, 0]]
    return gather_cells([PACKAGE, FLAG, ASLR], codes, truth + noise)


def test_intervals_of_effects_cover_the_truth_as_often_as_they_say() -> None:
    rng = np.random.default_rng(1)
    hits = {"mean": 0, "-O0": 0, "-O3": 0, "aslr": 0}
    for _ in range(REPLICATIONS):
        model = fit_linear_model(make_cells(rng, (5.0, 5.0)), order=2, confidence=0.9)
        effects = {effect.levels[0]: effect.value for effect in model.terms[1].effects}
        aslr = next(item.value for item in model.coefficients if item.name == "aslr")
        hits["mean"] += model.mean.low <= 100 <= model.mean.high
        hits["-O0"] += effects["-O0"].low <= -6 <= effects["-O0"].high
        hits["-O3"] += effects["-O3"].low <= 4 <= effects["-O3"].high
        hits["aslr"] += aslr.low <= 0 <= aslr.high
    for count in hits.values():
        assert_rate(count, 0.9)


def compare_alike(rng: np.random.Generator, replicates: int) -> Comparison:
    cells = make_cells(rng, (1.0, 8.0), replicates)
    return compare_packages(cells, factor=0, baseline="first", direction="higher", alpha=0.05)


def test_the_comparison_errs_as_often_as_it_says_though_one_package_is_eight_times_noisier() -> None:
    rng = np.random.default_rng(2)
    replications = choose_count(1500, 4000)
    false_alarms, difference, ratio, means = 0, 0, 0, [0, 0]
    for _ in range(replications):
        comparison = compare_alike(rng, replicates=8)
        pair = comparison.pairs[0]
        assert pair.ratio is not None
        assert pair.ratio.low is not None
        assert pair.ratio.high is not None
        false_alarms += pair.verdict != "uncertain"
        difference += pair.difference.low <= 0 <= pair.difference.high
        ratio += pair.ratio.low <= 1 <= pair.ratio.high
        for index, mean in enumerate(comparison.means):
            means[index] += mean.value.low <= 100 <= mean.value.high
        assert (pair.verdict == "uncertain") == (pair.difference.low <= 0 <= pair.difference.high)
    assert_rate(false_alarms, 0.05, replications)
    for count in (difference, ratio, *means):
        assert_rate(count, 0.95, replications)


def test_with_three_replicates_the_comparison_errs_no_more_often_than_it_says() -> None:
    # Satterthwaite's degrees of freedom, estimated from few replicates, are on the safe side.
    rng = np.random.default_rng(3)
    false_alarms = sum(compare_alike(rng, 3).pairs[0].verdict != "uncertain" for _ in range(REPLICATIONS))
    assert_rate_at_most(false_alarms, 0.05)
    assert false_alarms > 0.02 * REPLICATIONS


def test_without_replicates_each_package_keeps_its_own_spread() -> None:
    rng = np.random.default_rng(4)
    false_alarms, hits = 0, [0, 0]
    for _ in range(REPLICATIONS):
        cells = make_cells(rng, (1.0, 8.0), replicates=1)
        errors = []
        for code in (0, 1):
            chosen = cells.codes[cells.of_row, 0] == code
            part = gather_cells(
                [FLAG, ASLR], cells.codes[cells.of_row][chosen][:, 1:], cells.values[chosen] + cells.origin
            )
            model = fit_linear_model(part, order=1)
            errors.append(PooledError(model.error_ms, model.error_df))
        comparison = compare_packages(
            cells, factor=0, baseline="first", direction="higher", alpha=0.05, fallback=tuple(errors)
        )
        false_alarms += comparison.pairs[0].verdict != "uncertain"
        for index, mean in enumerate(comparison.means):
            hits[index] += mean.value.low <= 100 <= mean.value.high
    # Welch's degrees of freedom are themselves estimated from 2 a package: allow it 1.5 points.
    assert_rate_at_most(false_alarms, 0.065)
    assert_rate(hits[0], 0.95)
    assert_rate(hits[1], 0.95)


def test_with_three_packages_any_false_alarm_at_all_is_rarer_than_alpha() -> None:
    rng = np.random.default_rng(5)
    three = ModelFactor("package", ("a", "b", "c"))
    codes = lay_out([three, ASLR], 4)
    alarms = 0
    for _ in range(REPLICATIONS):
        values = 10 + rng.standard_normal(codes.shape[0]) * np.array([1.0, 2.0, 3.0])[codes[:, 0]]
        comparison = compare_packages(
            gather_cells([three, ASLR], codes, values), factor=0, baseline="a", direction="higher", alpha=0.05
        )
        alarms += any(pair.verdict != "uncertain" for pair in comparison.pairs)
    assert_rate_at_most(alarms, 0.05)


def find_changes(cells: Cells, factor: int) -> tuple[LevelChange, ...]:
    return find_largest_changes(
        cells, factor=factor, group_factor=0, direction="higher", confidence=0.95, alpha=0.05
    )


def test_the_largest_change_between_levels_and_the_bound_on_it_hold() -> None:
    rng = np.random.default_rng(6)
    truth = {"-O0": 94.0, "-O2": 102.0, "-O3": 104.0}
    missed, beyond, beyond_percent = 0, 0, 0
    for _ in range(REPLICATIONS):
        found = find_changes(make_cells(rng, (4.0, 4.0)), 1)[0]
        pair = found.pair
        gap = truth[pair.package] - truth[pair.baseline]
        missed += not pair.difference.low <= gap <= pair.difference.high
        beyond += found.at_most < 10.0
        assert found.at_most_percent is not None
        beyond_percent += found.at_most_percent < 100 * (104 / 94 - 1)
    # Welch's degrees of freedom are themselves estimated from 2 a design point: allow them 1.5 points.
    for count in (missed, beyond, beyond_percent):
        assert_rate_at_most(count, 0.065)


def test_a_change_between_levels_that_are_alike_is_seldom_found() -> None:
    rng = np.random.default_rng(16)
    codes = lay_out([PACKAGE, FLAG, ASLR], 3)
    alarms = [0, 0]
    for _ in range(REPLICATIONS):
        cells = gather_cells([PACKAGE, FLAG, ASLR], codes, 100 + 5 * rng.standard_normal(codes.shape[0]))
        for at, factor in enumerate((1, 2)):
            alarms[at] += find_changes(cells, factor)[0].pair.verdict != "uncertain"
    for count in alarms:
        assert_rate_at_most(count, 0.065)


def test_bands_of_the_effect_plot_cover_the_true_departure_in_percent() -> None:
    rng = np.random.default_rng(7)
    hits = 0
    for _ in range(REPLICATIONS):
        means = estimate_level_means(make_cells(rng, (2.0, 9.0)), factor=1, group_factor=0, confidence=0.9)
        noisy = next(item for item in means if item.group == "second" and item.level == "-O0")
        assert noisy.percent is not None
        hits += noisy.percent.low <= -6 <= noisy.percent.high
    assert_rate(hits, 0.9)


@pytest.mark.parametrize("replicates", [3, 8])
def test_the_checks_seldom_accuse_data_that_meet_the_assumptions(replicates: int) -> None:
    rng = np.random.default_rng(8)
    spread, normal, trials = 0, 0, choose_count(250, 500)
    for _ in range(trials):
        cells = make_cells(rng, (5.0, 5.0), replicates)
        model = fit_linear_model(cells, order=2, alpha=0.05)
        for check in check_assumptions(cells, model).checks:
            accused = check.p < 0.05
            spread += accused and check.assumption == "equal variances"
            normal += accused and check.assumption == "normal errors"
    # Residuals are not independent, so that both tests are approximate: at most 7%.
    assert_rate_at_most(spread, 0.07, trials)
    assert_rate_at_most(normal, 0.07, trials)


def test_the_checks_find_a_package_that_is_eight_times_noisier() -> None:
    cells = make_cells(np.random.default_rng(9), (1.0, 8.0))
    checks = check_assumptions(cells, fit_linear_model(cells, order=2))
    assert any("spread is not the same" in warning and "package" in warning for warning in checks.warnings)
