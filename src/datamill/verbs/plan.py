"""`plan`: how many builds, executions and measurements a result takes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Unpack

from datamill.analysis.random_effects.nested_data.nested_values import NestedValues
from datamill.analysis.random_effects.nested_data.within_executions import check_measurement_order
from datamill.analysis.random_effects.variance import estimate_variances
from datamill.analysis.random_effects.variance_estimate import LEVELS
from datamill.analysis.repetition.notes import list_pilot_warnings
from datamill.analysis.repetition.plan import plan_repetitions, take_basis, trace_widths
from datamill.analysis.repetition.repetition_plan import PlanBasis, PlanBounds, RepetitionPlan
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument, tell
from datamill.experiment.messages.numbers import format_figures, format_given
from datamill.report.figures.figure import Figure
from datamill.report.plan.figures import draw_widths
from datamill.report.plan.json import spell_plan
from datamill.report.plan.statement import PlanNotes, phrase_plan, state_plan
from datamill.report.tables.statement import Part
from datamill.results.bundles.opening import open_bundle
from datamill.results.judgement.costs import RepetitionCosts, measure_costs
from datamill.results.judgement.replication_warnings import find_identical_builds
from datamill.verbs.analyses.analysis import Analysis
from datamill.verbs.false_alarms import choose_version
from datamill.verbs.inputs.arguments import take_alpha, take_confidence, take_name, take_seed
from datamill.verbs.inputs.data import locate_errors
from datamill.verbs.inputs.hypothesis_goal import find_hypothesis_goal
from datamill.verbs.inputs.nested_data import AskedNested, NestedData, build_nesting_columns, read_nested
from datamill.verbs.inputs.plan_arguments import (
    TIME_UNITS,
    AskedGoal,
    take_bounds,
    take_duration,
    take_goal,
    take_paper_costs,
    take_variances,
)

_COST_OPTIONS = (
    f"{argument('build_time')}, {argument('execution_time')} and {argument('measurement_time')} "
    f"(or {argument('costs', 'b=…,w=…,q=…')})"
)


@dataclass(frozen=True, slots=True, eq=False)
class Repetitions(Analysis):
    """How often to repeat what, with its alternatives."""

    notes: PlanNotes
    plan: RepetitionPlan
    bounds: PlanBounds
    hypothesis: str = ""

    @property
    def title(self) -> str:
        """What is planned."""
        of = f" of {self.notes.version}" if self.notes.version else ""
        return f"Plan for {self.notes.response}{of}"

    @property
    def lead(self) -> tuple[str, ...]:
        """How often to repeat what, and what that brings."""
        planned = phrase_plan(self.notes, self.plan)
        return (self.hypothesis, planned) if self.hypothesis else (planned,)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What limits the plan."""
        return self.plan.warnings

    def statement(self, *, verbose: bool = False) -> tuple[Part, ...]:
        """The plan, its alternatives, and lines to paste; `verbose`: the paper's symbols and optimum."""
        planned = state_plan(self.notes, self.plan, verbose=verbose)
        return (self.hypothesis, *planned) if self.hypothesis else planned

    def numbers(self) -> dict[str, Any]:
        """The same with every digit."""
        numbers = spell_plan(self.notes, self.plan)
        return {"hypothesis": self.hypothesis, **numbers} if self.hypothesis else numbers

    def drawings(self) -> tuple[Callable[[], Figure], ...]:
        """The picture of interval width against time."""
        return (self._draw_widths,)

    def _draw_widths(self) -> Figure:
        return draw_widths(self.notes, self.plan, trace_widths(self.plan, self.bounds))


@dataclass(frozen=True, slots=True)
class _AskedCosts:
    """Costs as far as they are given: in seconds by kind, or the paper's b, w and q."""

    seconds: dict[str, float]
    paper: tuple[float, float, float] | None


@dataclass(frozen=True, slots=True, eq=False)
class _Pilot:
    """What the data say: variances, and where they and the costs come from."""

    basis: PlanBasis
    response: str
    unit: str
    version: str
    variances: str
    read: NestedData | None = None
    doubts: tuple[str, ...] = ()


def plan(
    data: Any = None,
    *,
    half_width: str | float | None = None,
    time: str | float | None = None,
    detect: str | float | None = None,
    hypothesis: str | None = None,
    alpha: float = 0.05,
    power: float = 0.9,
    assurance: str | float | None = None,
    only: str = "",
    confidence: float | None = None,
    variances: str | Sequence[float | None] | None = None,
    mean: float | None = None,
    build_time: str | float | None = None,
    execution_time: str | float | None = None,
    measurement_time: str | float | None = None,
    costs: str | None = None,
    builds: Any = None,
    executions: Any = None,
    measurements: Any = None,
    seed: int = 1,
    **asked: Unpack[AskedNested],
) -> Repetitions:
    """Plan how many builds, executions and measurements a result takes (EPEW 2006, section 3.3).

    `data` is a pilot: a bundle, or a table with one row for each measurement and columns version, build,
    execution and value. Without it `variances` are those between builds, executions and measurements, in the
    unit squared, and `mean` the mean. Goals: a `half_width` of the interval, relative (`"1%"`) or in the
    unit; the narrowest in a `time` (seconds, or `"2h"`); a difference between two versions to `detect` with
    `power` at `alpha`; a `hypothesis` about two versions of the pilot, such as `"a lower than b"`,
    to be shown with `power`, one-sided at `alpha`, if its means are the true ones. `assurance` is how
    sure the plan is to be to suffice, such as `"80%"`, given how little a pilot shows about the variances;
    without it its estimates are taken as they are. Times that a
    bundle has measured need not be given; `costs` are the paper's, such as `"b=5000,w=100,q=1"`. `builds`,
    `executions`, `measurements` bound the search: a number or `"5:30"`.

    Raises:
        InputError: something is missing or cannot be, or no plan reaches the goal; says what to do.
    """
    confidence, seed, alpha = take_confidence(confidence), take_seed(seed), take_alpha(alpha)
    goal = take_goal(half_width, time, detect, alpha, power, assurance, hypothesis=hypothesis)
    bounds = take_bounds(builds, executions, measurements)
    asked_costs = _take_costs(
        {"build": build_time, "execution": execution_time, "measurement": measurement_time}, costs
    )
    columns = build_nesting_columns(asked, plan)
    if (data is None) == (variances is None or variances == ""):
        raise InputError(
            f"a plan needs variances: from DATA, or by {argument('variances')}"
            if data is None
            else f"{argument('variances')} takes the place of DATA",
            remedy="Give one of both.",
        )
    if hypothesis and data is None:
        raise InputError(
            "a plan for a hypothesis needs the means of both versions", remedy="Name a pilot as DATA."
        )
    shown = None
    if data is None:
        pilot = _take_variances(variances, mean, columns.response, columns.unit)
        level = confidence or 0.95
    else:
        if mean is not None:
            raise InputError(
                f"{argument('mean')} goes with {argument('variances')}; DATA have a mean",
                remedy="Leave it out.",
            )
        read = read_nested(data, columns)
        level = read.choose_confidence(confidence)
        with locate_errors(read.source):
            pilot = _estimate(read, take_name("only", only), level, seed)
            if hypothesis:
                shown = find_hypothesis_goal(hypothesis, read, alpha, float(power))
                goal = take_goal(None, None, shown.detect, shown.alpha, shown.power, assurance)
    found, timed = _find_costs(data, pilot, asked_costs, goal)
    with locate_errors(pilot.read.source if pilot.read else ""):
        planned = plan_repetitions(
            pilot.basis,
            found,
            goal.resolve(pilot.basis.mean, level),
            bounds,
            operation_s=_find_operation(pilot) if timed else 1.0 if asked_costs.paper else None,
            versions=len(pilot.read.versions) if pilot.read and pilot.read.experiment else 1,
            compared=len(pilot.read.versions) if pilot.read else 2,
            doubts=pilot.doubts,
            seed=seed,
        )
    return Repetitions(_note_pilot(pilot, timed), planned, bounds, "" if shown is None else shown.sentence)


def _take_costs(times: Mapping[str, str | float | None], paper: str | None) -> _AskedCosts:
    """Costs by kind, or the paper's; raises InputError where both are given."""
    asked = _AskedCosts(
        {
            name: take_duration(f"{name}_time", value)[0]
            for name, value in times.items()
            if value is not None and value != ""
        },
        take_paper_costs(paper) if paper else None,
    )
    if asked.paper and asked.seconds:
        raise InputError(
            f"{argument('costs')} says in the paper's units what {argument('build_time')} and its like "
            "say in "
            "seconds",
            remedy="Give one of both.",
        )
    return asked


def _note_pilot(pilot: _Pilot, timed: bool) -> PlanNotes:
    """What the plan is about; of a bundle, with what its experiment says of repetition."""
    experiment = pilot.read.experiment if pilot.read else None
    replication = experiment.replication if experiment else None
    return PlanNotes(
        response=pilot.response,
        unit=pilot.unit,
        version=pilot.version,
        timed=timed,
        variances=pilot.variances,
        excluded=pilot.read.excluded if pilot.read else 0,
        put_aside=pilot.read.put_aside if pilot.read else (),
        warmup=replication.warmup if replication else 0,
        measurements=replication.measurements if replication else 0,
        randomise_builds=replication.randomise_builds if replication else False,
    )


def _take_variances(variances: object, mean: float | None, response: str, unit: str) -> _Pilot:
    known = take_variances(variances)
    if mean is not None and (
        isinstance(mean, bool) or not isinstance(mean, (int, float)) or not math.isfinite(mean)
    ):
        raise InputError(
            f"mean is {mean!r}, no finite number",
            where=argument("mean"),
            remedy="Give the mean of the response.",
        )
    unknown = {level: "its variance was not given" for level in LEVELS if level not in known}
    basis = PlanBasis(known, unknown, mean, {})
    return _Pilot(basis, response or "the response", unit, "", "given, and taken as exact")


def _estimate(read: NestedData, only: str, confidence: float, seed: int) -> _Pilot:
    """Variances of the version asked for, or of the one that varies most."""
    versions = [choose_version(read.versions, only)] if only else list(read.versions)
    one_build = _find_identical_builds(read, versions)
    versions = [nested.pool_builds() if one_build[nested.version] else nested for nested in versions]
    estimates = [estimate_variances(nested, confidence, seed=seed) for nested in versions]

    def rank(index: int) -> float:
        estimate = estimates[index]
        basis = take_basis(estimate)
        square = estimate.mean_squares[basis.top]
        return square / estimate.mean.estimate**2 if estimate.mean.estimate else square

    chosen = max(range(len(versions)), key=rank)
    estimate, nested = estimates[chosen], versions[chosen]
    source = (
        f"estimated from {_count(estimate.builds, 'build')} × {_count(estimate.executions, 'execution')} × "
        f"{_count(estimate.measurements, 'measurement')}"
    )
    if len(versions) > 1:
        source += tell(
            f" of {nested.version}, which varies most of {len(versions)} versions "
            f"({argument('only')} names another)"
        )
    return _Pilot(
        replace(take_basis(estimate), one_build=one_build[nested.version]),
        nested.response,
        nested.unit,
        nested.version,
        source,
        read,
        (*read.notes, *list_pilot_warnings(nested, check_measurement_order(nested))),
    )


def _find_identical_builds(read: NestedData, versions: Sequence[NestedValues]) -> dict[str, str]:
    """How the builds of each version are known to be one and the same; empty where they may differ."""
    found: dict[str, str] = {}
    if read.experiment is not None and read.experiment.replication is not None:
        bundle = open_bundle(Path(read.source))
        records = bundle.read_records()
        found = find_identical_builds(bundle.design, bundle.list_standing(records))
    packages = [package.name for package in read.experiment.packages] if read.experiment else []
    only = packages[0] if len(packages) == 1 else ""
    return {
        nested.version: found.get(only or nested.version.split(", ")[0], "") if nested.build_count > 1 else ""
        for nested in versions
    }


def _count(number: float, name: str) -> str:
    return f"{format_figures(number, 4)} {name}{'' if number == 1 else 's'}"


def _find_operation(pilot: _Pilot) -> float | None:
    """Seconds that what is measured takes; None where the response is no time."""
    size = TIME_UNITS.get(pilot.unit)
    mean = pilot.basis.mean
    return mean * size if size and mean and mean > 0 else None


def _find_costs(
    data: Any, pilot: _Pilot, asked: _AskedCosts, goal: AskedGoal
) -> tuple[RepetitionCosts, bool]:
    """The costs, and whether they are seconds."""
    operation_s = _find_operation(pilot)
    if asked.paper is not None:
        b, w, q = asked.paper
        unit = operation_s or 1.0
        if operation_s is None and goal.time_in_seconds:
            raise InputError(
                "the paper's costs are multiples of what is measured, which is not a time here, nor seconds",
                where=argument("time"),
                remedy=f"Give {argument('time')} as a multiple too, or costs in seconds.",
            )
        source = f"given as b = {format_given(b)}, w = {format_given(w)}, q = {format_given(q)}"
        found = RepetitionCosts(b * unit, w * q * unit, q * unit, source)
        return found, operation_s is not None
    seconds = dict(asked.seconds)
    if "measurement" not in pilot.basis.components:
        # An execution is one measurement: what that takes is part of what the execution takes.
        seconds.setdefault("measurement", 0.0)
    source = "given"
    missing = [name for name in LEVELS if name not in seconds]
    if missing and isinstance(data, (str, Path)) and Path(data).is_dir():
        bundle = open_bundle(Path(data))
        packages = [package.name for package in bundle.experiment.packages]
        package = next((name for name in packages if name == pilot.version.split(", ")[0]), "")
        measured = measure_costs(
            bundle.read_records(),
            bundle.design,
            package=package,
            measurements=max(pilot.basis.measurements, 1.0),
            measured_s=seconds.get("measurement", operation_s),
        )
        source = measured.source if not asked.seconds else f"{measured.source}; others as given"
        for name in missing:
            seconds[name] = getattr(measured, f"{name}_s")
        missing = []
    if missing == ["measurement"] and operation_s is not None:
        seconds["measurement"] = operation_s
        source = "given; a measurement is taken to cost the time that it measures"
        missing = []
    if missing:
        raise InputError(
            f"nothing tells what one more of these takes: {', '.join(missing)}",
            remedy=f"Give {_COST_OPTIONS}.",
        )
    return (
        RepetitionCosts(seconds["build"], seconds["execution"], seconds["measurement"], source),
        True,
    )
