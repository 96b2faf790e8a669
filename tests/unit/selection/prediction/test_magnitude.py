from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest

from datamill.selection.prediction.checked_sizes import check_sizes
from datamill.selection.prediction.magnitude import FEATURE, FEWEST, LEAST_EDIT, learn_magnitude
from datamill.selection.predictors.case import Case


def draw_changes(n, seed=7):
    """Sizes are a tenth of the edit's weight, times e to a normal of 0.5; the sign says nothing."""
    draw = random.Random(seed)
    cases = []
    for order in range(1, n + 1):
        edit = math.exp(draw.uniform(-7, -1))
        size = 0.1 * (edit + LEAST_EDIT) * math.exp(draw.gauss(0, 0.5))
        ratio = 1 + size * draw.choice([-1, 1])
        features = {FEATURE: edit, "own.signed_edit": draw.choice([-1, 1]) * edit}
        cases.append(Case("bench", f"v{order - 1}", f"v{order}", order - 1, order, {}, features, True, ratio))
    return cases


def test_a_planted_law_of_sizes_is_found():
    found = learn_magnitude(draw_changes(2000))
    assert found.slope == pytest.approx(1, abs=0.03)
    told = found.tell({FEATURE: 0.05})
    assert told.size == pytest.approx(0.005, rel=0.06)
    # Of a normal nine tenths lie within 1.645 of its deviations.
    assert math.log(told.high / told.size) == pytest.approx(1.645 * 0.5, abs=0.06)
    assert math.log(told.low / told.size) == pytest.approx(-1.645 * 0.5, abs=0.06)
    assert (told.n, told.confidence) == (2000, 0.9)


def test_the_interval_is_the_jackknife_worked_out_by_leaving_each_change_out():
    cases = draw_changes(25)
    found = learn_magnitude(cases)
    center = sum(math.log(case.features[FEATURE] + LEAST_EDIT) for case in cases) / len(cases)
    residuals = []
    for out in cases:
        rest = [case for case in cases if case is not out]
        x = [math.log(case.features[FEATURE] + LEAST_EDIT) - center for case in rest]
        y = [math.log(abs(case.ratio - 1)) for case in rest]
        # The penalty is on the slope about the center of all: a weight of 1 beside the two normal equations.
        n, sx, sy = len(x), sum(x), sum(y)
        sxx, sxy = sum(a * a for a in x) + 1, sum(a * b for a, b in zip(x, y, strict=True))
        slope = (n * sxy - sx * sy) / (n * sxx - sx * sx)
        at = math.log(out.features[FEATURE] + LEAST_EDIT) - center
        residuals.append(math.log(abs(out.ratio - 1)) - (sy - slope * sx) / n - slope * at)
    # k = floor(0.1 * 26 / 2) = 1
    assert (found.low, found.high) == pytest.approx((min(residuals), max(residuals)))


def test_fewer_changes_than_two_ends_need_say_nothing_of_sizes():
    cases = draw_changes(FEWEST)
    assert learn_magnitude(cases) is not None
    assert learn_magnitude(cases[1:]) is None


def test_nine_tenths_of_sizes_lie_within_what_was_told_before_and_no_direction_is_told():
    found = check_sizes(draw_changes(400), first=100)
    assert found.within.n == 301
    assert found.within.interval.low < 0.9 < found.within.interval.high
    # Signs are drawn: a direction is believed at 0.05, so that hardly any is told.
    assert found.told.n == found.by_sign.n == 301
    assert found.right.n == found.told.count < 100
    assert found.by_sign.interval.low < 0.5 < found.by_sign.interval.high


def test_directions_that_follow_the_sign_of_the_edit_are_told_rightly():
    cases = [
        replace(case, ratio=1 + math.copysign(abs(case.ratio - 1), case.features["own.signed_edit"]))
        for case in draw_changes(100)
    ]
    found = check_sizes(cases, first=50)
    assert (found.told.n, found.told.count, found.right.count) == (51, 51, 51)
    assert (found.by_sign.n, found.by_sign.count) == (51, 51)
