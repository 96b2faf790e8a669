"""Verdicts on all benchmarks of a gate, at one error rate for the whole of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from datamill.analysis.gate.power import find_detectable_share
from datamill.analysis.model_data.cells import FloatArray
from datamill.analysis.sequential.pairs import Pair, compare_pairs, shows_means
from datamill.analysis.sequential.rounds import Rounds

#: What the packages of a gate's rounds are called.
BASE, HEAD = "base", "head"


@dataclass(frozen=True, slots=True)
class BenchmarkVerdict:
    """What is known of one benchmark.

    `pair` compares head with base; `base_mean` and `head_mean` are over complete rounds. `is_alarm` says that
    head is certainly slower by more than is tolerated. `detectable` is the slowdown that so many rounds find
    with probability 80%; None where too few have ended to say anything of means.
    """

    name: str
    pair: Pair
    base_mean: float | None
    head_mean: float | None
    is_alarm: bool
    detectable: float | None


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
    one slow build slows many.
    """
    share = alpha / max(1, len(rounds))
    return tuple(_judge(name, item, share, limit, tolerate) for name, item in rounds.items())


def list_open(verdicts: Sequence[BenchmarkVerdict]) -> tuple[str, ...]:
    """Return the names of benchmarks of which more rounds may still tell something."""
    return tuple(verdict.name for verdict in verdicts if not verdict.pair.settled)


def _judge(name: str, rounds: Rounds, alpha: float, limit: float, tolerate: float) -> BenchmarkVerdict:
    (pair,) = compare_pairs(rounds, alpha=alpha, limit=limit)
    base, head = rounds.of_pair(BASE, HEAD)
    low = pair.interval.low
    return BenchmarkVerdict(
        name,
        pair,
        _find_mean(base),
        _find_mean(head),
        pair.verdict == "more" and low is not None and low > tolerate,
        find_detectable_share(base, head, alpha) if shows_means(rounds, base.size) else None,
    )


def _find_mean(values: FloatArray) -> float | None:
    return float(values.mean()) if values.size else None
