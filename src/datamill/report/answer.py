"""The answer in plain words."""

from __future__ import annotations

import polars as pl

from datamill.analysis.records import Interval, PackageMean, PairComparison
from datamill.analysis.response import ResponseAnalysis, analyze_response
from datamill.design.records import Design
from datamill.experiment.errors import InputError
from datamill.experiment.records import Experiment
from datamill.report.numbers import (
    Scale,
    choose_scale,
    count_decimals,
    format_count,
    format_fixed,
    format_interval,
    format_p,
    format_percent,
    name_confidence,
)
from datamill.report.records import Answer, TrialSummary

#: Influential terms and undetected factors that the answer names; the report has them all.
_NAMED = 3


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


def phrase_answer(experiment: Experiment, analysis: ResponseAnalysis, trials: TrialSummary) -> Answer:
    """Put an analysis of the first response into words."""
    details: list[str] = []
    if trials.ended < trials.planned:
        details.append(f"So far {_count_trials(trials)}; the answer may still change.")
    scale = scale_response(analysis)
    method = analysis.model.method if analysis.model is not None else "means of trials"
    comparison = analysis.comparison
    if comparison is not None:
        method = comparison.method
        headline = " ".join(
            phrase_pair(pair, analysis, scale, level=comparison.confidence) for pair in comparison.pairs
        )
        details += [_phrase_mean(analysis, mean, scale) for mean in comparison.means]
        details += [_phrase_cells(pair) for pair in comparison.pairs]
    elif analysis.mean is not None:
        headline = _phrase_mean(analysis, analysis.mean, scale)
    else:
        headline = (
            "There is no answer yet: the data do not allow a comparison."
            if analysis.package_factor is not None
            else "There is no answer yet: the data do not allow an interval."
        )
    warnings = [*analysis.warnings, *trials.warnings]
    if trials.builds_shared:
        warnings.append("builds are shared: variation between builds is not covered by these intervals")
    return Answer(
        question=experiment.question,
        headline=headline,
        details=tuple(details),
        mattered=_phrase_influence(analysis),
        warnings=tuple(finish_sentence(warning) for warning in warnings),
        n=analysis.observations.cells.n,
        confidence=analysis.confidence,
        method=method,
    )


def scale_response(analysis: ResponseAnalysis) -> Scale:
    """Scale that suits the larger of the values of a response."""
    cells = analysis.observations.cells
    magnitudes = sorted(abs(float(value) + cells.origin) for value in cells.means)
    unit = analysis.response.unit or analysis.observations.unit
    return choose_scale(unit, magnitudes[len(magnitudes) // 2])


def phrase_pair(pair: PairComparison, analysis: ResponseAnalysis, scale: Scale, *, level: float) -> str:
    """One sentence on a package against the baseline: which is better, by how much, interval."""
    name = analysis.response.name
    if pair.p is None and pair.difference.estimate == 0:
        return f"{pair.package} and {pair.baseline} have the same {name}, without any variation."
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


def _phrase_mean(analysis: ResponseAnalysis, mean: PackageMean, scale: Scale) -> str:
    shown = format_interval(mean.value, scale, analysis.confidence)
    return f"Mean {analysis.response.name} of {mean.package}: {shown}, n = {format_count(mean.n)}."


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
    return f"{ahead} has the higher mean in {most} of {pair.cells} combinations of the other factors{rest}."


def _phrase_influence(analysis: ResponseAnalysis) -> tuple[str, ...]:
    """What else mattered, factor by factor: in each package for itself, in percent of its mean."""
    influence = analysis.influence
    if influence is None:
        return ()
    found, hidden = list_influential_factors(analysis)
    lines = []
    if found:
        parts = [phrase_factor(factor, analysis) for factor in found[:_NAMED]]
        more = f"; and {len(found) - _NAMED} more, see the report" if len(found) > _NAMED else ""
        lines.append(f"What else mattered: {'; '.join(parts)}{more}.")
    # Without any error there is no limit to what can be detected, and nothing to say of the others.
    if hidden and analysis.model is not None and analysis.model.error_ms > 0:
        bounds = [phrase_undetected(factor, analysis) for factor in hidden]
        whose = "the mean" if analysis.package_factor is None else "a package's mean"
        lines.append(f"Not detectable here (largest possible departure from {whose}): {', '.join(bounds)}.")
    return tuple(lines)


def list_influential_factors(analysis: ResponseAnalysis) -> tuple[list[str], list[str]]:
    """Factors other than the package, the detected ones (most influential first) and the others.

    A factor is detected when its main effect or an interaction with it is; interactions count
    for its rank.
    """
    if analysis.influence is None or analysis.model is None:
        return [], []
    names = [factor.name for factor in analysis.model.factors if factor.name != "package"]
    shares = dict.fromkeys(names, 0.0)
    detected: set[str] = set()
    for row in analysis.model.terms:
        item = next(item for item in analysis.influence.terms if item.term == row.term.name)
        for index in row.term.factors:
            name = analysis.model.factors[index].name
            if name in shares:
                shares[name] += item.share if item.detected else 0.0
                detected.update({name} if item.detected else ())
    ranked = sorted(names, key=lambda name: -shares[name])
    return [name for name in ranked if name in detected], [name for name in names if name not in detected]


def phrase_factor(factor: str, analysis: ResponseAnalysis) -> str:
    """The largest departures that a factor causes, in the two packages that feel it most."""
    own = [item for item in analysis.deviations if item.factor == factor]
    if not own:
        return factor
    own.sort(key=lambda item: -abs(item.percent.estimate))
    parts = []
    for item in own[:2]:
        who = "" if analysis.package_factor is None else f" for {item.group}"
        effect = format_percent(item.percent, analysis.confidence, signed=True)
        parts.append(f"{effect}{who} at {item.level}")
    whose = "the mean" if analysis.package_factor is None else "each package's mean"
    return f"{factor} (against {whose}: {', '.join(parts)})"


def phrase_undetected(factor: str, analysis: ResponseAnalysis) -> str:
    """A bound on a factor that was not detected; absence of evidence is no evidence of absence."""
    bounds = [item.at_most_percent for item in analysis.deviations if item.factor == factor]
    if not bounds:
        return factor
    return f"{factor} at most {format_fixed(max(bounds), min(count_decimals(max(bounds)), 4))}%"


def finish_sentence(text: str) -> str:
    """A sentence with a capital and a full stop."""
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


def format_share(share: float) -> str:
    """A share of the variation in percent, `< 0.1%` when it is tiny."""
    return "< 0.1%" if share < 0.001 else f"{100 * share:.1f}%"


def _count_trials(trials: TrialSummary) -> str:
    return f"{format_count(trials.ended)} of {format_count(trials.planned)} trials"
