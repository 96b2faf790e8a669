"""Effects over machines that are nested in a dimension of hardware: each machine gives one value.

A machine is what was sampled of its architecture, its trials are not: however many there are, what is said of
the architecture rests on the number of machines. So each machine's trials become one value, the mean over all
combinations of the other factors, or a contrast of such means; and these values are compared between the
levels of the dimension with the variance of machines within a level, on (machines − levels) degrees of
freedom. In balanced data that is the analysis of a nested (split-plot) design with machines as random effects
(Montgomery, Design and Analysis of Experiments, section 14.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.special import fdtrc, stdtr

from datamill.analysis.contrasts.contrast import find_critical
from datamill.analysis.interval import Interval
from datamill.analysis.model_data.cells import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class LevelValue:
    """The mean of a level's machines; no interval where no level has two machines."""

    level: str
    machines: int
    estimate: float
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class LevelPair:
    """A level less another one; interval and p hold for all pairs (Bonferroni), None without error."""

    level: str
    against: str
    estimate: float
    interval: Interval | None
    p: float | None


@dataclass(frozen=True, slots=True)
class NestedEffect:
    """One value a machine, compared between the levels of a dimension.

    `average` is the mean over levels, each with the same weight, and `average_p` that it is zero. `f` and `p`
    are of the test that all levels have the same mean, on (levels − 1) and `df` degrees of freedom;
    `deviation` is the standard deviation of machines within a level. All of these are None where no level has
    two machines, or where machines of a level do not differ at all.
    """

    levels: tuple[LevelValue, ...]
    pairs: tuple[LevelPair, ...]
    average: float
    average_interval: Interval | None
    average_p: float | None
    df: int
    f: float | None
    p: float | None
    deviation: float | None


def compare_levels(
    values: FloatArray, codes: IntArray, names: Sequence[str], confidence: float
) -> NestedEffect:
    """Compare the machines of a dimension's levels.

    Args:
        values: one for each machine (m).
        codes: the level of each machine (m), as an index into `names`.
        names: the levels, of which each has a machine.
        confidence: level of the intervals.
    """
    counts = np.bincount(codes, minlength=len(names))
    means = np.bincount(codes, weights=values, minlength=len(names)) / counts
    df = int(values.size - len(names))
    within = float(np.sum((values - means[codes]) ** 2))
    largest = float(np.max(np.abs(values), initial=0.0))
    # Spread that rounding alone explains is no spread.
    known = df > 0 and within > values.size * (8 * np.finfo(np.float64).eps * largest) ** 2
    error = within / df if known else None
    grand = float(means.mean())
    levels = tuple(
        LevelValue(name, int(count), float(mean), _bound(float(mean), error, 1 / count, df, confidence))
        for name, count, mean in zip(names, counts, means, strict=True)
    )
    share = float(np.sum(1 / counts)) / len(names) ** 2
    f, p = None, None
    if error is not None and len(names) > 1:
        weighted = float(np.sum(counts * means) / values.size)
        between = float(np.sum(counts * (means - weighted) ** 2)) / (len(names) - 1)
        f = between / error
        p = float(fdtrc(len(names) - 1, df, f))
    return NestedEffect(
        levels=levels,
        pairs=_list_pairs(means, counts, names, error, df, confidence),
        average=grand,
        average_interval=_bound(grand, error, share, df, confidence),
        average_p=None if error is None else _judge(grand, error * share, df),
        df=df,
        f=f,
        p=p,
        deviation=None if error is None else float(np.sqrt(error)),
    )


def _list_pairs(
    means: FloatArray,
    counts: IntArray,
    names: Sequence[str],
    error: float | None,
    df: int,
    confidence: float,
) -> tuple[LevelPair, ...]:
    chosen = list(combinations(range(len(names)), 2))
    pairs = []
    for first, second in chosen:
        gap = float(means[second] - means[first])
        share = 1 / counts[first] + 1 / counts[second]
        level = 1 - (1 - confidence) / len(chosen)
        p = None if error is None else min(1.0, len(chosen) * _judge(gap, error * share, df))
        pairs.append(LevelPair(names[second], names[first], gap, _bound(gap, error, share, df, level), p))
    return tuple(pairs)


def _bound(estimate: float, error: float | None, share: float, df: int, confidence: float) -> Interval | None:
    if error is None:
        return None
    reach = find_critical(confidence, df) * float(np.sqrt(error * share))
    return Interval(estimate, estimate - reach, estimate + reach)


def _judge(estimate: float, variance: float, df: int) -> float:
    return min(1.0, 2 * float(stdtr(df, -abs(estimate) / np.sqrt(variance))))
