"""A series that changes for the worse is worse, also where no version by itself shows it."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import datamill


def make_series(step: float) -> pl.DataFrame:
    """Sixteen versions of three noisy builds; from v8 on all values are larger by a share."""
    rng = np.random.default_rng(4)
    rows = [
        (f"v{number}", build, 10 * (1 + (step if number >= 8 else 0)) + rng.normal(0, 0.2))
        for number in range(16)
        for build in range(3)
    ]
    return pl.DataFrame(rows, schema=["version", "build", "value"], orient="row")


@pytest.mark.parametrize(("step", "direction"), [(0.05, "lower"), (-0.05, "higher")])
def test_a_change_that_only_the_whole_series_shows_counts_as_worse(step: float, direction: str) -> None:
    found = datamill.compare(make_series(step), series=True, direction=direction)
    assert found.history is not None
    assert [change.version for change in found.history.changes] == ["v8"]
    assert all(change.verdict != "changed" for change in found.comparison.changes)
    assert found.worse == ("v8",)
    assert "which is worse" in found.lead[1]


def test_a_change_for_the_better_or_below_the_threshold_is_not_worse() -> None:
    series = make_series(0.05)
    assert datamill.compare(series, series=True, direction="higher").worse == ()
    assert datamill.compare(series, series=True, direction="lower", threshold="10%").worse == ()
