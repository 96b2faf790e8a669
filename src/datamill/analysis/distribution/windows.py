"""Variability over windows of consecutive observations, against a count of events in each window."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri, stdtr

from datamill.analysis.distribution.variability import adjust_skewness
from datamill.analysis.interval import Interval
from datamill.analysis.model_data.cells import Cells, FloatArray, IntArray
from datamill.analysis.model_data.observations import Observations
from datamill.analysis.ordered.ranks import rank_values
from datamill.experiment.errors import InputError
from datamill.experiment.messages.numbers import format_given

#: Up to so many windows a correlation is judged by all their orders. R counts those of 9.
_MOST_PERMUTED = 12
#: Share of the largest figure below which figures are apart by rounding alone.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Window:
    """Consecutive observations of one design point: `cv` and `skewness` None where they do not exist."""

    levels: tuple[str, ...]
    start: int
    count: float
    cv: float | None
    skewness: float | None


@dataclass(frozen=True, slots=True)
class FigureRange:
    """The median of a figure over some windows, and its extremes."""

    median: float
    least: float
    largest: float


@dataclass(frozen=True, slots=True)
class CountFigures:
    """The windows with the same count: how many, and their figures, None where no window has the figure."""

    count: float
    windows: int
    cv: FigureRange | None
    skewness: FigureRange | None


@dataclass(frozen=True, slots=True)
class CountAssociation:
    """How a figure goes with the count: Spearman's correlation, None where either is constant.

    It is `detected` where its p is below one minus the confidence.
    """

    figure: str
    windows: int
    correlation: Interval | None
    p: float | None
    detected: bool


@dataclass(frozen=True, slots=True)
class WindowAnalysis:
    """Windows of `size` observations, and how their figures go with the sum of `against`.

    `by_count` gathers windows of like count, from the least to the largest. `left_over` counts observations
    at the ends of design points that fill no window.
    """

    against: str
    size: int
    windows: tuple[Window, ...]
    by_count: tuple[CountFigures, ...]
    associations: tuple[CountAssociation, ...]
    n: int
    left_over: int
    confidence: float
    method: str
    warnings: tuple[str, ...]


def analyze_windows(observations: Observations, size: int, *, confidence: float = 0.95) -> WindowAnalysis:
    """CV and skewness G1 of n consecutive observations against events among them (thesis 2019, 2.2.1).

    The first covariate counts the events of each observation. Windows do not overlap, do not reach
    over design points, and follow the order of `observations.order`, else of the rows.

    Raises:
        InputError: a window is smaller than three or larger than the observations, or a count is
            negative.
    """
    cells, events = observations.cells, observations.covariates[0]
    if size < 3:
        raise InputError(f"a window of {size} has no skewness", remedy="Take windows of 3 or more.")
    if np.any(events.values < 0):
        raise InputError(
            f"column {events.name} has negative numbers, which count nothing",
            remedy="Name a column that counts events, or marks them by 1 and 0.",
        )
    order = (
        np.arange(cells.n) if observations.order is None else np.argsort(observations.order, kind="stable")
    )
    windows, left_over = [], 0
    for cell in range(cells.counts.size):
        rows = order[cells.of_row[order] == cell]
        labels = zip(cells.factors, cells.codes[cell], strict=True)
        levels = tuple(factor.levels[int(code)] for factor, code in labels)
        left_over += rows.size % size
        for start in range(0, rows.size - size + 1, size):
            chosen = rows[start : start + size]
            values = cells.values[chosen]
            count = float(np.sum(events.values[chosen]))
            windows.append(
                Window(levels, start, count, _find_cv(values, cells.origin), adjust_skewness(values))
            )
    if not windows:
        raise InputError(
            f"no design point has {size} observations for a window",
            remedy="Take smaller windows, or name fewer factors.",
        )
    rounding = _measure_rounding(cells)
    counts = [item.count for item in windows]
    figures = (
        ("coefficient of variation", _merge_ties([item.cv for item in windows], rounding, 0.0)),
        # Where all is symmetric, skewness is rounding: its cubes are of the order of one.
        ("skewness", _merge_ties([item.skewness for item in windows], rounding, 1.0)),
    )
    pairs = [_associate(name, [*zip(counts, known, strict=True)], confidence) for name, known in figures]
    warnings = []
    if left_over:
        warnings.append(f"{left_over} observations at the end fill no window and are not used")
    if len(windows) < 10:
        warnings.append(f"{len(windows)} windows say little: intervals are rough")
    if pairs[0].correlation is None and len({item.count for item in windows}) == 1:
        warnings.append(
            f"every window has the same number of events ({format_given(windows[0].count)}): there is "
            "nothing to set the "
            "variability against"
        )
    return WindowAnalysis(
        against=events.name,
        size=size,
        windows=tuple(windows),
        by_count=_gather_counts(windows),
        associations=tuple(pairs),
        n=cells.n,
        left_over=left_over,
        confidence=confidence,
        method=(
            f"windows of {size} consecutive observations in the order of "
            f"{'the rows' if observations.order is None else 'the column named'}, without overlap; CV = s / "
            "mean; "
            "skewness G1; Spearman's correlation with the interval of Bonett and Wright, p from "
            f"{'all orders' if max(item.windows for item in pairs) <= _MOST_PERMUTED else 'Student'}"
        ),
        warnings=tuple(warnings),
    )


def _gather_counts(windows: Sequence[Window]) -> tuple[CountFigures, ...]:
    by_count: dict[float, list[Window]] = {}
    for window in windows:
        by_count.setdefault(window.count, []).append(window)
    return tuple(
        CountFigures(
            count,
            len(chosen),
            _find_range([window.cv for window in chosen]),
            _find_range([window.skewness for window in chosen]),
        )
        for count, chosen in sorted(by_count.items())
    )


def _find_range(figures: Sequence[float | None]) -> FigureRange | None:
    known = [figure for figure in figures if figure is not None]
    return FigureRange(float(np.median(known)), min(known), max(known)) if known else None


def _find_cv(values: FloatArray, origin: float) -> float | None:
    mean = float(np.mean(values)) + origin
    # Of like values the mean may be off by rounding, which is no spread.
    deviation = float(np.std(values, ddof=1)) if np.ptp(values) > 0 else 0.0
    return deviation / mean if mean > 0 else None


def _measure_rounding(cells: Cells) -> float:
    """Share of a figure that rounding makes, that of observations beside a large offset included."""
    spread = float(np.std(cells.values))
    offset = abs(cells.origin) / spread if spread > 0 else 0.0
    return _ROUNDING + 4 * float(np.finfo(np.float64).eps) * offset


def _merge_ties(figures: list[float | None], rounding: float, least: float) -> list[float | None]:
    """Figures with those made equal that are so but for rounding: windows with the same values tie.

    `rounding` is a share of the largest figure, or of `least` where that is larger.
    """
    scale = max([least, *(abs(item) for item in figures if item is not None)])
    known = np.array([math.nan if item is None else item for item in figures])
    order = np.argsort(known, kind="stable")
    ordered = known[order]
    apart = np.diff(ordered) > rounding * scale
    first = np.concatenate([[True], apart | np.isnan(ordered[1:])])
    merged = np.empty_like(known)
    merged[order] = ordered[first][np.cumsum(first) - 1]
    return [None if math.isnan(item) else item for item in merged.tolist()]


def _associate(figure: str, pairs: list[tuple[float, float | None]], confidence: float) -> CountAssociation:
    known = np.array([(count, value) for count, value in pairs if value is not None]).reshape(-1, 2)
    n = known.shape[0]
    if n < 4 or np.ptp(known[:, 0]) == 0 or np.ptp(known[:, 1]) == 0:
        return CountAssociation(figure, n, None, None, detected=False)
    ranks = np.stack([rank_values(known[:, 0]), rank_values(known[:, 1])], axis=1)
    rho = float(np.clip(np.corrcoef(ranks[:, 0], ranks[:, 1])[0, 1], -1, 1))
    # Bonett and Wright (2000): Fisher's z with variance (1 + rho² / 2) / (n − 3). Of a perfect order that
    # would be certain: it counts as half a step, an exchange of neighbours, short of it.
    most = 1 - 6 / (n * (n * n - 1))
    bounded = min(max(rho, -most), most)
    reach = -float(ndtri((1 - confidence) / 2)) * math.sqrt((1 + bounded * bounded / 2) / (n - 3))
    low, high = (math.tanh(math.atanh(bounded) + side * reach) for side in (-1, 1))
    interval = Interval(rho, min(low, rho), max(high, rho))
    p = judge_ranks(ranks, rho)
    return CountAssociation(figure, n, interval, p, detected=p < 1 - confidence)


def judge_ranks(ranks: FloatArray, rho: float) -> float:
    """Two-sided p of Spearman's correlation of two columns of ranks (n × 2).

    Of few windows twice the share of all orders that are as extreme, ties included; of more Student's, but
    no less than a perfect order has.
    """
    n = ranks.shape[0]
    if n > _MOST_PERMUTED:
        p = float(2 * stdtr(n - 2, -abs(rho) * math.sqrt((n - 2) / max(1 - rho * rho, 1e-300))))
        return min(1.0, max(p, 2 * math.exp(-math.lgamma(n + 1))))
    # Midranks are halves: twice them are whole, and so are the sums of their products.
    first, second = np.rint(2 * ranks).astype(np.int64).T
    counts = _count_orders(first, second)
    observed = int(second @ first)
    extreme = min(np.sum(counts[: observed + 1]), np.sum(counts[observed:]))
    return min(1.0, 2 * float(extreme) / math.factorial(n))


def _count_orders(first: IntArray, second: IntArray) -> IntArray:
    """How many orders of `second` have each sum of products with `first`; entry s is that of sum s.

    Members of `first` get theirs one after the other. What is left depends on which of `second` are taken,
    not on who took them: 2^n sets instead of n! orders.
    """
    n = first.size
    sets = np.arange(1 << n)
    sizes = np.bitwise_count(sets)
    sums = int(np.sort(first) @ np.sort(second)) + 1
    place = np.zeros(1 << n, dtype=np.int64)
    counts = np.zeros((1, sums), dtype=np.int64)
    counts[0, 0] = 1
    for taken, member in enumerate(first):
        before, after = sets[sizes == taken], sets[sizes == taken + 1]
        place[after] = np.arange(after.size)
        grown = np.zeros((after.size, sums), dtype=np.int64)
        for other in range(n):
            free = before[before >> other & 1 == 0]
            product = int(member * second[other])
            grown[place[free | 1 << other], product:] += counts[place[free], : sums - product]
        counts = grown
    return counts.ravel()
