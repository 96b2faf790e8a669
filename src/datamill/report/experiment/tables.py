"""Tables of the report page, as text cells ready to print."""

from __future__ import annotations

from collections.abc import Sequence

from datamill.analysis.answer.left_out import Exclusion, PutAside
from datamill.analysis.answer.machines.machine_by_machine import RELATIVE_UNIT
from datamill.analysis.answer.response import ResponseAnalysis
from datamill.analysis.answer.term_influence import TermInfluence
from datamill.analysis.interval import Interval
from datamill.analysis.linear.linear_model import LinearModel
from datamill.analysis.model_data.coding import Term
from datamill.design.design import Design
from datamill.design.machines import MACHINE_FACTOR
from datamill.design.nuisance import phrase_treatment
from datamill.experiment.experiment import Experiment
from datamill.experiment.messages.numbers import (
    count_decimals,
    format_count,
    format_figures,
    format_fixed,
    format_level,
    format_p,
    format_share,
)
from datamill.experiment.quantities import format_size
from datamill.report.anova.scale import name_square
from datamill.report.anova.sections import format_square
from datamill.report.tables.table import Table, build_table
from datamill.report.words.scales import Scale, round_interval
from datamill.results.bundles.trial_summary import TrialSummary

#: Reasons for exclusion that the page lists.
_MOST_REASONS = 20


def _spell_departure(percent: Interval | None, departure: Interval, scale: Scale) -> str:
    """A departure in percent, or in the response's unit where percentages make no sense."""
    value, factor, unit = (percent, 1.0, "%") if percent is not None else (departure, scale.factor, "")
    return round_interval(value, factor, signed=True).phrase(unit or f" {scale.unit}".rstrip())


def tabulate_packages(analysis: ResponseAnalysis, scale: Scale) -> Table:
    """Mean with interval, and five-number summary, of each package."""
    means = {}
    if analysis.comparison is not None:
        means = {mean.package: mean for mean in analysis.comparison.means}
    elif analysis.mean is not None:
        means = {f"all {analysis.observations.units}": analysis.mean}
    unit = f" ({scale.unit})" if scale.unit else ""
    rows = []
    for group in analysis.boxes:
        box, name = group.summary, group.name
        if analysis.package_factor is None:
            name = f"all {analysis.observations.units}"
        spread = (box.high_quartile - box.low_quartile) * scale.factor
        decimals = count_decimals(spread)
        mean, bounds, n = "–", "–", box.n
        if name in means:
            found = means[name]
            shown, n = round_interval(found.value, scale.factor), found.n
            # Values that never varied have no interval, however it is computed.
            mean, bounds = shown.estimate, "–" if found.value.low == found.value.high else shown.ends
        quartiles = [
            format_fixed(value * scale.factor, decimals)
            for value in (box.low_quartile, box.median, box.high_quartile)
        ]
        rows.append((name, format_count(n), mean, bounds, *quartiles))
    headers = (
        "package" if analysis.package_factor is not None else "",
        "n",
        f"mean{unit}",
        f"{format_level(analysis.confidence)} interval",
        "lower quartile",
        "median",
        "upper quartile",
    )
    return build_table(headers, tuple(rows))


def tabulate_terms(analysis: ResponseAnalysis, scale: Scale) -> Table | None:
    """Factors and interactions by share of the variation, each with its largest change between two levels.

    An interaction has what it adds to the separate effects of its factors, where that is largest.
    """
    if analysis.model is None or analysis.influence is None:
        return None
    model = analysis.model if analysis.blocked is None else analysis.blocked.model
    rows, strong = [], []
    for index, item in enumerate(analysis.influence.terms):
        if analysis.response.unit == RELATIVE_UNIT and _name_term(item.term, model) == MACHINE_FACTOR:
            taken_out = f"{MACHINE_FACTOR} (taken out: values are relative to it)"
            rows.append((taken_out, format_share(item.share), "", "", ""))
            continue
        if item.detected:
            strong.append(index)
        rows.append(
            (
                _name_term(item.term, model),
                format_share(item.share),
                format_p(item.p),
                *_spell_largest(item, analysis, scale),
            )
        )
    for row in (row for row in model.terms if row.block):
        label = f"{_name_term(row.term, model)} (order of the run)"
        rows.append((label, format_share(model.find_share(row)), "", "", ""))
    rows.append(("what chance leaves (error)", format_share(model.error_share), "", "", ""))
    headers = (
        "factor",
        "share of variation",
        "p (Welch, Holm)",
        f"largest change ({format_level(model.confidence)} interval)",
        "at",
    )
    return build_table(headers, tuple(rows), strong=tuple(strong))


def _spell_largest(item: TermInfluence, analysis: ResponseAnalysis, scale: Scale) -> tuple[str, str]:
    """The largest change that a term is answerable for, and where."""
    if len(item.term.factors) > 1:
        if item.p is None:
            return "–", ""
        beyond = _spell_departure(item.largest_percent, item.largest, scale)
        return f"{beyond} beyond separate effects", ", ".join(item.levels)
    name = analysis.observations.cells.factors[item.term.factors[0]].name
    largest, groups = analysis.find_largest_change(name)
    if largest is None:
        return "–", ""
    pair = largest.pair
    percent = None if pair.ratio is None else pair.ratio.to_percent()
    who = f" ({largest.group})" if groups > 1 else ""
    shown = "–" if pair.p is None else _spell_departure(percent, pair.difference, scale)
    return shown, f"{pair.package} against {pair.baseline}{who}"


def tabulate_anova(analysis: ResponseAnalysis, scale: Scale) -> Table | None:
    """The classical analysis of variance, in the order of the model's terms; squares in the scale's unit."""
    model = analysis.model if analysis.blocked is None else analysis.blocked.model
    if model is None:
        return None
    square = scale.factor**2
    unit = f" in {name_square(scale.unit)}" if scale.unit else ""
    rows = [
        (
            _name_term(row.term, model),
            format_square(row.sum_sq * square),
            str(row.term.df),
            format_square(row.mean_sq * square),
            "–" if row.f is None else format_figures(row.f, 4),
            format_p(row.p),
            "–" if partial is None else format_fixed(partial, 3),
        )
        for row, partial in ((row, model.find_partial_share(row)) for row in model.terms)
    ]
    error = (
        format_square(model.error_ss * square),
        str(model.error_df),
        format_square(model.error_ms * square),
    )
    rows.append(("error", *error, "", "", ""))
    rows.append(("total", format_square(model.total_ss * square), str(model.n - 1), "", "", "", ""))
    headers = ("factor", f"sum of squares{unit}", "df", f"mean square{unit}", "F", "p", "partial η²")
    return build_table(headers, tuple(rows))


def _name_term(term: Term, model: LinearModel) -> str:
    return " × ".join(model.factors[index].name for index in term.factors)


def tabulate_trials(trials: TrialSummary) -> Table:
    """Counts of trials by outcome."""
    counts = (
        ("needed" if trials.not_needed else "planned", trials.planned),
        ("completed", trials.completed),
        ("of these excluded", trials.excluded),
        ("failed", trials.failed),
        ("timed out", trials.timed_out),
        ("lost", trials.lost),
        ("not yet run", trials.not_run),
        *([("planned, not needed", trials.not_needed)] if trials.not_needed else []),
    )
    return build_table(("outcome", "trials"), tuple((name, format_count(count)) for name, count in counts))


def tabulate_exclusions(exclusions: Sequence[Exclusion]) -> Table | None:
    """Observations left out, by response and reason; None without any."""
    if not exclusions:
        return None
    rows = [
        (item.response, item.reason, format_count(item.observations)) for item in exclusions[:_MOST_REASONS]
    ]
    if len(exclusions) > _MOST_REASONS:
        rest = sum(item.observations for item in exclusions[_MOST_REASONS:])
        rows.append(("", f"{len(exclusions) - _MOST_REASONS} further reasons", format_count(rest)))
    return build_table(("response", "reason", "observations"), tuple(rows), words=2)


def list_put_aside(found: PutAside) -> tuple[str, ...]:
    """What is no part of the answers because that is the plan, such as `1,000 measurements to warm up`."""
    counts = (
        (found.warm_ups, "measurements to warm up"),
        (found.calibrations, "trials that show what a measurement costs"),
        (found.references, "reference trials"),
    )
    return tuple(f"{format_count(count)} {words}" for count, words in counts if count)


def tabulate_factors(design: Design) -> Table:
    """Factors with their levels in the design and how many there were to choose from."""
    rows = tuple(
        (
            factor.name,
            ", ".join(factor.levels),
            "varied" if len(factor.levels) > 1 else "fixed",
            "yes" if factor.build else "no",
            f"{len(factor.levels)} of {factor.available}",
        )
        for factor in design.crossed
    )
    return build_table(("factor", "levels", "in this experiment", "new build", "levels used"), rows, words=4)


def tabulate_nuisances(design: Design) -> Table | None:
    """Hidden factors that were fixed or drawn, with the levels; None when there are none."""
    rows = tuple(
        (factor.name, phrase_treatment(factor, nested=design.nested))
        for factor in design.factors
        if factor.role == "nuisance"
    )
    return build_table(("hidden factor", "in this experiment"), rows, words=2) if rows else None


def tabulate_machines(trials: TrialSummary) -> Table:
    """Machines that ran trials."""
    rows = tuple(
        (
            machine.worker,
            machine.cpu_model,
            machine.arch,
            machine.kernel,
            str(machine.cores),
            format_size(machine.memory_bytes),
        )
        for machine in trials.machines
    )
    headers = ("machine", "processor", "architecture", "kernel", "cores", "memory")
    return build_table(headers, rows, words=4)


def tabulate_responses(experiment: Experiment) -> Table:
    """Responses with unit, formula and direction."""
    rows = tuple(
        (response.name, response.unit, response.formula, f"{response.direction} is better")
        for response in experiment.responses
    )
    return build_table(("response", "unit", "formula", "direction"), rows, words=4)
