"""Planted builds, executions and measurements: unbiased variances, intervals that cover as they claim."""

from collections.abc import Callable

import numpy as np
import pytest
from running.nightly import choose_count

from datamill.analysis.random_effects.impact import estimate_impact
from datamill.analysis.random_effects.mean_squares import compute_mean_squares, solve_components
from datamill.analysis.random_effects.nested_data.execution_means import average_executions
from datamill.analysis.random_effects.nested_data.nested_values import NestedValues
from datamill.analysis.random_effects.nested_data.within_executions import check_measurement_order
from datamill.analysis.random_effects.reml import fit_reml
from datamill.analysis.random_effects.variance import estimate_variances
from datamill.analysis.random_effects.variance_estimate import Level

Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]

LEVELS: tuple[Level, ...] = ("build", "execution", "measurement")
SPREAD = {"build": 1.0, "execution": 1.0, "measurement": 3.0}
SHAPES: dict[str, Draw] = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "t with 5 degrees of freedom": lambda rng, shape: rng.standard_t(5, size=shape) / np.sqrt(5 / 3),
    "exponential": lambda rng, shape: rng.exponential(size=shape) - 1,
    "two values": lambda rng, shape: ((rng.random(shape) < 0.3) - 0.3) / np.sqrt(0.21),
}


def plant(
    rng: np.random.Generator,
    builds: int,
    *,
    executions: int = 5,
    measurements: int = 10,
    draw: Draw = SHAPES["normal"],
    keep: float = 1.0,
) -> NestedValues:
    """A version of mean 100; of unbalanced ones about the share `keep` of the measurements."""
    shape = (builds, executions, measurements)
    values = np.full(shape, 100.0)
    for level, sd in enumerate(SPREAD.values()):
        values += sd * draw(rng, (*shape[: level + 1], *[1] * (2 - level)))
    kept = rng.random(shape) < keep
    kept[:, 0, 0] = True
    of_execution = kept.sum(axis=2)
    present = of_execution > 0
    return NestedValues(
        version="planted",
        response="time",
        unit="s",
        values=values[kept],
        executions=np.append(0, np.cumsum(of_execution[present])),
        builds=np.append(0, np.cumsum(present.sum(axis=1))),
    )


def is_rate(hits: int, trials: int, low: float, high: float) -> bool:
    """Whether a rate may lie between two bounds, within four standard errors of its own."""
    rate = hits / trials
    error = 4 * np.sqrt(max(rate * (1 - rate), 0.25 / trials) / trials)
    return low - error <= rate <= high + error


@pytest.mark.parametrize("keep", [1.0, 0.4])
def test_variances_before_cutting_at_zero_are_unbiased(keep: float) -> None:
    rng = np.random.default_rng(11)
    found = []
    for _ in range(1500):
        squares = compute_mean_squares(average_executions(plant(rng, 6, keep=keep))).squares
        found.append([solve_components(squares)[level] for level in LEVELS])
    means, errors = np.mean(found, axis=0), np.std(found, axis=0) / np.sqrt(len(found))
    truth = np.square(list(SPREAD.values()))
    assert np.all(np.abs(means - truth) < 4 * errors), (means, errors)
    # The test would see a bias of a tenth.
    assert np.all(errors < 0.04 * truth), errors


def test_the_paper_mean_squares_hold_what_the_levels_below_add() -> None:
    rng = np.random.default_rng(12)
    found = []
    for _ in range(1500):
        squares = compute_mean_squares(average_executions(plant(rng, 6))).squares
        found.append([square.value for square in squares])
    expected = [1 + 1 / 5 + 9 / 50, 1 + 9 / 10, 9]
    assert np.mean(found, axis=0) == pytest.approx(expected, rel=0.065)


@pytest.mark.parametrize("builds", [5, 10, 30])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_interval_of_the_mean_covers_as_it_claims(builds: int, shape: str) -> None:
    rng = np.random.default_rng(builds)
    repetitions = choose_count(150, 300) if shape == "normal" else choose_count(75, 150)
    covered = 0
    for _ in range(repetitions):
        nested = plant(rng, builds, draw=SHAPES[shape])
        covered += _covers_mean(nested)
    # Student's t is exact for normal build means, and close for others whatever the measurements are.
    low = 0.95 if shape == "normal" else 0.92
    assert is_rate(covered, repetitions, low, 0.95 if shape == "normal" else 0.97)


def _covers_mean(nested: NestedValues) -> bool:
    estimate = estimate_variances(nested, 0.95)
    return estimate.mean.low <= 100 <= estimate.mean.high


def test_the_interval_of_the_mean_covers_in_unbalanced_data_by_both_methods() -> None:
    rng = np.random.default_rng(13)
    covered, by_likelihood, repetitions = 0, 0, choose_count(60, 120)
    for _ in range(repetitions):
        nested = plant(rng, 8, keep=0.25)
        covered += _covers_mean(nested)
        mean = estimate_variances(nested, 0.95, method="reml").mean
        by_likelihood += mean.low <= 100 <= mean.high
    assert is_rate(covered, repetitions, 0.94, 0.96)
    assert is_rate(by_likelihood, repetitions, 0.93, 0.97)


@pytest.mark.parametrize(
    ("shape", "least"), [("normal", 0.94), ("t with 5 degrees of freedom", 0.92), ("exponential", 0.89)]
)
def test_intervals_of_shares_and_of_the_impact_factor_cover(shape: str, least: float) -> None:
    rng = np.random.default_rng(14)
    parts = np.array([1.0, 1 / 5, 9 / 50])
    uncertainty, variation = parts / parts.sum(), np.array([1.0, 1.0, 9.0]) / 11
    factor = np.sqrt(1 + 1 / (1 + 9 / 10))
    repetitions = choose_count(60, 120)
    hits = np.zeros(7, dtype=int)
    for seed in range(repetitions):
        nested = plant(rng, 10, draw=SHAPES[shape])
        estimate = estimate_variances(nested, 0.95, seed=seed)
        shares = (*estimate.uncertainty, *estimate.variation)
        truth = (*uncertainty, *variation)
        hits[:6] += [share.low <= value <= share.high for share, value in zip(shares, truth, strict=True)]
        bounds = estimate_impact(nested, 0.95, seed=seed).factor
        assert bounds is not None
        hits[6] += bounds.low <= factor <= bounds.high
    assert all(is_rate(int(count), repetitions, least, 1.0) for count in hits), hits / repetitions


def test_restricted_maximum_likelihood_is_nearly_unbiased_inside_the_boundary() -> None:
    rng = np.random.default_rng(15)
    found = [
        [fit_reml(average_executions(plant(rng, 20, keep=0.5))).components[level] for level in LEVELS]
        for _ in range(choose_count(50, 100))
    ]
    means, errors = np.mean(found, axis=0), np.std(found, axis=0) / np.sqrt(len(found))
    truth = np.square(list(SPREAD.values()))
    assert np.all(np.abs(means - truth) < 4 * errors), (means, errors)


@pytest.mark.parametrize("executions", [3, 8])
def test_steady_measurements_are_seldom_called_a_trend(executions: int) -> None:
    rng = np.random.default_rng(16)
    repetitions = 400
    found = sum(
        check_measurement_order(plant(rng, 1, executions=executions, measurements=30)).trend is not None
        for _ in range(repetitions)
    )
    assert is_rate(found, repetitions, 0.0, 0.012)


def test_autocorrelation_alone_is_not_called_a_trend_where_executions_are_many() -> None:
    rng = np.random.default_rng(17)
    found, repetitions = 0, 250
    for _ in range(repetitions):
        values = rng.normal(size=(12, 40))
        for place in range(1, 40):
            values[:, place] = 0.8 * values[:, place - 1] + 0.6 * values[:, place]
        nested = NestedValues(
            "planted", "time", "s", values.ravel(), np.arange(0, 481, 40), np.array([0, 4, 8, 12])
        )
        found += check_measurement_order(nested).trend is not None
    assert is_rate(found, repetitions, 0.0, 0.012)
