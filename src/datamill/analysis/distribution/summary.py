"""Distributions of groups of observations: five numbers and moments."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from datamill._native import select_cell_quantiles
from datamill.analysis.distribution.order_statistics import find_ranks
from datamill.analysis.interval import Interval
from datamill.analysis.model_data.cells import Cells, FloatArray, ModelFactor
from datamill.analysis.model_data.observations import Observations
from datamill.experiment.messages.numbers import format_given

#: A skewness beyond this makes Student's interval too short, unless there are so many observations for each
#: unit of its square (Cochran 1977, section 2.15).
_SKEWED, _ENOUGH_FOR_SKEWED = 1.0, 25.0
#: Up to here cells are sorted and quantiles interpolated; beyond, they are observations, found unsorted.
MOST_SORTED = 100_000
_QUARTILES = (0.25, 0.5, 0.75)


@dataclass(frozen=True, slots=True)
class GroupSummary:
    """Five numbers, mean and spread of one group, in the response's unit.

    `levels` has the level of every factor. The interval of the median holds whatever the
    distribution; it is None below six observations (at 95%) and where trials have several. The
    interval of the mean is Student's; it is None, as are `sd` and `cv` (sd over mean), where there is
    a single observation, and `cv` where the mean is not positive. `trials` counts what is
    independent: the observations, unless trials have several.
    """

    levels: tuple[str, ...]
    n: int
    trials: int
    minimum: float
    low_quartile: float
    median: float
    median_interval: Interval | None
    high_quartile: float
    maximum: float
    mean: float
    mean_interval: Interval | None
    sd: float | None
    cv: float | None


@dataclass(frozen=True, slots=True)
class DistributionSummary:
    """Summaries of all groups that have data; `quantile_type` is that of Hyndman and Fan (1996)."""

    factors: tuple[ModelFactor, ...]
    groups: tuple[GroupSummary, ...]
    n: int
    quantile_type: int
    confidence: float
    method: str
    warnings: tuple[str, ...]


def summarize_distributions(observations: Observations, confidence: float = 0.95) -> DistributionSummary:
    """Summarise the observations of each combination of levels.

    Up to 100 000 observations quartiles are interpolated (type 7, R's default); beyond, they are the
    observations of rank ⌈τ n⌉ (type 1), which then differ by a neighbour at most and need no
    sorting. Where trials have several observations, the interval of the mean is that of the
    trials' means.
    """
    cells = observations.cells
    kind = 7 if cells.n <= MOST_SORTED else 1
    quartiles, medians = _find_quartiles(observations, confidence)
    bounds = _bound_means(observations, confidence)
    groups = []
    for index, (count, (mean, interval, trials)) in enumerate(zip(cells.counts, bounds, strict=True)):
        n = int(count)
        within = float(cells.within_ss[index])
        sd = math.sqrt(within / (n - 1)) if n > 1 else None
        levels = zip(cells.factors, cells.codes[index], strict=True)
        groups.append(
            GroupSummary(
                levels=tuple(factor.levels[int(code)] for factor, code in levels),
                n=n,
                trials=trials,
                minimum=float(cells.lows[index]) + cells.origin,
                low_quartile=float(quartiles[0, index]) + cells.origin,
                median=float(quartiles[1, index]) + cells.origin,
                median_interval=medians[index],
                high_quartile=float(quartiles[2, index]) + cells.origin,
                maximum=float(cells.highs[index]) + cells.origin,
                mean=mean,
                mean_interval=interval,
                sd=sd,
                cv=sd / mean if sd is not None and mean > 0 else None,
            )
        )
    return DistributionSummary(
        factors=cells.factors,
        groups=tuple(groups),
        n=cells.n,
        quantile_type=kind,
        confidence=confidence,
        method=(
            "quartiles "
            + ("interpolated (type 7 of Hyndman and Fan)" if kind == 7 else "as observations (type 1)")
            + "; interval of the median by order statistics (binomial), of the mean by Student's t"
            + (f" over the {observations.units}' means" if observations.trials is not None else "")
        ),
        warnings=(*_warn(groups, observations.units), *_warn_of_skewness(observations)),
    )


def find_quantiles(cells: Cells, quantiles: tuple[float, ...]) -> FloatArray:
    """Quantiles of each cell as deviations from the cells' origin (T × K), of the type for their number."""
    if cells.n > MOST_SORTED:
        count = cells.counts.size
        found = select_cell_quantiles(cells.of_row, cells.values, count, list(quantiles))
        return np.asarray(found, dtype=np.float64)
    parts = split_cells(cells)
    return np.stack([np.quantile(part, quantiles) for part in parts], axis=1)


def split_cells(cells: Cells) -> list[FloatArray]:
    """Deviations of each cell, sorted."""
    order = np.lexsort((cells.values, cells.of_row))
    return np.split(cells.values[order], np.cumsum(cells.counts)[:-1])


def _bound_means(observations: Observations, confidence: float) -> list[tuple[float, Interval | None, int]]:
    """Mean, its interval and the number of trials, for each cell."""
    cells, trials = observations.cells, observations.trials
    results = []
    for index, count in enumerate(cells.counts):
        mean, n, squares = float(cells.means[index]), int(count), float(cells.within_ss[index])
        if trials is not None:
            rows = np.flatnonzero(cells.of_row == index)
            _, of_trial, sizes = np.unique(trials[rows], return_inverse=True, return_counts=True)
            means = np.bincount(of_trial.reshape(-1), weights=cells.values[rows]) / sizes
            mean, n = float(np.mean(means)), int(means.size)
            squares = float(np.sum((means - mean) ** 2))
        value = mean + cells.origin
        interval = None
        if n > 1:
            reach = -float(stdtrit(n - 1, (1 - confidence) / 2)) * math.sqrt(squares / (n - 1) / n)
            interval = Interval(value, value - reach, value + reach)
        results.append((value, interval, n))
    return results


def _find_quartiles(
    observations: Observations, confidence: float
) -> tuple[FloatArray, list[Interval | None]]:
    """Quartiles of each cell (3 × K), and the medians' intervals.

    Such an interval reaches from one observation to another, whose ranks the binomial distribution
    gives.
    """
    cells = observations.cells
    ranks = [find_ranks(0.5, int(n), confidence)[0] for n in cells.counts]
    if cells.n <= MOST_SORTED:
        parts = split_cells(cells)
        quartiles = np.stack([np.quantile(part, _QUARTILES) for part in parts], axis=1)
        ends = [
            (part[rank - 1], part[-rank]) if rank else None for part, rank in zip(parts, ranks, strict=True)
        ]
    else:
        # Between two ranks, so that rounding cannot reach a neighbour.
        shares = [(rank - 0.5) / int(n) for rank, n in zip(ranks, cells.counts, strict=True)]
        asked = sorted({item for share in shares if share > 0 for item in (share, 1 - share)})
        found = find_quantiles(cells, (*_QUARTILES, *asked))
        quartiles = found[:3]
        place = {share: 3 + index for index, share in enumerate(asked)}
        ends = [
            (found[place[share], cell], found[place[1 - share], cell]) if rank else None
            for cell, (share, rank) in enumerate(zip(shares, ranks, strict=True))
        ]
    if observations.trials is not None:
        ends = [None] * len(ends)
    intervals = [
        None
        if pair is None
        else Interval(*(float(value) + cells.origin for value in (median, pair[0], pair[1])))
        for median, pair in zip(quartiles[1], ends, strict=True)
    ]
    return quartiles, intervals


def _warn(groups: list[GroupSummary], units: str) -> list[str]:
    warnings = []
    single = sum(group.trials == 1 for group in groups)
    if single:
        warnings.append(
            f"{single} of {len(groups)} groups have a single independent observation: their means have no "
            "interval"
        )
    several = sum(group.trials < group.n for group in groups)
    if several:
        warnings.append(
            f"{units} have several measurements, which are not replicates: quartiles are of all "
            f"measurements, means of {units} with the same weight each"
        )
    return warnings


def _warn_of_skewness(observations: Observations) -> list[str]:
    """Which groups are too skewed for Student's interval of their means."""
    cells = observations.cells
    if observations.trials is not None:
        return []
    counts, spreads = cells.counts.astype(np.float64), np.sqrt(cells.within_ss / cells.counts)
    usable = (counts > 2) & (spreads > 0)
    scaled = (cells.values - cells.means[cells.of_row]) / np.where(usable, spreads, 1.0)[cells.of_row]
    skewness = np.bincount(cells.of_row, weights=scaled**3, minlength=counts.size) / counts
    skewed = usable & (np.abs(skewness) > _SKEWED) & (counts < _ENOUGH_FOR_SKEWED * skewness**2)
    if not np.any(skewed):
        return []
    return [
        f"{int(np.sum(skewed))} of {counts.size} groups are too skewed for their number of observations "
        f"(fewer than {format_given(_ENOUGH_FOR_SKEWED)} G1²): the interval of the mean holds less often "
        "than stated, "
        "that of the median does not heed it"
    ]
