"""Why a sequential experiment stopped, in words and as a figure, and what then still holds of the answer."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass, replace

from datamill.analysis.interval import Interval
from datamill.experiment.experiment import Direction, Experiment, Response, StoppingRule
from datamill.experiment.messages.numbers import format_count, format_figures, format_level
from datamill.experiment.messages.phrases import finish_sentence
from datamill.experiment.quantities import format_duration
from datamill.report.figures.figure import Figure
from datamill.report.figures.views import FigureView, start_view
from datamill.report.stopping.figure import MonitoredPoint, draw_monitoring
from datamill.report.words.answer import Answer
from datamill.report.words.scales import choose_scale, format_interval, format_percent
from datamill.results.bundles.decisions import Decision, LookInterval
from datamill.results.bundles.trial_summary import TrialSummary

#: What a reader must know of everything that is computed as if the number of trials had been fixed.
_FIXED = (
    "p-values and plain intervals of this report are those of a fixed number of trials; this experiment "
    "stops by what it sees, which makes them too sure. The sequential intervals allow for that"
)


@dataclass(frozen=True, slots=True)
class StoppingView:
    """What the page shows of the decisions."""

    title: str
    sentences: tuple[str, ...]
    method: str
    figure: Future[FigureView] | None


def view_stopping(experiment: Experiment, trials: TrialSummary) -> StoppingView | None:
    """Tell of the decisions; None where the experiment is not sequential or has not been looked at."""
    rule = experiment.until
    if rule is None or not trials.decisions:
        return None
    last = trials.decisions[-1]
    stopped = last.decision == "stop"
    drawn = draw_looks(rule, trials.decisions)
    looks = f"{format_count(last.look)} look{'' if last.look == 1 else 's'}"
    took = f"{format_count(last.trials)} trials, which took {format_duration(last.elapsed_s)}"
    sentences = [
        f"The experiment was to go on {last.rule}. It was looked at after each batch: {looks}, {took}.",
        finish_sentence(f"It {'stopped' if stopped else 'has not stopped yet'}: {last.reason}"),
    ]
    if trials.not_needed:
        sentences.append(
            f"{format_count(trials.not_needed)} further trials had been planned and were not "
            + ("run." if last.cause in ("max_trials", "max_time") else "needed.")
        )
    sentences += [finish_sentence(warning[:1].upper() + warning[1:]) for warning in last.warnings]
    return StoppingView(
        title="Why it stopped" if stopped else "How far it is from stopping",
        sentences=tuple(sentences),
        method=_name_method(rule),
        figure=None if drawn is None else start_view(drawn),
    )


def states_means(experiment: Experiment, trials: TrialSummary) -> bool:
    """Tell whether the decisions hold the intervals of means, so that no others should stand beside them."""
    rule = experiment.until
    return rule is not None and rule.half_width is not None and bool(trials.decisions)


def states_pairs(experiment: Experiment, trials: TrialSummary) -> bool:
    """Tell whether the decisions hold the differences of pairs, so that no others are told beside them."""
    return states_means(experiment, trials) and bool(trials.decisions[-1].pairs)


def find_look_at_hypothesis(experiment: Experiment, trials: TrialSummary) -> Decision | None:
    """Return the latest look of an experiment that stops for its hypothesis; None of any other."""
    rule = experiment.until
    return (
        trials.decisions[-1]
        if rule is not None and rule.hypothesis is not None and trials.decisions
        else None
    )


def qualify_answer(
    answer: Answer, experiment: Experiment, unit: str, trials: TrialSummary, *, says_change: bool = False
) -> Answer:
    """Let the answer of a sequential experiment be the one that stopping does not spoil.

    With `detect` the headline is the verdict of the rule, and its doubts come next; with `half_width` the
    means get the intervals that are valid where it stopped; the plain ones are said to be too sure. Where a
    decision holds such intervals of means or pairs, too, they are told instead of the plain ones. A headline
    that `says_change` between levels stays, and the mean for which the experiment stopped comes behind it.
    """
    rule = experiment.until
    if rule is None or not trials.decisions:
        return answer
    last = trials.decisions[-1]
    response = experiment.responses[0]
    doubts = tuple(finish_sentence(warning) for warning in last.warnings)
    warnings = (*answer.warnings, finish_sentence(_FIXED))
    if rule.hypothesis is not None:
        # Its sentence is put before the answer; the doubts limit that.
        said = tuple(f"Warning: {doubt}" for doubt in doubts)
        return replace(answer, details=(*said, answer.headline, *answer.details), warnings=warnings)
    if rule.detect is not None:
        headline = phrase_verdict(rule, last, response.name, response.direction)
        # They limit the verdict itself: right behind it, not among all warnings.
        told = (f"Warning: {doubt}" for doubt in doubts)
        details = answer.details
        if last.means:
            plain = f"Mean {response.name} of "
            held = (_phrase_mean(interval, response.name, unit) for interval in last.means)
            details = (*held, *(line for line in details if not line.startswith(plain)))
        return replace(
            answer,
            headline=headline,
            details=(*told, *details),
            warnings=warnings,
            method=_name_method(rule),
        )
    warnings += doubts
    means = tuple(_phrase_mean(interval, response.name, unit) for interval in last.intervals)
    if says_change:
        return replace(answer, details=(*answer.details, *means), warnings=warnings)
    if len(experiment.packages) == 1 and means:
        return replace(answer, headline=means[0], warnings=warnings, method=_name_method(rule))
    pairs = tuple(
        f"The {response.name} of {' differs from that of '.join(pair.name.split(' against '))} by "
        f"{_spell_difference(pair)}."
        for pair in last.pairs
    )
    best = _phrase_best(last, response) if last.pairs else answer.headline
    return replace(
        answer,
        headline=best,
        details=(*means, *pairs, *answer.details),
        warnings=warnings,
        method=_name_method(rule),
    )


def _phrase_best(last: Decision, response: Response) -> str:
    """The package with the best mean, and whether its pairs tell it from each of the others."""
    known = [mean for mean in last.means if mean.estimate is not None]
    if len(known) < 2:
        return "There is no answer yet: too few rounds are complete."
    sign = 1 if response.direction == "lower" else -1
    best, runner_up = sorted(known, key=lambda mean: sign * (mean.estimate or 0.0))[:2]
    unsure = []
    for pair in last.pairs:
        names = pair.name.split(" against ")
        if best.name not in names:
            continue
        other = next(name for name in names if name != best.name)
        if pair.low is None or pair.high is None or pair.low <= 0 <= pair.high:
            unsure.append(other)
        if other == runner_up.name:
            beside = f"the {response.name} of {' differs from that of '.join(names)} by "
            beside += _spell_difference(pair)
    count = len(last.means)
    if len(unsure) == count - 1:
        return f"The data cannot tell which of {count} packages is best in {response.name}."
    if unsure:
        return (
            f"{best.name} seems the best of {count} packages in {response.name}, but the data do not tell it "
            f"apart from {', '.join(unsure)}."
        )
    return f"{best.name} is the best of {count} packages: {beside}."


def phrase_verdict(rule: StoppingRule, last: Decision, response: str, direction: Direction) -> str:
    """Put the verdict of a `detect` experiment into one sentence."""
    limit = f"{format_figures(100 * (rule.detect or 0.0))}%"
    if not last.intervals:
        return "There is no answer yet: too few rounds are complete for both packages."
    wide, narrow = last.intervals
    other, baseline = wide.name.split(" against ")
    if last.cause == "changed" and wide.estimate is not None:
        good = (wide.estimate > 0) == (direction == "higher")
        better, worse = (other, baseline) if good else (baseline, other)
        return (
            f"{better} is better than {worse}: the {response} of {other} differs from {baseline}'s by "
            f"{_spell_difference(wide)}."
        )
    if last.cause == "no difference":
        return (
            f"{other} and {baseline} do not differ in {response} by {limit} or more: the difference is "
            f"{_spell_difference(narrow)}."
        )
    went_on = "ended at its bound" if last.decision == "stop" else "goes on"
    return (
        f"The data cannot tell yet whether {other} and {baseline} differ in {response} by {limit}, and the "
        f"experiment {went_on}: the difference is {_spell_difference(wide)}."
    )


def _spell_difference(interval: LookInterval) -> str:
    if interval.estimate is None:
        return "undefined, as a share of zero"
    value = Interval.join(interval.estimate, interval.low, interval.high)
    if value is None:
        return f"{format_figures(100 * interval.estimate, signed=True)}%, without a bound yet"
    typical = " in typical executions" if interval.of == "typical" else ""
    return _call_sequential(format_percent(value.scaled(100), interval.confidence, signed=True)) + typical


def _phrase_mean(interval: LookInterval, response: str, unit: str) -> str:
    value = Interval.join(interval.estimate, interval.low, interval.high)
    if value is None:
        return f"Nothing is known about the mean {response} of {interval.name}."
    scale = choose_scale(unit, value.estimate)
    shown = _call_sequential(format_interval(value, scale, interval.confidence))
    width = interval.half_width
    within = "" if width is None else f", ±{format_figures(100 * width, 2)}%"
    return f"Mean {response} of {interval.name}: {shown}{within}, n = {interval.rounds} rounds."


def _call_sequential(text: str) -> str:
    return text.replace("interval", "sequential interval")


def _name_method(rule: StoppingRule) -> str:
    if rule.half_width is not None:
        return (
            "intervals of means over rounds, by Student's t, widened by 1 + 2/√n for having stopped at their "
            "width (after Chow and Robbins 1965), and for skewness on one side (Hall 1992)"
        )
    return (
        "confidence sequence for the ratio of means over rounds: Fieller's set with the critical values of "
        "an anytime-valid t-test (Lai 1976), widened for skewness on one side (Hall 1992)"
    )


def draw_looks(rule: StoppingRule, decisions: tuple[Decision, ...]) -> Figure | None:
    """Draw the intervals of all looks in percent: of the baseline's mean, or of each package's latest mean.

    None where no look has an interval yet.
    """
    claimed = rule.hypothesis.share if rule.hypothesis is not None else 0.0
    goal = 100 * (rule.half_width or rule.detect or claimed)
    latest = {interval.name: interval.estimate for interval in decisions[-1].intervals}
    points = []
    for decision in decisions:
        for interval in decision.intervals:
            base = 1.0 if rule.half_width is None else latest.get(interval.name)
            if interval.estimate is None or not base:
                continue
            shift = 0.0 if rule.half_width is None else 1.0
            low, high = (
                None if bound is None else 100 * (bound / base - shift)
                for bound in (interval.low, interval.high)
            )
            name = format_level(interval.confidence)
            points.append(
                MonitoredPoint(
                    trials=decision.trials,
                    series=interval.name if rule.half_width is not None else f"{name} sequential interval",
                    estimate=100 * (interval.estimate / base - shift),
                    low=None if low is None or high is None else min(low, high),
                    high=None if low is None or high is None else max(low, high),
                )
            )
    if not points:
        return None
    if rule.hypothesis is not None:
        title = f"difference of {decisions[-1].response}, {decisions[-1].intervals[0].name}"
        axis = "difference (%)"
        caption = (
            "each point is what the trials so far say, with two bands about it. The hypothesis is shown once "
            "the wider band lies beyond the line that it names, and refuted once the narrower one lies on "
            "the other side."
        )
    elif rule.detect is not None:
        title = f"difference of {decisions[-1].response}, {decisions[-1].intervals[0].name}"
        axis = "difference (%)"
        caption = (
            "each point is what the trials so far say, with two bands about it. The packages differ once the "
            "wider band leaves zero; they do not differ by the amount in question once the narrower one lies "
            "between the outer lines."
        )
    else:
        title = f"intervals of the mean {decisions[-1].response}"
        axis = "departure from the last mean (%)"
        caption = (
            "each point is the mean of the trials so far, with its interval. It is narrow enough once it is "
            "no wider than the space between the outer lines."
        )
    return draw_monitoring(points, title=title, axis=axis, goal=goal, caption=caption)
