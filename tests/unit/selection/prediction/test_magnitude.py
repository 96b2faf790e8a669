from __future__ import annotations

import random
from dataclasses import replace

import pytest

from datamill.selection.prediction.checked_sizes import check_sizes
from datamill.selection.prediction.direction import FEATURE
from datamill.selection.prediction.magnitude import OTHERS_COUNT_AS, group_sizes, learn_magnitude
from datamill.selection.predictors.case import Case

LEAST = 0.001


def make_change(order, size, benchmark="bench", sign=1, edit=0.0):
    features = {FEATURE: edit}
    return Case(
        benchmark, f"v{order - 1}", f"v{order}", order - 1, order, {}, features, True, 1 + sign * size
    )


def draw_history(versions, seed, least=LEAST):
    """Versions of one to eight changes that are alike; a size is the least one times e to an exponential."""
    draw = random.Random(seed)
    cases = []
    for order in range(1, versions + 1):
        together = draw.expovariate(0.7)
        for number in range(draw.randint(1, 8)):
            size = least * 2.718 ** (together + draw.expovariate(2))
            sign = draw.choice([-1, 1])
            cases.append(make_change(order, size, f"b{number}", sign, draw.choice([-0.1, 0.1])))
    return cases


def test_the_end_is_the_largest_change_of_nine_in_ten_versions_with_one_more_counted():
    cases = [make_change(order, order / 100) for order in range(1, 20)]
    found = learn_magnitude(cases, LEAST)
    # k = 0.9 * (19 + 1) = 18
    assert found.high == pytest.approx(0.18)
    assert (found.low, found.size, found.n) == (LEAST, pytest.approx(0.10), 19)
    # k = 9 of 9, and 10 of 8 are not there
    assert learn_magnitude(cases[:9], LEAST).high == pytest.approx(0.09)
    assert learn_magnitude(cases[:8], LEAST) is None


def test_changes_of_one_version_count_as_one_since_they_are_not_independent():
    cases = [make_change(order, order / 100) for order in range(1, 20)]
    many = [make_change(1, 0.5, f"b{number}") for number in range(30)]
    assert learn_magnitude(many, LEAST) is None
    again = learn_magnitude([*cases, *(make_change(19, 0.02, f"b{number}") for number in range(30))], LEAST)
    assert (again.n, again.high) == (19, pytest.approx(0.18))


def test_a_history_without_a_change_has_the_sizes_of_other_projects_which_its_own_replace():
    other = tuple((number / 100,) for number in range(1, 39))
    first = learn_magnitude([], LEAST, [other])
    # Of 38 versions that count as 19, those up to 0.9 * 20 = 18 of these.
    assert (first.n, first.high) == (0, pytest.approx(0.36))
    assert "other projects count as 19 versions" in first.method
    own = [make_change(order, 0.002) for order in range(1, 400)]
    assert learn_magnitude(own, LEAST, [other]).high == pytest.approx(0.002)


def test_other_projects_have_the_same_part_however_long_their_histories_are():
    short, long = ((0.01,),) * 10, ((0.5,),) * 1000
    assert learn_magnitude([], LEAST, [short, long]).high == 0.5
    assert learn_magnitude([], LEAST, [short] * 19 + [long]).high == 0.01


def test_changes_of_others_that_would_be_none_here_are_left_out_and_too_few_tell_nothing():
    other = tuple((0.002, 0.003) for _ in range(200)) + tuple((0.1, 0.002) for _ in range(20))
    assert learn_magnitude([], LEAST, [other[:-10]]).high == 0.003
    assert learn_magnitude([], 0.05, [other]).size == 0.1
    assert learn_magnitude([], 0.05, [other[: -20 + OTHERS_COUNT_AS - 1]]) is None


def test_no_end_lies_below_the_least_change_though_ratios_are_rounded():
    # 1001 instructions by 1000: the count says that it changed, and the quotient less 1 is below 0.001.
    cases = [make_change(order, LEAST) for order in range(1, 12)]
    assert cases[0].ratio - 1 < LEAST
    found = learn_magnitude(cases, LEAST)
    assert (found.low, found.size, found.high) == (LEAST, LEAST, LEAST)


def test_unchanged_cases_have_no_size():
    same = [replace(make_change(1, 0.1), changed=False), replace(make_change(2, 0.1), ratio=None)]
    assert group_sizes([*same, make_change(4, 0.5), make_change(3, 0.25, sign=-1)]) == ((0.25,), (0.5,))


def test_nine_tenths_of_versions_have_all_changes_within_what_was_told_before_and_no_direction_is():
    found = check_sizes(draw_history(600, 7), LEAST)
    assert found.every.told.n - found.every.told.count == found.by_history[0].told.n + sum(
        item.told.n - item.told.count for item in found.by_history[1:]
    )
    assert found.every.versions.n == 600 - 9
    assert found.every.versions.interval.low < 0.9 < found.every.versions.interval.high
    assert found.every.within.value > found.every.versions.value
    assert found.told.count == found.right.n == 0
    assert found.by_sign.interval.low < 0.5 < found.by_sign.interval.high


def test_short_histories_of_a_project_like_the_others_are_covered_from_the_first_change_on():
    others = [group_sizes(draw_history(60, seed)) for seed in (1, 2, 3)]
    checks = [check_sizes(draw_history(8, seed), LEAST, others) for seed in range(10, 110)]
    for place in range(3):
        told = [check.by_history[place] for check in checks]
        assert all(item.told.count == item.told.n for item in told)
        versions = sum(item.versions.n for item in told)
        assert versions >= 50
        assert sum(item.versions.count for item in told) / versions > 0.88


def test_changes_are_counted_by_how_many_were_known_before():
    cases = draw_history(30, 3)
    found = check_sizes(cases, LEAST)
    assert [(item.least, item.most) for item in found.by_history] == [(0, 0), (1, 5), (6, 20), (21, None)]
    assert sum(item.told.n for item in found.by_history) == found.every.told.n == len(cases)
    assert found.by_history[0].told.n == sum(case.new_order == 1 for case in cases)


def test_directions_are_told_after_29_versions_that_followed_the_sign_of_the_edit():
    cases = [make_change(order, 0.1, sign=1, edit=0.1) for order in range(1, 41)]
    found = check_sizes(cases, LEAST)
    assert (found.told.n, found.told.count, found.right.count) == (40, 11, 11)
    assert (found.by_sign.count, found.by_sign_versions.count) == (40, 40)
