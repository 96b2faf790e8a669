"""Levels of intervals that hold together can be read, and are never too low."""

import pytest

from datamill.analysis.contrasts.multiplicity import share_alpha, share_confidence


@pytest.mark.parametrize(
    ("confidence", "count", "level"),
    [(0.95, 1, 0.95), (0.95, 2, 0.975), (0.95, 3, 0.9834), (0.95, 4, 0.9875), (0.99, 7, 0.99858)],
)
def test_levels_are_shared(confidence: float, count: int, level: float) -> None:
    assert share_confidence(confidence, count) == pytest.approx(level, abs=1e-12)


@pytest.mark.parametrize("count", range(1, 61))
def test_together_they_miss_no_more_than_one_interval_may(count: int) -> None:
    for confidence in (0.9, 0.95, 0.99, 0.9999):
        level = share_confidence(confidence, count)
        assert level < 1
        assert count * (1 - level) <= (1 - confidence) * (1 + 1e-6)
        assert count * (1 - level) >= 0.98 * (1 - confidence)


def test_levels_of_tests_are_shared_as_those_of_intervals() -> None:
    assert share_alpha(0.01, 7) == 0.00142
    assert share_alpha(0.03, 3) == 0.01
    assert share_alpha(0.05, 1) == 0.05
