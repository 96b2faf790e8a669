"""What several machines say together and each by itself, on the page and in the answer."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace

from datamill.analysis.answer.machines.factor_effects import FactorAgreement
from datamill.analysis.answer.machines.machine_by_machine import Agreement, MachineByMachine, OneMachine
from datamill.analysis.answer.response import ResponseAnalysis
from datamill.analysis.levels.comparison import PackageMean, PairComparison
from datamill.experiment.experiment import Response
from datamill.experiment.messages.numbers import (
    count_decimals,
    format_count,
    format_figures,
    format_fixed,
    format_level,
    format_p,
    format_signed,
)
from datamill.report.figures.views import FigureView
from datamill.report.machines.factors import (
    FactorOnMachines,
    draw_spread,
    note_factors,
    phrase_difference,
    phrase_factors,
    phrase_labels,
    view_factors,
)
from datamill.report.tables.table import Table, build_table
from datamill.report.words.answer import Answer
from datamill.report.words.scales import Scale, choose_scale, format_interval, round_interval

#: Machines that a sentence names.
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class MachinesView:
    """What the page shows of so many machines; `relative` says that other figures are relative to them."""

    sentences: tuple[str, ...]
    table: Table
    note: str
    relative: bool
    count: int
    labels: str
    factors: tuple[FactorOnMachines, ...]
    factor_sentences: tuple[str, ...]
    factor_note: str
    spread: tuple[Future[FigureView], ...]


def qualify_by_machines(answer: Answer, found: MachineByMachine, *, relative: bool) -> Answer:
    """Return the answer as one over several machines: whether they agree, and what each says by itself."""
    count = len(found.machines)
    headline = f"On the average of {count} machines, {_lower(answer.headline)}"
    means = _phrase_means(found)
    details = (*means, *phrase_machines(found), *phrase_factors(found.factors, found.confidence))
    if relative and means and answer.headline.startswith("Mean "):
        # The average of values that are relative to their machine is 100%: what each machine has says more.
        details = (headline, *details[1:])
        headline = means[0]
    opposed = list_opposed(found)
    if opposed:
        details = (headline, *details)
        headline = f"Which is better depends on the machine: {'; '.join(opposed)}."
    elif (depends := _find_dependence(found)) is not None:
        said = phrase_difference(depends, found.factors, found.confidence)
        details = (headline, *(line for line in details if line != said))
        headline = said
    method = "machines are fixed effects"
    if relative:
        method += ", and values are relative to the level of their machine, so that each counts alike"
    return replace(
        answer,
        headline=headline,
        details=(*details, *answer.details),
        method=f"{answer.method}; {method}",
    )


def _find_dependence(found: MachineByMachine) -> FactorAgreement | None:
    """The factor of a package that is alone about which machines differ most clearly, as far as they do."""
    if not _list_alone(found):
        return None
    differing = [item for item in found.factors.agreements if item.differ and item.p is not None]
    return min(differing, key=lambda item: item.p or 0.0, default=None)


def _lower(sentence: str) -> str:
    """Return a sentence as it stands behind a comma; names of packages stay as they are."""
    for word in ("The ", "There ", "Mean "):
        if sentence.startswith(word):
            return sentence[0].lower() + sentence[1:]
    return sentence


def phrase_machines(found: MachineByMachine) -> tuple[str, ...]:
    """Say whether machines agree on each pair of packages, and what each machine shows by itself."""
    sentences = []
    for agreement in found.agreements:
        sentences.append(_phrase_agreement(agreement))
        sentences += _phrase_verdicts(agreement.package, agreement.baseline, found)
    return tuple(sentences)


def _phrase_means(found: MachineByMachine) -> tuple[str, ...]:
    """Say what a package that is alone has on each machine; empty where packages or machines are too many."""
    alone = _list_alone(found)
    if not alone or len(alone) > _MOST_NAMED:
        return ()
    spelled = []
    for name, analysis, mean in alone:
        scale = choose_scale(analysis.response.unit, mean.value.estimate)
        spelled.append(f"{format_interval(mean.value, scale, analysis.confidence)} on {name}")
    return (f"Mean {alone[0][1].response.name} by machine: {', '.join(spelled)}.",)


def _list_alone(found: MachineByMachine) -> list[tuple[str, ResponseAnalysis, PackageMean]]:
    """The mean of each machine that has one, where no machine compares packages."""
    known = [(item.name, item.analysis) for item in found.machines if item.analysis is not None]
    if any(analysis.comparison is not None for _, analysis in known):
        return []
    return [(name, analysis, analysis.mean) for name, analysis in known if analysis.mean is not None]


def _phrase_agreement(agreement: Agreement) -> str:
    names = f"{agreement.package} against {agreement.baseline}"
    if agreement.p is None or agreement.lowest is None or agreement.highest is None:
        return (
            f"The data cannot tell whether the machines agree on {names}: too few give a ratio with its "
            "error."
        )
    low, high = (f"{_spell_change(ratio)} on {name}" for name, ratio in (agreement.lowest, agreement.highest))
    if agreement.differ:
        return (
            f"The machines do not agree on {names} (p = {format_p(agreement.p)}): the departure goes from "
            f"{low} to {high}, and the average does not speak for each of them."
        )
    return (
        f"No disagreement between the machines was found on {names} (p = {format_p(agreement.p)}): the "
        f"departure goes from {low} to {high}."
    )


def _spell_change(ratio: float) -> str:
    change = 100 * (ratio - 1)
    return f"{format_signed(change, count_decimals(abs(change), 3))}%"


def _phrase_verdicts(package: str, baseline: str, found: MachineByMachine) -> list[str]:
    """Which machines by themselves show which package to be better."""
    winners, silent = _sort_machines(package, baseline, found)
    parts = [f"{winner} is better on {_spell_names(names)}" for winner, names in winners.items() if names]
    if not parts:
        return [f"No machine by itself tells {package} and {baseline} apart."]
    text = f"By itself, {'; '.join(parts)}"
    if silent:
        text += f"; {_spell_names(silent)} {'does' if len(silent) == 1 else 'do'} not tell them apart"
    return [f"{text} (adjusted for {len(found.machines)} machines)."]


def _sort_machines(
    package: str, baseline: str, found: MachineByMachine
) -> tuple[dict[str, list[str]], list[str]]:
    winners: dict[str, list[str]] = {package: [], baseline: []}
    silent = []
    for machine in found.machines:
        pair = _find_pair(machine, package, baseline)
        if pair is not None and pair.verdict in ("better", "worse"):
            winners[package if pair.verdict == "better" else baseline].append(machine.name)
        else:
            silent.append(machine.name)
    return winners, silent


def list_opposed(found: MachineByMachine) -> list[str]:
    """The better package and its machines, where machines show the opposite of each other."""
    for agreement in found.agreements:
        winners, _ = _sort_machines(agreement.package, agreement.baseline, found)
        if all(winners.values()):
            return [f"{name} on {_spell_names(names)}" for name, names in winners.items()]
    return []


def _find_pair(machine: OneMachine, package: str, baseline: str) -> PairComparison | None:
    comparison = None if machine.analysis is None else machine.analysis.comparison
    if comparison is None:
        return None
    return next((it for it in comparison.pairs if (it.package, it.baseline) == (package, baseline)), None)


def _spell_names(names: list[str]) -> str:
    if len(names) > _MOST_NAMED + 1:
        return f"{', '.join(names[:_MOST_NAMED])} and {len(names) - _MOST_NAMED} more machines"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def view_machines(
    found: MachineByMachine, response: Response, levels: Mapping[str, float] | None
) -> MachinesView:
    """Return the table of machines: means in the response's own unit, and each machine's own comparison.

    `levels` are those that other figures are relative to, None where they are not.
    """
    rows = []
    alone = bool(_list_alone(found))
    for machine in found.machines:
        level_of = None if levels is None else levels.get(machine.name)
        rows += _list_rows(machine, response, level_of, alone=alone)
    some = next((it.analysis for it in found.machines if it.analysis is not None), None)
    level = format_level(found.confidence if some is None else some.confidence)
    adjusted = f"adjusted for {len(found.machines)} machines"
    if alone:
        headers: tuple[str, ...] = ("machine", "package", "n", "mean", f"{level} interval")
        note = f"Means are in {response.name}'s own unit. Intervals are {adjusted}."
    else:
        headers = ("machine", "package", "n", "mean", "against", "departure (interval)", "by itself")
        note = (
            f"Means are in {response.name}'s own unit. Intervals are {level} ones and verdicts are for alpha "
            f"= {format_figures(found.alpha / len(found.machines), 2)}, {adjusted}. Whether machines agree "
            "is judged by Welch's test on the logarithms of their ratios."
        )
    if levels is not None:
        note += (
            " All other figures of this response are relative to the machine: 100% is its mean over "
            "all combinations of the other factors, so that fast and slow machines count alike."
        )
    return MachinesView(
        sentences=phrase_machines(found),
        table=build_table(headers, tuple(rows), 2),
        note=note,
        relative=levels is not None,
        count=len(found.machines),
        labels=phrase_labels(found.labels),
        factors=view_factors(found.factors, found.labels, response.name, found.confidence),
        factor_sentences=phrase_factors(found.factors, found.confidence),
        factor_note=note_factors(found.factors, len(found.machines), found.confidence),
        spread=draw_spread(found.spread, found.labels, response.name),
    )


def _list_rows(
    machine: OneMachine, response: Response, level: float | None, *, alone: bool
) -> list[tuple[str, ...]]:
    analysis = machine.analysis
    if analysis is not None and analysis.comparison is None and analysis.mean is not None:
        only = analysis.mean
        scale = choose_scale(response.unit, only.value.estimate)
        shown = round_interval(only.value, scale.factor)
        mean = f"{shown.estimate} {scale.unit}".strip()
        row = (machine.name, only.package, format_count(only.n), mean)
        return [(*row, shown.ends) if alone else (*row, "", "", "")]
    if analysis is None or analysis.comparison is None:
        mean = "–" if level is None else _spell_mean(level, response.unit)
        row = (machine.name, "", "–", mean)
        return [
            (*row, machine.problem or "–") if alone else (*row, "", "–", machine.problem or "no comparison")
        ]
    pairs = {pair.package: pair for pair in analysis.comparison.pairs}
    rows: list[tuple[str, ...]] = []
    for item in analysis.comparison.means:
        size = item.value.estimate
        row = (machine.name, item.package, format_count(item.n), _spell_mean(size, response.unit))
        pair = pairs.get(item.package)
        if pair is None:
            rows.append((*row, "", "", ""))
        else:
            scale = choose_scale(response.unit, size)
            rows.append((*row, pair.baseline, _spell_departure(pair, scale), pair.verdict))
    return rows


def _spell_mean(value: float, unit: str) -> str:
    scale = choose_scale(unit, value)
    size = value * scale.factor
    return f"{format_fixed(size, count_decimals(abs(size), 4))} {scale.unit}".strip()


def _spell_departure(pair: PairComparison, scale: Scale) -> str:
    """A departure from the baseline with its interval: in percent, or else in the response's unit."""
    shown, unit = None if pair.ratio is None else pair.ratio.to_percent(), "%"
    if shown is None:
        shown, unit = pair.difference.scaled(scale.factor), f" {scale.unit}".rstrip()
    return round_interval(shown, signed=True).phrase(unit)
