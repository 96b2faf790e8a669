"""Every package against every other, round by round, at one error rate for all of them together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from datamill.analysis.model_data.cells import FloatArray
from datamill.analysis.sequential.intervals import bound_relative_difference, excludes_zero, lies_within
from datamill.analysis.sequential.rounds import Rounds
from datamill.design.batches import FEWEST_ROUNDS
from datamill.results.bundles.decisions import LookInterval

#: What a pair of packages comes to: the second has less of the response than the first, more, as much up to
#: the limit, or nothing is sure yet.
Verdict = Literal["less", "more", "unchanged", "cannot tell"]
#: Half an interval's width, as a share of the difference, from which the difference is well known.
_WELL_KNOWN = 0.1
#: Rounds from which values that do not overlap at all may end the comparison. Alike packages give such values
#: with probability 2 / C(12, 6) in 6 rounds each, and with 0.3% in 6 or more, however often one looks.
FEWEST_SEPARATE_ROUNDS = 6
#: The same share for packages that far apart: nobody waits for the third digit of "three times".
_FAR_APART_KNOWN = 0.2


@dataclass(frozen=True, slots=True)
class Pair:
    """How far `other` departs from `baseline`, as a share of it, with an interval for all looks together.

    `needed_rounds` is about how many rounds it takes to settle it, if it is as it seems; 0 where nothing can be
    said of that.
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


def compare_pairs(rounds: Rounds, *, alpha: float, limit: float) -> tuple[Pair, ...]:
    """Compare every package with each before it.

    The chance that any of the intervals ever misses its true ratio is `alpha` at most (Bonferroni over
    pairs, each a confidence sequence). A difference counts as none where its interval lies within `limit`. A
    pair is settled when more rounds would not change what a reader does: within the limit, or different and
    known to the limit or to a tenth of the difference. Nothing is settled before `FEWEST_ROUNDS` rounds, but
    packages whose values do not overlap at all.
    """
    chosen = list(combinations(rounds.packages, 2))
    return tuple(
        _compare(rounds, baseline, other, alpha / len(chosen), limit) for baseline, other in chosen
    )


def judge_pair(interval: LookInterval, limit: float) -> Verdict:
    """Return what an interval of a relative difference comes to."""
    if excludes_zero(interval):
        return "less" if (interval.high or 0.0) < 0 else "more"
    return "unchanged" if lies_within(interval, limit) else "cannot tell"


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


def _compare(rounds: Rounds, baseline: str, other: str, alpha: float, limit: float) -> Pair:
    first, second = rounds.of_pair(baseline, other)
    name = name_pair(baseline, other)
    if first.size < 2:
        unknown = LookInterval(name, int(first.size), None, None, None, 1 - alpha)
        return Pair(baseline, other, unknown, "cannot tell", settled=False, needed_rounds=0)
    steps = rounds.find_step(baseline), rounds.find_step(other)
    interval = bound_relative_difference(first, second, name, alpha, steps=steps)
    return Pair(
        baseline,
        other,
        interval,
        judge_pair(interval, limit) if _may_judge(first, second) else "cannot tell",
        settled=_is_settled(first, second, interval, limit),
        needed_rounds=count_needed_rounds(interval, limit),
    )


def _may_judge(first: FloatArray, second: FloatArray) -> bool:
    """Whether there are rounds enough: skewed noise makes the rule err where there are very few."""
    return first.size >= FEWEST_ROUNDS or (first.size >= FEWEST_SEPARATE_ROUNDS and _are_apart(first, second))


def _are_apart(first: FloatArray, second: FloatArray) -> bool:
    return bool(first.max() < second.min() or second.max() < first.min())


def _is_settled(first: FloatArray, second: FloatArray, interval: LookInterval, limit: float) -> bool:
    if interval.low is None or interval.high is None or interval.estimate is None:
        return False
    if not _may_judge(first, second):
        return False
    half, size = (interval.high - interval.low) / 2, abs(interval.estimate)
    if first.size >= FEWEST_ROUNDS and lies_within(interval, limit):
        return True
    known = _WELL_KNOWN if first.size >= FEWEST_ROUNDS else _FAR_APART_KNOWN
    return excludes_zero(interval) and half <= max(limit, known * size)


def list_undecided(pairs: Sequence[Pair]) -> tuple[Pair, ...]:
    """Return the pairs that more rounds may still settle."""
    return tuple(pair for pair in pairs if not pair.settled)
