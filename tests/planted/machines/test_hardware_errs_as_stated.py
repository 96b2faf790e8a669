"""Dimensions of hardware in planted fleets: machines are what was sampled, also with two a level."""

from __future__ import annotations

import numpy as np
import polars as pl

import datamill
from datamill.analysis.hardware.dimension import DimensionAnalysis

ARCHS = ("arm", "x86")


def make_fleet(
    rng: np.random.Generator, machines: int, *, arch: float = 0.0, depends: float = 0.0
) -> pl.DataFrame:
    """Machines vary by a quarter; the flag costs 5%, more or less by machine, and `depends` more on x86."""
    rows = []
    for index, name in enumerate(ARCHS):
        for number in range(machines):
            height, slope = rng.normal(0, 0.25), rng.normal(0, 0.02)
            for at, flag in enumerate(("off", "on")):
                center = index * arch + height + at * (0.05 + slope + index * depends)
                rows += [
                    (name, f"{name}{number}", flag, float(np.exp(center + rng.normal(0, 0.01))))
                    for _ in range(5)
                ]
    return pl.DataFrame(rows, schema=["arch", "host", "flag", "y"], orient="row")


def analyze(table: pl.DataFrame) -> DimensionAnalysis:
    return datamill.hardware(
        table, response="y", factors=["flag"], dimension="arch", machine="host", alpha=0.05
    ).found


def test_false_alarms_and_intervals_hold_with_two_machines_a_level_and_more() -> None:
    studies, truth = 130, 0.3
    for machines in (2, 5):
        alarms = depends = pair_held = flag_held = 0
        for seed in range(studies):
            alike = analyze(make_fleet(np.random.default_rng(seed), machines))
            assert alike.main.p is not None
            alarms += alike.main.p < 0.05
            (flag,) = alike.factors
            assert flag.effect.p is not None
            depends += flag.effect.p < 0.05
            apart = analyze(make_fleet(np.random.default_rng(7000 + seed), machines, arch=truth))
            (pair,) = apart.main.pairs
            average = apart.factors[0].effect.average_interval
            assert pair.interval is not None
            assert average is not None
            pair_held += pair.interval.low <= truth <= pair.interval.high
            flag_held += average.low <= 0.05 <= average.high
        # Binomial: 5% of 130 is 6.5, three standard deviations 7.5; 95% of it 123.5.
        assert alarms <= 14
        assert depends <= 14
        assert pair_held >= 116
        assert flag_held >= 116
        assert alarms + depends + 2 * studies - pair_held - flag_held > 0


def test_trials_for_machines_would_err_nearly_always_and_is_refused() -> None:
    table = make_fleet(np.random.default_rng(3), 2)
    wrong = datamill.anova(table, response="y", factors=["arch"], quantiles=False).model.terms[0].p
    right = analyze(table).main.p
    assert wrong is not None
    assert right is not None
    assert wrong < 0.001 < 0.05 < right


def test_effects_that_depend_on_the_architecture_are_found() -> None:
    found = analyze(make_fleet(np.random.default_rng(5), 5, arch=1.5, depends=0.2))
    (flag,) = found.factors
    assert found.main_p is not None
    assert found.main_p < 0.05
    assert flag.interaction_p is not None
    assert flag.interaction_p < 0.05
    low, high = (level.interval for level in flag.effect.levels)
    assert low is not None
    assert high is not None
    assert high.low <= 0.25 <= high.high
    assert low.high < high.low
