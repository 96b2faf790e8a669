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


def test_three_numbers_of_a_record_are_an_interval_if_none_is_missing() -> None:
    assert Interval.join(1.0, 0.5, 2.0) == Interval(1.0, 0.5, 2.0)
    assert Interval.join(1.0, None, 2.0) is None


def test_the_size_of_a_difference_has_an_interval_of_its_own_where_the_sign_is_known() -> None:
    assert Interval(-2.0, -3.0, -1.0).unsigned() == Interval(2.0, 1.0, 3.0)
    assert Interval(-2.0, -3.0, 1.0).unsigned() == Interval(-2.0, -3.0, 1.0)
    assert Interval(1.0, 0.0, 2.0).excludes_zero is False


def test_a_difference_of_logarithms_is_a_ratio_unless_that_is_huge() -> None:
    ratio = Interval(1.0, 0.0, 2.0).raised(2.0)
    assert ratio is not None
    assert (ratio.estimate, ratio.low, ratio.high) == pytest.approx((2.0, 1.0, 4.0))
    assert Interval(1.0, 0.0, 200.0).raised(10.0) is None
