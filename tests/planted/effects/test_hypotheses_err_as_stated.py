"""Hypotheses at their very boundary are shown as seldom as stated, and true ones are shown as often."""

import numpy as np
import pytest
from planted.decisions.test_sequential_rules import (
    EXPERIMENTS,
    assert_at_most,
    draw_normal,
    draw_skewed,
    measure_pairs,
    refute_ratio,
)
from scipy.stats import ttest_ind

from datamill.analysis.sequential.look import decide_look
from datamill.analysis.sequential.rounds import Rounds
from datamill.design.batches import FEWEST_ROUNDS
from datamill.experiment.file.parse import parse_experiment

ALPHA, POWER = 0.05, 0.9
TEXT = """
[experiment]
name = "planted"
hypothesis = "b at least 10% lower than a"
[[package]]
name = "a"
path = "a"
[[package]]
name = "b"
path = "b"
[replication]
until = "hypothesis"
max_trials = 100000
"""
DRAWS = pytest.mark.parametrize("draw", [draw_normal, draw_skewed], ids=["normal", "skewed"])


def judge(pairs: np.ndarray, limit: float) -> np.ndarray:
    """What each experiment comes to that claims a ratio below a limit: 1 shown, -1 refuted, 0 neither."""
    late = np.arange(2, pairs.shape[2] + 1) >= FEWEST_ROUNDS
    shown = refute_ratio(pairs, limit, 2 * ALPHA)[1] & late
    refuted = refute_ratio(pairs, limit, 2 * (1 - POWER))[0] & late
    first = [np.where(seen.any(axis=1), seen.argmax(axis=1), seen.shape[1]) for seen in (shown, refuted)]
    return np.where(np.minimum(*first) == shown.shape[1], 0, np.where(first[0] <= first[1], 1, -1))


@DRAWS
def test_at_the_boundary_looks_show_a_hypothesis_in_alpha_of_experiments_at_most(draw) -> None:
    verdicts = judge(measure_pairs(draw, 0.9, 0.1), 0.9)
    assert_at_most(float((verdicts == 1).mean()), ALPHA)
    assert_at_most(float((verdicts == -1).mean()), 1 - POWER)


def test_a_hypothesis_that_is_true_by_a_margin_is_shown_with_the_stated_power() -> None:
    verdicts = judge(measure_pairs(draw_normal, 0.85, 0.1, seed=3), 0.9)
    assert (verdicts == 1).mean() >= POWER
    assert_at_most(float((verdicts == -1).mean()), 1 - POWER)


def test_a_look_decides_as_these_rates_were_found() -> None:
    experiment = parse_experiment(TEXT, name="planted.toml")
    pairs = measure_pairs(draw_normal, 0.87, 0.05, seed=5)
    verdicts = []
    for first, second in zip(*pairs[:, :12, :60], strict=True):
        rounds = Rounds(("a", "b"), tuple(range(1, 61)), np.stack([first, second], axis=1))
        cause = decide_look(experiment, rounds, look=1, trials=120, elapsed_s=1.0, next_trials=2).cause
        verdicts.append({"supported": 1, "refuted": -1}.get(cause, 0))
    at_last = pairs[:, :12, :60]
    shown, refuted = refute_ratio(at_last, 0.9, 2 * ALPHA)[1], refute_ratio(at_last, 0.9, 2 * (1 - POWER))[0]
    assert verdicts == np.where(shown[:, -1], 1, np.where(refuted[:, -1], -1, 0)).tolist()
    assert len(set(verdicts)) > 1


@DRAWS
def test_at_the_boundary_a_fixed_number_of_trials_shows_a_hypothesis_in_alpha_of_experiments(draw) -> None:
    """What `judge_hypothesis` computes, which a unit test holds against Welch's test by hand."""
    rng = np.random.default_rng(7)
    a, b = 1 + 0.1 * draw(rng, (EXPERIMENTS, 20)), 0.9 * (1 + 0.1 * draw(rng, (EXPERIMENTS, 20)))
    p = ttest_ind(b, 0.9 * a, axis=1, equal_var=False, alternative="less").pvalue
    assert_at_most(float((p < ALPHA).mean()), ALPHA)


def test_equivalence_at_its_limit_is_shown_in_alpha_of_experiments_at_most() -> None:
    rng = np.random.default_rng(8)
    a, b = (
        1 + 0.02 * draw_normal(rng, (EXPERIMENTS, 20)),
        1.02 * (1 + 0.02 * draw_normal(rng, (EXPERIMENTS, 20))),
    )
    below = ttest_ind(b, 1.02 * a, axis=1, equal_var=False, alternative="less").pvalue
    above = ttest_ind(b, 0.98 * a, axis=1, equal_var=False, alternative="greater").pvalue
    assert_at_most(float((np.maximum(below, above) < ALPHA).mean()), ALPHA)
