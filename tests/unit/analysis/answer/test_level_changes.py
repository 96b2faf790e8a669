"""The largest change between two levels of a factor."""

from __future__ import annotations

import numpy as np
import pytest

from datamill.analysis.levels.level_changes import find_largest_changes, rank_changes
from datamill.analysis.levels.packages import compare_packages
from datamill.analysis.model_data.cells import Cells, ModelFactor, gather_cells


def lay_out(means: dict[tuple[int, int], float], n: int = 8, seed: int = 1) -> Cells:
    """A factor `flag` of as many levels as there are, in two packages."""
    rng = np.random.default_rng(seed)
    codes = np.array([point for point in means for _ in range(n)])
    values = np.concatenate([mean + rng.normal(0, 0.1, n) for mean in means.values()])
    levels = tuple(f"l{code}" for code in range(1 + int(codes[:, 1].max())))
    return gather_cells([ModelFactor("package", ("a", "b")), ModelFactor("flag", levels)], codes, values)


TWO = lay_out({(0, 0): 10, (0, 1): 6, (1, 0): 5, (1, 1): 5})
FOUR = lay_out({(0, code): 10.0 - code for code in range(4)} | {(1, code): 7.0 for code in range(4)})


def find(cells: Cells, group: int | None = 0, direction: str = "lower") -> dict:
    found = find_largest_changes(
        cells, factor=1, group_factor=group, direction=direction, confidence=0.95, alpha=0.01
    )
    return {item.group: item for item in found}


def test_the_change_is_that_of_a_comparison_of_the_two_levels() -> None:
    change = find(TWO, group=None)["all"]
    pair = compare_packages(TWO, factor=1, baseline="l0", direction="lower").pairs[0]
    assert change.pair == pair
    assert (pair.package, pair.baseline, pair.verdict) == ("l1", "l0", "better")
    assert change.n == 32


def test_each_package_has_its_own_change_and_the_better_level_comes_first() -> None:
    changes = find(TWO)
    assert changes["a"].pair.difference.estimate == pytest.approx(-4, abs=0.2)
    assert changes["a"].pair.package == "l1"
    assert changes["b"].pair.verdict == "uncertain"
    assert find(TWO, direction="higher")["a"].pair.package == "l0"


def test_of_several_levels_the_two_that_differ_most_are_told_with_intervals_for_all_pairs() -> None:
    change = find(FOUR)["a"]
    assert (change.pair.package, change.pair.baseline) == ("l3", "l0")
    alone = find(lay_out({(0, 0): 10, (0, 1): 7, (1, 0): 7, (1, 1): 7}))["a"]
    assert width(change.pair) > 1.2 * width(alone.pair)


def test_no_two_levels_differ_by_more_than_the_bound() -> None:
    changes = find(FOUR)
    assert changes["b"].at_most >= abs(changes["b"].pair.difference.estimate)
    assert changes["b"].at_most_percent == pytest.approx(100 * changes["b"].at_most / 7, rel=0.2)
    reached = [
        item.at_most >= max(abs(item.pair.difference.low), abs(item.pair.difference.high))
        for item in changes.values()
    ]
    assert all(reached)


def width(pair) -> float:
    return pair.difference.high - pair.difference.low


def test_the_order_of_changes_and_what_all_are_compared_with_do_not_depend_on_the_unit() -> None:
    # The means of b have opposite signs, so that its change has no ratio.
    rng = np.random.default_rng(3)
    codes = np.array([(package, flag) for package in (0, 1) for flag in (0, 1) for _ in range(8)])
    means = np.repeat([2.0, 1.0, -0.3, 0.3], 8)
    seconds = means + rng.normal(0, 0.2, means.size)
    factors = [ModelFactor("package", ("a", "b")), ModelFactor("flag", ("x", "y"))]
    seen = []
    for factor in (1.0, 1e9):
        cells = gather_cells(factors, codes, seconds * factor)
        changes = find_largest_changes(
            cells, factor=1, group_factor=0, direction="lower", confidence=0.95, alpha=0.01
        )
        assert [item.pair.ratio is None for item in changes] == [False, True]
        order = [item.group for item in rank_changes(changes)]
        seen.append((order, [step.baseline for item in changes for step in item.steps]))
    assert seen[0] == seen[1] == (["a", "b"], ["x", "x"])
