"""Whatever varies and whatever it costs: the search finds what looking at all whole numbers finds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from running.nightly import choose_count
from scipy.stats import t as student

from datamill.analysis.repetition.search import NestedCosts, find_cheapest, find_narrowest

MOST = (14, 12, 25)
amount = st.one_of(st.just(0.0), st.floats(0.001, 100.0))
positive = st.floats(0.001, 100.0)


@st.composite
def levels(draw: st.DrawFn) -> NestedCosts:
    inner_cost = draw(amount)
    # What is in the middle may be free only where what is inside it is not.
    middle_cost = draw(amount if inner_cost > 0 else positive)
    fewest = (draw(st.integers(2, 4)), draw(st.integers(1, 3)), draw(st.integers(1, 3)))
    return NestedCosts(
        outer_variance=draw(amount),
        middle_variance=draw(amount),
        inner_variance=draw(amount),
        outer_cost=draw(amount),
        middle_cost=middle_cost,
        inner_cost=inner_cost,
        fixed_cost=draw(amount),
        outer=(fewest[0], MOST[0]),
        middle=(fewest[1], MOST[1]),
        inner=(fewest[2], MOST[2]),
    )


def spread(plan: NestedCosts) -> np.ndarray:
    outer = np.arange(plan.outer[0], plan.outer[1] + 1, dtype=float)
    return student.ppf(0.975, outer - 1) ** 2 / outer


def look_at_all(plan: NestedCosts) -> tuple[np.ndarray, np.ndarray]:
    """Cost, and squared half-width, of every plan there is."""
    outer, middle, inner = (
        np.arange(low, high + 1, dtype=float) for low, high in (plan.outer, plan.middle, plan.inner)
    )
    outer, middle, inner = outer[:, None, None], middle[None, :, None], inner[None, None, :]
    variance = plan.outer_variance + plan.middle_variance / middle + plan.inner_variance / (middle * inner)
    cost = plan.fixed_cost + outer * (plan.outer_cost + middle * (plan.middle_cost + inner * plan.inner_cost))
    return np.broadcast_to(cost, (variance * outer).shape), variance * spread(plan)[:, None, None]


@settings(max_examples=choose_count(100, 300), deadline=None)
@given(plan=levels(), wanted=st.floats(0.0, 1.0))
def test_no_plan_that_is_precise_enough_is_cheaper(plan: NestedCosts, wanted: float) -> None:
    costs, widths = look_at_all(plan)
    # A width that lies between the narrowest and the widest there are.
    target = float(widths.min() ** (1 - wanted) * widths.max() ** wanted) if widths.min() > 0 else wanted
    good = costs[widths <= target * (1 + 1e-12)]
    found = find_cheapest(plan, target / spread(plan))
    if len(good) == 0:
        assert found is None or plan.compute_variance(*found[1:]) <= target / spread(plan)[
            found[0] - plan.outer[0]
        ] * (1 + 1e-9)
        return
    assert found is not None
    assert plan.compute_cost(found) <= good.min() * (1 + 1e-9)
    assert plan.compute_variance(*found[1:]) * spread(plan)[found[0] - plan.outer[0]] <= target * (1 + 1e-9)


@settings(max_examples=choose_count(100, 300), deadline=None)
@given(plan=levels(), factor=st.floats(0.5, 300.0))
def test_no_plan_that_fits_into_the_time_is_narrower(plan: NestedCosts, factor: float) -> None:
    costs, widths = look_at_all(plan)
    budget = float(costs.min()) * factor
    fitting = widths[costs <= budget]
    found = find_narrowest(plan, budget, spread(plan))
    if len(fitting) == 0:
        assert found is None or plan.compute_cost(found) <= budget * (1 + 1e-9)
        return
    assert found is not None
    assert plan.compute_cost(found) <= budget * (1 + 1e-9)
    width = plan.compute_variance(*found[1:]) * spread(plan)[found[0] - plan.outer[0]]
    assert width <= fitting.min() * (1 + 1e-9)


def test_a_large_search_is_still_exact() -> None:
    plan = NestedCosts(0.04, 0.01, 0.2, 30.0, 0.5, 0.002, 0.0, (2, 400), (1, 60), (1, 300))
    outer = np.arange(2, 401, dtype=float)
    factor = student.ppf(0.975, outer - 1) ** 2 / outer
    best = np.inf
    for at, count in enumerate(outer):
        middle, inner = np.arange(1, 61.0)[:, None], np.arange(1, 301.0)[None, :]
        good = (0.04 + 0.01 / middle + 0.2 / (middle * inner)) * factor[at] <= 0.05**2
        cost = np.where(good, count * (30 + middle * (0.5 + inner * 0.002)), np.inf)
        best = min(best, float(cost.min()))
    found = find_cheapest(plan, 0.05**2 / factor)
    assert found is not None
    assert plan.compute_cost(found) == pytest.approx(best, rel=1e-12)
