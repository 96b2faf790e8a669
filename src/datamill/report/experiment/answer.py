"""The answer in plain words."""

from __future__ import annotations

from collections.abc import Sequence

from datamill.analysis.answer.machines.machine_by_machine import RELATIVE_UNIT
from datamill.analysis.answer.response import ResponseAnalysis
from datamill.analysis.assumptions.independence import TREND
from datamill.analysis.levels.comparison import Comparison, PackageMean, PairComparison
from datamill.experiment.experiment import Direction, Experiment
from datamill.experiment.messages.numbers import (
    count_decimals,
    format_count,
    format_fixed,
    format_given,
    format_p,
)
from datamill.experiment.messages.phrases import finish_sentence
from datamill.report.changes.by_factor import (
    list_level_means,
    phrase_asked_change,
    word_response,
)
from datamill.report.changes.figure import draw_change
from datamill.report.changes.gaps import is_time, phrase_bounds, phrase_gap, take_ratio
from datamill.report.changes.mattered import phrase_influence
from datamill.report.experiment.uncertainty import describe_error_term, describe_n
from datamill.report.figures.figure import Figure
from datamill.report.stopping.section import qualify_answer, states_means, states_pairs
from datamill.report.words.answer import Answer
from datamill.report.words.scales import Scale, choose_scale, format_interval
from datamill.report.words.warning_order import order_warnings
from datamill.results.bundles.trial_summary import TrialSummary


def phrase_answer(
    experiment: Experiment,
    analysis: ResponseAnalysis,
    trials: TrialSummary,
    *,
    doubts: str = "",
    drift: str = "",
    drawn: Sequence[str] = (),
) -> Answer:
    """Put an analysis of the first response into words; `doubts` is the sentence on doubtful trials.

    `drift` says what was found of it, if anything was; `drawn` are the factors whose levels chance drew.
    """
    details: list[str] = []
    if trials.ended < trials.planned:
        details.append(f"So far {count_trials(trials)}; the answer may still change.")
    scale = scale_response(analysis)
    method = f"means of {analysis.observations.units}" if analysis.model is None else analysis.model.method
    comparison = analysis.comparison
    asked = None
    if comparison is not None:
        method = comparison.method
        pairs = [phrase_pair(pair, analysis, scale) for pair in comparison.pairs]
        headline = phrase_best(comparison, analysis, scale)
        details += pairs if comparison.best and not states_pairs(experiment, trials) else []
        if not states_means(experiment, trials):
            details += [_phrase_mean(experiment, analysis, mean, scale) for mean in comparison.means]
        details += [_phrase_cells(pair, drawn) for pair in comparison.pairs]
    elif analysis.mean is not None:
        headline = _phrase_mean(experiment, analysis, analysis.mean, scale)
        # Of values that are relative to their machine the mean is 100%, whatever was measured.
        says_nothing = analysis.unit == RELATIVE_UNIT
        if not analysis.missing_packages and (says_nothing or not states_means(experiment, trials)):
            asked = analysis.asked_change
        if asked is not None:
            wording = word_response(analysis, scale)
            details += list_level_means(asked, analysis.level_means, wording)
            if not says_nothing:
                details.append(headline)
            headline = phrase_asked_change(asked, wording)
        if analysis.missing_packages:
            missing = ", ".join(analysis.missing_packages)
            headline = f"There is no comparison: no valid data of {missing}. {headline}"
    elif analysis.package_factor is not None:
        headline = "There is no answer yet: the data do not allow a comparison."
    else:
        headline = "There is no answer yet: the data do not allow an interval."
    if error_term := describe_error_term(experiment, analysis):
        method += f"; {error_term}"
    warnings = [*analysis.warnings, *trials.warnings]
    if doubts:
        warnings.append(doubts)
    if drift:
        checks = () if analysis.checks is None else analysis.checks.checks
        said = tuple(check.words for check in checks if check.assumption == TREND and check.words)
        # The same again, in terms of the model's error.
        warnings = [warning for warning in warnings if not (said and warning.startswith(said))]
        warnings.append(drift)
    if trials.builds_shared and not trials.builds_repeated:
        warnings.append("builds are shared: variation between builds is not covered by these intervals")
    answer = Answer(
        question=experiment.question,
        headline=headline,
        details=tuple(details),
        mattered=phrase_influence(analysis, scale, answered="" if asked is None else asked.factor),
        warnings=order_warnings(
            [finish_sentence(warning) for warning in warnings], [item.name for item in experiment.packages]
        ),
        n=analysis.observations.cells.n,
        confidence=analysis.confidence,
        method=method,
    )
    return qualify_answer(answer, experiment, analysis.unit, trials, says_change=asked is not None)


def draw_answer(analysis: ResponseAnalysis, scale: Scale) -> Figure | None:
    """Draw what the headline says: packages, or levels of the factor asked about; None without either."""
    change, means = analysis.package_change, analysis.package_means
    if analysis.package_factor is None:
        change, means = analysis.asked_change, analysis.level_means
    if change is None or not change.steps:
        return None
    return draw_change(
        change,
        analysis.split_observations(change),
        means,
        response=analysis.response.name,
        units=analysis.observations.units,
        scale=scale,
        confidence=analysis.confidence,
    )


def scale_response(analysis: ResponseAnalysis) -> Scale:
    """Scale that suits the middle one of a response's means over design points, by magnitude."""
    cells = analysis.observations.cells
    magnitudes = sorted(abs(float(value) + cells.origin) for value in cells.means)
    return choose_scale(analysis.unit, magnitudes[len(magnitudes) // 2])


def phrase_best(comparison: Comparison, analysis: ResponseAnalysis, scale: Scale) -> str:
    """Which package is best, against the only other one or, of several, against the runner-up."""
    if not comparison.best:
        return phrase_pair(comparison.pairs[0], analysis, scale)
    name, packages = analysis.response.name, len(comparison.means)
    first = comparison.best[0]
    level = comparison.confidence
    if any(pair.p is None for pair in comparison.best):
        equal = [pair.baseline for pair in comparison.best if pair.p is None and not pair.difference.estimate]
        if equal:
            names = " and ".join([first.package, *equal])
            return (
                f"{names} have the same mean {name}, the best of {packages} packages, without any variation."
            )
        return (
            f"{first.package} has the best mean {name} of {packages} packages as measured; like trials of "
            "some did not differ, so no interval can be given."
        )
    unclear = [pair for pair in comparison.best if pair.verdict != "better"]
    if unclear:
        names = " and ".join(pair.baseline for pair in unclear)
        return (
            f"{first.package} has the best mean {name} of {packages} packages, but the data do not tell it "
            f"apart from {names}: {phrase_bounds(unclear[0], scale, level)}."
        )
    gap = phrase_gap(first, first.package, scale, level, fast=is_time(analysis))
    if gap.endswith(" as"):
        gap = f"by {name} it is {gap} {first.baseline}"
    else:
        gap = f"its {name} is {gap} that of {first.baseline}"
    return f"{first.package} is the best of {packages} packages: {gap}, the runner-up."


def phrase_pair(pair: PairComparison, analysis: ResponseAnalysis, scale: Scale) -> str:
    """One sentence on a package against the baseline: which is better, by how much, interval."""
    name = analysis.response.name
    if pair.verdict == "as measured":
        return _phrase_as_measured(pair, name, scale, analysis.response.direction)
    level = analysis.confidence
    if pair.verdict == "uncertain":
        bounds = phrase_bounds(pair, scale, level)
        if pair.difference.excludes_zero:
            return (
                f"{pair.package} and {pair.baseline} may differ in {name}, but the evidence is weak "
                f"(p = {format_p(pair.p)}, not below alpha = {format_given(analysis.alpha)}): {bounds}."
            )
        return f"The data do not tell {pair.package} and {pair.baseline} apart in {name}: {bounds}."
    winner, loser = (
        (pair.package, pair.baseline) if pair.verdict == "better" else (pair.baseline, pair.package)
    )
    gap = phrase_gap(pair, winner, scale, level, fast=is_time(analysis))
    if gap.endswith(" as"):
        return f"{winner} is better: by {name} it is {gap} {loser}."
    return f"{winner} is better: its {name} is {gap} {loser}'s."


def _phrase_as_measured(pair: PairComparison, name: str, scale: Scale, direction: Direction) -> str:
    """A difference between values that never varied: what was seen, and no interval."""
    if pair.difference.estimate == 0:
        return f"{pair.package} and {pair.baseline} have the same {name}, without any variation."
    ahead = (pair.difference.estimate > 0) == (direction == "higher")
    winner, loser = (pair.package, pair.baseline) if ahead else (pair.baseline, pair.package)
    ratio = take_ratio(pair, winner)
    word = "higher" if direction == "higher" else "lower"
    if ratio is None:
        size = abs(pair.difference.estimate) * scale.factor
        gap = f"{format_fixed(size, count_decimals(size, 4))} {scale.unit}".strip() + f" {word} than"
    elif ratio.estimate >= 2:
        gap = f"{format_fixed(ratio.estimate, count_decimals(ratio.estimate, 4))} times"
    else:
        size = 100 * abs(ratio.estimate - 1)
        gap = f"{format_fixed(size, count_decimals(size, 4))}% {word} than"
    return (
        f"{winner}'s {name} was {gap} {loser}'s as measured; like trials did not differ, so no interval can "
        "be given."
    )


def _phrase_mean(experiment: Experiment, analysis: ResponseAnalysis, mean: PackageMean, scale: Scale) -> str:
    if mean.value.low == mean.value.high:
        size = mean.value.estimate * scale.factor
        shown = f"{format_fixed(size, count_decimals(abs(size), 4))} {scale.unit}".strip()
        shown += " (like trials did not differ)"
    else:
        shown = format_interval(mean.value, scale, analysis.confidence)
    basis = describe_n(experiment, analysis, mean)
    return f"Mean {analysis.response.name} of {mean.package}: {shown}, {basis}."


def _phrase_cells(pair: PairComparison, drawn: Sequence[str]) -> str:
    if pair.cells == 1 and drawn:
        *others, last = drawn
        names = f"{', '.join(others)} and {last}" if others else last
        return (
            f"{pair.package} and {pair.baseline} were compared at one combination of the crossed factors, "
            f"while {names} {'was' if len(drawn) == 1 else 'were'} drawn at random."
        )
    if pair.cells == 1:
        return f"{pair.package} and {pair.baseline} were compared under one condition only."
    counts = [(pair.higher_cells, pair.package), (pair.lower_cells, pair.baseline)]
    (most, ahead), (fewest, behind) = sorted(counts, key=lambda count: -count[0])
    if most == 0:
        return (
            f"{pair.package} and {pair.baseline} have the same mean in all {pair.cells} combinations of "
            "the other factors."
        )
    rest = f", {behind} in {fewest}" if fewest else ""
    return (
        f"{ahead} has a higher mean than {behind} in {most} of {pair.cells} combinations of the other "
        f"factors{rest}."
    )


def count_trials(trials: TrialSummary) -> str:
    """Say how many of the planned trials have ended."""
    return f"{format_count(trials.ended)} of {format_count(trials.planned)} trials"
