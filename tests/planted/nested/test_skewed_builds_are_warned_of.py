"""Means of skewed builds: their intervals hold too rarely, and most that do not hold come with a warning."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import binom

from datamill.analysis.random_effects.nested_data.nested_values import NestedValues
from datamill.analysis.random_effects.variance import estimate_variances
from datamill.analysis.versions.compare import compare_versions
from datamill.analysis.versions.means import estimate_version_mean

Draw = Callable[[np.random.Generator, int], np.ndarray]

SHAPES: dict[str, tuple[Draw, float]] = {
    "normal": (lambda rng, n: rng.standard_normal(n), 0.0),
    "log-normal": (lambda rng, n: np.exp(rng.standard_normal(n)), float(np.exp(0.5))),
    "exponential": (lambda rng, n: rng.standard_exponential(n), 1.0),
    "Pareto 2.5": (lambda rng, n: (1 - rng.random(n)) ** (-1 / 2.5), 2.5 / 1.5),
    "Pareto 1.5": (lambda rng, n: (1 - rng.random(n)) ** (-1 / 1.5), 3.0),
}


def name_builds(values: np.ndarray, version: str = "new") -> NestedValues:
    """A version whose builds have one execution of one measurement each."""
    offsets = np.arange(values.size + 1)
    return NestedValues(version, "time", "s", values, offsets, offsets)


@pytest.mark.parametrize("builds", [10, 15, 20, 50])
@pytest.mark.parametrize("shape", ["log-normal", "exponential", "Pareto 2.5", "Pareto 1.5"])
def test_intervals_of_skewed_builds_miss_the_mean_without_a_warning_hardly_oftener_than_stated(
    shape: str, builds: int
) -> None:
    """Nominal is 5%; of ten builds, of which the misleading ones lack the tail, it is up to 7%."""
    draw, mean = SHAPES[shape]
    rng, missed, unwarned = np.random.default_rng(4), 0, 0
    for _ in range(600):
        found = estimate_version_mean(name_builds(100 + draw(rng, builds)), 0.95)
        miss = not found.value.low <= 100 + mean <= found.value.high
        missed += miss
        unwarned += miss and not found.skewness
    print(f"{shape}, {builds} builds: {missed / 600:.3f} miss, {unwarned / 600:.3f} without a warning")
    assert unwarned <= binom.ppf(0.999, 600, 0.07 if builds < 15 else 0.06)
    if shape != "exponential":
        assert missed > binom.ppf(0.99, 600, 0.05), "the reason for the warning"


@pytest.mark.parametrize(("builds", "most"), [(10, 0.24), (15, 0.1), (20, 0.05), (30, 0.015)])
def test_normal_builds_are_called_skewed_as_seldom_as_documented(builds: int, most: float) -> None:
    rng = np.random.default_rng(5)
    called = sum(
        estimate_version_mean(name_builds(rng.standard_normal(builds)), 0.95).skewness != 0
        for _ in range(600)
    )
    assert called <= binom.ppf(0.999, 600, most)


def test_skewed_builds_are_named_with_how_often_intervals_hold() -> None:
    rng = np.random.default_rng(1)
    tail, steady = 100 + SHAPES["Pareto 1.5"][0](rng, 20), 102 + 0.1 * rng.standard_normal(20)
    (warning,) = estimate_variances(name_builds(tail), 0.95).warnings[:1]
    assert warning.startswith("means of builds are skewed (G1 ")
    told = " ".join(compare_versions([name_builds(steady, "old"), name_builds(tail)]).warnings)
    assert "skewed for so few builds: new (builds have G1 " in told
    calm = [name_builds(steady, "old"), name_builds(steady + 5 + 0.1 * rng.standard_normal(20))]
    assert "skewed" not in " ".join(compare_versions(calm).warnings)


def test_a_verdict_by_five_builds_says_what_it_presumes() -> None:
    rng = np.random.default_rng(2)
    few = [name_builds(mean + 0.1 * rng.standard_normal(5), name) for mean, name in ((9, "old"), (10, "new"))]
    assert "a verdict that rests on 5 builds presumes" in " ".join(compare_versions(few).warnings)
    like = [name_builds(10 + 0.1 * rng.standard_normal(5), name) for name in ("old", "new")]
    assert "presumes" not in " ".join(compare_versions(like).warnings), "it cannot tell yet"
    assert "presumes" in " ".join(compare_versions(like, threshold=0.2).warnings), "unchanged"
