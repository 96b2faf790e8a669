"""Whether measurements of an execution depend on when they came: warm-up, drift, autocorrelation."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, stdtr

from datamill.analysis.model_data.cells import FloatArray, IntArray
from datamill.analysis.random_effects.nested_data.nested_values import NestedValues

#: Level of the search for a trend, over all its tests.
TREND_ALPHA = 0.01
#: Executions need this many measurements to be looked at, and this many executions speak for themselves.
_FEWEST_MEASUREMENTS = _FEWEST_EXECUTIONS = 6
#: Autocorrelation below this is not worth a word, however certain.
_NOTEWORTHY = 0.1


@dataclass(frozen=True, slots=True)
class StartTrend:
    """The first `first` measurements of an execution differ from the later ones by `difference` on average.

    `difference` is in the unit, `percent` of the mean of the later ones (None where that is 0), and `p` is
    adjusted for all lengths tried. After `settles` measurements in all no trend is found any more; None
    where one remains until the middle of the executions, which more warm-up does not cure. Leaving out
    what comes before would move the mean by `shift`, in the unit.
    """

    first: int
    difference: float
    percent: float | None
    p: float
    settles: int | None
    shift: float | None


@dataclass(frozen=True, slots=True)
class MeasurementOrder:
    """What the order of measurements tells, over `executions` that are long enough to be looked at.

    `trend` is None where none is found at `alpha`. `autocorrelation` is that of neighbouring measurements,
    corrected for its bias, where it differs from 0 at `alpha` and matters; None otherwise, and
    beside a trend of several executions, which makes neighbours alike. `few` says that there are too few
    executions to tell a trend from a drift to either side.
    """

    executions: int
    trend: StartTrend | None
    autocorrelation: float | None
    few: bool
    alpha: float
    method: str


@dataclass(frozen=True, slots=True, eq=False)
class _Positions:
    """Running sums over the measurements of executions (E) that have at least so many.

    `starts` and `lengths` (E); `scores`, `squares` and `values` (N + 1) are sums of all before an index: of
    ranks within the execution from −1/2 to 1/2, of their squares, and of deviations from the
    execution's mean.
    """

    starts: IntArray
    lengths: IntArray
    scores: FloatArray
    squares: FloatArray
    values: FloatArray


def check_measurement_order(nested: NestedValues, alpha: float = TREND_ALPHA) -> MeasurementOrder:
    """Look for a trend that executions have in common, and for autocorrelation inside them.

    Ranks within each execution: its first 1, 2, 4 … measurements against all later ones, up to the half.
    From 6 executions on the differences of executions are compared with 0 by Student's t, which
    autocorrelation does not mislead; fewer are compared with what a random order would give, which
    a slow drift to either side fails as well. p is adjusted by Bonferroni for the lengths tried.
    """
    lengths = np.diff(nested.executions)
    long = np.flatnonzero(lengths >= _FEWEST_MEASUREMENTS)
    if len(long) == 0:
        return MeasurementOrder(0, None, None, True, alpha, "")
    positions = _sum_up(nested, long)
    by_executions = len(long) >= _FEWEST_EXECUTIONS
    method = "ranks of the first measurements against the later ones, " + (
        "executions compared by Student's t" if by_executions else "against a random order"
    )
    trend = _find_trend(positions, float(np.mean(nested.values)), alpha)
    correlation = None
    if trend is None or not by_executions:
        correlation = _find_autocorrelation(nested, long, alpha)
    return MeasurementOrder(len(long), trend, correlation, not by_executions, alpha, method)


def _sum_up(nested: NestedValues, long: IntArray) -> _Positions:
    lengths = np.diff(nested.executions)
    execution = np.repeat(np.arange(len(lengths)), lengths)
    order = np.lexsort((nested.values, execution))
    values, of = nested.values[order], execution[order]
    # Equal values of an execution share the mean of their ranks.
    new = np.append(True, (values[1:] != values[:-1]) | (of[1:] != of[:-1]))
    group = np.cumsum(new) - 1
    place = np.arange(len(values)) - nested.executions[of]
    mean_place = np.bincount(group, weights=place) / np.bincount(group)
    scores = np.empty(len(values))
    scores[order] = (mean_place[group] + 0.5) / lengths[of] - 0.5
    deviations = nested.values - nested.values[0]
    means = np.add.reduceat(deviations, nested.executions[:-1]) / lengths
    deviations = deviations - np.repeat(means, lengths)
    return _Positions(
        starts=nested.executions[long],
        lengths=lengths[long],
        scores=np.append(0.0, np.cumsum(scores)),
        squares=np.append(0.0, np.cumsum(scores**2)),
        values=np.append(0.0, np.cumsum(deviations)),
    )


def _find_trend(positions: _Positions, mean: float, alpha: float) -> StartTrend | None:
    longest = int(positions.lengths.max())
    found = _test_starts(positions, 0)
    if found is None or found[1] >= alpha:
        return None
    first, p = found
    early, late = _split(positions, positions.values, 0, first)
    difference = float(np.mean(early - late))
    later = mean + float(np.mean(late))
    # The smallest number of measurements after which no trend is left.
    settles = None
    for skipped in _list_skips(longest // 2):
        rest = _test_starts(positions, skipped)
        if rest is None or rest[1] >= alpha:
            settles = skipped
            break
    shift = None if settles is None else _find_shift(positions, settles)
    percent = 100 * difference / abs(later) if later else None
    return StartTrend(first, difference, percent, p, settles, shift)


def _list_skips(largest: int) -> list[int]:
    """Numbers of measurements to skip, every one up to 10 and then about every tenth part more."""
    skips, at = [], 1
    while at <= largest:
        skips.append(at)
        at = max(at + 1, math.ceil(at * 1.1))
    return skips


def _split(
    positions: _Positions, sums: FloatArray, skipped: int, first: int
) -> tuple[FloatArray, FloatArray]:
    """Means of the `first` entries after those skipped and of the rest, by execution that has both."""
    use = positions.lengths > skipped + first
    start = positions.starts[use] + skipped
    end = positions.starts[use] + positions.lengths[use]
    early = (sums[start + first] - sums[start]) / first
    late = (sums[end] - sums[start + first]) / (end - start - first)
    return early, late


def _test_starts(positions: _Positions, skipped: int) -> tuple[int, float] | None:
    """The length of start that differs most from the rest, and its p adjusted for the lengths tried."""
    half = (int(positions.lengths.max()) - skipped) // 2
    lengths = [1 << power for power in range(max(half, 0).bit_length())]
    lengths = [length for length in lengths if length <= half]
    tested = [(_test_start(positions, skipped, length), length) for length in lengths]
    if not tested:
        return None
    p, length = min(tested)
    return length, min(1.0, p * len(tested))


def _test_start(positions: _Positions, skipped: int, first: int) -> float:
    """P of the difference of ranks between the `first` measurements after those skipped and the rest."""
    early, late = _split(positions, positions.scores, skipped, first)
    differences = early - late
    count = len(differences)
    mean = float(differences.mean())
    if count >= _FEWEST_EXECUTIONS:
        error = float(differences.std(ddof=1)) / math.sqrt(count)
        if error <= 1e-12:
            return 1.0 if abs(mean) <= 1e-12 else 0.0
        return float(2 * stdtr(count - 1, -abs(mean) / error))
    use = positions.lengths > skipped + first
    start = positions.starts[use] + skipped
    size = positions.starts[use] + positions.lengths[use] - start
    total = positions.scores[start + size] - positions.scores[start]
    spread = positions.squares[start + size] - positions.squares[start] - total**2 / size
    variance = float(np.sum(spread / (size - 1) * (1 / first + 1 / (size - first))))
    if variance <= 1e-24:
        return 1.0
    return float(2 * ndtr(-abs(float(differences.sum())) / math.sqrt(variance)))


def _find_shift(positions: _Positions, skipped: int) -> float:
    """By how much the mean of execution means moves without the measurements skipped."""
    use = positions.lengths > skipped
    start = positions.starts[use] + skipped
    end = positions.starts[use] + positions.lengths[use]
    # Deviations are from the execution's mean: what is left of them is the move.
    return float(np.mean((positions.values[end] - positions.values[start]) / (end - start)))


def _find_autocorrelation(nested: NestedValues, long: IntArray, alpha: float) -> float | None:
    """Correlation of neighbours, pooled over executions; None where it may be 0 or is small."""
    values = nested.values - nested.values[0]
    lengths = np.diff(nested.executions)
    means = np.add.reduceat(values, nested.executions[:-1]) / lengths
    residuals = values - np.repeat(means, lengths)
    execution = np.repeat(np.arange(len(lengths)), lengths)
    chosen = np.zeros(len(lengths), dtype=np.bool_)
    chosen[long] = True
    inside = chosen[execution]
    neighbours = inside[1:] & (execution[1:] == execution[:-1])
    products = float(np.sum((residuals[1:] * residuals[:-1])[neighbours]))
    squares = float(np.sum(residuals[inside] ** 2))
    if squares <= 0:
        return None
    pairs, count = int(neighbours.sum()), int(inside.sum())
    # A mean taken from the same values makes them look opposed by one part in n.
    correlation = products / squares + len(long) / count
    z = abs(correlation) * math.sqrt(pairs)
    if 2 * ndtr(-z) >= alpha or abs(correlation) < _NOTEWORTHY:
        return None
    return min(1.0, max(-1.0, correlation))
