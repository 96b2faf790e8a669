"""What a plan rests on and where it is weak, in words."""

from __future__ import annotations

from datamill.analysis.random_effects.nested_data.nested_values import NestedValues
from datamill.analysis.random_effects.nested_data.within_executions import MeasurementOrder
from datamill.analysis.random_effects.variance_estimate import LEVELS, PLURALS, Level
from datamill.analysis.repetition.planner import Planner
from datamill.analysis.repetition.repetition_plan import PlanBasis, PlanGoal, PlannedRepetition
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.experiment.messages.numbers import format_figures, format_fixed

#: A pilot with fewer builds says little of how they vary.
_FEW = 5
#: What one of a level is of.
_WHOLES: dict[Level, str] = {"build": "version", "execution": "build", "measurement": "execution"}
_BELOW: dict[Level, str] = {"build": "executions", "execution": "measurements", "measurement": ""}


def list_notes(basis: PlanBasis, goal: PlanGoal, compared: int = 2) -> tuple[str, ...]:
    """What follows from variances of zero, levels that are not known, and several versions."""
    notes = []
    if basis.one_build:
        notes.append(
            f"{basis.one_build}, so that further ones bring nothing that executions do not: one build is "
            "planned, and executions are the independent observations; to sample chance in compilation write "
            "randomise_builds = true and measure a new pilot"
        )
    known = [level for level in LEVELS if level in basis.components]
    if all(basis.components[level] == 0 for level in known):
        return (
            *notes,
            "nothing varies here, so that the least there can be suffices as far as these variances tell; a "
            "response that never varies may be rounded, or read from a constant",
        )
    for level in known:
        if basis.components[level] > 0:
            continue
        if level == known[-1]:
            if len(known) > 1:
                notes.append(
                    f"{PLURALS[level]} do not vary: one is enough, and its optimum number is the least"
                )
            continue
        found = f"no variance between {PLURALS[level]} was found beyond what {_BELOW[level]} explain"
        if level == known[0]:
            notes.append(
                f"{found}: more of these serve as well, and {PLURALS[level]} are as few as Student's t "
                "makes worth while"
            )
        else:
            notes.append(f"{found}: it is cheaper to repeat {_BELOW[level]} than {PLURALS[level]}")
    for level in LEVELS:
        outermost = level == _outermost(basis) or (level == "build" and basis.one_build)
        if level not in basis.components and level in basis.unknown and not outermost:
            notes.append(f"{PLURALS[level]} are not planned, and stay at one each: {basis.unknown[level]}")
    if goal.kind == "detect":
        notes.append(
            "both versions are taken to vary alike, and to be compared as `compare` does it, by Welch's test "
            f"of {f'{basis.top} means' if basis.top != 'measurement' else 'measurements'}"
        )
        if compared > 2:
            notes.append(
                f"the {compared} versions make {compared - 1} comparisons with one baseline, and `compare` "
                f"holds these together: each is judged at alpha {format_figures(goal.alpha, 2)}"
            )
    return tuple(notes)


def _outermost(basis: PlanBasis) -> Level | None:
    """The level above the top that a warning speaks of."""
    return None if basis.top == "build" else LEVELS[LEVELS.index(basis.top) - 1]


def list_warnings(basis: PlanBasis, best: PlannedRepetition) -> tuple[str, ...]:
    """Where the plan is weak."""
    warnings = []
    if basis.one_build and basis.top == "execution":
        # There is no other build that the plan could be too small for.
        pass
    elif basis.top != "build":
        higher = _outermost(basis)
        assert higher is not None
        warnings.append(
            f"with one {higher} nothing is known of how {PLURALS[higher]} differ: the plan is for this "
            f"{higher} only, and may be far too small for the {_WHOLES[higher]}. Measure a pilot of "
            f"{_FEW} {PLURALS[higher]} or more, then plan again"
        )
    elif 0 < basis.builds < _FEW:
        warnings.append(
            f"{basis.builds} builds say little of how builds vary: take the upper end of the range, or "
            f"measure a pilot of {_FEW} builds or more"
        )
    top = {"build": best.builds, "execution": best.executions, "measurement": best.measurements}[basis.top]
    if top < _FEW and any(value > 0 for value in basis.components.values()):
        warnings.append(
            f"an interval of {top} {PLURALS[basis.top]} rests on their means being normal, and by chance "
            "comes out much wider or narrower than predicted"
        )
    return tuple(warnings)


def list_pilot_warnings(nested: NestedValues, order: MeasurementOrder) -> tuple[str, ...]:
    """What the pilot's own values say against planning with them."""
    warnings = []
    if not nested.balanced:
        warnings.append(
            "the pilot is not balanced: executions and measurements count as their effective numbers, and "
            "the plan's range is approximate"
        )
    if order.trend is not None:
        enough = "" if order.trend.settles is None else f"; {order.trend.settles} would do"
        warnings.append(
            f"in the pilot the first {order.trend.first} measurements of an execution differ from the later "
            f"ones: its warm-up is too short{enough}. Measure it again with more, then plan"
        )
    if order.autocorrelation is not None:
        correlation = format_fixed(order.autocorrelation, 2)
        warnings.append(
            f"neighbouring measurements of an execution are alike (autocorrelation {correlation}): where the "
            "plan changes their number, more of them bring less than it counts on"
            if order.autocorrelation > 0
            else f"neighbouring measurements of an execution alternate (autocorrelation {correlation}): "
            "where the plan changes their number, it counts on less than more of them bring"
        )
    return tuple(warnings)


def refuse_goal(planner: Planner, goal: PlanGoal) -> InputError:
    """Say why no plan reaches the goal, and how far the bounds get."""
    levels = planner.levels
    if goal.kind == "time":
        least = planner.describe((levels.outer[0], levels.middle[0], levels.inner[0]), goal)
        return InputError(
            f"the time is too short: {_spell(least)} take {format_figures(least.time, 4)} in the unit of "
            "the costs, "
            f"seconds or, with {argument('costs')}, operations",
            where=argument("time"),
            remedy="Give more time, or allow fewer of them.",
        )
    most = planner.describe((levels.outer[1], levels.middle[1], levels.inner[1]), goal)
    reached = (
        f"the half-width is still {format_figures(most.half_width, 4)}"
        if goal.kind == "half_width"
        else f"the power is still {format_figures(most.power)}"
        if most.power is not None
        else "there is no test"
    )
    return InputError(
        f"no plan within bounds reaches this: with {_spell(most)} {reached}",
        where=argument(goal.kind),
        remedy=f"Ask for less, or allow more by {argument('builds')}, {argument('executions')}, "
        f"{argument('measurements')}.",
    )


def _spell(planned: PlannedRepetition) -> str:
    parts = (
        (planned.builds, "build"),
        (planned.executions, "execution"),
        (planned.measurements, "measurement"),
    )
    return " × ".join(f"{count} {name}{'' if count == 1 else 's'}" for count, name in parts)
