"""Factors on machines in sentences and tables."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass

from datamill.analysis.answer.machines.effect_spread import EffectSpread
from datamill.analysis.answer.machines.factor_effects import FactorAgreement, FactorsByMachine, LevelOnMachine
from datamill.analysis.answer.machines.labels import MachineLabel
from datamill.experiment.messages.numbers import (
    count_decimals,
    format_count,
    format_level,
    format_p,
    format_signed,
)
from datamill.report.figures.views import FigureView, start_view
from datamill.report.machines.figures import draw_effect_boxes, draw_factor_lines
from datamill.report.tables.table import Table, build_table
from datamill.report.words.scales import format_percent, round_interval

#: Disagreements that have a sentence each, and effects that a sentence names.
_MOST_SENTENCES, _MOST_NAMED = 6, 5


@dataclass(frozen=True, slots=True)
class FactorOnMachines:
    """What a page shows of one factor."""

    name: str
    figure: Future[FigureView]
    table: Table


def name_machines(labels: tuple[MachineLabel, ...]) -> Mapping[str, str]:
    """Labels of machines in figures and tables, by name."""
    return {item.name: item.label for item in labels}


def phrase_labels(labels: tuple[MachineLabel, ...]) -> str:
    """Which machine each label stands for; empty where they are called by their names."""
    named = [f"{item.short} is {item.name}" for item in labels if item.label != item.name]
    return f"{', '.join(named)}." if named else ""


def phrase_factors(found: FactorsByMachine, confidence: float) -> tuple[str, ...]:
    """Say about which factors machines do not agree, and about which no disagreement was found."""
    differing = [item for item in found.agreements if item.differ]
    sentences = [phrase_difference(item, found, confidence) for item in differing[:_MOST_SENTENCES]]
    if len(differing) > _MOST_SENTENCES:
        more = format_count(len(differing) - _MOST_SENTENCES)
        sentences.append(f"{more} more effects depend on the machine: the table has them.")
    agreeing = [item for item in found.agreements if not item.differ and item.p is not None]
    if agreeing:
        least = min(item.p for item in agreeing if item.p is not None)
        names = _join([_name_effect(item) for item in agreeing])
        smallest = "p" if len(agreeing) == 1 else "smallest p"
        sentences.append(
            f"No disagreement between the machines was found on what {names} {_do(agreeing)} "
            f"({smallest} = {format_p(least)}, adjusted for {format_count(_count_judged(found))} "
            f"{'question' if _count_judged(found) == 1 else 'questions'})."
        )
    silent = [item for item in found.agreements if item.p is None]
    if silent:
        names = _join([_name_effect(item) for item in silent])
        sentences.append(
            f"The data cannot tell whether the machines agree on what {names} {_do(silent)}: too few give a "
            "ratio with its error."
        )
    return tuple(sentences)


def _do(items: list[FactorAgreement]) -> str:
    return "does" if len(items) == 1 else "do"


def _count_judged(found: FactorsByMachine) -> int:
    return sum(item.p is not None for item in found.agreements)


def _name_effect(item: FactorAgreement) -> str:
    return item.factor if item.group == "all" else f"{item.factor} (of {item.group})"


def _join(names: list[str]) -> str:
    if len(names) > _MOST_NAMED + 1:
        return f"{', '.join(names[:_MOST_NAMED])} and {format_count(len(names) - _MOST_NAMED)} more effects"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def phrase_difference(item: FactorAgreement, found: FactorsByMachine, confidence: float) -> str:
    """Say between which changes the machines differ, each with its own interval."""
    assert item.lowest is not None
    assert item.highest is not None
    changes = {
        it.machine: it.change
        for it in found.levels
        if (it.factor, it.group, it.level) == (item.factor, item.group, item.level)
    }

    def spell(machine: str, ratio: float) -> str:
        change = changes.get(machine)
        told = _spell_change(ratio) if change is None else format_percent(change, confidence, signed=True)
        return f"{told} on {machine}"

    of = "" if item.group == "all" else f" with {item.group}"
    return (
        f"What {item.factor} does{of} depends on the machine (p = {format_p(item.p)}; each interval by "
        f"itself): from {item.base} to {item.level} the change goes from {spell(*item.lowest)} to "
        f"{spell(*item.highest)}."
    )


def _spell_change(ratio: float) -> str:
    change = 100 * (ratio - 1)
    return f"{format_signed(change, count_decimals(abs(change), 3))}%"


def view_factors(
    found: FactorsByMachine, labels: tuple[MachineLabel, ...], response: str, confidence: float
) -> tuple[FactorOnMachines, ...]:
    """A picture and a table of each factor that some machine has an effect of."""
    names = name_machines(labels)
    return tuple(
        FactorOnMachines(
            factor,
            start_view(draw_factor_lines(found, factor, response, names, confidence)),
            tabulate_factor(found, factor, base, names, confidence),
        )
        for factor, base in found.factors
        if any(item.factor == factor and item.departure is not None for item in found.levels)
    )


def draw_spread(
    spread: EffectSpread, labels: tuple[MachineLabel, ...], response: str
) -> tuple[Future[FigureView], ...]:
    """Boxes of relative effects over machines and over packages, where there are enough of them."""
    return tuple(map(start_view, draw_effect_boxes(spread, response, name_machines(labels))))


def tabulate_factor(
    found: FactorsByMachine, factor: str, base: str, names: Mapping[str, str], confidence: float
) -> Table:
    """A row for each machine, package and level but the first: the change from the first one."""
    items = [item for item in found.levels if item.factor == factor and item.level != base]
    several = len({item.group for item in items}) > 1
    rows = []
    for item in items:
        group = (item.group,) if several else ()
        change, interval = _spell_interval(item)
        p = format_p(item.p)
        rows.append((names[item.machine], *group, item.level, format_count(item.n), change, interval, p))
    headers = (
        "machine", *(("package",) if several else ()), factor, "n", f"change from {base}",
        f"{format_level(confidence)} interval", "p",
    )  # fmt: skip
    return build_table(headers, rows, 3 if several else 2)


def _spell_interval(item: LevelOnMachine) -> tuple[str, str]:
    if item.change is None:
        return "–", "–"
    shown = round_interval(item.change, signed=True)
    return f"{shown.estimate}%", shown.ends


def note_factors(found: FactorsByMachine, machines: int, confidence: float) -> str:
    """How intervals, p-values and the verdicts on agreement are made."""
    count = format_count(len(found.agreements))
    return (
        f"Intervals are {format_level(confidence)} ones, each by itself, from the machine's own trials. "
        f"p-values of changes are adjusted for {format_count(machines)} machines and the factor's levels "
        "(Bonferroni). Whether machines agree is judged by Welch's test on the logarithms of ratios to the "
        f"first level, over the levels of a factor by Bonferroni and over all {count} "
        "effects by Holm, so that machines which are alike are called unlike in no more than alpha of "
        "experiments."
    )
