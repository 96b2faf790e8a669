"""Five-number summaries for box plots."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamill.analysis.model_data.cells import FloatArray


@dataclass(frozen=True, slots=True)
class BoxSummary:
    """Five numbers of a group, in the response's unit, and the values beyond the whiskers.

    The box runs from the lower to the upper quartile (interpolated, type 7 of Hyndman and Fan);
    the whiskers reach the most extreme observation within 150% of the interquartile range of the
    box (ICPE 2013, section 5.1).
    """

    n: int
    low_whisker: float
    low_quartile: float
    median: float
    high_quartile: float
    high_whisker: float
    beyond: tuple[float, ...]


def reach_beyond_box(low: FloatArray, high: FloatArray) -> FloatArray:
    """How far from its quartiles a box's whiskers reach at the most.

    At least some units in the last place: between two values that rounding alone tells apart a quartile is
    rounded itself, and both would lie beyond.
    """
    rounding = 4 * np.spacing(np.maximum(np.abs(low), np.abs(high)))
    return np.asarray(np.maximum(1.5 * (high - low), rounding), dtype=np.float64)


def summarize_box(values: FloatArray) -> BoxSummary:
    """Summarise the n ≥ 1 finite values of one group."""
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    low, median, high = (float(q) for q in np.quantile(ordered, [0.25, 0.5, 0.75]))
    reach = float(reach_beyond_box(np.array(low), np.array(high)))
    inside = ordered[(ordered >= low - reach) & (ordered <= high + reach)]
    # Interpolated quartiles may lie beyond the last observation inside; a whisker never enters the box.
    low_whisker = min(float(inside[0]), low)
    high_whisker = max(float(inside[-1]), high)
    beyond = ordered[(ordered < low - reach) | (ordered > high + reach)]
    return BoxSummary(
        n=int(ordered.size),
        low_whisker=low_whisker,
        low_quartile=low,
        median=median,
        high_quartile=high,
        high_whisker=high_whisker,
        beyond=tuple(float(value) for value in beyond),
    )
