"""Intervals in another scale, taken the other way round, and as changes in percent."""

from __future__ import annotations

import pytest

from datamill.analysis.interval import Interval, Ratio


def test_an_interval_keeps_its_ends_in_order_whichever_way_it_is_taken() -> None:
    value = Interval(2.0, 1.0, 4.0)
    assert value.scaled(10) == Interval(20.0, 10.0, 40.0)
    assert value.negated() == Interval(-2.0, -4.0, -1.0)
    assert value.inverted() == Interval(0.5, 0.25, 1.0)


def test_a_ratio_is_a_change_in_percent_where_it_has_bounds() -> None:
    percent = Ratio(1.25, 1.0, 1.5, "").to_percent()
    assert percent is not None
    assert (percent.estimate, percent.low, percent.high) == pytest.approx((25.0, 0.0, 50.0))
    assert Ratio(1.25, None, None, "unbounded").to_percent() is None
