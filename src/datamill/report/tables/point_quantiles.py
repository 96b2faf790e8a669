"""Quantiles of each design point with their intervals, as a printed table shows them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from datamill.analysis.distribution.order_statistics import find_ranks
from datamill.analysis.distribution.summary import split_cells
from datamill.analysis.model_data.cells import Cells, IntArray
from datamill.analysis.quantile.fits import count_needed
from datamill.experiment.messages.numbers import format_count, format_to_error, name_quantile
from datamill.report.words.scales import Scale

#: What a quantile without an interval is rounded to, as share of itself.
_ROUNDED = 0.01


def format_point_quantiles(
    cells: Cells, quantiles: Sequence[float], confidence: float, scale: Scale, no_interval: str
) -> list[tuple[str, ...]]:
    """For each cell its quantiles (type 7), each followed by its interval or by `no_interval`."""
    return [
        tuple(
            text
            for quantile in quantiles
            for text in _format_quantile(
                (values + cells.origin) * scale.factor, quantile, confidence, no_interval
            )
        )
        for values in split_cells(cells)
    ]


def _format_quantile(
    ordered: np.ndarray, quantile: float, confidence: float, no_interval: str
) -> tuple[str, str]:
    value = float(np.quantile(ordered, quantile))
    low, high = find_ranks(quantile, ordered.size, confidence)
    if low < 1 or high > ordered.size:
        return (format_to_error(value, abs(value) * _ROUNDED) if value else "0"), no_interval
    ends = float(ordered[low - 1]), float(ordered[high - 1])
    error = (ends[1] - ends[0]) / 2 or abs(value) * _ROUNDED
    return format_to_error(value, error), " to ".join(format_to_error(end, error) for end in ends)


def describe_quantiles(
    quantiles: Sequence[float], counts: IntArray, confidence: float, units: str, *, averaged: bool
) -> tuple[str, ...]:
    """What the quantiles are of, how their intervals are made, and where these need more observations."""
    names = [name_quantile(quantile) for quantile in quantiles]
    listed = f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
    several = len(names) > 1
    notes = [
        f"{listed[:1].upper()}{listed[1:]} over the {f'means of {units}' if averaged else units}, "
        f"interpolated (type 7 of Hyndman and Fan); the interval{'s' if several else ''} from ordered values "
        "(binomial), whatever the distribution."
    ]
    needed = {quantile: count_needed(quantile, confidence) for quantile in quantiles}
    short = [
        f"{format_count(count)} for the {name_quantile(quantile)}"
        for quantile, count in needed.items()
        if int(counts.min()) < count
    ]
    if short:
        notes.append(f"An interval needs {', '.join(short)}; design points with fewer {units} have none.")
    return tuple(notes)
