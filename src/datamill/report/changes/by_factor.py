"""The answer of an experiment on one package: what a factor changes, from level to level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from datamill.analysis.answer.response import ResponseAnalysis
from datamill.analysis.levels.comparison import PairComparison
from datamill.analysis.levels.level_changes import LevelChange
from datamill.analysis.levels.level_means import LevelMean
from datamill.report.changes.gaps import is_time, phrase_bounds, phrase_gap
from datamill.report.words.scales import Scale, format_interval

#: Of more levels than this the terminal shows no mean.
_MOST_LINES = 12


@dataclass(frozen=True, slots=True)
class Wording:
    """What sentences on a response's changes need: its name, scale, level, and whether short means fast."""

    response: str
    scale: Scale
    confidence: float
    fast: bool = False


def word_response(analysis: ResponseAnalysis, scale: Scale) -> Wording:
    """Return how changes of an experiment's response are put into words."""
    return Wording(analysis.response.name, scale, analysis.confidence, fast=is_time(analysis))


def phrase_change(item: LevelChange, wording: Wording, *, subject: str = "") -> str:
    """Return what the better level is against the other one: `at C 40% (…) lower than at C.UTF-8`.

    `subject` stands before the gap, such as `wall_time is`.
    """
    gap = phrase_gap(item.pair, item.pair.package, wording.scale, wording.confidence, fast=wording.fast)
    joint = "at" if gap.endswith(("than", " as")) else "that at"
    words = ["at", item.pair.package, *([subject] if subject else []), gap, joint, item.pair.baseline]
    return " ".join(words)


def phrase_asked_change(item: LevelChange, wording: Wording) -> str:
    """Return the headline about a factor."""
    name, pair = wording.response, item.pair
    among = f" (the largest difference of {item.levels} levels)" if item.levels > 2 else ""
    if pair.verdict == "as measured" and pair.difference.estimate == 0:
        return f"{item.factor} does not matter: {name} is the same at all levels, without any variation."
    if pair.verdict == "uncertain":
        bounds = phrase_bounds(pair, wording.scale, wording.confidence)
        return f"The data do not tell {pair.package} and {pair.baseline} apart in {name}{among}: {bounds}."
    told = phrase_change(item, wording, subject=f"{name} is")
    if pair.verdict == "as measured":
        return f"{item.factor}: {told} as measured; like trials did not differ, so no interval can be given."
    return f"{item.factor} matters: {told}{among}."


def list_level_means(item: LevelChange, means: Sequence[LevelMean], wording: Wording) -> list[str]:
    """Return the mean at each level of the factor and what lies between, in one sentence or a line each."""
    own = [mean for mean in means if mean.factor == item.factor and mean.group == item.group]
    scale, level = wording.scale, wording.confidence
    what = f"Mean {wording.response}"
    if len(own) > _MOST_LINES:
        return [f"The report has the means of all {len(own)} levels."]
    shown = [f"{format_interval(mean.value, scale, level)} at {mean.level}, n = {mean.n}" for mean in own]
    if item.levels == 2:
        apart = item.pair.difference.unsigned()
        return [f"{what}: {'; '.join(shown)}; the difference is {format_interval(apart, scale, level)}."]
    steps = {step.package: step for step in item.steps}
    base = item.steps[0].baseline if item.steps else ""
    return [
        f"{what}: {line}{_phrase_step(steps, mean.level, base, wording)}."
        for line, mean in zip(shown, own, strict=True)
    ]


def _phrase_step(steps: Mapping[str, PairComparison], level: str, base: str, wording: Wording) -> str:
    """How a level's mean compares with that of the level that all are compared with."""
    if level not in steps:
        return ", which the others are compared with"
    step = steps[level]
    if step.p is None:
        return ""
    if step.verdict == "uncertain":
        return f"; not told apart from {base}"
    gap = phrase_gap(step, level, wording.scale, wording.confidence, fast=wording.fast)
    return f"; {gap} {'at' if gap.endswith(('than', ' as')) else 'that at'} {base}"
