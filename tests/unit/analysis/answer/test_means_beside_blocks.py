"""Intervals of level means where a table has several blocks."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import datamill
from datamill.analysis.interval import Interval
from datamill.analysis.levels.level_means import bound_over_blocks
from datamill.analysis.model_data.cells import ModelFactor, gather_cells


def draw_table(seed: int, repeats: int = 1) -> pl.DataFrame:
    """Levels of means 10 and 11, on 5 days and 4 machines that differ far more than their trials."""
    rng = np.random.default_rng(seed)
    days, machines = rng.normal(0, 3, 5), rng.normal(0, 2, 4)
    rows = [
        (f"d{day}", f"m{machine}", "xy"[level], 10 + level + days[day] + machines[machine] + noise)
        for day in range(5)
        for machine in range(4)
        for level in (0, 1)
        for noise in rng.normal(0, 0.1, repeats)
    ]
    return pl.DataFrame(rows, schema=["day", "machine", "lv", "y"], orient="row")


def test_intervals_of_means_hold_over_other_days_and_machines_and_differences_stay_narrow() -> None:
    held = 0
    for seed in range(30):
        found = datamill.anova(
            draw_table(seed, 1 + seed % 2), response="y", factors=["lv"], blocks=["day", "machine"]
        ).changes
        means = {mean.level: mean.value for mean in found.means}
        held += means["x"].low <= 10 <= means["x"].high
        difference = found.changes[0].pair.difference
        assert difference.high - difference.low < 0.3
        assert abs(difference.estimate) == pytest.approx(1, abs=0.2)
        assert means["y"].estimate - means["x"].estimate == pytest.approx(abs(difference.estimate))
    assert held >= 26


def draw_days(seed: int, days: int, repeats: int) -> pl.DataFrame:
    """Levels of means 10 and 11, several trials of each on every day; days differ far more than trials."""
    rng = np.random.default_rng(seed)
    rows = [
        (f"d{day}", "xy"[level], 10 + level + shift + noise)
        for day, shift in enumerate(rng.normal(0, 3, days))
        for level in (0, 1)
        for noise in rng.normal(0, 0.1, repeats)
    ]
    return pl.DataFrame(rows, schema=["day", "lv", "y"], orient="row")


def test_trials_of_one_day_are_no_independent_observations_of_a_mean() -> None:
    """Six days of five trials: taken for 30 observations the intervals hold in 64% of tables."""
    held = overall = 0
    for seed in range(25):
        found = datamill.anova(
            draw_days(seed, 6, 5), response="y", factors=["lv"], blocks=["day"], quantiles=False
        )
        means = {mean.level: mean.value for mean in found.changes.means}
        held += means["x"].low <= 10 <= means["x"].high
        overall += found.model.mean.low <= 10.5 <= found.model.mean.high
        difference = found.changes.changes[0].pair.difference
        assert difference.high - difference.low < 0.2
    assert held >= 21
    assert overall >= 21


def test_blocks_of_a_machine_are_compared_within_it() -> None:
    """Machines differ by a hundred, and are no chance; their boots differ by one."""
    rng = np.random.default_rng(1)
    codes = [np.array(part).ravel() for part in np.meshgrid(range(2), range(4), range(3), indexing="ij")]
    boots = 4 * codes[0] + codes[1]
    values = 100.0 * codes[0] + rng.normal(0, 1, 8)[boots] + rng.normal(0, 0.1, boots.size)
    factors = [ModelFactor("machine", ("a", "b")), ModelFactor("boot", tuple(map(str, range(8))))]
    cells = gather_cells(factors, [codes[0], boots], values)
    narrow = Interval(50.0, 49.9, 50.1)
    found = bound_over_blocks(cells, narrow, np.ones(8, dtype=bool), [1], 0.95)
    assert 0.5 < found.high - found.low < 4
    one_boot_each = gather_cells(factors, [codes[0], codes[0]], values)
    assert bound_over_blocks(one_boot_each, narrow, np.ones(2, dtype=bool), [1], 0.95) == narrow
