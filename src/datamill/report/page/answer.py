"""The answer in plain words."""

from __future__ import annotations

import polars as pl

from datamill.analysis.linear.independence import TREND
from datamill.analysis.records import Comparison, Interval, PackageMean, PairComparison
from datamill.analysis.response import ResponseAnalysis, analyze_response
from datamill.design.records import Design
from datamill.experiment.errors import InputError
from datamill.experiment.records import Direction, Experiment
from datamill.report.numbers import (
    Scale,
    choose_scale,
    count_decimals,
    finish_sentence,
    format_count,
    format_fixed,
    format_interval,
    format_p,
    format_percent,
    name_confidence,
)
from datamill.report.page.mattered import phrase_influence
from datamill.report.page.stopping import qualify_answer, states_means
from datamill.report.page.uncertainty import describe_error_term, describe_n
from datamill.report.records import Answer, TrialSummary

#: Below this, percentages lower are all but 100 and a ratio says more.
_TINY_RATIO = 0.01


def write_answer(experiment: Experiment, design: Design, table: pl.DataFrame, trials: TrialSummary) -> Answer:
    """Answer the experiment's question by its first response.

    `table` is the tidy table. Without any valid observation the answer says so. Raises InputError
    when the experiment has no response or a factor's column is missing.
    """
    if not experiment.responses:
        raise InputError("the experiment has no response", remedy="Add a section [responses.NAME].")
    response = experiment.responses[0]
    valid = table.filter((pl.col("response") == response.name) & pl.col("valid"))
    if valid.height == 0:
        return Answer(
            question=experiment.question,
            headline=f"There is no answer yet: no trial gave a valid {response.name}.",
            details=(f"{_count_trials(trials)} have ended.",),
            mattered=(),
            warnings=tuple(finish_sentence(warning) for warning in trials.warnings),
            n=0,
            confidence=experiment.confidence,
            method="none",
        )
    return phrase_answer(experiment, analyze_response(experiment, design, table, response), trials)


def phrase_answer(
    experiment: Experiment,
    analysis: ResponseAnalysis,
    trials: TrialSummary,
    *,
    doubts: str = "",
    drift: str = "",
) -> Answer:
    """Put an analysis of the first response into words; `doubts` is the sentence on doubtful trials.

    `drift` says what was found of it, if anything was.
    """
    details: list[str] = []
    if trials.ended < trials.planned:
        details.append(f"So far {_count_trials(trials)}; the answer may still change.")
    scale = scale_response(analysis)
    method = f"means of {analysis.observations.units}" if analysis.model is None else analysis.model.method
    comparison = analysis.comparison
    if comparison is not None:
        method = comparison.method
        pairs = [phrase_pair(pair, analysis, scale) for pair in comparison.pairs]
        headline = phrase_best(comparison, analysis, scale)
        details += pairs if comparison.best else []
        if not states_means(experiment, trials):
            details += [_phrase_mean(experiment, analysis, mean, scale) for mean in comparison.means]
        details += [_phrase_cells(pair) for pair in comparison.pairs]
    elif analysis.mean is not None:
        headline = _phrase_mean(experiment, analysis, analysis.mean, scale)
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
        mattered=phrase_influence(analysis, scale),
        warnings=tuple(finish_sentence(warning) for warning in warnings),
        n=analysis.observations.cells.n,
        confidence=analysis.confidence,
        method=method,
    )
    return qualify_answer(answer, experiment, analysis.unit, trials)


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
            f"apart from {names}: {_phrase_bounds(unclear[0], scale, level)}."
        )
    return (
        f"{first.package} is the best of {packages} packages: its {name} is "
        f"{_phrase_gap(first, first.package, scale, level)} that of {first.baseline}, the runner-up."
    )


def phrase_pair(pair: PairComparison, analysis: ResponseAnalysis, scale: Scale) -> str:
    """One sentence on a package against the baseline: which is better, by how much, interval."""
    name = analysis.response.name
    if pair.verdict == "as measured":
        return _phrase_as_measured(pair, name, scale, analysis.response.direction)
    level = analysis.confidence
    if pair.verdict == "uncertain":
        bounds = _phrase_bounds(pair, scale, level)
        excludes_zero = pair.difference.low > 0 or pair.difference.high < 0
        if excludes_zero:
            return (
                f"{pair.package} and {pair.baseline} may differ in {name}, but the evidence is weak "
                f"(p = {format_p(pair.p)}, not below alpha = {analysis.alpha:g}): {bounds}."
            )
        return f"The data do not tell {pair.package} and {pair.baseline} apart in {name}: {bounds}."
    winner, loser = (
        (pair.package, pair.baseline) if pair.verdict == "better" else (pair.baseline, pair.package)
    )
    return f"{winner} is better: its {name} is {_phrase_gap(pair, winner, scale, level)} {loser}'s."


def _phrase_as_measured(pair: PairComparison, name: str, scale: Scale, direction: Direction) -> str:
    """A difference between values that never varied: what was seen, and no interval."""
    if pair.difference.estimate == 0:
        return f"{pair.package} and {pair.baseline} have the same {name}, without any variation."
    ahead = (pair.difference.estimate > 0) == (direction == "higher")
    winner, loser = (pair.package, pair.baseline) if ahead else (pair.baseline, pair.package)
    ratio = _ratio_to(pair, winner)
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


def _phrase_gap(pair: PairComparison, winner: str, scale: Scale, level: float) -> str:
    """By how much the winner's mean departs from the loser's, up to the name of the loser."""
    ratio = _ratio_to(pair, winner)
    if ratio is None:
        difference = pair.difference if winner == pair.package else _negate(pair.difference)
        word = "higher" if difference.estimate > 0 else "lower"
        shown = difference if difference.estimate > 0 else _negate(difference)
        return f"{format_interval(shown, scale, level)} {word} than"
    if ratio.estimate >= 2:
        decimals = count_decimals((ratio.high - ratio.low) / 2)
        return (
            f"{format_fixed(ratio.estimate, decimals)} times ({name_confidence(level)} interval "
            f"{format_fixed(ratio.low, decimals)} to {format_fixed(ratio.high, decimals)})"
        )
    if ratio.estimate >= 1:
        gap = Interval(*(100 * (value - 1) for value in (ratio.estimate, ratio.low, ratio.high)))
        return f"{format_percent(gap, level)} higher than"
    if ratio.estimate < _TINY_RATIO:
        bounds = f"{ratio.low:.3g} to {ratio.high:.3g}"
        return f"{ratio.estimate:.3g} times ({name_confidence(level)} interval {bounds})"
    gap = Interval(*(100 * (1 - value) for value in (ratio.estimate, ratio.high, ratio.low)))
    return f"{format_percent(gap, level)} lower than"


def _ratio_to(pair: PairComparison, winner: str) -> Interval | None:
    """Ratio of the winner's mean to the loser's, where it is bounded and positive."""
    if pair.ratio is None or pair.ratio.low is None or pair.ratio.high is None or pair.ratio.low <= 0:
        return None
    if winner == pair.package:
        return Interval(pair.ratio.estimate, pair.ratio.low, pair.ratio.high)
    return Interval(1 / pair.ratio.estimate, 1 / pair.ratio.high, 1 / pair.ratio.low)


def _phrase_bounds(pair: PairComparison, scale: Scale, level: float) -> str:
    if pair.ratio is not None and pair.ratio.low is not None and pair.ratio.high is not None:
        gap = Interval(
            100 * (pair.ratio.estimate - 1), 100 * (pair.ratio.low - 1), 100 * (pair.ratio.high - 1)
        )
        return f"{pair.package} departs from {pair.baseline} by {format_percent(gap, level, signed=True)}"
    shown = f"their difference is {format_interval(pair.difference, scale, level)}"
    return f"{shown}; {pair.ratio.note}" if pair.ratio is not None and pair.ratio.note else shown


def _negate(value: Interval) -> Interval:
    return Interval(-value.estimate, -value.high, -value.low)


def _phrase_mean(experiment: Experiment, analysis: ResponseAnalysis, mean: PackageMean, scale: Scale) -> str:
    if mean.value.low == mean.value.high:
        size = mean.value.estimate * scale.factor
        shown = f"{format_fixed(size, count_decimals(abs(size), 4))} {scale.unit}".strip()
        shown += " (like trials did not differ)"
    else:
        shown = format_interval(mean.value, scale, analysis.confidence)
    basis = describe_n(experiment, analysis, mean)
    return f"Mean {analysis.response.name} of {mean.package}: {shown}, {basis}."


def _phrase_cells(pair: PairComparison) -> str:
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


def _count_trials(trials: TrialSummary) -> str:
    return f"{format_count(trials.ended)} of {format_count(trials.planned)} trials"
