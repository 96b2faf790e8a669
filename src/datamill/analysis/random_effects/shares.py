"""Shares of a variance that builds, executions and measurements have, with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from datamill.analysis.interval import Interval
from datamill.analysis.model_data.cells import FloatArray
from datamill.analysis.random_effects.freedom import find_freedom
from datamill.analysis.random_effects.mean_squares import MeanSquare
from datamill.analysis.random_effects.nested_data.execution_means import ExecutionMeans
from datamill.analysis.random_effects.variance_estimate import Level, Share

#: Draws of the pivots behind an interval: its ends move by about half a percent with the seed.
_DRAWS = 10_000


@dataclass(frozen=True, slots=True)
class Shares:
    """Shares of the variance of the mean, and of that of a single measurement; empty where nothing varies."""

    uncertainty: tuple[Share, ...]
    variation: tuple[Share, ...]


def bound_shares(
    averaged: ExecutionMeans,
    squares: Sequence[MeanSquare],
    components: Mapping[Level, float],
    confidence: float,
    seed: int,
) -> Shares:
    """Bound the shares of the levels in `squares` by generalised confidence intervals (Weerahandi 1993).

    There are no shares where only one level can be told, or where no variance is.
    """
    if len(squares) < 2 or not any(value > 0 for value in components.values()):
        return Shares((), ())
    drawn = draw_components(averaged, squares, seed)
    single = dict.fromkeys(components, 1.0)
    return Shares(
        _bound(components, drawn, squares[0].expects, confidence),
        _bound(components, drawn, single, confidence),
    )


def bound_spread(
    averaged: ExecutionMeans,
    squares: Sequence[MeanSquare],
    components: Mapping[Level, float],
    level: Level,
    confidence: float,
    seed: int,
) -> Interval:
    """The standard deviation of one level with its generalised confidence interval, in the unit."""
    drawn = np.sqrt(np.maximum(draw_components(averaged, squares, seed)[level], 0.0))
    low, high = np.quantile(drawn, ((1 - confidence) / 2, (1 + confidence) / 2))
    estimate = float(np.sqrt(components[level]))
    return Interval(estimate, min(float(low), estimate), max(float(high), estimate))


def draw_components(
    averaged: ExecutionMeans, squares: Sequence[MeanSquare], seed: int
) -> dict[Level, FloatArray]:
    """Draw variances of the levels that explain the mean squares; negative ones where none does.

    A mean square over a draw of chi-square divided by its degrees of freedom is a pivot of its expectation.
    The degrees of freedom are those that heavy tails leave (`find_freedom`): with those of normal values
    intervals of shares miss in 15 to 20% of all cases instead of 5% where levels are exponential.
    """
    rng = np.random.default_rng(seed)
    expected: dict[Level, FloatArray] = {}
    for square in squares:
        df = find_freedom(averaged, square)
        expected[square.level] = square.value * df / rng.chisquare(df, _DRAWS)
    drawn: dict[Level, FloatArray] = {}
    for square in reversed(squares):
        below = [part * drawn[level] for level, part in square.expects.items() if level != square.level]
        drawn[square.level] = expected[square.level] - sum(below, np.zeros(_DRAWS))
    return drawn


def _bound(
    components: Mapping[Level, float],
    drawn: Mapping[Level, FloatArray],
    parts: Mapping[Level, float],
    confidence: float,
) -> tuple[Share, ...]:
    """The share of each level where `parts` of the variances add up."""
    total = sum(parts[level] * value for level, value in components.items())
    drawn_parts = {level: parts[level] * np.maximum(drawn[level], 0.0) for level in components}
    drawn_total = sum(drawn_parts.values(), np.zeros(_DRAWS))
    # Draws that leave no variance at all, as there may be where the lowest level has none, have no shares.
    known = drawn_total > 0
    tails = ((1 - confidence) / 2, (1 + confidence) / 2)
    shares = []
    for level, value in components.items():
        estimate = parts[level] * value / total
        low, high = np.quantile(drawn_parts[level][known] / drawn_total[known], tails)
        shares.append(Share(level, estimate, min(float(low), estimate), max(float(high), estimate)))
    return tuple(shares)
