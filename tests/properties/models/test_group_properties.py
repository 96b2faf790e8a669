"""What must hold for any groups: units, order of rows, names, and what is said twice."""

from dataclasses import replace
from itertools import combinations
from typing import get_args

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.stats import rankdata

from datamill.analysis.contrasts.multiplicity import adjust_p_values
from datamill.analysis.distribution.shapes import bin_observations, find_boxes, find_steps
from datamill.analysis.distribution.summary import summarize_distributions
from datamill.analysis.distribution.variability import adjust_skewness, measure_variability
from datamill.analysis.groups.comparison import compare_groups
from datamill.analysis.groups.group_comparison import Assumption, Group, GroupComparison, Stratum
from datamill.analysis.groups.ranks.pairwise_differences import _select_one, select_differences
from datamill.analysis.groups.ranks.rank_sums import find_tails
from datamill.analysis.model_data.cells import ModelFactor, gather_cells
from datamill.analysis.model_data.observations import Observations

QUICK = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
#: Whole numbers and halves, so that ties occur and scaling by powers of two is exact.
NUMBERS = st.integers(1, 60).map(lambda number: number / 2)
VALUES = st.lists(NUMBERS, min_size=3, max_size=9).map(np.array)
ASSUMPTIONS = st.sampled_from(get_args(Assumption))


def compare(first: np.ndarray, second: np.ndarray, assumption: Assumption) -> GroupComparison | None:
    if np.ptp(np.concatenate([first, second])) == 0:
        return None
    groups = (Group("a", first), Group("b", second))
    return compare_groups([Stratum((), groups)], "g", assumption=assumption)


@QUICK
@given(VALUES, VALUES, ASSUMPTIONS, st.integers(-30, 30))
def test_another_unit_scales_differences_and_leaves_p_ratios_and_shares(
    first: np.ndarray, second: np.ndarray, assumption: Assumption, power: int
) -> None:
    factor = 2.0**power
    one, two = compare(first, second, assumption), compare(first * factor, second * factor, assumption)
    if one is None or two is None:
        return
    before, after = one.strata[0].pairs[0], two.strata[0].pairs[0]
    assert before.test.p == (None if after.test.p is None else pytest.approx(after.test.p, rel=1e-9))
    assert [item.name for item in before.test.estimates] == [item.name for item in after.test.estimates]
    for old, new in zip(before.test.estimates, after.test.estimates, strict=True):
        scale = factor if old.measure == "response" else 1.0
        wanted = [old.value.estimate * scale, old.value.low * scale, old.value.high * scale]
        found = [new.value.estimate, new.value.low, new.value.high]
        assert found == pytest.approx(wanted, rel=1e-9, abs=1e-9 * factor)


@QUICK
@given(VALUES, VALUES, ASSUMPTIONS, st.integers(-40, 40))
def test_a_shift_of_one_group_shifts_the_difference_by_as_much(
    first: np.ndarray, second: np.ndarray, assumption: Assumption, shift: int
) -> None:
    one, two = compare(first, second, assumption), compare(first, second + shift, assumption)
    if one is None or two is None:
        return
    before = [item for item in one.strata[0].pairs[0].test.estimates if item.measure == "response"]
    after = [item for item in two.strata[0].pairs[0].test.estimates if item.measure == "response"]
    for old, new in zip(before, after, strict=True):
        wanted = [old.value.estimate + shift, old.value.low + shift, old.value.high + shift]
        assert [new.value.estimate, new.value.low, new.value.high] == pytest.approx(wanted, abs=1e-9)


@QUICK
@given(VALUES, VALUES, st.sampled_from(["nothing", "normal", "normal-equal-variances"]), st.randoms())
def test_neither_the_order_of_rows_nor_names_matter_and_exchange_turns_signs_around(
    first: np.ndarray, second: np.ndarray, assumption: Assumption, random: object
) -> None:
    one = compare(first, second, assumption)
    if one is None:
        return
    random.shuffle(first)  # type: ignore[attr-defined]
    groups = (Group("x", second), Group("y", first))
    two = compare_groups([Stratum((), groups)], "other", assumption=assumption)
    before, after = one.strata[0].pairs[0].test, two.strata[0].pairs[0].test
    assert before.p == (None if after.p is None else pytest.approx(after.p, rel=1e-9))
    for old, new in zip(before.estimates, after.estimates, strict=False):
        if old.measure == "response":
            wanted = [-old.value.estimate, -old.value.high, -old.value.low]
        elif old.measure == "share":
            wanted = [1 - old.value.estimate, 1 - old.value.high, 1 - old.value.low]
        else:
            continue
        assert [new.value.estimate, new.value.low, new.value.high] == pytest.approx(wanted, abs=1e-9)


@QUICK
@given(VALUES, VALUES, ASSUMPTIONS)
def test_every_interval_contains_its_estimate(
    first: np.ndarray, second: np.ndarray, assumption: Assumption
) -> None:
    found = compare(first, second, assumption)
    for estimate in found.strata[0].pairs[0].test.estimates if found else ():
        slack = 1e-9 * (1 + abs(estimate.value.estimate))
        assert estimate.value.low - slack <= estimate.value.estimate <= estimate.value.high + slack


@QUICK
@given(st.lists(NUMBERS, min_size=2, max_size=60), st.lists(NUMBERS, min_size=2, max_size=60), st.data())
def test_differences_narrowed_down_are_those_of_the_full_list(
    first: list[float], second: list[float], data: st.DataObject
) -> None:
    low, high = np.sort(first), np.sort(second)
    rank = data.draw(st.integers(1, low.size * high.size))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("datamill.analysis.groups.ranks.pairwise_differences._MOST_LISTED", 3)
        narrowed = _select_one(low, high, rank)
    assert narrowed == select_differences(low, high, (rank,))[0]


@QUICK
@given(st.lists(NUMBERS, min_size=2, max_size=12), st.data())
def test_tails_of_rank_sums_are_those_of_all_choices_listed(values: list[float], data: st.DataObject) -> None:
    ranks = rankdata(values)
    n = data.draw(st.integers(1, len(values) - 1))
    sums = np.array([sum(choice) for choice in combinations(ranks, n)])
    observed = float(np.sum(ranks[:n]))
    lower, upper = find_tails(ranks, n, observed)
    assert lower == pytest.approx(np.mean(sums <= observed + 1e-9))
    assert upper == pytest.approx(np.mean(sums >= observed - 1e-9))


@QUICK
@given(st.lists(st.floats(0, 1), min_size=1, max_size=20), st.sampled_from(["holm", "bh"]))
def test_adjusted_p_values_are_no_smaller_keep_their_order_and_stay_below_one(
    p_values: list[float], adjustment: str
) -> None:
    adjusted = adjust_p_values(p_values, adjustment)  # type: ignore[arg-type]
    assert all(
        new is not None and old <= new + 1e-15 <= 1 + 2e-15
        for old, new in zip(p_values, adjusted, strict=True)
    )
    order = np.argsort(p_values, kind="stable")
    assert np.all(np.diff([adjusted[index] or 0.0 for index in order]) >= -1e-15)


@QUICK
@given(st.lists(NUMBERS, min_size=4, max_size=40), st.integers(-20, 20), st.integers(-500, 500))
def test_skewness_heeds_neither_unit_nor_origin(values: list[float], power: int, shift: int) -> None:
    before = adjust_skewness(np.array(values))
    after = adjust_skewness((np.array(values) + shift) * 2.0**power)
    assert before == (None if after is None else pytest.approx(after, rel=1e-6, abs=1e-9))


@QUICK
@given(st.lists(NUMBERS, min_size=10, max_size=40), st.integers(-20, 20))
def test_variability_relative_to_the_mean_does_not_heed_the_unit(values: list[float], power: int) -> None:
    found = []
    for factor in (1.0, 2.0**power):
        cells = gather_cells(
            [ModelFactor("f", ("a",))], [np.zeros(len(values), dtype=np.int64)], np.array(values) * factor
        )
        point = measure_variability(cells).points[0]
        found.append(replace(point, mean=0.0, sd=0.0))
    for name in ("cv", "skewness_interval"):
        one, two = (getattr(point, name) for point in found)
        assert (one is None) == (two is None)
        if one is not None:
            assert (one.estimate, one.low, one.high) == pytest.approx(
                (two.estimate, two.low, two.high), rel=1e-6
            )
    for name in ("skewness", "dispersion", "mad_ratio", "quartile_skewness"):
        one, two = (getattr(point, name) for point in found)
        assert one == (None if two is None else pytest.approx(two, rel=1e-6, abs=1e-9))


@QUICK
@given(st.lists(st.tuples(st.integers(0, 2), NUMBERS), min_size=3, max_size=80), st.booleans())
def test_shapes_agree_with_the_observations_that_they_are_drawn_from(
    rows: list[tuple[int, float]], unsorted: bool
) -> None:
    codes, values = np.array([code for code, _ in rows]), np.array([value for _, value in rows])
    cells = gather_cells([ModelFactor("f", ("a", "b", "c"))], [codes], values)
    with pytest.MonkeyPatch.context() as patch:
        if unsorted:
            # The way of large tables, on a small one.
            for module in ("summary", "shapes"):
                patch.setattr(f"datamill.analysis.distribution.{module}.MOST_SORTED", 0)
        summary = summarize_distributions(Observations("y", "", cells, 0, 0))
        boxes, steps, histogram = find_boxes(cells), find_steps(cells), bin_observations(cells)
    for cell, group in enumerate(summary.groups):
        own = np.sort(values[codes == cells.codes[cell, 0]])
        assert (group.n, group.minimum, group.maximum) == (own.size, own[0], own[-1])
        kind = "inverted_cdf" if unsorted else "linear"
        quartiles = np.quantile(own, [0.25, 0.5, 0.75], method=kind)
        assert [group.low_quartile, group.median, group.high_quartile] == pytest.approx(list(quartiles))
        assert group.mean == pytest.approx(np.mean(own))
        box = boxes[cell].summary
        assert box.low_whisker <= box.low_quartile <= box.median <= box.high_quartile <= box.high_whisker
        assert boxes[cell].beyond == len(box.beyond)
        assert np.all((np.array(box.beyond) < box.low_whisker) | (np.array(box.beyond) > box.high_whisker))
        for value, share in zip(steps[cell].values, steps[cell].share, strict=True):
            below, up_to = np.mean(own < value - 1e-9), np.mean(own <= value + 1e-9)
            assert below - 1e-9 <= share <= up_to + 1e-9
        assert (steps[cell].values[0], steps[cell].values[-1]) == (own[0], own[-1])
    assert list(np.sum(histogram.counts, axis=1)) == list(cells.counts)
    assert np.all(np.diff(histogram.edges) > 0)
