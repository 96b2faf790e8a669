"""Verdicts on all benchmarks of a gate, at one error rate for the whole of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from datamill.analysis.model_data.cells import FloatArray
from datamill.analysis.sequential.intervals import bound_anytime_mean
from datamill.analysis.sequential.pairs import Pair, compare_pairs
from datamill.analysis.sequential.rounds import Rounds
from datamill.results.bundles.decisions import LookInterval

#: What the packages of a gate's rounds are called.
BASE, HEAD = "base", "head"


@dataclass(frozen=True, slots=True)
class BenchmarkVerdict:
    """What is known of one benchmark.

    `pair` compares head with base; `base` and `head` are their means over complete rounds, each with an
    interval of its own that holds at all looks; None where no round is complete. `is_alarm` says that head is
    certainly slower by more than is tolerated.
    """

    name: str
    pair: Pair
    base: LookInterval | None
    head: LookInterval | None
    is_alarm: bool


def judge_benchmarks(
    rounds: Mapping[str, Rounds], *, alpha: float, limit: float, tolerate: float
) -> tuple[BenchmarkVerdict, ...]:
    """Judge every benchmark, at any number of rounds.

    Args:
        rounds: of each benchmark by its name, with packages `BASE` and `HEAD`; less is better.
        alpha: chance that any benchmark that is alike in both is ever told apart, or any interval misses.
        limit: the difference that does not matter, as a share.
        tolerate: the slowdown from which on there is an alarm, as a share.

    Each benchmark has an equal part of `alpha` (Bonferroni), which holds however they depend on each other:
    one slow build slows many. The interval of a mean of base or head alone has the level 1 - `alpha`.
    """
    share, level = alpha / max(1, len(rounds)), 1 - alpha
    return tuple(_judge(name, item, share, limit, tolerate, level) for name, item in rounds.items())


def list_open(verdicts: Sequence[BenchmarkVerdict]) -> tuple[str, ...]:
    """Return the names of benchmarks of which more rounds may still tell something."""
    return tuple(verdict.name for verdict in verdicts if not verdict.pair.settled)


def _judge(
    name: str, rounds: Rounds, alpha: float, limit: float, tolerate: float, level: float
) -> BenchmarkVerdict:
    (pair,) = compare_pairs(rounds, alpha=alpha, limit=limit)
    base, head = rounds.of_pair(BASE, HEAD)
    low = pair.interval.low
    return BenchmarkVerdict(
        name,
        pair,
        _bound_mean(rounds, BASE, base, level),
        _bound_mean(rounds, HEAD, head, level),
        pair.verdict == "more" and low is not None and low > tolerate,
    )


def _bound_mean(rounds: Rounds, side: str, values: FloatArray, level: float) -> LookInterval | None:
    if values.size < 2:
        mean = float(values[0]) if values.size else None
        return None if mean is None else LookInterval(side, 1, mean, None, None, level)
    bounded = bound_anytime_mean(values, side, level, step=rounds.find_step(side))
    if bounded.low is None or bounded.low >= 0 or values.min() < 0:
        return bounded
    # No time is below zero.
    return msgspec.structs.replace(bounded, low=0.0)
