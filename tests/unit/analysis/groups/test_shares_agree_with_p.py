"""The interval of the share of pairs leaves out one half just where Mann–Whitney's p is below its alpha."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from datamill.analysis.groups.group_comparison import Group
from datamill.analysis.groups.ranks.rank_tests import compare_mann_whitney
from datamill.analysis.interval import Interval

LEVELS = (0.5, 0.9, 0.95, 0.99)


def find_share(first: np.ndarray, second: np.ndarray, level: float) -> tuple[float | None, Interval]:
    test = compare_mann_whitney(Group("a", first), Group("b", second), level)
    return test.p, test.estimates[0].value


def test_no_table_has_a_small_p_beside_an_interval_that_holds_one_half() -> None:
    rng = np.random.default_rng(7)
    seen = set()
    for repetition in range(100):
        m, n = rng.integers(1, 14, 2) if repetition % 5 else rng.integers(50, 70, 2)
        first, second = rng.normal(0, 1, m), rng.normal(rng.uniform(-2, 2), rng.uniform(0.3, 3), n)
        if repetition % 3 == 0:
            first, second = np.round(first), np.round(second)
        ends = []
        for level in LEVELS:
            p, share = find_share(first, second, level)
            if p is None:
                continue
            outside = share.low > 0.5 or share.high < 0.5
            assert outside == (p < 1 - level - 1e-12), (m, n, level, p, share)
            assert 0 <= share.low <= share.estimate <= share.high <= 1
            ends.append((share.low, share.high))
            seen.add(outside)
        # A higher level never gives a narrower interval.
        for sooner, later in pairwise(ends):
            assert later[0] <= sooner[0]
            assert later[1] >= sooner[1]
    assert seen == {True, False}


def test_exchanging_the_groups_turns_the_interval_over() -> None:
    rng = np.random.default_rng(8)
    for _ in range(50):
        first, second = rng.normal(0, 1, 5), rng.normal(1.5, 1, 6)
        _, share = find_share(first, second, 0.95)
        _, turned = find_share(second, first, 0.95)
        assert abs(share.low - (1 - turned.high)) < 1e-12
        assert abs(share.high - (1 - turned.low)) < 1e-12
