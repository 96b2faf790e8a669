"""Exact search over whole numbers of nested repetitions: the cheapest, or the most precise."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from datamill.analysis.model_data.cells import FloatArray, IntArray

#: Whole numbers l, m, n: outer repetitions, middle ones of each, inner ones of each of those.
Counts = tuple[int, int, int]
#: Least and largest number of repetitions.
Bounds = tuple[int, int]
#: Combinations of counts that are looked at together, and outer counts that give the first good plan.
_AT_ONCE, _FIRST = 1 << 20, 64
#: What rounding of a quotient may be off by.
_SLACK = 1e-12


@dataclass(frozen=True, slots=True)
class NestedCosts:
    """Three nested levels: what varies and what it costs, outermost first.

    The mean of m × n repetitions within one outer one has variance `outer_variance` + `middle_variance` / m +
    `inner_variance` / (m n); l of them take `fixed_cost` + l (`outer_cost` + m (`middle_cost` + n
    `inner_cost`)). The number of middle repetitions must not be free of cost unless bounded to one number.
    """

    outer_variance: float
    middle_variance: float
    inner_variance: float
    outer_cost: float
    middle_cost: float
    inner_cost: float
    fixed_cost: float
    outer: Bounds
    middle: Bounds
    inner: Bounds

    def compute_variance(self, middle: float, inner: float) -> float:
        """Variance of the mean of one outer repetition."""
        return self.outer_variance + self.middle_variance / middle + self.inner_variance / (middle * inner)

    def compute_cost(self, counts: Counts) -> float:
        """Cost of l, m, n (EPEW 2006, equations 18 and 22)."""
        outer, middle, inner = counts
        each = self.outer_cost + middle * (self.middle_cost + inner * self.inner_cost)
        return self.fixed_cost + outer * each

    @property
    def least_cost(self) -> float:
        """Cost of one outer repetition with as few within it as there may be."""
        return self.outer_cost + self.middle[0] * (self.middle_cost + self.inner[0] * self.inner_cost)

    @property
    def effort(self) -> float:
        """Least product of variance and cost within an outer repetition, over real m and n.

        By Cauchy and Schwarz (B/m + E/(mn)) (m w + m n q) is never below (√(wB) + √(qE))².
        """
        middle = math.sqrt(self.middle_cost * self.middle_variance)
        return (middle + math.sqrt(self.inner_cost * self.inner_variance)) ** 2


def find_cheapest(levels: NestedCosts, allowed: FloatArray) -> Counts | None:
    """Return the cheapest l, m, n whose outer repetitions vary little enough; None if none do within bounds.

    `allowed[i]` is the largest variance of one outer repetition's mean that l = `levels.outer[0]` + i of
    them may have; it must not fall. Of equally cheap plans that with the smallest l, then m, is taken.

    Every l whose cost over real m and n is not above the best found is searched over all m that can still
    better it, so that nothing is missed.
    """
    first, last = levels.outer
    outer = np.arange(first, min(last, first + len(allowed) - 1) + 1)
    allowed = allowed[: len(outer)] * (1 + _SLACK)
    least = levels.compute_variance(levels.middle[1], levels.inner[1])
    feasible = allowed >= least
    outer, room = outer[feasible], allowed[feasible] - levels.outer_variance
    if len(outer) == 0:
        return None
    within = np.full(len(outer), levels.least_cost - levels.outer_cost)
    if levels.effort > 0:
        within = np.maximum(within, levels.effort / room)
    bound = outer * (levels.outer_cost + within)

    def evaluate(rows: IntArray, middle: IntArray) -> tuple[FloatArray, FloatArray]:
        inner = _count_inner_for(levels, room[rows][:, None], middle[None, :])
        # No number is enough where `inner` is infinite, even if it costs nothing.
        counted = np.where(np.isfinite(inner), inner, 0.0)
        each = levels.outer_cost + middle * (levels.middle_cost + counted * levels.inner_cost)
        return np.where(np.isfinite(inner), outer[rows][:, None] * each, np.inf), inner

    def limit(rows: IntArray, best: float) -> tuple[FloatArray, FloatArray]:
        # Real m that can still better the best: with x = m A − B, w x + wB + qE + qEB / x ≤ A K.
        budget = best / outer[rows] - levels.outer_cost
        return _limit_for_variance(levels, room[rows], budget)

    centre = np.full(len(outer), float(levels.middle[0]))
    if levels.middle_cost > 0:
        reach = math.sqrt(
            levels.inner_cost * levels.inner_variance * levels.middle_variance / levels.middle_cost
        )
        centre = (levels.middle_variance + reach) / np.maximum(room, 1e-300)
    return _search(levels, outer, bound, centre, evaluate, limit)


def find_narrowest(levels: NestedCosts, budget: float, spread: FloatArray) -> Counts | None:
    """Return the l, m, n with the least variance times `spread` within a budget; None if none fit into it.

    `spread[i]` is what the variance of one outer repetition's mean is multiplied by with l =
    `levels.outer[0]` + i of them, such as t² / l. Of equals that with the smallest l, then m, is taken.
    Nothing is missed, as in `find_cheapest`.
    """
    first, last = levels.outer
    available = (budget - levels.fixed_cost) * (1 + _SLACK)
    most = last if levels.least_cost <= 0 else min(last, int(available / levels.least_cost))
    outer = np.arange(first, min(most, first + len(spread) - 1) + 1)
    if available <= 0 or len(outer) == 0:
        return None
    spread = spread[: len(outer)]
    within = available / outer - levels.outer_cost
    least = levels.compute_variance(levels.middle[1], levels.inner[1])
    reached = levels.outer_variance + levels.effort / np.maximum(within, 1e-300)
    bound = spread * np.maximum(least, reached)

    def evaluate(rows: IntArray, middle: IntArray) -> tuple[FloatArray, FloatArray]:
        inner = _count_inner_within(levels, within[rows][:, None], middle[None, :])
        variance = levels.outer_variance + levels.middle_variance / middle
        with np.errstate(divide="ignore", invalid="ignore"):
            variance = variance + levels.inner_variance / (middle * inner)
        return np.where(np.isfinite(inner), spread[rows][:, None] * variance, np.inf), inner

    def limit(rows: IntArray, best: float) -> tuple[FloatArray, FloatArray]:
        return _limit_for_budget(levels, best / spread[rows] - levels.outer_variance, within[rows])

    share = math.sqrt(levels.middle_variance * levels.middle_cost)
    whole = share + math.sqrt(levels.inner_variance * levels.inner_cost)
    centre = np.full(len(outer), float(levels.middle[0]))
    if levels.middle_cost > 0 and whole > 0:
        centre = within * share / whole / levels.middle_cost
    return _search(levels, outer, bound, centre, evaluate, limit)


def _count_inner_for(levels: NestedCosts, room: FloatArray, middle: IntArray) -> FloatArray:
    """Fewest inner repetitions that leave the variance within `room`; infinite where none do."""
    left = middle * room - levels.middle_variance
    with np.errstate(divide="ignore", invalid="ignore"):
        wanted = np.ceil(levels.inner_variance / left * (1 - _SLACK))
    if levels.inner_variance == 0:
        wanted = np.where(left >= -_SLACK * levels.middle_variance, 0.0, np.inf)
    else:
        wanted = np.where(left > 0, wanted, np.inf)
    wanted = np.maximum(wanted, levels.inner[0])
    return np.where(wanted <= levels.inner[1], wanted, np.inf)


def _count_inner_within(levels: NestedCosts, within: FloatArray, middle: IntArray) -> FloatArray:
    """Most inner repetitions that fit into the budget of an outer one; infinite where the fewest do not."""
    left = within / middle - levels.middle_cost
    fewest, most = levels.inner
    enough = left * (1 + _SLACK) >= fewest * levels.inner_cost
    if levels.inner_variance == 0:
        return np.where(enough, float(fewest), np.inf)
    if levels.inner_cost == 0:
        return np.where(enough, float(most), np.inf)
    wanted = np.clip(np.floor(left / levels.inner_cost * (1 + _SLACK)), fewest, most)
    return np.where(enough, wanted, np.inf)


def _limit_for_variance(
    levels: NestedCosts, room: FloatArray, budget: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Real m for which some real n reaches variance `room` at no more cost than `budget`."""
    cost, variance = levels.middle_cost, levels.middle_variance
    inner = levels.inner_cost * levels.inner_variance
    sum_ = budget * room - cost * variance - inner
    low, high = _solve(cost, sum_, inner * variance)
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = (low + variance) / room, (high + variance) / room
        high = np.minimum(high, budget / (cost + levels.inner[0] * levels.inner_cost))
    return low, high


def _limit_for_budget(
    levels: NestedCosts, variance: FloatArray, within: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Real m for which some real n within the budget has no more than `variance`."""
    cost = levels.middle_cost
    sum_ = variance * within + levels.middle_variance * cost - levels.inner_variance * levels.inner_cost
    low, high = _solve(variance * cost, sum_, levels.middle_variance * within)
    with np.errstate(divide="ignore", invalid="ignore"):
        high = np.minimum(high, within / (cost + levels.inner[0] * levels.inner_cost))
    return low, high


def _solve(
    square: FloatArray | float, linear: FloatArray, constant: FloatArray | float
) -> tuple[FloatArray, FloatArray]:
    """Both ends of where `square` x² − `linear` x + `constant` ≤ 0, for x ≥ 0; the upper one may be infinite.

    A negative discriminant counts as zero: it is one by rounding where the best plan touches its bound.
    """
    root = np.sqrt(np.maximum(linear * linear - 4 * square * constant, 0))
    sum_ = linear + root
    with np.errstate(divide="ignore", invalid="ignore"):
        low = np.where(sum_ > 0, 2 * constant / sum_, 0.0)
        high = np.where(np.asarray(square) > 0, sum_ / (2 * square), np.inf)
    return np.maximum(low, 0), np.maximum(high, 0)


def _search(
    levels: NestedCosts,
    outer: IntArray,
    bound: FloatArray,
    centre: FloatArray,
    evaluate: Callable[[IntArray, IntArray], tuple[FloatArray, FloatArray]],
    limit: Callable[[IntArray, float], tuple[FloatArray, FloatArray]],
) -> Counts | None:
    """Return the counts with the least value, by branch and bound over l.

    `bound` (by row, a row is an l) is never above the values of its l; `evaluate` gives values and inner
    counts of rows × middle counts, `limit` the real middle counts at which a row can still be as good as a
    value.
    """
    fewest, most = levels.middle
    best, found = math.inf, None

    def consider(rows: IntArray, middle: IntArray) -> None:
        nonlocal best, found
        value, inner = evaluate(rows, middle)
        least = float(value.min())
        if not math.isfinite(least) or least > best * (1 + _SLACK):
            return
        row, column = divmod(int(np.argmax(value <= least * (1 + _SLACK))), len(middle))
        counts = int(outer[rows[row]]), int(middle[column]), int(inner[row, column])
        if found is None or least < best * (1 - _SLACK) or counts < found:
            best, found = min(best, least), counts

    order = np.argsort(bound, kind="stable")
    for row in order[:_FIRST]:
        near = np.floor(np.clip(centre[row], fewest, most))
        tried = np.unique(np.clip([fewest, near, near + 1, near + 2], fewest, most)).astype(np.int64)
        consider(np.array([row]), tried)
    if found is None:
        for middle in _cut(fewest, most, 1):
            consider(order[:1], middle)
    done = 0
    while done < len(order) and bound[order[done]] <= best * (1 + _SLACK):
        rows = np.sort(order[done : done + _FIRST])
        done += _FIRST
        low, high = limit(rows, best * (1 + _SLACK))
        # One to either side for rounding.
        low = np.clip(np.floor(np.nan_to_num(low, nan=fewest) * (1 - 1e-9)) - 1, fewest, most)
        high = np.minimum(np.nan_to_num(high, nan=most, posinf=most), most)
        high = np.clip(np.ceil(high * (1 + 1e-9)) + 1, fewest, most)
        for middle in _cut(int(low.min()), int(high.max()), len(rows)):
            consider(rows, middle)
    return found


def _cut(first: int, last: int, rows: int) -> Iterator[IntArray]:
    """Whole numbers from first to last, in pieces that are not too large to be looked at together."""
    step = max(1, _AT_ONCE // rows)
    for start in range(first, last + 1, step):
        yield np.arange(start, min(start + step, last + 1))
