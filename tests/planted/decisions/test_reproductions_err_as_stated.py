"""Re-runs whose truth is known: how often they are wrongly called reproduced, and wrongly not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from made.planted_study import plan_study
from running.nightly import choose_count
from scipy.stats import binom

from datamill.analysis.reproduction.effects import find_effects
from datamill.analysis.reproduction.judge import compare_effects, decide
from datamill.analysis.reproduction.reproduce import ExecutedExperiment, judge_reproduction
from datamill.analysis.reproduction.reproduction import Effect

MARGIN, ALPHA = 0.05, 0.05


def execute(
    ratio: float, seed: int, *, spread: float = 0.02, replicates: int = 8, drop: str = ""
) -> ExecutedExperiment:
    """An execution in which `b` takes so many times as long as `a`; another factor has an effect as well."""

    def value(rng: np.random.Generator, point: object) -> float | None:
        assert isinstance(point, dict)
        if point["package"] == drop:
            return None
        middle = (ratio if point["package"] == "b" else 1.0) * (1.3 if point["size"] == "large" else 1.0)
        return float(middle * (1 + spread * rng.standard_normal()))

    levels = {"package": ("a", "b"), "size": ("small", "large")}
    experiment, design, table, _ = plan_study(levels, value, replicates=replicates, seed=seed)
    return ExecutedExperiment(experiment, design, table)


def draw_effect(rng: np.random.Generator, truth: float, level: str, n: int, spread: float) -> Effect:
    """The ratio of two means of n observations, as an experiment without other factors gives it."""
    above, below = (mean * (1 + spread * rng.standard_normal(n)) for mean in (truth, 1.0))
    parts = [values.var(ddof=1) / n / values.mean() ** 2 for values in (above, below)]
    df = sum(parts) ** 2 / sum(part**2 / (n - 1) for part in parts)
    return Effect("package", level, "a", math.log(above.mean() / below.mean()), sum(parts), df, 2 * n)


def count_verdicts(change: float, *, effects: int, draws: int, n: int, seed: int) -> dict[str, int]:
    """Verdicts on re-runs of which every effect changed by a factor."""
    rng, counts = np.random.default_rng(seed), dict.fromkeys(("reproduced", "not reproduced", "undecided"), 0)
    levels = [f"l{number}" for number in range(effects)]
    for _ in range(draws):
        original = [draw_effect(rng, 0.8, level, n, 0.03) for level in levels]
        rerun = [draw_effect(rng, 0.8 * change, level, n, 0.03) for level in levels]
        counts[decide(compare_effects(original, rerun, margin=MARGIN, alpha=ALPHA), missing=0)] += 1
    return counts


@pytest.mark.parametrize("effects", [1, 4])
@pytest.mark.parametrize("change", [1 + MARGIN, 1 / (1 + MARGIN)])
def test_at_the_margin_neither_mistake_is_more_frequent_than_stated(effects: int, change: float) -> None:
    draws = choose_count(1200 if effects == 1 else 400, 10_000)
    counts = count_verdicts(change, effects=effects, draws=draws, n=12, seed=effects)
    bound = binom.ppf(0.9995, draws, ALPHA)
    assert counts["reproduced"] <= bound, counts
    assert counts["not reproduced"] <= bound, counts
    if effects == 1:
        # Nor is the rule so careful that it says nothing: at the edge it errs as often as it may.
        assert counts["reproduced"] >= binom.ppf(0.0005, draws, ALPHA), counts


def test_re_runs_of_the_same_effect_are_reproduced_and_of_a_shifted_one_are_not() -> None:
    same = count_verdicts(1.0, effects=2, draws=300, n=20, seed=1)
    shifted = count_verdicts(1.12, effects=2, draws=300, n=20, seed=2)
    assert same["reproduced"] > 0.9 * 300
    assert same["not reproduced"] == 0
    assert shifted["not reproduced"] > 0.9 * 300
    assert shifted["reproduced"] == 0


def test_the_variance_of_an_effect_is_that_of_executions_made_again() -> None:
    draws = choose_count(30, 300)
    effects = []
    for seed in range(draws):
        execution = execute(0.9, seed)
        response = execution.experiment.responses[0]
        (effect,) = find_effects(
            execution.experiment, execution.design, execution.table, response, "packages"
        ).effects
        effects.append(effect)
    found = np.var([effect.log_ratio for effect in effects], ddof=1)
    claimed = np.mean([effect.variance for effect in effects])
    # A ratio of variances with 29 degrees of freedom lies in here 999 times of 1000.
    assert 0.35 < found / claimed < 2.1
    assert np.mean([effect.log_ratio for effect in effects]) == pytest.approx(math.log(0.9), abs=0.006)


def test_whole_experiments_are_judged_by_their_effects_and_not_by_their_times() -> None:
    original = execute(0.9, 1)
    again = execute(0.9, 2)
    slower = ExecutedExperiment(
        again.experiment, again.design, again.table.with_columns(value=again.table["value"] * 7)
    )
    found = judge_reproduction(original, slower)
    assert found.verdict == "reproduced"
    assert found.effects[0].change.low < 1 < found.effects[0].change.high
    assert judge_reproduction(original, execute(1.05, 3)).verdict == "not reproduced"
    wide = judge_reproduction(execute(0.9, 4, spread=0.2), execute(0.9, 5, spread=0.2))
    assert wide.verdict == "undecided"
    assert wide.effects[0].more is None


def test_what_the_re_run_lost_is_not_reproduced_with_the_rest() -> None:
    found = judge_reproduction(execute(0.9, 1), execute(0.9, 2, drop="b"))
    assert found.verdict == "undecided"
    assert found.missing == ("package b",)
    assert any("package b" in warning for warning in found.warnings)


def test_how_many_more_trials_would_decide_is_enough() -> None:
    rng = np.random.default_rng(7)
    original = [draw_effect(rng, 0.8, "b", 60, 0.03)]
    small = [Effect("package", "b", "a", original[0].log_ratio, 0.0016, 10.0, 12)]
    (open_effect,) = compare_effects(original, small, margin=MARGIN, alpha=ALPHA)
    assert open_effect.verdict == "undecided"
    assert open_effect.more is not None
    variance = 0.0016 / open_effect.more
    decided = 0
    for _ in range(400):
        first = original[0].log_ratio + math.sqrt(original[0].variance) * rng.standard_normal()
        second = original[0].log_ratio + math.sqrt(variance) * rng.standard_normal()
        pair = [
            Effect("package", "b", "a", log_ratio, of, 500.0, 1)
            for log_ratio, of in ((first, original[0].variance), (second, variance))
        ]
        found = compare_effects(pair[:1], pair[1:], margin=MARGIN, alpha=ALPHA)
        decided += found[0].verdict == "reproduced"
    assert decided >= binom.ppf(0.0005, 400, 0.8)
