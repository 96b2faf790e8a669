"""An estimate and its interval are written alike, to two figures of the error."""

from __future__ import annotations

import math

from datamill.analysis.interval import Interval
from datamill.report.words.scales import round_interval, round_shares, round_to_figures


def test_an_estimate_and_its_ends_have_two_figures_of_the_error() -> None:
    shown = round_interval(Interval(0.0123456, 0.0120001, 0.0126911), 1000)
    assert shown.phrase(" ms") == "12.35 ms (12.00 to 12.69)"
    assert shown.phrase(" ms", "95%") == "12.35 ms (95% interval 12.00 to 12.69)"


def test_a_change_shows_its_sign_and_a_unit_stands_behind_each_number() -> None:
    assert (
        round_interval(Interval(2.3, -1.9, 6.5), signed=True, unit="%").phrase() == "+2.3% (−1.9% to +6.5%)"
    )


def test_decimals_are_chosen_by_the_caller_or_as_many_as_it_asks_for_at_least() -> None:
    wide = Interval(1234.0, 200.0, 2268.0)
    assert round_interval(wide).ends == "200 to 2\u202f268"
    assert round_interval(wide, least=1).ends == "200.0 to 2\u202f268.0"
    assert round_interval(wide, decimals=2).estimate == "1\u202f234.00"
    assert round_interval(wide, error=0.5).ends == "200.00 to 2\u202f268.00"


def test_an_error_too_small_for_decimals_gives_exponents_to_all_three() -> None:
    shown = round_interval(Interval(1.0, 1.0 - 3e-14, 1.0 + 3e-14))
    assert all("e" in number for number in (shown.estimate, shown.low, shown.high))


def test_an_end_without_bound_is_said_in_the_caller_s_word() -> None:
    value = Interval(1.5, -math.inf, math.inf)
    assert round_interval(value, decimals=1, unbounded="unbounded").ends == "unbounded to unbounded"
    assert round_interval(value, decimals=1).ends == "minus infinity to infinity"


def test_numbers_of_unlike_size_have_figures_of_their_own() -> None:
    assert round_to_figures(Interval(0.012, 0.0001, 3.456)).phrase(" times") == "0.012 times (0.0001 to 3.46)"


def test_shares_are_written_as_all_shares_are() -> None:
    assert round_shares(Interval(0.974, 0.5, 0.9999)).phrase() == "97.4% (50% to > 99.9%)"
