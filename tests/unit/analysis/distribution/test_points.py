"""Design points as records: mean and quantiles with intervals, or without where nothing is known."""

from __future__ import annotations

import polars as pl
import pytest
from scipy import stats

from datamill.analysis.distribution.points import summarize_points


def make_table(values: list[float]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "trial_id": [f"t{at}" for at in range(len(values) + 1)],
            "flag": [*["a"] * len(values), "b"],
            "response": "time",
            "unit": "s",
            "value": [*values, 5.0],
            "valid": True,
        }
    )


def test_a_point_has_its_mean_and_quantiles_with_intervals_in_the_unit_of_the_response() -> None:
    values = [4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 30.0]
    found = summarize_points(make_table(values), "time", quantiles=[0.5])
    point = found.points[0]
    assert (point.levels, point.n) == (("a",), 7)
    assert point.mean_interval is not None
    ends = (point.mean_interval.low, point.mean_interval.high)
    mean, error = sum(values) / 7, stats.sem(values)
    assert ends == pytest.approx(stats.t.interval(0.95, 6, mean, error))
    (median,) = point.quantiles
    assert median.value == 7.0
    assert median.interval is not None
    assert (median.interval.low, median.interval.high) == (4.0, 30.0)
    assert found.needed == (6,)


def test_one_trial_has_a_mean_and_a_median_without_intervals() -> None:
    point = summarize_points(make_table([4.0, 5.0]), "time", quantiles=[0.5]).points[1]
    assert (point.n, point.mean, point.mean_interval) == (1, 5.0, None)
    assert (point.quantiles[0].value, point.quantiles[0].interval) == (5.0, None)
