"""How many builds, executions and measurements: the optimum of EPEW 2006 (section 3.3) in whole numbers.

The paper minimises equation 19 for a cost (equations 18 and 22) over real numbers and with a normal interval.
Here its m₀ and n₀ (equations 21 and 23) are stated, and the plan is found by exact search over whole numbers
with Student's t of l − 1 degrees of freedom, since with few builds these decide. Variances are unbiased
components: the paper's S²_B and S²_V hold chance of the levels below as well. Where the outermost known level
is not the build, the same is done one level further down, within one build.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.special import ndtri, stdtrit

from datamill.analysis.model_data.cells import FloatArray
from datamill.analysis.random_effects.variance_estimate import LEVELS, Level, VarianceEstimate
from datamill.analysis.repetition.assurance import (
    assure,
    count_assured,
    draw_variances,
    share_enough,
)
from datamill.analysis.repetition.notes import list_notes, list_warnings, refuse_goal
from datamill.analysis.repetition.planner import Planner
from datamill.analysis.repetition.repetition_plan import (
    SURER,
    Alternative,
    PlanBasis,
    PlanBounds,
    PlanGoal,
    PlannedRepetition,
    RealOptimum,
    RepetitionPlan,
    SquareDraw,
    WidthCurve,
)
from datamill.analysis.repetition.search import Counts
from datamill.experiment.messages.numbers import format_fixed
from datamill.results.judgement.costs import RepetitionCosts


def take_basis(estimate: VarianceEstimate) -> PlanBasis:
    """Return what a pilot's estimate says to a plan; of unbalanced data by the effective numbers."""
    builds, executions = estimate.builds, estimate.executions
    in_all = builds * executions
    df: dict[Level, float] = {
        "build": builds - 1,
        "execution": in_all - builds,
        "measurement": estimate.n - in_all,
    }
    top = next(level for level in LEVELS if level in estimate.mean_squares)
    df[top] = estimate.df
    return PlanBasis(
        components=estimate.components,
        unknown=estimate.unknown,
        mean=estimate.mean.estimate,
        squares={
            level: SquareDraw(value, max(df[level], 1.0)) for level, value in estimate.mean_squares.items()
        },
        builds=builds,
        executions=executions,
        measurements=estimate.measurements,
    )


def compute_optimum(basis: PlanBasis, costs: RepetitionCosts, operation_s: float | None) -> RealOptimum:
    """Return m₀ and n₀ of EPEW 2006, equations 21 and 23, and the costs in its units.

    `operation_s` is how long what is measured takes; None where the response is no time: q is then 1.
    """
    between, within, inner = (basis.components.get(level) for level in LEVELS)
    executions = _root(costs.build_s, costs.execution_s, within, between)
    measurements = _root(costs.execution_s, costs.measurement_s, inner, within)
    if costs.measurement_s <= 0:
        return RealOptimum(executions, measurements, None, None, None)
    unit = operation_s or costs.measurement_s
    return RealOptimum(
        executions,
        measurements,
        w=costs.execution_s / costs.measurement_s,
        b=costs.build_s / unit,
        q=costs.measurement_s / unit,
    )


def _root(cost: float, below_cost: float, below: float | None, variance: float | None) -> float | None:
    """√(cost / below_cost · below / variance): infinite where repeating what is below is all that helps."""
    if variance is None or below is None or (below == 0 and variance == 0):
        return None
    over, under = cost * below, below_cost * variance
    if under == 0:
        return math.inf if over > 0 else None
    return math.sqrt(over / under)


def plan_repetitions(
    basis: PlanBasis,
    costs: RepetitionCosts,
    goal: PlanGoal,
    bounds: PlanBounds = PlanBounds(),  # noqa: B008 - frozen
    *,
    operation_s: float | None = None,
    versions: int = 1,
    compared: int = 2,
    doubts: Sequence[str] = (),
    seed: int = 1,
) -> RepetitionPlan:
    """Plan how often to repeat what: the cheapest that reaches the goal, or the most precise in a time.

    So many `versions` are measured, each as planned; a difference to see is between two, with equal
    variances, of as many as are `compared` with one baseline (at least those measured). With an assurance
    the number of the top level grows until so large a share of the variances that the pilot leaves possible
    suffice; the numbers below it stay. `doubts` about the pilot become warnings of the plan.

    Raises:
        InputError: the bounds do not allow the goal, or not so surely; says how far they get.
    """
    asked = goal
    if goal.kind == "detect":
        versions = max(versions, 2)
        compared = max(versions, compared)
        # Each version is compared with one baseline, and `compare` holds all of these pairs together.
        goal = replace(goal, alpha=goal.alpha / (compared - 1))
    planner = Planner(basis, costs, bounds, versions)
    counts = planner.find(goal)
    if counts is None:
        raise refuse_goal(planner, goal)
    drawn = draw_variances(basis, counts[1], counts[2], seed) if basis.squares else None
    if goal.assurance is not None:
        counts = assure(planner, counts, goal, drawn, goal.assurance)
    best = planner.describe(counts, goal)
    low, high = _bound(planner, counts, goal, drawn)
    sure, surer = None, None
    if drawn is not None and goal.kind != "time":
        sure = share_enough(counts[0], goal, drawn)
        if sure < SURER and (more := count_assured(planner, goal, drawn, SURER)) is not None:
            surer = planner.describe((more, *counts[1:]), goal)
    optimum = compute_optimum(basis, costs, operation_s)
    return RepetitionPlan(
        basis=basis,
        goal=asked,
        costs=costs,
        best=best,
        optimum=optimum,
        low=low,
        high=high,
        sure=sure,
        surer=surer,
        versions=versions,
        alternatives=_list_alternatives(planner, goal, counts, optimum, surer),
        notes=(*planner.notes, *list_notes(basis, goal, compared)),
        warnings=(*list_warnings(basis, best), *doubts),
    )


def _bound(
    planner: Planner, counts: Counts, goal: PlanGoal, drawn: FloatArray | None
) -> tuple[float | None, float | None]:
    """What the uncertainty of the pilot's variances leaves open."""
    if drawn is None:
        return None, None
    tail = (1 - goal.confidence) / 2
    low, high = (float(end) for end in np.quantile(drawn, [tail, 1 - tail]))
    if goal.kind == "time":
        factor = float(stdtrit(counts[0] - 1.0, 1 - tail)) / math.sqrt(counts[0])
        return factor * math.sqrt(low), factor * math.sqrt(high)
    fewest, most = (planner.count_for(end, goal) for end in (low, high))
    return (
        float(fewest) if fewest is not None else math.inf,
        float(most) if most is not None else math.inf,
    )


def _list_alternatives(
    planner: Planner,
    goal: PlanGoal,
    counts: Counts,
    optimum: RealOptimum,
    surer: PlannedRepetition | None,
) -> tuple[Alternative, ...]:
    """What else could be done, and what that brings."""
    basis = planner.basis
    top = basis.top
    found: list[tuple[str, Counts | None]] = []

    def complete(label: str, middle: int, inner: int) -> None:
        outer = planner.count_outer(middle, inner, goal)
        found.append((label, None if outer is None else (outer, middle, inner)))

    if surer is not None:
        more = (surer.builds, surer.executions, surer.measurements)[LEVELS.index(top)]
        found.append((f"{format_fixed(100 * SURER, 0)}% sure to suffice", (more, *counts[1:])))
    if basis.builds:
        numbers = (basis.builds, basis.executions, basis.measurements)
        outer = round(numbers[LEVELS.index(top)])
        middle, inner = planner.take(*numbers[1:])
        if outer > 1:
            found.append(("the pilot as it was", (outer, middle, inner)))
            found.append((f"the pilot and one {top} more", (outer + 1, middle, inner)))
        complete(f"like the pilot, {top}s enough", middle, inner)
    real = [optimum.executions, optimum.measurements]
    if top == "build" and all(item is not None and math.isfinite(item) for item in real):
        complete("m₀ and n₀ rounded", *planner.take(*(item or 1.0 for item in real)))
    complete(f"{top}s alone", planner.levels.middle[0], planner.levels.inner[0])
    first, last = planner.levels.outer
    if counts[0] < last:
        found.append((f"the plan and one {top} more", (counts[0] + 1, *counts[1:])))
    if counts[0] > first:
        found.append((f"the plan and one {top} fewer", (counts[0] - 1, *counts[1:])))
    seen = {counts}
    kept = []
    for label, numbers_found in found:
        if numbers_found in seen:
            continue
        if numbers_found is not None:
            seen.add(numbers_found)
        kept.append(
            Alternative(label, None if numbers_found is None else planner.describe(numbers_found, goal))
        )
    return tuple(kept)


def trace_widths(
    plan: RepetitionPlan,
    bounds: PlanBounds = PlanBounds(),  # noqa: B008 - frozen
    points: int = 40,
) -> tuple[WidthCurve, ...]:
    """Trace the half-width against time: the best plan, the pilot's m and n, executions of one build alone.

    The last one is what remains uncertain about the mean over builds, with a normal interval: it does not
    fall below what builds differ by.
    """
    planner = Planner(plan.basis, plan.costs, bounds)
    width = PlanGoal("half_width", 0.0, plan.goal.confidence)
    least = planner.levels.fixed_cost + 2 * planner.levels.least_cost
    own = plan.best.time / plan.versions
    times = np.geomspace(least, max(10 * own, 30 * least), points)
    others: list[tuple[str, list[PlannedRepetition]]] = []
    if plan.basis.builds:
        middle, inner = planner.take(plan.basis.executions, plan.basis.measurements)
        each = planner.levels.compute_cost((1, middle, inner)) - planner.levels.fixed_cost
        outer = np.unique(((times - planner.levels.fixed_cost) / each).astype(np.int64))
        first, last = planner.levels.outer
        fitting = [int(count) for count in outer if first <= count <= last]
        described = [planner.describe((count, middle, inner), width) for count in fitting]
        others.append((f"more {plan.basis.top}s like the pilot's", described))
    # Also at the times of the other way, which the best one never takes longer than.
    looked_at = sorted(
        {*map(float, times), own * (1 + 1e-9), *(item.time * (1 + 1e-9) for _, way in others for item in way)}
    )
    found = [planner.find(PlanGoal("time", time, plan.goal.confidence)) for time in looked_at]
    best = [planner.describe(item, width) for item in dict.fromkeys(found) if item is not None]
    ways = [("best plan for each time", best), *others]
    if plan.basis.top == "build" and planner.levels.middle[1] > 1:
        ways.append(("one build, more executions", _describe_one_build(planner, plan, times)))
    return tuple(_trace(label, described) for label, described in ways if described)


def _trace(label: str, repetitions: Sequence[PlannedRepetition]) -> WidthCurve:
    return WidthCurve(
        label,
        tuple(item.time for item in repetitions),
        tuple(item.half_width for item in repetitions),
        tuple(f"{item.builds} × {item.executions} × {item.measurements}" for item in repetitions),
    )


def _describe_one_build(planner: Planner, plan: RepetitionPlan, times: FloatArray) -> list[PlannedRepetition]:
    levels, inner = planner.levels, plan.best.measurements
    each = levels.middle_cost + inner * levels.inner_cost
    quantile = float(ndtri((1 + plan.goal.confidence) / 2))
    found = []
    for middle in dict.fromkeys(int((time - levels.outer_cost) / each) for time in times if each > 0):
        if levels.middle[0] <= middle <= levels.middle[1]:
            half_width = quantile * math.sqrt(levels.compute_variance(middle, inner))
            cost = levels.outer_cost + middle * each
            found.append(PlannedRepetition(1, middle, inner, cost, half_width, None))
    return found
