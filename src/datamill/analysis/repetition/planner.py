"""The levels of a plan laid out for the search, and what so many repetitions bring."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import stdtrit

from datamill.analysis.model_data.cells import FloatArray
from datamill.analysis.random_effects.variance_estimate import LEVELS
from datamill.analysis.repetition.power import allow_variance, compute_power
from datamill.analysis.repetition.repetition_plan import PlanBasis, PlanBounds, PlanGoal, PlannedRepetition
from datamill.analysis.repetition.search import (
    Bounds,
    Counts,
    NestedCosts,
    find_cheapest,
    find_narrowest,
)
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.results.judgement.costs import RepetitionCosts

#: What a level without cost is counted at, as a share of the others, so that plans stay finite.
_FREE = 1e-6


class Planner:
    """Plans for one basis, one table of costs and one set of bounds."""

    def __init__(
        self, basis: PlanBasis, costs: RepetitionCosts, bounds: PlanBounds, versions: int = 1
    ) -> None:
        """Lay the levels out for the search; so many `versions` are measured, and share a time.

        Raises:
            InputError: nothing costs anything, or bounds contradict each other.
        """
        if costs.build_s + costs.execution_s + costs.measurement_s <= 0:
            raise InputError(
                "neither builds nor executions nor measurements cost anything, so that none are too many",
                remedy=f"Say what they take: {argument('build_time')}, {argument('execution_time')}, "
                f"{argument('measurement_time')}.",
            )
        self.basis, self.costs, self.versions = basis, costs, versions
        self.notes: list[str] = []
        self.levels = self._lay_out(bounds)

    def _lay_out(self, bounds: PlanBounds) -> NestedCosts:
        known = self.basis.components
        variances = [known.get(level, 0.0) for level in LEVELS]
        costs = [self.costs.build_s, self.costs.execution_s, self.costs.measurement_s]
        ranges = [bounds.builds, bounds.executions, bounds.measurements]
        top = LEVELS.index(self.basis.top)
        for index in range(top + 1, 3):
            # What cannot be told from the level above cannot be planned: it stays as it was.
            if LEVELS[index] not in known:
                ranges[index] = (1, 1)
        fixed = sum(costs[:top])
        width = 3 - top
        variances, costs = variances[top:] + [0.0] * top, costs[top:] + [0.0] * top
        ranges = ranges[top:] + [(1, 1)] * top
        ranges[0] = (max(2, ranges[0][0]), ranges[0][1])
        if ranges[0][0] > ranges[0][1]:
            raise InputError(
                f"an interval needs at least 2 {self.basis.top}s, and at most {ranges[0][1]} may be",
                remedy=f"Allow more: {argument(f'{self.basis.top}s', 'FROM:TO')}.",
            )
        for index in (width - 1, width - 2):
            if index < 1 or ranges[index][1] == 1 or costs[index] > 0:
                continue
            if index == 1 and width == 3 and costs[2] > 0:
                continue
            costs[index] = _FREE * sum(costs)
            self.notes.append(
                f"a further {LEVELS[top + index]} is said to cost nothing, and would be repeated for ever: "
                "it is counted at a millionth of the rest"
            )
        return NestedCosts(
            *(variances[0], variances[1], variances[2]),
            *(costs[0], costs[1], costs[2]),
            fixed,
            *(ranges[0], ranges[1], ranges[2]),
        )

    def list_outer(self, count: float) -> FloatArray:
        """The first so many possible numbers of the top level, from the least on."""
        first, last = self.levels.outer
        return np.arange(first, min(first + max(1, int(count)), last + 1), dtype=np.float64)

    def count_outer(self, middle: float, inner: float, goal: PlanGoal) -> int | None:
        """The number of the top level that reaches the goal with m and n; for a time: that fits into it."""
        first, last = self.levels.outer
        if goal.kind == "time":
            each = self.levels.outer_cost + middle * (
                self.levels.middle_cost + inner * self.levels.inner_cost
            )
            fitting = int((goal.value / self.versions - self.levels.fixed_cost) / each * (1 + 1e-12))
            return min(fitting, last) if fitting >= first else None
        return self.count_for(self.levels.compute_variance(middle, inner), goal)

    def count_for(self, variance: float, goal: PlanGoal) -> int | None:
        """The number of the top level that reaches the goal at a variance of one's mean; None if too many."""
        low, last = self.levels.outer
        high = low
        while not _suffices(high, variance, goal):
            if high >= last:
                return None
            low, high = high + 1, min(2 * high, last)
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if _suffices(middle, variance, goal) else (middle + 1, high)
        return high

    def find(self, goal: PlanGoal) -> Counts | None:
        """The cheapest counts that reach the goal, or the most precise in the time; None without any."""
        levels = self.levels
        if levels.middle[0] == levels.middle[1] and levels.inner[0] == levels.inner[1]:
            only = self.count_outer(levels.middle[0], levels.inner[0], goal)
            return None if only is None else (only, levels.middle[0], levels.inner[0])
        if goal.kind == "time":
            least = max(levels.least_cost, 1e-300)
            time = goal.value / self.versions
            outer = self.list_outer((time - levels.fixed_cost) / least)
            return find_narrowest(levels, time, spread_interval(outer, goal.confidence))
        worst = self.count_for(levels.compute_variance(levels.middle[0], levels.inner[0]), goal)
        return find_cheapest(levels, allow(self.list_outer(worst or levels.outer[1]), goal))

    def describe(self, counts: Counts, goal: PlanGoal) -> PlannedRepetition:
        """What so many repetitions bring and take."""
        variance = self.levels.compute_variance(counts[1], counts[2])
        top = counts[0]
        quantile = float(stdtrit(top - 1.0, (1 + goal.confidence) / 2)) if top > 1 else math.inf
        power = None
        if goal.kind == "detect":
            power = float(compute_power(top, goal.value, variance, goal.alpha)) if top > 1 else None
        builds, executions, measurements = self.spell(counts)
        costs = self.costs
        each = costs.build_s + executions * (costs.execution_s + measurements * costs.measurement_s)
        half_width = quantile * math.sqrt(variance / top) if variance > 0 else 0.0
        return PlannedRepetition(
            builds, executions, measurements, self.versions * builds * each, half_width, power
        )

    def spell(self, counts: Counts) -> Counts:
        """Builds, executions, measurements of counts from the top level down."""
        top = LEVELS.index(self.basis.top)
        spelled = (1,) * top + counts[: 3 - top]
        return spelled[0], spelled[1], spelled[2]

    def take(self, executions: float, measurements: float) -> tuple[int, int]:
        """The two numbers below the top level, of executions and measurements, rounded and within bounds."""
        below = [executions, measurements, 1.0, 1.0][LEVELS.index(self.basis.top) :]
        return _clip(below[0], self.levels.middle), _clip(below[1], self.levels.inner)


def spread_interval(outer: FloatArray, confidence: float) -> FloatArray:
    """Squared half-width over the variance of one top-level repetition's mean: t² / l."""
    quantile: FloatArray = stdtrit(outer - 1, (1 + confidence) / 2)
    return quantile * quantile / outer


def allow(outer: FloatArray, goal: PlanGoal) -> FloatArray:
    """Largest variance of one top-level repetition's mean with which so many reach the goal."""
    if goal.kind == "detect":
        return allow_variance(outer, goal.value, goal.alpha, goal.power)
    allowed: FloatArray = goal.value**2 / spread_interval(outer, goal.confidence)
    return allowed


def _suffices(outer: int, variance: float, goal: PlanGoal) -> bool:
    return bool(variance <= allow(np.array([float(outer)]), goal)[0] * (1 + 1e-12))


def _clip(number: float, bounds: Bounds) -> int:
    return round(min(max(number, bounds[0]), bounds[1]))
