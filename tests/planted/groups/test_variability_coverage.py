"""Intervals of variability, skewness, spread and location hold as stated, on data of many shapes.

`pytest -s` prints the tables that docs/reference/analyses.md quotes. Each number is of 1,000 replications, of
large samples of 200.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from running.nightly import choose_count
from scipy.stats import binom

from datamill.analysis.distribution.summary import summarize_distributions
from datamill.analysis.distribution.variability import PointVariabilities, measure_variability
from datamill.analysis.groups.group_comparison import Group
from datamill.analysis.groups.means.variance_tests import compare_brown_forsythe
from datamill.analysis.groups.ranks.rank_tests import compare_mann_whitney
from datamill.analysis.model_data.cells import Cells, ModelFactor, gather_cells
from datamill.analysis.model_data.observations import Observations

REPLICATIONS = choose_count(500, 1000)
Draw = Callable[[np.random.Generator, int], np.ndarray]


@dataclass(frozen=True)
class Shape:
    """How to draw n observations; coefficient of variation and skewness of the population."""

    draw: Draw
    cv: float
    skewness: float


def make_log_normal(sigma: float, start: float = 0.0) -> Shape:
    """Observations above `start`: times of a program that takes at least so long."""
    mean, grown = np.exp(sigma**2 / 2), np.expm1(sigma**2)
    cv = mean * np.sqrt(grown) / (mean + start)
    return Shape(
        lambda rng, n: start + rng.lognormal(0, sigma, n), float(cv), float((grown + 3) * np.sqrt(grown))
    )


def make_pareto(index: float, start: float = 0.0) -> Shape:
    mean, variance = index / (index - 1), index / ((index - 1) ** 2 * (index - 2))
    skewness = 2 * (1 + index) / (index - 3) * np.sqrt((index - 2) / index)
    return Shape(
        lambda rng, n: start + 1 + rng.pareto(index, n),
        float(np.sqrt(variance) / (mean + start)),
        float(skewness),
    )


def make_modes(share: float) -> Shape:
    """Around 1, and around 2 with this share."""
    spread = np.sqrt(0.05**2 + share * (1 - share))
    return Shape(
        lambda rng, n: rng.normal(1, 0.05, n) + (rng.random(n) < share),
        float(spread / (1 + share)),
        float(share * (1 - share) * (1 - 2 * share) / spread**3),
    )


SHAPES = {
    "normal": Shape(lambda rng, n: rng.normal(10, 1, n), 0.1, 0.0),
    "uniform": Shape(lambda rng, n: rng.uniform(1, 2, n), float(np.sqrt(1 / 12) / 1.5), 0.0),
    "log-normal 0.2": make_log_normal(0.2),
    "log-normal 0.5": make_log_normal(0.5),
    "log-normal 1": make_log_normal(1.0),
    "10 + log-normal 0.5": make_log_normal(0.5, 10),
    "10 + log-normal 1": make_log_normal(1.0, 10),
    "10 + exponential": Shape(lambda rng, n: 10 + rng.exponential(size=n), 1 / 11, 2.0),
    "Pareto 4": make_pareto(4.0),
    "Pareto 5": make_pareto(5.0),
    "two modes, 0.3": make_modes(0.3),
    "two modes, 0.1": make_modes(0.1),
    "Poisson 2": Shape(lambda rng, n: rng.poisson(2.0, n).astype(float), float(1 / np.sqrt(2)), 0.5**0.5),
}
SIZES = (10, 30, 100)
#: Where no method can hold: of ten observations a third, of thirty 4%, show nothing of a mode of 0.1; and
#: a sample without its heavy tail looks like a normal one. What is reached there, in percent.
REACHED = {
    ("10 + log-normal 1", 10): 89, ("10 + log-normal 1", 30): 89, ("log-normal 1", 30): 91,
    ("Pareto 4", 10): 90, ("Pareto 4", 30): 88, ("Pareto 4", 100): 91, ("Pareto 5", 10): 91,
    ("two modes, 0.1", 10): 71,
}  # fmt: skip
LARGE_REPLICATIONS = 200
#: Of large samples: percent of intervals that hold the coefficient and the skewness, and that have no upper
#: end of skewness; each as measured in 400 to 2,000 other replications (99.5, 96.3 and 57 of log-normal 1
#: with n = 1000), the first two less and the third plus three standard errors of a share of 200.
LARGE = {
    ("normal", 20_000): (93, 92, 0), ("log-normal 0.5", 20_000): (93, 98, 1),
    ("log-normal 1", 1000): (98, 92, 67), ("log-normal 1", 20_000): (95, 98, 60),
    ("10 + log-normal 1", 1000): (97, 92, 67), ("10 + log-normal 1", 20_000): (95, 98, 60),
}  # fmt: skip


def assert_at_least(hits: int, percent: float) -> None:
    """The count must not be lower than the binomial distribution allows but for one time in 10 000."""
    assert hits >= binom.ppf(0.0001, REPLICATIONS, percent / 100), f"{hits} of {REPLICATIONS}, {percent}%"


def repeat(shape: Shape, n: int, seed: int, replications: int = REPLICATIONS) -> Cells:
    """One table with a design point for each replication."""
    levels = tuple(str(index) for index in range(replications))
    values = shape.draw(np.random.default_rng(seed), n * replications)
    return gather_cells([ModelFactor("point", levels)], [np.repeat(np.arange(replications), n)], values)


def count_covered(found: PointVariabilities, shape: Shape) -> tuple[int, int]:
    intervals = [point.cv for point in found.points]
    of_skewness = [point.skewness_interval for point in found.points]
    return (
        sum(item is not None and item.low <= shape.cv <= item.high for item in intervals),
        sum(item is not None and item.low <= shape.skewness <= item.high for item in of_skewness),
    )


@pytest.mark.parametrize("name", SHAPES)
def test_coefficients_of_variation_and_skewness_are_covered_whatever_the_shape(name: str) -> None:
    shape, line = SHAPES[name], f"{name:20}"
    for n in SIZES:
        found = measure_variability(repeat(shape, n, seed=n))
        hits, of_skewness = count_covered(found, shape)
        line += f"  n = {n}: {100 * hits / REPLICATIONS:.1f}%, G1 {100 * of_skewness / REPLICATIONS:.1f}%"
        assert_at_least(hits, REACHED.get((name, n), 95))
        # The skewness of a mode of 0.1 is not in a sample that has none of it.
        assert_at_least(of_skewness, 91 if (name, n) == ("two modes, 0.1", 10) else 94)
    print(line)


@pytest.mark.parametrize(("name", "n"), LARGE)
def test_intervals_of_large_samples_hold_also_where_tails_are_heavy(name: str, n: int) -> None:
    found = measure_variability(repeat(SHAPES[name], n, n + 1, LARGE_REPLICATIONS))
    hits, of_skewness = count_covered(found, SHAPES[name])
    intervals = [point.skewness_interval for point in found.points]
    unbounded = sum(item is not None and np.isinf(item.high) for item in intervals)
    shares = [100 * item / LARGE_REPLICATIONS for item in (hits, of_skewness, unbounded)]
    print(f"{name:20}  n = {n}: {shares[0]:.1f}%, G1 {shares[1]:.1f}%, without an upper end {shares[2]:.1f}%")
    least, least_of_skewness, most_unbounded = LARGE[name, n]
    assert shares[0] >= least
    assert shares[1] >= least_of_skewness
    assert shares[2] <= most_unbounded


@pytest.mark.parametrize(("n", "above", "below"), [(10, 4.5, 2.0), (30, 2.2, 1.6), (100, 1.5, 1.3)])
def test_intervals_of_normal_observations_hold_but_not_by_saying_nothing(
    n: int, above: float, below: float
) -> None:
    found = measure_variability(repeat(SHAPES["normal"], n, seed=1))
    intervals = [point.cv for point in found.points if point.cv is not None]
    assert float(np.median([item.high / item.estimate for item in intervals])) < above
    assert float(np.median([item.estimate / item.low for item in intervals])) < below


@pytest.mark.parametrize("level", [0.8, 0.99])
def test_other_levels_hold_as_well(level: float) -> None:
    shape = SHAPES["log-normal 0.5"]
    hits, of_skewness = count_covered(measure_variability(repeat(shape, 30, 3), confidence=level), shape)
    assert_at_least(hits, 100 * level)
    assert_at_least(of_skewness, 100 * level)
    assert of_skewness < REPLICATIONS or level > 0.9


def test_data_that_need_more_observations_are_warned_of_and_others_hardly_ever() -> None:
    heavy = measure_variability(repeat(SHAPES["10 + log-normal 1"], 30, 5)).points
    light = measure_variability(repeat(SHAPES["normal"], 30, 5)).points

    def count(points: object) -> int:
        return sum(point.tail_index > 0.287 for point in points)  # type: ignore[attr-defined]

    assert count(heavy) > 0.6 * REPLICATIONS
    assert count(light) < 0.02 * REPLICATIONS
    few = measure_variability(repeat(SHAPES["10 + log-normal 1"], 30, 5))
    assert any("look heavy-tailed" in warning for warning in few.warnings)


@pytest.mark.parametrize(
    "name", ["normal", "uniform", "log-normal 0.5", "log-normal 1", "Pareto 5", "Poisson 2"]
)
@pytest.mark.parametrize(("m", "n"), [(10, 10), (15, 40), (40, 40)])
def test_ratios_of_spread_are_covered_just_as_often_as_equal_spreads_are_not_told_apart(
    name: str, m: int, n: int
) -> None:
    rng, draw = np.random.default_rng(m + n), SHAPES[name].draw
    hits, alarms = 0, 0
    for _ in range(REPLICATIONS):
        first, second = draw(rng, m), draw(rng, n)
        alarms += (compare_brown_forsythe((Group("a", first), Group("b", second)), 0.95).p or 1.0) < 0.05
        test = compare_brown_forsythe((Group("a", first), Group("b", 7 + 3 * second)), 0.95)
        value = test.estimates[0].value
        hits += value.low <= 3 <= value.high
    assert hits == REPLICATIONS - alarms
    assert_at_least(hits, 95)
    assert hits < 0.985 * REPLICATIONS or m == 10


@pytest.mark.parametrize("name", ["normal", "log-normal 1", "Pareto 4", "two modes, 0.1", "Poisson 2"])
@pytest.mark.parametrize("n", [6, 10, 30])
def test_intervals_of_medians_hold_whatever_the_shape(name: str, n: int) -> None:
    shape = SHAPES[name]
    truth = float(np.median(shape.draw(np.random.default_rng(0), 1_000_001)))
    groups = summarize_distributions(Observations("y", "", repeat(shape, n, 7), 0, 0)).groups
    intervals = [group.median_interval for group in groups]
    assert_at_least(sum(item is not None and item.low <= truth <= item.high for item in intervals), 95)


@pytest.mark.parametrize("name", ["log-normal 1", "two modes, 0.3", "Poisson 2"])
def test_probabilities_of_superiority_are_covered_whatever_the_shape(name: str) -> None:
    rng, draw = np.random.default_rng(8), SHAPES[name].draw
    second, first = draw(rng, 1_000_000) + 1, draw(rng, 1_000_000)
    truth, hits = float(np.mean(second > first) + np.mean(second == first) / 2), 0
    for _ in range(REPLICATIONS):
        test = compare_mann_whitney(Group("a", draw(rng, 12)), Group("b", draw(rng, 15) + 1), 0.95)
        value = next(item.value for item in test.estimates if item.name == "probability of superiority")
        hits += value.low <= truth <= value.high
    assert_at_least(hits, 95)


def test_a_mean_whose_interval_is_too_short_for_its_skewness_is_warned_of() -> None:
    said = [
        " ".join(summarize_distributions(Observations("y", "", repeat(SHAPES[name], n, 9), 0, 0)).warnings)
        for name, n in (("log-normal 1", 10), ("uniform", 30))
    ]
    assert "too skewed" in said[0]
    assert "too skewed" not in said[1]
