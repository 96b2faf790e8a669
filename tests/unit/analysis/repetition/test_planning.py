"""Plans of repetitions: the paper's optimum, degenerate cases, alternatives, power, figures."""

import math
from dataclasses import replace

import numpy as np
import pytest

from datamill.analysis.random_effects.variance_estimate import Level
from datamill.analysis.repetition.plan import compute_optimum, plan_repetitions, trace_widths
from datamill.analysis.repetition.planner import Planner
from datamill.analysis.repetition.power import allow_variance, compute_power
from datamill.analysis.repetition.repetition_plan import PlanBasis, PlanBounds, PlanGoal, SquareDraw
from datamill.design.batches import FEWEST_ROUNDS, grow_replication
from datamill.experiment.errors import InputError
from datamill.experiment.file.parse import parse_experiment
from datamill.report.figures.figure import render_svg
from datamill.report.plan.figures import draw_widths
from datamill.report.plan.statement import PlanNotes, list_replication, state_plan
from datamill.report.tables.text import render_text
from datamill.results.judgement.costs import RepetitionCosts

COSTS = RepetitionCosts(30.0, 0.5, 0.002, "given")
HALF_WIDTH = PlanGoal("half_width", 0.1)
NOTES = PlanNotes("latency", "ms", "v1", True, "given")


def make_basis(**changes: float | None) -> PlanBasis:
    variances: dict[str, float | None] = {"build": 0.04, "execution": 0.01, "measurement": 0.2, **changes}
    known: dict[Level, float] = {
        level: value  # type: ignore[misc]
        for level, value in variances.items()
        if value is not None
    }
    unknown: dict[Level, str] = {level: "never repeated" for level in variances if level not in known}  # type: ignore[misc]
    return PlanBasis(known, unknown, 10.0, {})


def test_the_optimum_is_that_of_the_papers_equations() -> None:
    # Equation 21 with b and w in measurements; here a measurement takes 2 ms.
    optimum = compute_optimum(make_basis(), COSTS, None)
    b, w = 30 / 0.002, 0.5 / 0.002
    assert optimum.executions == pytest.approx(math.sqrt(b / w * 0.01 / 0.04))
    assert optimum.measurements == pytest.approx(math.sqrt(w * 0.2 / 0.01))
    assert (optimum.b, optimum.w, optimum.q) == pytest.approx((b, w, 1.0))


def test_the_optimum_with_operations_that_are_only_partly_measured_is_that_of_equation_23() -> None:
    # What is measured takes 0.5 ms of the 2 ms: q is 4, and m0 the smaller by 1 / √q for the same b.
    optimum = compute_optimum(make_basis(), COSTS, 0.0005)
    assert optimum.q == pytest.approx(4.0)
    assert optimum.b is not None
    assert optimum.w is not None
    assert optimum.q is not None
    of_paper = math.sqrt(optimum.b / optimum.w * 0.01 / 0.04) / math.sqrt(optimum.q)
    assert optimum.executions == pytest.approx(of_paper)
    assert optimum.measurements == pytest.approx(math.sqrt(optimum.w * 0.2 / 0.01))


def test_the_plan_reaches_the_half_width_and_one_build_fewer_does_not() -> None:
    plan = plan_repetitions(make_basis(), COSTS, HALF_WIDTH)
    fewer = next(item.repetition for item in plan.alternatives if item.label.endswith("one build fewer"))
    assert plan.best.half_width <= 0.1
    assert fewer is not None
    assert fewer.half_width > 0.1
    for item in plan.alternatives:
        reached = item.repetition is not None and item.repetition.half_width <= 0.1
        assert not reached or item.repetition.time >= plan.best.time  # type: ignore[union-attr]


def test_the_plan_for_a_time_fits_into_it() -> None:
    plan = plan_repetitions(make_basis(), COSTS, PlanGoal("time", 3600.0))
    assert plan.best.time <= 3600.0
    assert plan.best.builds > 100


@pytest.mark.parametrize(
    ("changes", "note"),
    [
        ({"build": 0.0}, "no variance between builds was found"),
        ({"execution": 0.0}, "cheaper to repeat measurements than executions"),
        ({"measurement": 0.0}, "measurements do not vary"),
        ({"build": 0.0, "execution": 0.0}, "no variance between builds was found"),
        ({"build": 0.0, "execution": 0.0, "measurement": 0.0}, "nothing varies here"),
        ({"measurement": None}, "measurements are not planned, and stay at one each: never repeated"),
        ({"execution": None}, "executions are not planned, and stay at one each: never repeated"),
    ],
)
def test_missing_and_absent_variances_give_finite_plans_and_a_sentence(
    changes: dict[str, float | None], note: str
) -> None:
    for goal in (HALF_WIDTH, PlanGoal("time", 3600.0), PlanGoal("detect", 0.5)):
        plan = plan_repetitions(make_basis(**changes), COSTS, goal)
        assert any(note in said for said in plan.notes), plan.notes
        assert math.isfinite(plan.best.time)
        assert plan.best.builds >= 2
        assert plan.best.measurements <= 1_000_000


def test_a_level_that_does_not_vary_is_not_repeated() -> None:
    plan = plan_repetitions(make_basis(measurement=0.0), COSTS, HALF_WIDTH)
    assert plan.best.measurements == 1
    plan = plan_repetitions(make_basis(execution=0.0), COSTS, HALF_WIDTH)
    assert plan.best.executions == 1


def test_one_build_gives_a_plan_for_this_build_and_says_what_cannot_be_known() -> None:
    plan = plan_repetitions(make_basis(build=None), COSTS, HALF_WIDTH)
    assert plan.best.builds == 1
    assert plan.best.executions > 2
    assert plan.best.half_width <= 0.1
    assert "nothing is known of how builds differ" in plan.warnings[0]
    assert render_text(state_plan(NOTES, plan)).startswith("For this one build alone: 1 build × ")


def test_one_execution_gives_a_plan_for_this_execution() -> None:
    plan = plan_repetitions(make_basis(build=None, execution=None), COSTS, HALF_WIDTH)
    assert (plan.best.builds, plan.best.executions) == (1, 1)
    assert "nothing is known of how executions differ" in plan.warnings[0]


@pytest.mark.parametrize(
    "costs",
    [
        RepetitionCosts(30, 0.5, 0, ""),
        RepetitionCosts(30, 0, 0, ""),
        RepetitionCosts(0, 0.5, 0.002, ""),
        RepetitionCosts(30, 0, 0.002, ""),
        RepetitionCosts(0, 0, 0.002, ""),
    ],
)
def test_what_costs_nothing_is_not_repeated_for_ever(costs: RepetitionCosts) -> None:
    for goal in (HALF_WIDTH, PlanGoal("time", 3600.0)):
        plan = plan_repetitions(make_basis(), costs, goal)
        assert plan.best.measurements <= 100_000
        assert plan.best.executions <= 100_000
        if costs.measurement_s == 0:
            assert any("cost nothing" in note for note in plan.notes)


def test_if_nothing_costs_anything_there_is_no_plan() -> None:
    with pytest.raises(InputError, match="cost anything"):
        plan_repetitions(make_basis(), RepetitionCosts(0, 0, 0, ""), HALF_WIDTH)


def test_bounds_hold_and_a_goal_beyond_them_is_refused() -> None:
    bounds = PlanBounds(builds=(5, 40), executions=(2, 3), measurements=(10, 20))
    best = plan_repetitions(make_basis(), COSTS, HALF_WIDTH, bounds).best
    assert 5 <= best.builds <= 40
    assert 2 <= best.executions <= 3
    assert 10 <= best.measurements <= 20
    with pytest.raises(InputError, match="the half-width is still 0"):
        plan_repetitions(make_basis(), COSTS, PlanGoal("half_width", 0.001), bounds)
    with pytest.raises(InputError, match="the time is too short"):
        plan_repetitions(make_basis(), COSTS, PlanGoal("time", 10.0), bounds)
    with pytest.raises(InputError, match="at least 2 builds"):
        plan_repetitions(make_basis(), COSTS, HALF_WIDTH, PlanBounds(builds=(1, 1)))


def test_few_builds_in_the_pilot_widen_the_range() -> None:
    def span(builds: int) -> float:
        squares: dict[Level, SquareDraw] = {
            "build": SquareDraw(0.045, builds - 1),
            "execution": SquareDraw(0.02, 4.0 * builds),
            "measurement": SquareDraw(0.2, 95.0 * builds),
        }
        basis = PlanBasis(make_basis().components, {}, 10.0, squares, builds, 5, 20)
        plan = plan_repetitions(basis, COSTS, HALF_WIDTH)
        assert plan.low is not None
        assert plan.high is not None
        assert plan.low <= plan.best.builds <= plan.high
        return plan.high / plan.low

    assert span(5) > span(10) > span(40) > 1


def test_power_is_that_of_other_programs() -> None:
    # R 4.2: power.t.test(delta = 1, sd = 1, power = 0.9) has n = 22.02, (0.5, 1, 0.8) has 63.77;
    # power.t.test(n = 20, delta = 1, sd = 1)$power is 0.8689528, of Student's test. Welch's, which `compare`
    # uses, pays a little for not taking both to vary alike.
    assert (allow_variance(np.array([22.0, 23.0]), 1.0, 0.05, 0.9) >= 1.0).tolist() == [False, True]
    assert (allow_variance(np.array([63.0, 64.0]), 0.5, 0.05, 0.8) >= 1.0).tolist() == [False, True]
    assert 0.867 < float(compute_power(20, 1.0, 1.0)) < 0.8689528
    assert float(compute_power(2000, 0.1, 1.0)) == pytest.approx(0.8852318, abs=1e-5)


def test_power_stays_a_number_for_large_differences() -> None:
    power = compute_power(np.array([2, 3, 10, 1000]), 50.0, 1.0)
    assert np.all((power > 0.9) & (power <= 1))


def test_the_best_way_to_spend_a_time_is_never_above_the_others() -> None:
    basis = PlanBasis(make_basis().components, {}, 10.0, {}, builds=6, executions=4, measurements=30)
    curves = trace_widths(plan_repetitions(basis, COSTS, HALF_WIDTH))
    best, pilot, one = curves
    for time, width in zip(pilot.times, pilot.half_widths, strict=True):
        reached = min(w for t, w in zip(best.times, best.half_widths, strict=True) if t <= time * (1 + 1e-6))
        assert reached <= width * (1 + 1e-9)
    # One build stays as uncertain as builds differ, however long it is measured.
    assert min(one.half_widths) > 1.95 * math.sqrt(0.04)


def test_the_figure_can_be_drawn_and_has_the_plan() -> None:
    plan = plan_repetitions(make_basis(), COSTS, HALF_WIDTH)
    svg = render_svg(draw_widths(NOTES, plan, trace_widths(plan)))
    assert f"{plan.best.builds} × {plan.best.executions} × {plan.best.measurements}" in svg


def test_nothing_is_drawn_where_nothing_varies() -> None:
    plan = plan_repetitions(make_basis(build=0.0, execution=0.0, measurement=0.0), COSTS, HALF_WIDTH)
    with pytest.raises(InputError, match="nothing varies"):
        draw_widths(NOTES, plan, trace_widths(plan))


def test_the_lines_to_paste_hold_the_plan() -> None:
    plan = plan_repetitions(make_basis(), COSTS, HALF_WIDTH)
    lines = list_replication(NOTES, plan)
    assert lines[:4] == [
        "[replication]",
        f"builds = {plan.best.builds}",
        f"executions = {plan.best.executions}",
        f"measurements = {plan.best.measurements}",
    ]
    assert '# until = { half_width = "1%", confidence = 0.95 }' in lines


def test_the_lines_to_paste_vary_builds_as_the_pilot_did() -> None:
    """Without, all builds of the plan may be one and the same binary."""
    plan = plan_repetitions(make_basis(), COSTS, HALF_WIDTH)
    assert "randomise_builds = true" not in list_replication(NOTES, plan)
    assert "randomise_builds = true" in list_replication(replace(NOTES, randomise_builds=True), plan)


@pytest.mark.parametrize(
    "basis",
    [make_basis(build=1e-9), make_basis(build=None, execution=1e-9), make_basis(build=0.0, execution=0.0)],
    ids=["builds", "executions", "nothing above measurements"],
)
@pytest.mark.parametrize("goal", [PlanGoal("half_width", 3.0), PlanGoal("detect", 9.0)], ids=["width", "two"])
def test_the_rule_to_paste_has_room_for_the_rounds_that_it_needs(basis: PlanBasis, goal: PlanGoal) -> None:
    """Also where the plan is smaller than the fewest rounds that a rule stops after."""
    plan = plan_repetitions(basis, COSTS, goal)
    lines = [line.removeprefix("# ") for line in list_replication(NOTES, plan) if "or grow" not in line]
    packages = ["one"] if goal.kind == "half_width" else ["one", "two"]
    text = '[experiment]\nname = "pasted"\n' + "".join(
        f'[[package]]\nname = "{name}"\npath = "{name}"\n' for name in packages
    )
    experiment = parse_experiment(text + "\n".join(lines), name="experiment.toml")
    assert grow_replication(experiment, len(packages)).replicates >= FEWEST_ROUNDS


def test_counting_and_searching_agree_where_only_builds_are_free() -> None:
    bounds = PlanBounds(executions=(4, 4), measurements=(30, 30))
    planner = Planner(make_basis(), COSTS, bounds)
    for goal in (HALF_WIDTH, PlanGoal("time", 2000.0), PlanGoal("detect", 0.3)):
        counts = planner.find(goal)
        assert counts is not None
        assert counts[0] == planner.count_outer(4, 30, goal)


@pytest.mark.parametrize("goal", [HALF_WIDTH, PlanGoal("detect", 0.3)], ids=["width", "difference"])
def test_the_rule_to_paste_counts_the_trials_of_all_versions_that_are_planned(goal: PlanGoal) -> None:
    plan = plan_repetitions(make_basis(), COSTS, goal, versions=3)
    *_, said, _, most = list_replication(NOTES, plan)
    assert said.endswith("so many trials of all 3 versions:")
    assert 2 * plan.best.builds > FEWEST_ROUNDS
    assert most == f"# max_trials = {3 * 2 * plan.best.builds * plan.best.executions}"
