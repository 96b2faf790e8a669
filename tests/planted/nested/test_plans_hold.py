"""Plans for planted three-level data: what they promise comes out, and nothing else would be better."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import t as student
from scipy.stats import ttest_ind

from datamill.analysis.random_effects.nested_data.nested_values import NestedValues
from datamill.analysis.random_effects.variance import estimate_variances
from datamill.analysis.random_effects.variance_estimate import Level
from datamill.analysis.repetition.assurance import count_assured, draw_variances, share_enough
from datamill.analysis.repetition.plan import plan_repetitions, take_basis
from datamill.analysis.repetition.planner import Planner
from datamill.analysis.repetition.power import find_noncentrality
from datamill.analysis.repetition.repetition_plan import PlanBasis, PlanBounds, PlanGoal, SquareDraw
from datamill.analysis.versions.compare import compare_versions
from datamill.analysis.versions.false_alarms import simulate_false_alarms
from datamill.experiment.errors import InputError
from datamill.results.judgement.costs import RepetitionCosts

BUILD, EXECUTION, MEASUREMENT = 0.04, 0.01, 0.2
BASIS = PlanBasis({"build": BUILD, "execution": EXECUTION, "measurement": MEASUREMENT}, {}, 10.0, {})
COSTS = RepetitionCosts(3.0, 0.5, 0.02, "planted")


def plant(rng: np.random.Generator, repetitions: int, l: int, m: int, n: int) -> np.ndarray:  # noqa: E741
    """Values (repetitions × l × m × n) of planted experiments."""
    return (
        rng.normal(10, math.sqrt(BUILD), (repetitions, l, 1, 1))
        + rng.normal(0, math.sqrt(EXECUTION), (repetitions, l, m, 1))
        + rng.normal(0, math.sqrt(MEASUREMENT), (repetitions, l, m, n))
    )


def find_half_width(values: np.ndarray) -> float:
    """Root mean square of the half-widths of the intervals of planted experiments."""
    means = values.mean(axis=(2, 3))
    count = means.shape[1]
    squares = student.ppf(0.975, count - 1) ** 2 * means.var(axis=1, ddof=1) / count
    return float(np.sqrt(squares.mean()))


def test_the_predicted_half_width_comes_out() -> None:
    rng = np.random.default_rng(5)
    for goal in (PlanGoal("half_width", 0.15), PlanGoal("time", 40.0)):
        best = plan_repetitions(BASIS, COSTS, goal).best
        values = plant(rng, 1500, best.builds, best.executions, best.measurements)
        assert find_half_width(values) == pytest.approx(best.half_width, rel=0.05)
        means = values.mean(axis=(2, 3))
        half = student.ppf(0.975, best.builds - 1) * means.std(axis=1, ddof=1) / math.sqrt(best.builds)
        covered = np.abs(means.mean(axis=1) - 10) <= half
        assert covered.mean() == pytest.approx(0.95, abs=0.02)


def test_no_other_way_to_spend_the_time_gives_narrower_intervals() -> None:
    rng = np.random.default_rng(6)
    time = 60.0
    best = plan_repetitions(BASIS, COSTS, PlanGoal("time", time)).best
    reached = find_half_width(plant(rng, 1500, best.builds, best.executions, best.measurements))
    narrowest = math.inf
    for m in (1, 2, 3, 5, 8):
        for n in (1, 5, 10, 20, 40, 80):
            l = int(time / (COSTS.build_s + m * (COSTS.execution_s + n * COSTS.measurement_s)))  # noqa: E741
            if l >= 2:
                narrowest = min(narrowest, find_half_width(plant(rng, 600, l, m, n)))
    # The smallest of thirty simulated ones is below its own expectation by chance.
    assert reached <= narrowest * 1.05


def test_the_planned_power_comes_out() -> None:
    rng = np.random.default_rng(7)
    best = plan_repetitions(BASIS, COSTS, PlanGoal("detect", 0.3, alpha=0.05, power=0.9)).best
    first = plant(rng, 2000, best.builds, best.executions, best.measurements).mean(axis=(2, 3))
    second = plant(rng, 2000, best.builds, best.executions, best.measurements).mean(axis=(2, 3))
    p = ttest_ind(first, second + 0.3, axis=1).pvalue
    assert best.power is not None
    assert (p < 0.05).mean() == pytest.approx(best.power, abs=0.025)
    assert (ttest_ind(first, second, axis=1).pvalue < 0.05).mean() == pytest.approx(0.05, abs=0.02)


@pytest.mark.parametrize("builds", [2, 3, 5])
def test_compare_sees_the_difference_as_often_as_the_plan_promises(builds: int) -> None:
    """Also in plans of two builds, planned for 90% power by Student's larger df and then seen in 60%."""
    rng = np.random.default_rng(builds)
    difference = float(
        np.sqrt(2 * BUILD / builds) * find_noncentrality(np.array([float(builds)]), 0.05, 0.9)[0]
    )
    basis = PlanBasis({"build": BUILD}, {"execution": "", "measurement": ""}, 10.0, {})
    best = plan_repetitions(basis, COSTS, PlanGoal("detect", difference * (1 + 1e-9))).best
    assert (best.builds, best.power) == (builds, pytest.approx(0.9, abs=1e-6))
    seen = 0
    for _ in range(1000):
        old, new = (
            nest(rng.normal(mean, math.sqrt(BUILD), (builds, 1, 1))) for mean in (10, 10 + difference)
        )
        seen += compare_versions([old, replace(new, version="new")]).changes[0].detected
    assert seen / 1000 == pytest.approx(0.9, abs=0.03)


def test_power_is_that_of_all_comparisons_held_together() -> None:
    rng = np.random.default_rng(13)
    basis = PlanBasis({"build": BUILD}, {"execution": "", "measurement": ""}, 10.0, {})
    plan = plan_repetitions(basis, COSTS, PlanGoal("detect", 0.45), versions=4)
    assert any("each is judged at alpha 0.017" in note for note in plan.notes)
    best, seen = plan.best, 0
    for _ in range(400):
        versions = [nest(rng.normal(10, math.sqrt(BUILD), (best.builds, 1, 1))) for _ in range(3)]
        other = nest(rng.normal(10.45, math.sqrt(BUILD), (best.builds, 1, 1)))
        named = [replace(item, version=str(at)) for at, item in enumerate([*versions, other])]
        seen += compare_versions(named).changes[2].detected
    assert best.power is not None
    assert seen / 400 == pytest.approx(best.power, abs=0.04)


def test_the_range_from_a_pilot_holds_the_number_that_is_really_needed() -> None:
    rng = np.random.default_rng(8)
    goal = PlanGoal("half_width", 0.15)
    truth = Planner(BASIS, COSTS, PlanBounds())
    held = 0
    pilots = plant(rng, 200, 8, 4, 10)
    for values in pilots:
        plan = plan_repetitions(take_basis(estimate_variances(nest(values))), COSTS, goal)
        needed = truth.count_outer(plan.best.executions, plan.best.measurements, goal)
        assert needed is not None
        assert plan.low is not None
        assert plan.high is not None
        held += plan.low <= needed <= plan.high
    assert held / len(pilots) == pytest.approx(0.95, abs=0.045)


def find_squares(values: np.ndarray) -> dict[Level, SquareDraw]:
    """The mean squares of one planted pilot, with their degrees of freedom."""
    l, m, n = values.shape  # noqa: E741
    of_builds, of_executions = values.mean(axis=(1, 2)), values.mean(axis=2)
    return {
        "build": SquareDraw(float(of_builds.var(ddof=1)), l - 1),
        "execution": SquareDraw(float(of_executions.var(axis=1, ddof=1).mean()), l * (m - 1)),
        "measurement": SquareDraw(float(values.var(axis=2, ddof=1).mean()), l * m * (n - 1)),
    }


def test_plans_are_as_sure_to_suffice_as_they_say_and_point_estimates_are_not() -> None:
    """Of a thousand pilots of five builds, a third of the plans from estimates taken as exact suffice."""
    rng = np.random.default_rng(11)
    goal = PlanGoal("detect", 0.3)
    planner = Planner(BASIS, COSTS, PlanBounds(), 2)
    needed = planner.count_outer(4, 10, goal)
    assert needed is not None
    exact, assured, said = 0, 0, []
    for values in plant(rng, 1000, 5, 4, 10):
        squares = find_squares(values)
        pilot = PlanBasis(BASIS.components, {}, 10.0, squares, 5, 4, 10)
        taken = planner.count_for(squares["build"].value, goal)
        drawn = draw_variances(pilot, 4, 10, 1)
        surer = count_assured(planner, goal, drawn, 0.8)
        assert taken is not None
        assert surer is not None
        exact, assured = exact + (taken >= needed), assured + (surer >= needed)
        said.append(share_enough(taken, goal, drawn))
    assert exact / 1000 == pytest.approx(float(np.mean(said)), abs=0.05)
    assert exact / 1000 < 0.46
    assert assured / 1000 == pytest.approx(0.8, abs=0.04)


def test_a_plan_with_an_assurance_has_it_and_one_without_says_its_own() -> None:
    values = plant(np.random.default_rng(12), 1, 6, 4, 10)[0]
    basis = PlanBasis(BASIS.components, {}, 10.0, find_squares(values), 6, 4, 10)
    goal = PlanGoal("half_width", 0.15)
    taken, surer = (plan_repetitions(basis, COSTS, replace(goal, assurance=share)) for share in (None, 0.8))
    assert taken.sure is not None
    assert surer.sure is not None
    assert taken.sure < 0.6 < 0.8 <= surer.sure < 0.85
    assert surer.best == taken.surer
    assert surer.surer is None
    with pytest.raises(InputError, match="no plan within bounds is so sure to suffice: with"):
        plan_repetitions(
            basis, COSTS, replace(goal, assurance=0.95), PlanBounds(builds=(2, surer.best.builds))
        )
    with pytest.raises(InputError, match="count as exact"):
        plan_repetitions(BASIS, COSTS, replace(goal, assurance=0.8))


def test_drawn_variances_have_the_spread_of_their_pivots() -> None:
    squares = {"build": SquareDraw(2.0, 9.0)}
    basis = PlanBasis({"build": 2.0}, {}, 1.0, squares, builds=10)  # type: ignore[arg-type]
    drawn = draw_variances(basis, 1, 1, seed=3)
    # 9 · 2 / chi-square(9): the ends of the usual interval of a variance.
    assert np.quantile(drawn, 0.025) == pytest.approx(18 / 19.0228, rel=0.05)
    assert np.quantile(drawn, 0.975) == pytest.approx(18 / 2.70039, rel=0.12)


def nest(values: np.ndarray) -> NestedValues:
    l, m, n = values.shape  # noqa: E741
    return NestedValues(
        "v", "time", "s", values.ravel(), np.arange(0, l * m * n + 1, n), np.arange(0, l * m + 1, m)
    )


def test_welch_of_builds_errs_as_stated_and_executions_alone_do_not() -> None:
    values = plant(np.random.default_rng(9), 1, 150, 20, 5)[0]
    alarms = simulate_false_alarms(nest(values), comparisons=4000)
    assert [row.builds for row in alarms.rows] == [1, 10, 15, 20, 25, 30]
    assert all(row.disjoint for row in alarms.rows)
    for row in alarms.rows[1:]:
        assert row.welch is not None
        assert row.overlap is not None
        assert row.welch_executions is not None
        assert row.welch.estimate == pytest.approx(0.05, abs=0.02)
        assert row.overlap.estimate < 0.02
        assert row.welch_executions.estimate > 0.3
    single = alarms.rows[0]
    assert single.overlap is not None
    assert single.welch is None
    # The paper's Figure 2: with one binary of each version up to half of the comparisons err.
    assert single.overlap.estimate > 0.3


def test_without_differences_between_builds_one_build_is_enough() -> None:
    rng = np.random.default_rng(10)
    values = 10 + rng.normal(0, 0.1, (60, 10, 1)) + rng.normal(0, 0.4, (60, 10, 5))
    alarms = simulate_false_alarms(nest(values), [1, 10], comparisons=4000)
    for row in alarms.rows:
        assert row.welch_executions is not None
        assert row.welch_executions.estimate == pytest.approx(0.05, abs=0.025)
