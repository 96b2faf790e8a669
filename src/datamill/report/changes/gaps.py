"""By how much one mean departs from another, in words that are the same everywhere."""

from __future__ import annotations

from datamill.analysis.answer.response import ResponseAnalysis
from datamill.analysis.interval import Interval
from datamill.analysis.levels.comparison import PairComparison
from datamill.experiment.messages.numbers import format_level
from datamill.report.words.scales import (
    Scale,
    format_interval,
    format_percent,
    round_interval,
    round_to_figures,
)

#: Below this, percentages lower are all but 100 and a ratio says more.
_TINY_RATIO = 0.01
#: From here on a speed is told in times rather than in percent.
_TIMES_AS_FAST = 2
_HUGE = 1e6
_TIMES = ("s", "ms", "us", "µs", "ns", "min", "h")


def is_time(analysis: ResponseAnalysis) -> bool:
    """Whether a response is a time that is better when it is shorter."""
    return analysis.response.direction == "lower" and is_unit_of_time(analysis.unit)


def is_unit_of_time(unit: str) -> bool:
    """Whether a unit is one of time."""
    return unit in _TIMES


def phrase_gap(pair: PairComparison, winner: str, scale: Scale, level: float, *, fast: bool = False) -> str:
    """By how much the winner's mean departs from the loser's, up to the name of the loser.

    With `fast`, a time of half or less is told by how many times as fast it is.
    """
    ratio = take_ratio(pair, winner)
    if fast and ratio is not None and ratio.estimate <= 1 / _TIMES_AS_FAST:
        speed = ratio.inverted()
        told = round_to_figures(speed) if speed.estimate > _HUGE else round_interval(speed)
        return f"{told.phrase(' times', format_level(level))} as fast as"
    if ratio is None:
        difference = pair.difference if winner == pair.package else pair.difference.negated()
        word = "higher" if difference.estimate > 0 else "lower"
        shown = difference if difference.estimate > 0 else difference.negated()
        return f"{format_interval(shown, scale, level)} {word} than"
    if ratio.estimate >= 2:
        return round_interval(ratio).phrase(" times", format_level(level))
    if ratio.estimate >= 1:
        return f"{format_percent(ratio.to_percent(), level)} higher than"
    if ratio.estimate < _TINY_RATIO:
        return round_to_figures(ratio).phrase(" times", format_level(level))
    return f"{format_percent(ratio.to_percent().negated(), level)} lower than"


def take_ratio(pair: PairComparison, winner: str) -> Interval | None:
    """Ratio of the winner's mean to the loser's, where it is bounded and positive."""
    ratio = None if pair.ratio is None else pair.ratio.interval
    if ratio is None or ratio.low <= 0:
        return None
    return ratio if winner == pair.package else ratio.inverted()


def phrase_bounds(pair: PairComparison, scale: Scale, level: float) -> str:
    """By how much a package may depart from the baseline, where the data do not tell them apart."""
    gap = None if pair.ratio is None else pair.ratio.to_percent()
    if gap is not None:
        return f"{pair.package} differs from {pair.baseline} by {format_percent(gap, level, signed=True)}"
    shown = f"their difference is {format_interval(pair.difference, scale, level)}"
    return f"{shown}; {pair.ratio.note}" if pair.ratio is not None and pair.ratio.note else shown
