"""What `datamill time` says, in sentences: the verdict first."""

from __future__ import annotations

from collections import Counter

from datamill.analysis.interval import Interval
from datamill.experiment.messages.numbers import format_count, format_figures, format_level
from datamill.experiment.quantities import format_duration
from datamill.experiment.responses import DEFAULT_RESPONSE
from datamill.report.timing.timing_answer import CommandComparison, CommandMean, TimingAnswer
from datamill.report.words.scales import Scale, choose_scale, format_interval, round_interval

#: Ratios from which people speak of times rather than percent.
_TIMES = 2.0
#: Comparisons that are told at most, one a line.
_MOST_TOLD = 12
#: Factors of the units in which times may be asked for.
_TIME_UNITS = {"s": 1.0, "ms": 1e3, "µs": 1e6}


def phrase_answer(answer: TimingAnswer) -> str:
    """Return the answer in a sentence or two."""
    if len(answer.means) == 1:
        return _phrase_mean(answer, answer.means[0])
    if len(answer.comparisons) == 1:
        return phrase_comparison(answer, answer.comparisons[0])
    return _phrase_best(answer)


def phrase_comparison(answer: TimingAnswer, pair: CommandComparison) -> str:
    """Return what is known of two commands in a sentence."""
    a, b = pair.a.label, pair.b.label
    is_time = answer.response == DEFAULT_RESPONSE
    limit = f"±{format_figures(100 * answer.limit)}%"
    if pair.ratio is None and pair.is_bound:
        return (
            f"The data cannot tell which of {a} and {b} has less {answer.response.name}: values this small "
            "are known only as upper bounds."
        )
    if pair.ratio is None:
        return f"The data cannot tell yet which of {a} and {b} is better: too few executions have ended."
    # Rare slow executions may hide what becomes of the mean: then it is not the mean that is spoken of.
    typical = ", in typical executions" if pair.typical else ""
    if pair.verdict == "unchanged":
        what = "take equally long" if is_time else f"have equal {answer.response.name}"
        return f"{a} and {b} {what}{typical}, within {limit}: {b} differs by {_spell_share(pair)}."
    if pair.verdict == "cannot tell":
        what = "is faster" if is_time else f"has the better {answer.response.name}"
        return f"The data cannot tell yet whether {a} or {b} {what}: {b} differs by {_spell_share(pair)}."
    less = pair.ratio < 1
    if not is_time:
        word = "less" if less else "more"
        least = ", at least" if pair.is_bound else ""
        return f"{b} has {word} {answer.response.name} than {a}: {_spell_size(pair)}{typical}{least}."
    if _is_large(pair):
        if less:
            return f"{b} is {_spell_times(pair, invert=True)} as fast as {a}{typical}."
        return f"{b} takes {_spell_times(pair, invert=False)} as long as {a}{typical}."
    return f"{b} is {'faster' if less else 'slower'} than {a} by {_spell_size(pair)}{typical}."


def phrase_needed(answer: TimingAnswer) -> str:
    """Return what it would take to know more; empty where enough is known."""
    open_pairs = [pair for pair in answer.comparisons if pair.verdict == "cannot tell" and not pair.is_bound]
    needed = max((pair.needed_rounds for pair in open_pairs), default=0)
    if not needed:
        return ""
    if needed > answer.most_rounds:
        return (
            f"If it is as it seems, that takes more than the {format_count(answer.most_rounds)} "
            f"{_name_rounds(answer)} of each that there are at most."
        )
    left_s = answer.measured_s + (needed - answer.rounds) * answer.round_s
    if left_s <= 1.1 * answer.measured_s:
        return "A little more time would probably tell."
    return (
        f"If it is as it seems, about {format_count(needed)} {_name_rounds(answer)} of each would tell: "
        f"allow {format_duration(left_s)}."
    )


def list_comparisons(answer: TimingAnswer) -> list[str]:
    """Return how several commands compare with the reference, or else with the best, a sentence each.

    What the answer says already is left out, and so is what nothing bounds; what is beyond the first
    `_MOST_TOLD` is counted.
    """
    against = answer.means[0] if answer.has_reference else _find_best(answer)
    if len(answer.means) < 3 or against is None:
        return []
    told = phrase_answer(answer)
    pairs = [
        _compare_with(answer, against, mean)
        for mean in answer.shown_means
        if mean.command is not against.command and mean.mean is not None
    ]
    known = [pair for pair in pairs if pair.low is not None and pair.high is not None]
    sentences = [sentence for pair in known if (sentence := phrase_comparison(answer, pair)) not in told]
    more = len(sentences) - _MOST_TOLD
    if more > 0:
        sentences = [*sentences[:_MOST_TOLD], f"{format_count(more)} further comparisons are in the JSON."]
    return sentences


def _find_best(answer: TimingAnswer) -> CommandMean | None:
    ranked = _rank(answer)
    return ranked[0] if ranked else None


def _rank(answer: TimingAnswer) -> list[CommandMean]:
    """Commands with a mean, the best first: by how many are known to be better, and then by their means.

    Rare slow executions may give a command the larger mean that is faster in typical ones.
    """
    worse = Counter(
        (pair.b if pair.verdict == "slower" else pair.a).name
        for pair in answer.comparisons
        if pair.verdict in ("slower", "faster")
    )
    sign = 1 if answer.response.direction == "lower" else -1
    known = [mean for mean in answer.means if mean.mean is not None]
    return sorted(known, key=lambda mean: (worse[mean.command.name], sign * (mean.mean or 0.0)))


def _compare_with(answer: TimingAnswer, first: CommandMean, other: CommandMean) -> CommandComparison:
    """What is known of one command beside another, as `b` beside `a`; alike ones stay as they were judged."""
    both = (first.command, other.command)
    pair = next(pair for pair in answer.comparisons if pair.a in both and pair.b in both)
    return pair if pair.a == first.command or pair.verdict == "unchanged" else pair.turn()


def _name_rounds(answer: TimingAnswer) -> str:
    return "builds" if answer.executions else "executions"


def list_sentences(answer: TimingAnswer) -> list[str]:
    """Return what stands below the picture: how it was measured, what it would take, and what limits it."""
    how = f"{_phrase_rounds(answer)} in {format_duration(answer.measured_s)}"
    if answer.interrupted:
        how += "; interrupted"
    sentences = [f"{how}."]
    if needed := phrase_needed(answer):
        sentences.append(needed)
    return sentences + [f"Warning: {warning.rstrip('.')}." for warning in answer.warnings]


def _phrase_rounds(answer: TimingAnswer) -> str:
    rounds = format_count(answer.rounds)
    if answer.executions:
        times = "once" if answer.executions == 1 else f"{answer.executions} times"
        return (
            f"{rounds} builds of each, linked in another order every time and executed {times}, in turns, "
            "with another size of the environment for each execution,"
        )
    turns = "" if len(answer.means) == 1 else " of each, in turns"
    return f"{rounds} executions{turns}, each with another size of the environment,"


def find_scale(answer: TimingAnswer, magnitude: float) -> Scale:
    """Return how values of this magnitude are written: times in the unit that was asked for, if one was."""
    if answer.time_unit and answer.response.unit == "s":
        return Scale(_TIME_UNITS[answer.time_unit], answer.time_unit)
    return choose_scale(answer.response.unit, magnitude)


def spell_mean(answer: TimingAnswer, mean: CommandMean) -> str:
    """Return a mean with its interval and its unit, or that too little is known."""
    value = Interval.join(mean.mean, mean.low, mean.high)
    if value is None:
        return "too few executions"
    shown = format_interval(value, find_scale(answer, value.estimate), answer.confidence)
    return f"at most {shown}" if mean.is_bound else shown


def _phrase_mean(answer: TimingAnswer, mean: CommandMean) -> str:
    label = mean.command.label
    if mean.mean is None:
        return f"The data cannot tell yet how long {label} takes: too few executions have ended."
    if answer.response == DEFAULT_RESPONSE:
        return f"{label} takes {spell_mean(answer, mean)}."
    return f"The {answer.response.name} of {label} is {spell_mean(answer, mean)}."


def _phrase_best(answer: TimingAnswer) -> str:
    """The best of several commands, and how the others compare with it."""
    known = _rank(answer)
    if len(known) < 2:
        return "The data cannot tell yet which is best: too few executions have ended."
    best = known[0]
    beside = [pair for pair in answer.comparisons if best.command in (pair.a, pair.b)]
    unsure = [
        (pair.a if pair.b == best.command else pair.b).label
        for pair in beside
        if pair.verdict in ("cannot tell", "unchanged")
    ]
    word = "the fastest" if answer.response == DEFAULT_RESPONSE else f"best in {answer.response.name}"
    if not unsure:
        pair = _compare_with(answer, best, known[1])
        return f"{best.command.label} is {word} of {len(answer.means)}. {phrase_comparison(answer, pair)}"
    if len(unsure) == len(answer.means) - 1:
        return f"The data cannot tell which of the {len(answer.means)} commands is {word}."
    others = ", ".join(unsure)
    return (
        f"{best.command.label} is {word}, or as good as {word}: the data do not tell it apart from {others}."
    )


def _is_large(pair: CommandComparison) -> bool:
    return pair.ratio is not None and pair.ratio > 0 and not 1 / _TIMES < pair.ratio < _TIMES


def _spell_times(pair: CommandComparison, *, invert: bool) -> str:
    assert pair.ratio is not None
    value = Interval.join(pair.ratio, pair.low, pair.high)
    if invert and value is not None:
        # Of a ratio that may be zero, the other way round nothing bounds it.
        value = value.inverted() if value.low and value.high else None
    if value is None:
        return f"{format_figures(1 / pair.ratio if invert else pair.ratio)} times (not bounded yet)"
    return round_interval(value).phrase(" times")


def _spell_size(pair: CommandComparison) -> str:
    """The size of a difference in percent, without a sign: `12% (10 to 14%)`."""
    assert pair.ratio is not None
    value = Interval.join(pair.ratio, pair.low, pair.high)
    if value is None:
        return f"{format_figures(100 * abs(pair.ratio - 1), 2)}%, not bounded yet"
    shown = round_interval(value.to_percent().unsigned())
    return f"{shown.estimate}% ({shown.ends}%)"


def _spell_share(pair: CommandComparison) -> str:
    """A difference with its sign: `+0.2% (95% interval −0.5 to +0.9%)`."""
    assert pair.ratio is not None
    value = Interval.join(pair.ratio, pair.low, pair.high)
    if value is None:
        return f"{format_figures(100 * (pair.ratio - 1), 2, signed=True)}%, not bounded yet"
    shown = round_interval(value.to_percent(), signed=True)
    return f"{shown.estimate}% ({shown.ends}%)"


def name_level(answer: TimingAnswer) -> str:
    """Return the level of all intervals, such as `95%`."""
    return format_level(answer.confidence)
