"""Hit rate, dismiss rate and the area under the curve, each with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv
from scipy.stats import norm, rankdata

from datamill.analysis.interval import Interval

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Rate:
    """A share of `n` cases, None without cases; `interval` is exact (Clopper and Pearson)."""

    n: int
    count: int
    interval: Interval | None

    @property
    def value(self) -> float | None:
        """The share."""
        return None if self.interval is None else self.interval.estimate


def bound_rate(count: int, n: int, confidence: float = CONFIDENCE) -> Rate:
    """Return the share `count / n` with its exact interval (Clopper and Pearson 1934).

    Cases of neighbouring commits are not independent, so that for histories the interval is too short.
    """
    if n == 0:
        return Rate(0, 0, None)
    tail = (1 - confidence) / 2
    low = 0.0 if count == 0 else float(betaincinv(count, n - count + 1, tail))
    high = 1.0 if count == n else float(betaincinv(count + 1, n - count, 1 - tail))
    return Rate(n, count, Interval(count / n, low, high))


@dataclass(frozen=True, slots=True)
class Area:
    """The area under the ROC curve with its interval (DeLong), None with fewer than two cases of a kind."""

    changed: int
    unchanged: int
    estimate: float
    interval: Interval | None


def measure_area(
    scores: Sequence[float], changed: Sequence[bool], confidence: float = CONFIDENCE
) -> Area | None:
    """Return the probability that a changed case scores above an unchanged one, ties counted half.

    None without cases of both kinds. Source of the interval: DeLong, DeLong and Clarke-Pearson (1988), on the
    logit so that it stays within 0 and 1; an area of 0 or 1 has none, since its estimated variance is 0.
    """
    values, labels = np.asarray(scores, dtype=np.float64), np.asarray(changed, dtype=bool)
    high, low = values[labels], values[~labels]
    m, n = len(high), len(low)
    if not m or not n:
        return None
    ranks = rankdata(np.concatenate([high, low]))
    placed = (ranks[:m] - rankdata(high)) / n
    beaten = 1 - (ranks[m:] - rankdata(low)) / m
    area = float(placed.mean())
    if min(m, n) < 2 or not 0 < area < 1:
        return Area(m, n, area, None)
    variance = float(placed.var(ddof=1) / m + beaten.var(ddof=1) / n)
    spread = float(norm.ppf((1 + confidence) / 2)) * variance**0.5 / (area * (1 - area))
    center = float(np.log(area / (1 - area)))
    ends = [float(1 / (1 + np.exp(-(center + side * spread)))) for side in (-1, 1)]
    return Area(m, n, area, Interval(area, *ends))


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """What happens when cases run whose score is at least `least`."""

    least: float
    hit: Rate
    dismiss: Rate


def trace_curve(scores: Sequence[float], changed: Sequence[bool]) -> tuple[OperatingPoint, ...]:
    """Return the ROC curve: after a point that runs nothing, one for each score, from the highest."""
    labels = [bool(label) for label in changed]
    hits, others = sum(labels), len(labels) - sum(labels)
    points = []
    for least in [float("inf"), *sorted(set(scores), reverse=True)]:
        run = [label for score, label in zip(scores, labels, strict=True) if score >= least]
        points.append(
            OperatingPoint(
                least, bound_rate(sum(run), hits), bound_rate(others - (len(run) - sum(run)), others)
            )
        )
    return tuple(points)


def find_hit_rate(points: Sequence[OperatingPoint], dismissed: float) -> OperatingPoint | None:
    """Return the point with the highest hit rate of those that dismiss at least that share."""
    fitting = [
        point
        for point in points
        if point.dismiss.value is not None
        and point.dismiss.value >= dismissed
        and point.hit.value is not None
    ]
    return max(fitting, key=lambda point: (point.hit.value, point.dismiss.value), default=None)
