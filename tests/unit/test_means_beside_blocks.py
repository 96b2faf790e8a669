"""Intervals of level means where a table has several blocks."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import datamill


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
