"""Rules that stop an experiment by what it saw err as seldom as they say, however often they look."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import binom, nct, norm, t

from datamill.analysis.sequential.boundaries import find_anytime_critical, find_stopped_critical
from datamill.analysis.sequential.look import decide_look
from datamill.analysis.sequential.rounds import Rounds
from datamill.design.batches import FEWEST_ROUNDS
from datamill.experiment.parse import parse_experiment

Draw = Callable[[np.random.Generator, tuple[int, int]], np.ndarray]

EXPERIMENTS = 2000
ROUNDS = 400
ALPHA = 0.05
POWER = 0.9
EXPERIMENT = """
[experiment]
name = "planted"
[[package]]
name = "a"
path = "a"
[[package]]
name = "b"
path = "b"
[replication]
until = { detect = "10%" }
max_trials = 100000
"""


def draw_normal(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return rng.standard_normal(shape)


def draw_skewed(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Lognormal with σ = 0.5 (skewness 1.75), standardised."""
    values = np.exp(0.5 * rng.standard_normal(shape))
    return (values - np.exp(0.125)) / np.sqrt(np.exp(0.5) - np.exp(0.25))


def draw_exponential(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return rng.standard_exponential(shape) - 1


def draw_heavy(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return rng.standard_t(4, shape) / np.sqrt(2)


def walk_statistics(differences: np.ndarray) -> np.ndarray:
    """Student's t after every round from the second on, a row an experiment."""
    n = np.arange(1, differences.shape[1] + 1)
    means = differences.cumsum(axis=1) / n
    squares = (differences**2).cumsum(axis=1)
    variances = np.maximum(squares - n * means**2, 0)[:, 1:] / (n[1:] - 1)
    return means[:, 1:] / np.sqrt(variances / n[1:])


def measure_pairs(draw: Draw, ratio: float, noise: float, seed: int = 1, shared: float = 0.1) -> np.ndarray:
    """Rounds of two packages whose means are 1 and `ratio`, with noise of each and drift that they share."""
    rng = np.random.default_rng(seed)
    shape = (EXPERIMENTS, ROUNDS)
    drift = 1 + shared * np.sin(np.arange(ROUNDS) / 20)
    first = (1 + noise * draw(rng, shape)) * drift
    second = ratio * (1 + noise * draw(rng, shape)) * drift
    return np.stack([first, second])


def judge_pairs(pairs: np.ndarray, detect: float) -> tuple[np.ndarray, np.ndarray]:
    """The verdict of each experiment (1 changed, -1 no difference, 0 neither) and its rounds."""
    n = np.arange(2, ROUNDS + 1)
    first, second = pairs
    wide, narrow = find_anytime_critical(n, ALPHA), find_anytime_critical(n, 2 * (1 - POWER))
    changed = np.abs(walk_statistics(second - first)) > wide
    below = walk_statistics(second - (1 + detect) * first) < -narrow
    above = walk_statistics(second - (1 - detect) * first) > narrow
    early = n < FEWEST_ROUNDS
    changed[:, early], small = False, below & above & ~early
    at = [np.where(seen.any(axis=1), seen.argmax(axis=1), ROUNDS) for seen in (changed, small)]
    verdict = np.where(np.minimum(*at) == ROUNDS, 0, np.where(at[0] <= at[1], 1, -1))
    return verdict, np.minimum(np.minimum(*at) + 2, ROUNDS)


def assert_at_most(hits: int, share: float) -> None:
    assert hits <= binom.ppf(0.9999, EXPERIMENTS, share), f"{hits / EXPERIMENTS:.4f}, at most {share}"


DRAWS = pytest.mark.parametrize(
    "draw",
    [draw_normal, draw_skewed, draw_exponential, draw_heavy],
    ids=["normal", "skewed", "exponential", "heavy"],
)


@DRAWS
def test_packages_that_are_alike_seldom_differ_though_every_round_is_looked_at(draw: Draw) -> None:
    first, second = measure_pairs(draw, 1.0, 0.1)
    statistics = np.abs(walk_statistics(second - first))
    n = np.arange(2, ROUNDS + 1)
    late = n >= FEWEST_ROUNDS
    hits = int(((statistics > find_anytime_critical(n, ALPHA)) & late).any(axis=1).sum())
    assert_at_most(hits, ALPHA)
    # The same looks with Student's quantile: what the rule is there to prevent.
    naive = int(((statistics > t.ppf(1 - ALPHA / 2, n - 1)) & late).any(axis=1).sum())
    assert naive > 5 * ALPHA * EXPERIMENTS


@DRAWS
def test_the_interval_of_the_ratio_holds_the_true_one_at_all_looks_together(draw: Draw) -> None:
    first, second = measure_pairs(draw, 1.25, 0.1, seed=2)
    n = np.arange(2, ROUNDS + 1)
    missed = np.abs(walk_statistics(second - 1.25 * first)) > find_anytime_critical(n, ALPHA)
    assert_at_most(int(missed.any(axis=1).sum()), ALPHA)


@pytest.mark.parametrize("noise", [0.02, 0.1, 0.2], ids=["quiet", "noisy", "very noisy"])
def test_a_difference_of_the_size_in_question_is_found_with_the_stated_power(noise: float) -> None:
    verdict, _ = judge_pairs(measure_pairs(draw_normal, 1.1, noise, seed=3), detect=0.1)
    assert_at_most(int((verdict == -1).sum()), 1 - POWER)
    assert (verdict == 1).mean() >= POWER


def test_alike_packages_are_told_to_be_alike_and_wrongly_so_as_seldom_as_alpha() -> None:
    verdict, rounds = judge_pairs(measure_pairs(draw_normal, 1.0, 0.1, seed=4), detect=0.1)
    assert_at_most(int((verdict == 1).sum()), ALPHA)
    assert (verdict == -1).mean() > 0.9
    assert rounds.mean() < ROUNDS / 4


def test_looks_as_the_runner_takes_them_come_to_the_same_verdicts_at_the_same_rounds() -> None:
    """The statistics above are a fast form of `decide_look`, which is what runs."""
    experiment = parse_experiment(EXPERIMENT, name="experiment.toml")
    for size in (0.0, 0.5, 2.0):
        pairs = measure_pairs(draw_normal, 1 + size * 0.1, 0.08, seed=8)[:, :15]
        verdicts, rounds = judge_pairs(pairs, detect=0.1)
        for verdict, expected, first, second in zip(verdicts, rounds, *pairs, strict=True):
            for n in range(2, ROUNDS):
                seen = Rounds(("a", "b"), tuple(range(n)), np.stack([first[:n], second[:n]], axis=1))
                look = decide_look(experiment, seen, look=n, trials=2 * n, elapsed_s=1.0, next_trials=2)
                if look.decision == "stop":
                    break
            assert (n, look.cause) == (expected, "changed" if verdict == 1 else "no difference")


def test_large_differences_take_a_fraction_of_the_fixed_design_with_the_same_guarantee() -> None:
    """Mean rounds over those of a fixed design that knew the noise; docs/experiment-file.md has them."""
    detect, noise = 0.1, 0.2
    effect = detect / (noise * np.sqrt(2))
    fixed = find_fixed_rounds(effect)
    share = {}
    for size in (0.0, 1.0, 2.0, 3.0):
        pairs = measure_pairs(draw_normal, 1 + size * detect, noise, seed=5, shared=0.0)
        share[size] = judge_pairs(pairs, detect)[1].mean() / fixed
    print(f"fixed design: {fixed} rounds; shares of it by size of the difference: {share}")
    assert share[0.0] < 1.3
    assert share[1.0] < 1.15
    assert share[2.0] < 0.45
    assert share[3.0] < 0.25


def find_fixed_rounds(effect: float) -> int:
    """Rounds of a fixed paired design with the same alpha and power at a standardised effect."""
    n = 3
    while nct.sf(t.ppf(1 - ALPHA / 2, n - 1), n - 1, effect * np.sqrt(n)) < POWER:
        n += 1
    return n


def stop_by_width(
    draw: Draw, optimum: int, critical: Callable[[np.ndarray], np.ndarray], confidence: float
) -> tuple[float, float]:
    """Coverage where the interval stops at a half-width that needs `optimum` rounds of known noise."""
    width = 0.01
    noise = width * np.sqrt(optimum) / norm.ppf((1 + confidence) / 2)
    most = 3 * optimum + 80
    n = np.arange(2, most + 1)
    values = 1 + noise * draw(np.random.default_rng(optimum), (EXPERIMENTS, most))
    means = (values.cumsum(axis=1) / np.arange(1, most + 1))[:, 1:]
    departures = values - 1
    squares = (departures**2).cumsum(axis=1)[:, 1:]
    variances = np.maximum(squares - n * (means - 1) ** 2, 0) / (n - 1)
    reach = critical(n) * np.sqrt(variances / n)
    enough = (reach <= width * means) & (n >= FEWEST_ROUNDS)
    enough[:, -1] = True
    stop = enough.argmax(axis=1)
    rows = np.arange(EXPERIMENTS)
    covered = np.abs(means[rows, stop] - 1) <= reach[rows, stop]
    return float(covered.mean()), float(n[stop].mean() / optimum)


@pytest.mark.parametrize("draw", [draw_normal, draw_skewed, draw_heavy], ids=["normal", "skewed", "heavy"])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_an_interval_that_stops_at_its_width_covers_as_often_as_it_says(
    draw: Draw, confidence: float
) -> None:
    for optimum in (2, 5, 12, 20, 40, 100):
        covered, _ = stop_by_width(draw, optimum, lambda n: find_stopped_critical(n, confidence), confidence)
        assert covered * EXPERIMENTS >= binom.ppf(0.0001, EXPERIMENTS, confidence), (optimum, covered)


def test_exponential_noise_is_covered_no_worse_than_by_a_fixed_number_of_rounds() -> None:
    """Even a fixed 20 exponential values are covered less than 95% by Student's interval."""
    values = draw_exponential(np.random.default_rng(7), (20000, 20))
    reach = t.ppf(0.975, 19) * values.std(axis=1, ddof=1) / np.sqrt(20)
    fixed = (np.abs(values.mean(axis=1)) <= reach).mean()
    covered, _ = stop_by_width(draw_exponential, 20, lambda n: find_stopped_critical(n, 0.95), 0.95)
    assert fixed < 0.93
    assert covered > fixed - 0.02


def test_stopping_at_the_width_of_students_interval_covers_less_than_it_says() -> None:
    covered, _ = stop_by_width(draw_skewed, 20, lambda n: t.ppf(0.975, n - 1), 0.95)
    assert covered < 0.90


def test_precision_costs_less_beyond_known_noise_the_more_rounds_it_needs() -> None:
    shares = [
        stop_by_width(draw_normal, optimum, lambda n: find_stopped_critical(n, 0.95), 0.95)[1]
        for optimum in (12, 40, 100, 400)
    ]
    print(f"rounds over those of known noise: {shares}")
    assert shares == sorted(shares, reverse=True)
    assert shares[0] < 2.3
    assert shares[-1] < 1.25
