"""Shapes of distributions, small enough to draw: boxes, empirical distribution functions, histograms."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from datamill.analysis.distribution.boxes import BoxSummary, reach_beyond_box, summarize_box
from datamill.analysis.distribution.summary import MOST_SORTED, find_quantiles, split_cells
from datamill.analysis.model_data.cells import Cells, FloatArray, merge_cells
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.experiment.messages.numbers import format_given

#: Points beyond the whiskers that are kept of one box, and steps of one distribution function.
MOST_BEYOND = 200
MOST_STEPS = 400
#: Bins of a histogram.
_MOST_BINS = 120


@dataclass(frozen=True, slots=True)
class CellBox:
    """The box of one cell; of `beyond` points outside its whiskers, the summary keeps some with both ends."""

    cell: int
    summary: BoxSummary
    beyond: int


@dataclass(frozen=True, slots=True)
class GroupBox:
    """The box of one group, such as a package."""

    name: str
    summary: BoxSummary


@dataclass(frozen=True, slots=True, eq=False)
class CellSteps:
    """An empirical distribution function: `share[i]` of the cell's observations are at most `values[i]`."""

    cell: int
    n: int
    values: FloatArray
    share: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """Counts of each cell (K × B) in bins that all cells share, with B + 1 `edges`, and their rule."""

    edges: FloatArray
    counts: FloatArray
    rule: str


def find_boxes(cells: Cells) -> tuple[CellBox, ...]:
    """The box of each cell: whiskers within 150% of the box's height, as `summarize_box` draws them."""
    if cells.n <= MOST_SORTED:
        boxes = [summarize_box(part + cells.origin) for part in split_cells(cells)]
        return tuple(_cap(cell, box) for cell, box in enumerate(boxes))
    low, median, high = find_quantiles(cells, (0.25, 0.5, 0.75))
    reach = reach_beyond_box(low, high)
    floor, ceiling = low - reach, high + reach
    outside = np.flatnonzero((cells.values < floor[cells.of_row]) | (cells.values > ceiling[cells.of_row]))
    inside = np.ones(cells.n, dtype=bool)
    inside[outside] = False
    whiskers = np.stack([np.full(low.size, np.inf), np.full(low.size, -np.inf)])
    rows, kept = cells.of_row[inside], cells.values[inside]
    np.minimum.at(whiskers[0], rows, kept)
    np.maximum.at(whiskers[1], rows, kept)
    found = []
    for cell in range(low.size):
        beyond = np.sort(cells.values[outside[cells.of_row[outside] == cell]]) + cells.origin
        summary = BoxSummary(
            n=int(cells.counts[cell]),
            low_whisker=float(whiskers[0, cell]) + cells.origin,
            low_quartile=float(low[cell]) + cells.origin,
            median=float(median[cell]) + cells.origin,
            high_quartile=float(high[cell]) + cells.origin,
            high_whisker=float(whiskers[1, cell]) + cells.origin,
            beyond=tuple(float(value) for value in _thin(beyond, MOST_BEYOND)),
        )
        found.append(CellBox(cell, summary, int(beyond.size)))
    return tuple(found)


def summarize_groups(cells: Cells, factor: int | None, name: str) -> tuple[GroupBox, ...]:
    """The box of each level of a factor that has data; without a factor one box of all, of that name."""
    if factor is None:
        return (GroupBox(name, find_boxes(merge_cells(cells, []))[0].summary),)
    merged = merge_cells(cells, [factor])
    levels = merged.factors[0].levels
    return tuple(
        GroupBox(levels[int(merged.codes[item.cell, 0])], item.summary) for item in find_boxes(merged)
    )


def _cap(cell: int, box: BoxSummary) -> CellBox:
    kept = _thin(np.array(box.beyond), MOST_BEYOND)
    summary = BoxSummary(
        box.n,
        box.low_whisker,
        box.low_quartile,
        box.median,
        box.high_quartile,
        box.high_whisker,
        tuple(float(value) for value in kept),
    )
    return CellBox(cell, summary, len(box.beyond))


def _thin(ordered: FloatArray, most: int) -> FloatArray:
    """At most `most` of ordered values, evenly by rank, both ends among them."""
    if ordered.size <= most:
        return ordered
    return ordered[np.unique(np.rint(np.linspace(0, ordered.size - 1, most)).astype(np.int64))]


def find_steps(cells: Cells) -> tuple[CellSteps, ...]:
    """The empirical distribution function of each cell, exact at no more than 400 steps.

    Half of the steps are even in rank, the others grow denser towards both ends, so that tails keep
    their shape; the extremes are always among them.
    """
    if cells.n <= MOST_SORTED:
        parts = split_cells(cells)
        steps = []
        for cell, part in enumerate(parts):
            ranks = _choose_ranks(part.size)
            values = part[ranks - 1]
            # A value's share counts all that equal it.
            share = np.searchsorted(part, values, side="right") / part.size
            steps.append(CellSteps(cell, part.size, values + cells.origin, share))
        return tuple(steps)
    shares = _choose_ranks(1_000_000) / 1_000_000
    shares = shares[(shares > 0) & (shares < 1)]
    found = find_quantiles(cells, tuple(float(share) for share in shares))
    return tuple(
        CellSteps(
            cell,
            int(cells.counts[cell]),
            np.concatenate([[cells.lows[cell]], found[:, cell], [cells.highs[cell]]]) + cells.origin,
            np.concatenate([[1 / cells.counts[cell]], shares, [1.0]]),
        )
        for cell in range(cells.counts.size)
    )


def _choose_ranks(n: int) -> np.ndarray:
    """Ranks from 1 to n, no more than the most of steps."""
    if n <= MOST_STEPS:
        return np.arange(1, n + 1)
    even = np.linspace(1, n, MOST_STEPS // 2)
    tail = np.geomspace(1, n / 2, MOST_STEPS // 4)
    return np.unique(np.rint(np.concatenate([even, tail, n + 1 - tail])).astype(np.int64))


def bin_observations(cells: Cells, *, log: bool = False) -> Histogram:
    """Count the observations of each cell in bins of equal width, on the logarithm with `log`.

    The width is Freedman and Diaconis's (1981), 2 · IQR · n^(−1/3) of all observations, but at
    least Sturges's number of bins and at most 120.

    Raises:
        InputError: the logarithm of an observation does not exist.
    """
    smallest = float(np.min(cells.lows)) + cells.origin
    if log and smallest <= 0:
        raise InputError(
            f"the smallest observation is {format_given(smallest)}, which has no logarithm",
            remedy=f"Leave out {argument('log')}.",
        )
    values = np.log10(cells.values + cells.origin) if log else cells.values
    low, high = float(np.min(values)), float(np.max(values))
    if low == high:
        pad = abs(low + (0 if log else cells.origin)) * 0.5 or 0.5
        edges = np.array([low - pad, low + pad])
        rule = "one bin, since all observations are equal"
    else:
        count, rule = _count_bins(values, low, high)
        edges = np.linspace(low, high, count + 1)
    of_bin = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, edges.size - 2)
    flat = np.bincount(
        cells.of_row.astype(np.int64) * (edges.size - 1) + of_bin,
        minlength=cells.counts.size * (edges.size - 1),
    )
    shown = 10**edges if log else edges + cells.origin
    return Histogram(shown, flat.reshape(cells.counts.size, -1).astype(np.float64), rule)


def _count_bins(values: FloatArray, low: float, high: float) -> tuple[int, str]:
    n = values.size
    chosen = values[:: max(1, n // 200_000)]
    quartiles = np.quantile(chosen, [0.25, 0.75])
    width = 2 * float(quartiles[1] - quartiles[0]) * n ** (-1 / 3)
    sturges = math.ceil(math.log2(n) + 1)
    wanted = math.ceil((high - low) / width) if width > 0 else sturges
    if wanted > _MOST_BINS:
        return _MOST_BINS, f"{_MOST_BINS} bins, the most drawn (Freedman and Diaconis ask for {wanted})"
    if wanted <= sturges:
        return sturges, f"{sturges} bins (Sturges)"
    return wanted, f"{wanted} bins (Freedman and Diaconis)"
