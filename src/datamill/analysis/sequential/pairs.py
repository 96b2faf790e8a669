"""Every package against every other, round by round, at one error rate for all of them together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import msgspec

from datamill.analysis.model_data.cells import FloatArray
from datamill.analysis.sequential.intervals import bound_relative_difference, excludes_zero, lies_within
from datamill.analysis.sequential.rounds import Rounds
from datamill.analysis.sequential.typical_ratio import (
    bound_typical_ratio,
    bound_value_range,
    tell_typical_apart,
    widen_by_steps,
)
from datamill.results.bundles.decisions import LookInterval

#: What a pair of packages comes to: the second has less of the response than the first, more, as much up to
#: the limit, or nothing is sure yet.
Verdict = Literal["less", "more", "unchanged", "cannot tell"]
#: Intervals of each pair, which share its error rate.
PARTS = 3
#: Half an interval's width, as a share of the difference, from which the difference is well known.
_WELL_KNOWN = 0.1
#: Rounds from which anything is told of means. Fewer may well have met no slow execution where one in ten is
#: slow (0.9^30 is 4%), and would tell of a lower mean that is not lower.
FEWEST_FOR_MEANS = 30
#: Rounds from which that is so where each is the mean of several executions, if these are enough.
FEWEST_MEAN_ROUNDS = 15
#: The same share where rounds are few: nobody waits for the third digit of "three times".
_FAR_APART_KNOWN = 0.2


@dataclass(frozen=True, slots=True)
class Pair:
    """How far `other` departs from `baseline`, as a share of it, with an interval for all looks together.

    `interval` is of typical values where these alone can be told apart, or are well known, lie within the
    interval of means, and means are not well known; else of means.
    `needed_rounds` is about how many rounds it takes to settle it, if it is as it seems; 0 where nothing can
    be told of that.
    """

    baseline: str
    other: str
    interval: LookInterval
    verdict: Verdict
    settled: bool
    needed_rounds: int


def name_pair(baseline: str, other: str) -> str:
    """Return what the interval of a pair is called."""
    return f"{other} against {baseline}"


def compare_pairs(rounds: Rounds, *, alpha: float, limit: float, by_range: bool = False) -> tuple[Pair, ...]:
    """Compare every package with each before it.

    The chance that any of the intervals ever misses its true ratio is `alpha` at most: Bonferroni over pairs,
    and over three intervals of each, of means (`bound_relative_difference`) and of typical values
    (`bound_typical_ratio`, and `bound_value_range` for few rounds). Means show rare slow values, too, if
    there are enough executions (`shows_means`); typical values can be told apart sooner, and where such
    values, of a busy machine for example, hide what becomes of the mean. Where means differ, and typical
    values agree with them and are alone well known, these are told: rare values widen means alone. A pair
    counts as unchanged where the interval of its means lies within `limit`; with `by_range` also, and before
    anything else, where no two values are farther apart, which few rounds show: of typical values. That is
    for responses that hardly ever have rare large values, such as memory. Of values that come in steps so
    wide that they hardly ever differ it is so, too, where these steps alone may be what parts them.
    Intervals of values in steps are wider by a step. A pair is settled when more rounds
    would not change what a reader does: unchanged, or different and known to the limit or to a tenth of the
    difference; a fifth is enough where rounds are few.
    """
    chosen = list(combinations(rounds.packages, 2))
    share = alpha / len(chosen) / PARTS
    pairs = (_compare(rounds, baseline, other, share, limit, by_range) for baseline, other in chosen)
    # The level is that of all of them together, which is what a reader asks for.
    return tuple(
        replace(pair, interval=msgspec.structs.replace(_floor(rounds, pair), confidence=1 - alpha))
        for pair in pairs
    )


def _floor(rounds: Rounds, pair: Pair) -> LookInterval:
    """The interval of a pair: nothing has less than none of a response that is never negative.

    It is cut after all is known of it: how many rounds are needed goes with its whole width.
    """
    low = pair.interval.low
    if (
        low is None
        or low >= -1
        or min(values.min() for values in rounds.of_pair(pair.baseline, pair.other)) < 0
    ):
        return pair.interval
    return msgspec.structs.replace(pair.interval, low=-1.0)


def count_needed_rounds(interval: LookInterval, limit: float) -> int:
    """Return about how many rounds an interval takes until it settles a difference that is as it seems.

    Widths go with the root of the number of rounds; 0 where nothing can be said of it yet.
    """
    if interval.low is None or interval.high is None or interval.estimate is None:
        return 0
    half = (interval.high - interval.low) / 2
    # Small differences must be shown to be small, larger ones to exist.
    size = abs(interval.estimate)
    wanted = max(limit - size, size, limit / 4)
    return max(interval.rounds, round(interval.rounds * (half / wanted) ** 2))


def count_fewest_rounds(packages: int, alpha: float) -> int:
    """Return the rounds from which on any two packages can be told apart, if their values do not overlap.

    Args:
        packages: how many are compared, each with every other.
        alpha: chance that any interval of any pair misses, as for `compare_pairs`.
    """
    return _count_fewest(alpha / max(1, math.comb(packages, 2)) / PARTS)


def _count_fewest(share: float) -> int:
    # The rule of `bound_value_range`, which needs the fewest.
    return 2 + math.ceil(math.log2(1 / share))


def shows_means(rounds: Rounds, size: int) -> bool:
    """Tell whether so many rounds hold enough executions to say something of means."""
    return size >= _count_for_means(rounds)


def _count_for_means(rounds: Rounds) -> int:
    """The rounds from which `shows_means` is true."""
    if rounds.executions == 1:
        return FEWEST_FOR_MEANS
    return max(FEWEST_MEAN_ROUNDS, math.ceil(FEWEST_FOR_MEANS / rounds.executions))


def list_undecided(pairs: Sequence[Pair]) -> tuple[Pair, ...]:
    """Return the pairs that more rounds may still settle."""
    return tuple(pair for pair in pairs if not pair.settled)


def _compare(rounds: Rounds, baseline: str, other: str, alpha: float, limit: float, by_range: bool) -> Pair:
    first, second = rounds.of_pair(baseline, other)
    name = name_pair(baseline, other)
    if first.size < 2:
        unknown = LookInterval(name, int(first.size), None, None, None, 1 - alpha)
        return Pair(baseline, other, unknown, "cannot tell", settled=False, needed_rounds=0)
    steps = rounds.find_step(baseline), rounds.find_step(other)
    means = bound_relative_difference(first, second, name, alpha, steps=steps)
    enough = shows_means(rounds, int(first.size))
    near = bound_value_range(first, second, name, alpha, steps=steps) if by_range or all(steps) else None
    is_near = near is not None and lies_within(near, limit)
    if near is not None and is_near and by_range:
        # Before means: else it would turn with the number of rounds, and not with what they show.
        return Pair(baseline, other, near, "unchanged", settled=True, needed_rounds=near.rounds)
    if enough:
        if excludes_zero(means):
            by_means = _differ(baseline, other, means, _WELL_KNOWN, limit)
            typical = None if by_means.settled else _find_typical(first, second, name, alpha, steps)
            if typical is not None and _contains(means, typical):
                by_typical = _differ(baseline, other, typical, _WELL_KNOWN, limit)
                return by_typical if by_typical.settled else by_means
            return by_means
        if lies_within(means, limit):
            return Pair(baseline, other, means, "unchanged", settled=True, needed_rounds=means.rounds)
    if near is not None and is_near and not excludes_zero(near):
        return Pair(baseline, other, near, "unchanged", settled=True, needed_rounds=near.rounds)
    typical = _find_typical(first, second, name, alpha, steps)
    if typical is not None:
        known = _WELL_KNOWN if enough else _FAR_APART_KNOWN
        return _differ(baseline, other, typical, known, limit)
    needed = count_needed_rounds(means, limit)
    if needed:
        # Fewer tell nothing apart, however much it differs, and nothing of means.
        equal = abs(means.estimate or 0.0) < limit and not by_range and not all(steps)
        needed = max(needed, _count_fewest(alpha), _count_for_means(rounds) if equal else 0)
    if excludes_zero(means):
        # By rounds too few to have met rare slow executions: it bounds nothing yet.
        means = msgspec.structs.replace(means, low=None, high=None)
    return Pair(baseline, other, means, "cannot tell", settled=False, needed_rounds=needed)


def _contains(outer: LookInterval, inner: LookInterval) -> bool:
    """Whether all that one interval says is within the other, so that the two do not contradict."""
    if outer.low is None or outer.high is None or inner.low is None or inner.high is None:
        return False
    return outer.low <= inner.low and inner.high <= outer.high


def _find_typical(
    first: FloatArray, second: FloatArray, name: str, alpha: float, steps: tuple[float, float]
) -> LookInterval | None:
    """The interval of typical values where it excludes equality; None where nothing does.

    Values that come in steps cannot be told apart below a step, whatever their ranks are.
    """
    # Where values do not overlap at all.
    near = bound_value_range(first, second, name, alpha, steps=steps)
    apart = near if near is not None and excludes_zero(near) else None
    if not tell_typical_apart(first, second, alpha):
        return apart
    typical = widen_by_steps(bound_typical_ratio(first, second, name, alpha), first, steps)
    return typical if excludes_zero(typical) else apart


def _differ(baseline: str, other: str, interval: LookInterval, known: float, limit: float) -> Pair:
    verdict: Verdict = "less" if (interval.high or 0.0) < 0 else "more"
    settled = False
    if interval.low is not None and interval.high is not None and interval.estimate is not None:
        half = (interval.high - interval.low) / 2
        settled = half <= max(limit, known * abs(interval.estimate))
    return Pair(baseline, other, interval, verdict, settled, count_needed_rounds(interval, limit))
