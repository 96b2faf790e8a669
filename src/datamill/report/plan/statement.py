"""A plan of repetitions: one sentence, the plan beside its alternatives, lines to paste."""

from __future__ import annotations

import math
from dataclasses import dataclass

from datamill.analysis.random_effects.variance_estimate import LEVELS, PLURALS
from datamill.analysis.repetition.repetition_plan import SURER, PlannedRepetition, RepetitionPlan
from datamill.design.batches import FEWEST_ROUNDS
from datamill.experiment.messages.arguments import argument, tell
from datamill.experiment.messages.numbers import (
    format_count,
    format_figures,
    format_fixed,
    format_given,
    format_level,
)
from datamill.experiment.messages.phrases import finish_sentence
from datamill.experiment.quantities import format_duration
from datamill.report.tables.left_out import list_left_out
from datamill.report.tables.statement import BLANK, Code, Paragraph, Part
from datamill.report.tables.table import Table, build_table
from datamill.report.words.scales import choose_scale


@dataclass(frozen=True, slots=True)
class PlanNotes:
    """What a plan is about.

    `timed`: costs are seconds; otherwise multiples of a measured operation. `variances` says where they come
    from; `warmup` and `measurements` are those of the pilot's experiment, 0 if it says nothing of them, and
    `randomise_builds` whether it drew what may differ between builds. `put_aside` counts rows that are no
    observations, by what they are.
    """

    response: str
    unit: str
    version: str
    timed: bool
    variances: str
    excluded: int = 0
    warmup: int = 0
    measurements: int = 0
    randomise_builds: bool = False
    put_aside: tuple[tuple[str, int], ...] = ()


def state_plan(notes: PlanNotes, plan: RepetitionPlan, *, verbose: bool = False) -> tuple[Part, ...]:
    """State a plan; it begins with the answer.

    `verbose` adds variances by the paper's symbols and its optimum over real numbers.
    """
    texts = [_phrase_variances(notes, plan, verbose=verbose)]
    if verbose:
        texts.append(_phrase_optimum(plan))
    texts.append(_phrase_costs(notes, plan))
    texts.append(
        "The half-width is the one to expect (root mean square) of Student's interval with "
        f"{PLURALS[plan.basis.top]} as the independent observations. Method: exact search over all whole "
        f"numbers.{_phrase_method(plan)}"
    )
    limits = [*map(finish_sentence, plan.notes), *(f"Warning: {warning}." for warning in plan.warnings)]
    parts: list[Part] = [
        Paragraph(phrase_plan(notes, plan)),
        BLANK,
        _tabulate(notes, plan),
        BLANK,
        *(Paragraph(text, "  ") for text in texts),
        *list_left_out(notes.excluded, notes.put_aside),
        *(Paragraph(text, "  ") for text in limits),
        BLANK,
        Paragraph("To use the plan, write into the experiment file:"),
        BLANK,
        Code(tuple(list_replication(notes, plan))),
    ]
    return tuple(parts)


def phrase_plan(notes: PlanNotes, plan: RepetitionPlan) -> str:
    """One sentence: how often to repeat what, what that brings and takes, and how sure that is."""
    text = {"time": _phrase_time, "half_width": _phrase_half_width, "detect": _phrase_detection}[
        plan.goal.kind
    ](notes, plan)
    if plan.sure is not None:
        text = f"{text} {_phrase_assurance(plan, plan.sure)}"
    if plan.basis.top == "build" or (plan.basis.one_build and plan.basis.top == "execution"):
        return text
    one = "build" if plan.basis.top == "execution" else "execution"
    return f"For this one {one} alone: {text}"


def _phrase_time(notes: PlanNotes, plan: RepetitionPlan) -> str:
    text = (
        f"within {spell_time(notes, plan.goal.value)}{_name_versions(plan)}, {spell_counts(plan.best)}"
        f"{' of each' if plan.versions > 1 else ''} give the narrowest "
        f"{format_level(plan.goal.confidence)} interval of the mean of {_name(notes)}: "
        f"{spell_width(notes, plan, plan.best.half_width)}"
    )
    if plan.low is not None and plan.high is not None:
        text += (
            f" ({spell_width(notes, plan, plan.low)} to {spell_width(notes, plan, plan.high)}, as the "
            "pilot's variances are themselves uncertain)"
        )
    return finish_sentence(text)


def _phrase_half_width(notes: PlanNotes, plan: RepetitionPlan) -> str:
    return (
        f"{spell_counts(plan.best)} make the {format_level(plan.goal.confidence)} interval of the mean of "
        f"{_name(notes)} {spell_width(notes, plan, plan.best.half_width)} in "
        f"{spell_time(notes, plan.best.time)}{_name_versions(plan)}{_phrase_range(plan)}."
    )


def _name_versions(plan: RepetitionPlan) -> str:
    """Which versions a time is for."""
    if plan.versions == 1:
        return ""
    return " for both versions" if plan.versions == 2 else f" for all {plan.versions} versions"


def _phrase_assurance(plan: RepetitionPlan, sure: float) -> str:
    """How sure the plan is to suffice, and what would be surer."""
    text = f"It is {format_fixed(100 * sure, 0)}% sure to suffice, judging by the pilot"
    if plan.surer is None:
        return text + "."
    top = plan.basis.top
    more = {"build": plan.surer.builds, "execution": plan.surer.executions}.get(top, plan.surer.measurements)
    return tell(
        f"{text}; {format_count(more)} {PLURALS[top]} are {format_fixed(100 * SURER, 0)}% sure "
        f"({argument('assurance', f'{100 * SURER:.0f}%')})."
    )


def _phrase_detection(notes: PlanNotes, plan: RepetitionPlan) -> str:
    goal = plan.goal
    return (
        f"To see a difference of {spell_size(notes, plan, goal.value)} in the mean of {_name(notes)} with "
        f"power {format_figures(100 * goal.power)}% at alpha {format_given(goal.alpha)}, each of two "
        "versions takes "
        f"{spell_counts(plan.best)}, {spell_time(notes, plan.best.time)}{_name_versions(plan)}"
        f"{_phrase_range(plan)}."
    )


def _name(notes: PlanNotes) -> str:
    return f"{notes.response} of {notes.version}" if notes.version else notes.response


def _phrase_range(plan: RepetitionPlan) -> str:
    if plan.low is None or plan.high is None:
        return ""
    low, high = (
        format_fixed(end, 0) if math.isfinite(end) else "more than is allowed"
        for end in (plan.low, plan.high)
    )
    if low == high:
        return ""
    return f"; {low} to {high} {PLURALS[plan.basis.top]}, as the pilot's variances are themselves uncertain"


def spell_counts(planned: PlannedRepetition) -> str:
    """`14 builds × 5 executions × 20 measurements`."""
    counts = (
        ("build", planned.builds),
        ("execution", planned.executions),
        ("measurement", planned.measurements),
    )
    return " × ".join(f"{format_count(count)} {name}{'s' if count != 1 else ''}" for name, count in counts)


def spell_time(notes: PlanNotes, time: float) -> str:
    """A duration, or a multiple of a measured operation."""
    return format_duration(time) if notes.timed else f"{format_count(round(time))} operations"


def spell_width(notes: PlanNotes, plan: RepetitionPlan, half_width: float) -> str:
    """A half-width as `spell_size`, such as `±1% (0.1 ms)`."""
    return f"±{spell_size(notes, plan, half_width)}"


def _spell_short(notes: PlanNotes, plan: RepetitionPlan, half_width: float) -> str:
    """A half-width in percent of the mean, in the unit where that is not known; rows differ by little."""
    if not plan.basis.mean or not math.isfinite(half_width):
        return spell_width(notes, plan, half_width)
    return f"±{format_figures(100 * half_width / abs(plan.basis.mean), 4)}%"


def spell_size(notes: PlanNotes, plan: RepetitionPlan, size: float) -> str:
    """A half-width or difference in percent of the mean and in the unit, as far as known."""
    if not math.isfinite(size):
        return "unbounded"
    scale = choose_scale(notes.unit, size)
    absolute = f"{format_figures(size * scale.factor)} {scale.unit}".strip()
    if not plan.basis.mean:
        return absolute
    return f"{format_figures(100 * size / abs(plan.basis.mean))}% ({absolute})"


def _tabulate(notes: PlanNotes, plan: RepetitionPlan) -> Table:
    detect = plan.goal.kind == "detect"
    heads = ("", "builds", "executions", "measurements", "time", "half-width")
    rows: list[tuple[str, ...]] = []
    listed: list[tuple[str, PlannedRepetition | None]] = [("plan", plan.best)]
    listed += [(item.label, item.repetition) for item in plan.alternatives]
    for label, item in listed:
        if item is None:
            rows.append((label, *("-",) * 3, "never", "-", *(("-",) if detect else ())))
            continue
        power = ("-" if item.power is None else f"{format_fixed(100 * item.power, 1)}%",) if detect else ()
        rows.append(
            (
                label,
                *(format_count(count) for count in (item.builds, item.executions, item.measurements)),
                spell_time(notes, item.time),
                _spell_short(notes, plan, item.half_width),
                *power,
            )
        )
    return build_table((*heads, *(("power",) if detect else ())), rows)


def _phrase_variances(notes: PlanNotes, plan: RepetitionPlan, *, verbose: bool) -> str:
    """Variances of the levels with the paper's symbols, or what is read of them: standard deviations."""
    parts = []
    for level, symbol in zip(LEVELS, ("σ²_V", "σ²_B", "σ²_E"), strict=True):
        value = plan.basis.components.get(level)
        if not verbose:
            parts.append(f"{PLURALS[level]} {'not known' if value is None else _spell_sd(notes, value)}")
            continue
        spelled = (
            "not known" if value is None else f"{format_figures(value, 4)} (sd {_spell_sd(notes, value)})"
        )
        parts.append(f"{PLURALS[level]} ({symbol}) {spelled}")
    if not verbose:
        return f"Standard deviations between {', '.join(parts)}: {notes.variances}."
    unit = f" in {notes.unit} squared" if notes.unit else ""
    return f"Variances between {', '.join(parts)}{unit}: {notes.variances}."


def _spell_sd(notes: PlanNotes, variance: float) -> str:
    scale = choose_scale(notes.unit, math.sqrt(variance))
    return f"{format_figures(math.sqrt(variance) * scale.factor)} {scale.unit}".strip()


def _phrase_optimum(plan: RepetitionPlan) -> str:
    """m₀ and n₀ of the paper, and its units of cost."""
    optimum = plan.optimum
    parts = [
        f"{name} = {'∞' if math.isinf(value) else f'{format_figures(value)}'} {what}"
        for name, value, what in (
            ("m₀", optimum.executions, "executions of a build"),
            ("n₀", optimum.measurements, "measurements of an execution"),
        )
        if value is not None
    ]
    if not parts:
        return ""
    text = (
        "Optimum over real numbers (EPEW 2006, equations 21 and 23, with variances from which chance of the "
        f"levels below was taken off, where the paper has mean squares): {', '.join(parts)}"
    )
    if optimum.w is not None and optimum.b is not None and optimum.q is not None:
        pairs = (("w", optimum.w), ("b", optimum.b), ("q", optimum.q))
        spelled = ", ".join(f"{name} = {_spell_cost(cost)}" for name, cost in pairs)
        text += f"; costs in the paper's units: {spelled}"
    return text + "."


def _spell_cost(cost: float) -> str:
    return format_count(round(cost)) if cost >= 100 else format_figures(cost)


def _phrase_method(plan: RepetitionPlan) -> str:
    """How the range was found."""
    if plan.low is None:
        return ""
    held = (
        "for this plan"
        if plan.goal.kind == "time"
        else f"with the plan's other numbers held, {format_level(plan.goal.confidence)}"
    )
    return f" The range ({held}) is that of chi-square draws of the pilot's mean squares."


def _phrase_costs(notes: PlanNotes, plan: RepetitionPlan) -> str:
    costs = plan.costs
    spelled = (
        [_spell_seconds(cost) for cost in (costs.build_s, costs.execution_s, costs.measurement_s)]
        if notes.timed
        else [_spell_cost(cost) for cost in (costs.build_s, costs.execution_s, costs.measurement_s)]
    )
    unit = "" if notes.timed else " (in measured operations)"
    return (
        f"Costs{unit}: {spelled[0]} for a build, {spelled[1]} for an execution without its measurements, "
        f"{spelled[2]} for a measurement; {costs.source}."
    )


def _spell_seconds(seconds: float) -> str:
    if seconds == 0 or seconds >= 1:
        return format_duration(seconds) if seconds else "0 s"
    scale = choose_scale("s", seconds)
    return f"{format_figures(seconds * scale.factor)} {scale.unit}"


def list_replication(notes: PlanNotes, plan: RepetitionPlan) -> list[str]:
    """Lines of `[replication]` for an experiment file."""
    best = plan.best
    lines = ["[replication]", f"builds = {best.builds}", f"executions = {best.executions}"]
    # A response with one value of an execution does not tell how many measurements make it: as in the pilot.
    measurements = best.measurements if "measurement" in plan.basis.components else notes.measurements
    if measurements:
        lines.append(f"measurements = {measurements}")
        if notes.warmup:
            lines.append(f"warmup = {notes.warmup}")
    if notes.randomise_builds:
        lines.append("randomise_builds = true")
    goal, mean = plan.goal, plan.basis.mean
    if goal.kind != "time" and mean:
        percent = f"{100 * goal.value / abs(mean):.3g}%"
        rule = (
            f'half_width = "{percent}", confidence = {goal.confidence:g}'
            if goal.kind == "half_width"
            else f'detect = "{percent}", alpha = {goal.alpha:g}, power = {goal.power:g}'
        )
        of = {1: " of a package", 2: " of both versions"}.get(
            plan.versions, f" of all {plan.versions} versions"
        )
        lines += [f"# or grow it until it suffices, at the latest after so many trials{of}:"]
        # A round is one build with all its executions or, of one build, one execution.
        rounds, each = (best.builds, best.executions) if best.builds > 1 else (best.executions, 1)
        most = plan.versions * max(2 * rounds, FEWEST_ROUNDS) * each
        lines += [f"# until = {{ {rule} }}", f"# max_trials = {most}"]
    return lines
