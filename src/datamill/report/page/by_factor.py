"""The answer of an experiment on one package: what a factor changes, from level to level."""

from __future__ import annotations

import math

from datamill.analysis.level_changes import LevelChange
from datamill.analysis.records import Interval
from datamill.analysis.response import ResponseAnalysis
from datamill.experiment.records import Experiment
from datamill.report.numbers import Scale, format_interval
from datamill.report.page.gaps import is_time, phrase_bounds, phrase_gap

#: Levels whose means stand in one sentence; more get a line each, and of more than the second number none.
_IN_A_SENTENCE, _MOST_LINES = 4, 12


def find_asked_change(experiment: Experiment, analysis: ResponseAnalysis) -> LevelChange | None:
    """Return the change that answers a question about factors: the largest that shows, or the only one.

    Factors that only the policy for hidden factors names are not asked about, nor are those of a screening.
    None where packages are compared, or where several factors are asked about and none is detected.
    """
    if analysis.package_factor is not None or experiment.design.kind == "screening":
        return None
    asked = [item.name for item in experiment.factors if not item.by_policy and item.treatment == "vary"]
    changes = [item for item in analysis.changes if item.factor in asked]
    if len(changes) == 1:
        return changes[0]
    # Of several factors one shows only if it does beside all that were looked at.
    detected = _list_detected(analysis)
    shown = [item for item in changes if item.factor in detected and item.pair.verdict in ("better", "worse")]
    return max(shown, key=measure_change, default=None)


def _list_detected(analysis: ResponseAnalysis) -> set[str]:
    """Factors whose main effect is detected among all terms of the model."""
    if analysis.influence is None:
        return set()
    names = [factor.name for factor in analysis.observations.cells.factors]
    terms = [item.term for item in analysis.influence.terms if item.detected]
    return {names[term.factors[0]] for term in terms if len(term.factors) == 1}


def measure_change(item: LevelChange) -> float:
    """Return the size by which changes are ranked: the logarithm of the ratio, or else the difference."""
    ratio = item.pair.ratio
    return abs(item.pair.difference.estimate) if ratio is None else abs(math.log(ratio.estimate))


def excludes_zero(value: Interval) -> bool:
    """Whether an interval lies on one side of zero."""
    return value.low > 0 or value.high < 0


def phrase_change(item: LevelChange, analysis: ResponseAnalysis, scale: Scale, *, subject: str = "") -> str:
    """Return what the better level is against the other one: `at C 40% (…) lower than at C.UTF-8`.

    `subject` stands before the gap, such as `wall_time is`.
    """
    gap = phrase_gap(item.pair, item.pair.package, scale, analysis.confidence, fast=is_time(analysis))
    joint = "at" if gap.endswith(("than", " as")) else "that at"
    words = ["at", item.pair.package, *([subject] if subject else []), gap, joint, item.pair.baseline]
    return " ".join(words)


def phrase_asked_change(item: LevelChange, analysis: ResponseAnalysis, scale: Scale) -> str:
    """Return the headline about a factor."""
    name, pair = analysis.response.name, item.pair
    levels = len(next(f for f in analysis.observations.cells.factors if f.name == item.factor).levels)
    among = f" (the largest difference of {levels} levels)" if levels > 2 else ""
    if pair.verdict == "as measured" and pair.difference.estimate == 0:
        return f"{item.factor} does not matter: {name} is the same at all levels, without any variation."
    if pair.verdict == "uncertain":
        bounds = phrase_bounds(pair, scale, analysis.confidence)
        return f"The data do not tell {pair.package} and {pair.baseline} apart in {name}{among}: {bounds}."
    told = phrase_change(item, analysis, scale, subject=f"{name} is")
    if pair.verdict == "as measured":
        return f"{item.factor}: {told} as measured; like trials did not differ, so no interval can be given."
    return f"{item.factor} matters: {told}{among}."


def list_level_means(item: LevelChange, analysis: ResponseAnalysis, scale: Scale) -> list[str]:
    """Return the mean at each level of the factor, in one sentence or a line each."""
    means = [mean for mean in analysis.level_means if mean.factor == item.factor]
    shown = [
        f"{format_interval(mean.value, scale, analysis.confidence)} at {mean.level}, n = {mean.n}"
        for mean in means
    ]
    what = f"Mean {analysis.response.name}"
    if len(shown) <= _IN_A_SENTENCE:
        return [f"{what}: {'; '.join(shown)}."]
    if len(shown) <= _MOST_LINES:
        return [f"{what}: {line}." for line in shown]
    return [f"The report has the means of all {len(shown)} levels."]
