"""One look at a sequential experiment: does it stop, and why?"""

from __future__ import annotations

from collections.abc import Sequence

from datamill.analysis.sequential.doubts import find_pair, list_doubts
from datamill.analysis.sequential.intervals import (
    bound_relative_difference,
    bound_stopped_mean,
    excludes_zero,
    lies_within,
)
from datamill.analysis.sequential.rounds import Rounds
from datamill.design.batches import FEWEST_ROUNDS, phrase_rule
from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Experiment, StoppingRule
from datamill.experiment.hypothesis import Hypothesis
from datamill.experiment.messages.numbers import format_figures, format_fixed
from datamill.experiment.quantities import format_duration
from datamill.results.bundles.decisions import DECISION_SCHEMA, Cause, Decision, LookInterval

#: Level of the narrower interval at most: below, `power` asks for nothing.
_MOST_ALPHA = 0.5


def decide_look(
    experiment: Experiment, rounds: Rounds, *, look: int, trials: int, elapsed_s: float, next_trials: int
) -> Decision:
    """Decide after a batch whether the experiment goes on.

    `trials` have ended, which took `elapsed_s`; the next batch has `next_trials`, 0 when the bound on trials
    is reached. A batch that would end beyond `max_time` at the speed so far is not begun.

    `detect` stops when the interval that holds at all looks together, with probability 1 - alpha, excludes
    zero; or when one that misses the true difference on either side with probability 1 - power lies
    within the limit. A hypothesis is shown by an interval that misses on either side with probability
    alpha, and refuted by one that does so with probability 1 - power.
    `half_width` stops when every package's interval is narrow enough. Neither stops
    before `FEWEST_ROUNDS` complete rounds.

    Raises:
        InputError: the experiment has no rule.
    """
    rule = experiment.until
    if rule is None:
        raise InputError("the experiment has no rule to stop by", remedy="Write until in [replication].")
    if rule.hypothesis is not None:
        cause, intervals = _look_at_hypothesis(rule, rule.hypothesis, rounds)
    elif rule.detect is not None:
        cause, intervals = _look_at_pair(experiment, rule, rounds)
    else:
        cause, intervals = _look_at_means(rule, rounds)
    # Trials of one batch take about as long as those of another.
    foreseen_s = elapsed_s * (trials + next_trials) / max(trials, 1)
    if cause == "not yet" and next_trials == 0:
        cause = "max_trials"
    elif cause == "not yet" and rule.max_time_s and foreseen_s > rule.max_time_s:
        cause = "max_time"
    return Decision(
        schema=DECISION_SCHEMA,
        look=look,
        trials=trials,
        elapsed_s=elapsed_s,
        response=experiment.responses[0].name,
        rule=phrase_rule(rule),
        intervals=intervals,
        decision="go on" if cause == "not yet" else "stop",
        cause=cause,
        reason=_phrase_cause(experiment, rule, cause, intervals, trials, elapsed_s),
        warnings=list_doubts(experiment, rounds, cause, intervals),
    )


def _look_at_pair(
    experiment: Experiment, rule: StoppingRule, rounds: Rounds
) -> tuple[Cause, tuple[LookInterval, ...]]:
    """The interval by which packages differ, and the one by which their difference is small."""
    baseline, other = find_pair(experiment)
    first, second = rounds.of_pair(baseline, other)
    if first.size < 2:
        return "not yet", ()
    name = f"{other} against {baseline}"
    steps = rounds.find_step(baseline), rounds.find_step(other)
    wide = bound_relative_difference(first, second, name, rule.alpha, steps=steps)
    # Either side of a two-sided interval at 2 (1 - power) is missed with probability 1 - power.
    less = min(_MOST_ALPHA, 2 * (1 - rule.power))
    narrow = bound_relative_difference(first, second, name, less, steps=steps)
    if first.size < FEWEST_ROUNDS:
        return "not yet", (wide, narrow)
    if excludes_zero(wide):
        return "changed", (wide, narrow)
    return "no difference" if lies_within(narrow, rule.detect or 0.0) else "not yet", (wide, narrow)


def _look_at_hypothesis(
    rule: StoppingRule, hypothesis: Hypothesis, rounds: Rounds
) -> tuple[Cause, tuple[LookInterval, ...]]:
    """The interval by which a hypothesis is shown, and the one by which it is refuted; one-sided each."""
    first, second = rounds.of_pair(hypothesis.baseline, hypothesis.package)
    if first.size < 2:
        return "not yet", ()
    name = f"{hypothesis.package} against {hypothesis.baseline}"
    steps = rounds.find_step(hypothesis.baseline), rounds.find_step(hypothesis.package)
    wide, narrow = (
        bound_relative_difference(first, second, name, min(_MOST_ALPHA, 2 * error), steps=steps)
        for error in (rule.alpha, 1 - rule.power)
    )
    if first.size < FEWEST_ROUNDS:
        return "not yet", (wide, narrow)
    if supports(hypothesis, wide):
        return "supported", (wide, narrow)
    return "refuted" if refutes(hypothesis, narrow) else "not yet", (wide, narrow)


def supports(hypothesis: Hypothesis, interval: LookInterval) -> bool:
    """Tell whether an interval of the relative difference lies within what a hypothesis claims."""
    if interval.low is None or interval.high is None:
        return False
    above = hypothesis.low is None or interval.low > hypothesis.low - 1
    return above and (hypothesis.high is None or interval.high < hypothesis.high - 1)


def refutes(hypothesis: Hypothesis, interval: LookInterval) -> bool:
    """Tell whether an interval of the relative difference lies outside of what a hypothesis claims."""
    if interval.low is None or interval.high is None:
        return False
    below = hypothesis.low is not None and interval.high < hypothesis.low - 1
    return below or (hypothesis.high is not None and interval.low > hypothesis.high - 1)


def _look_at_means(rule: StoppingRule, rounds: Rounds) -> tuple[Cause, tuple[LookInterval, ...]]:
    """The interval of each package's mean."""
    columns = {package: rounds.of_package(package) for package in rounds.packages}
    intervals = tuple(
        bound_stopped_mean(values, package, rule.confidence, step=rounds.find_step(package))
        for package, values in columns.items()
        if values.size >= 2
    )
    enough = all(values.size >= FEWEST_ROUNDS for values in columns.values())
    narrow = all(
        interval.half_width is not None and interval.half_width <= (rule.half_width or 0.0)
        for interval in intervals
    )
    return "precise" if enough and narrow else "not yet", intervals


def _phrase_cause(
    experiment: Experiment,
    rule: StoppingRule,
    cause: Cause,
    intervals: Sequence[LookInterval],
    trials: int,
    elapsed_s: float,
) -> str:
    name = experiment.responses[0].name
    if cause == "changed":
        return f"{name} has changed: {_phrase_difference(intervals[0])}"
    if cause == "no difference":
        limit = _percent(rule.detect or 0)
        return (
            f"{name} does not differ by {limit} or more: {_phrase_difference(intervals[1])} (either side "
            f"errs with probability {_percent(1 - rule.power)}, since power is {_percent(rule.power)})"
        )
    if cause in ("supported", "refuted") and rule.hypothesis is not None:
        judged, error = (intervals[0], rule.alpha) if cause == "supported" else (intervals[1], 1 - rule.power)
        shown = "it is shown that" if cause == "supported" else "it is not so that"
        return (
            f"{shown} {rule.hypothesis.phrase()}: {_phrase_difference(judged)} (each side errs with "
            f"probability {_percent(error)})"
        )
    if cause == "precise":
        return (
            f"every mean of {name} is known to ±{_percent(rule.half_width or 0)}: {_phrase_widths(intervals)}"
        )
    seen = _phrase_widths(intervals) if rule.half_width is not None else ""
    if rule.half_width is None and intervals:
        seen = _phrase_difference(intervals[0])
    so_far = seen or "no round is complete yet"
    if cause == "max_trials":
        return f"the {trials} trials allowed have ended before the rule was met: {so_far}"
    if cause == "max_time":
        return (
            f"the time allowed ({format_duration(rule.max_time_s)}) leaves no room for another batch after "
            f"{format_duration(elapsed_s)}, and the rule was not met: {so_far}"
        )
    fewest = min((interval.rounds for interval in intervals), default=0)
    early = f" (no rule stops before {FEWEST_ROUNDS} rounds)" if fewest < FEWEST_ROUNDS else ""
    return f"not yet{early}: {so_far}"


def _phrase_difference(interval: LookInterval) -> str:
    if interval.estimate is None:
        return f"{interval.name} cannot be expressed as a share, since the baseline's mean is zero"
    seen = f"{interval.name} {_signed(interval.estimate)}"
    level = f"{format_figures(100 * interval.confidence, 4)}% sequential interval"
    if interval.low is None or interval.high is None:
        return f"{seen}, {level} not bounded yet, n = {interval.rounds} rounds"
    bounds = f"{_signed(interval.low)} to {_signed(interval.high)}"
    return f"{seen}, {level} {bounds}, n = {interval.rounds} rounds"


def _phrase_widths(intervals: Sequence[LookInterval]) -> str:
    parts = []
    for interval in intervals:
        width = interval.half_width
        known = "cannot be expressed as a share of zero" if width is None else f"±{_percent(width)}"
        parts.append(f"{interval.name} {known} (n = {interval.rounds} rounds)")
    return ", ".join(parts)


def _signed(share: float) -> str:
    sign = "−" if share < 0 else "+"
    return f"{sign}{_percent(abs(share))}"


def _percent(share: float) -> str:
    # From 1000% on, .3g would write exponents.
    percent = 100 * share
    return f"{format_fixed(percent, 0)}%" if abs(percent) >= 999.5 else f"{format_figures(percent)}%"
