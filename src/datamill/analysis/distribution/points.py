"""Mean and quantiles of each design point by itself, with their intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.special import stdtrit

from datamill.analysis.distribution.order_statistics import check_quantiles, count_needed, find_ranks
from datamill.analysis.distribution.summary import split_cells
from datamill.analysis.interval import Interval
from datamill.analysis.model_data.cells import Cells, FloatArray
from datamill.analysis.model_data.observations import Observations, list_tidy_factors, select_response

#: What stands for the level of a factor that a benchmark does not have.
_NO_LEVEL = "–"


@dataclass(frozen=True, slots=True)
class PointQuantile:
    """A quantile of a design point; `interval` is None where the observations are too few for one."""

    quantile: float
    value: float
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class PointSummary:
    """One design point, in the response's unit; the mean's interval is None where nothing is known of it."""

    levels: tuple[str, ...]
    n: int
    mean: float
    mean_interval: Interval | None
    quantiles: tuple[PointQuantile, ...]


@dataclass(frozen=True, slots=True, eq=False)
class PointSummaries:
    """Design points that have data; the interval of each quantile takes so many observations: `needed`."""

    observations: Observations
    factors: tuple[str, ...]
    points: tuple[PointSummary, ...]
    quantiles: tuple[float, ...]
    needed: tuple[int, ...]
    confidence: float


def summarize_points(
    table: pl.DataFrame,
    response: str,
    *,
    confidence: float = 0.95,
    quantiles: Sequence[float] = (),
    source: str = "table",
) -> PointSummaries:
    """Return the mean of a response at each design point of a tidy table, with its Student interval.

    One value a trial; the interval uses the variance of its own design point. There is none for fewer
    than two trials, nor where trials do not differ: that they never would is not known. Each of the
    `quantiles` (type 7 of Hyndman and Fan) has the interval from one ordered value to another whose ranks
    the binomial distribution gives; there is none where the trials are too few for it.

    Raises:
        InputError: as `select_response`, or a quantile is not between 0 and 1.
    """
    wanted = tuple(check_quantiles(quantiles)) if quantiles else ()
    rows = table.filter(pl.col("response") == response)
    factors = list(list_tidy_factors(rows.filter("valid"))) or [_find_column(rows)]
    filled = rows.with_columns(pl.col(name).cast(pl.String).fill_null(_NO_LEVEL) for name in factors)
    observations = select_response(filled, response, factors, source=source)
    cells = observations.cells
    return PointSummaries(
        observations=observations,
        factors=tuple(factors),
        points=tuple(
            _summarize_point(cells, index, values + cells.origin, wanted, confidence)
            for index, values in enumerate(split_cells(cells))
        ),
        quantiles=wanted,
        needed=tuple(count_needed(quantile, confidence) for quantile in wanted),
        confidence=confidence,
    )


def _find_column(rows: pl.DataFrame) -> str:
    return next(name for name in ("benchmark", "package", "experiment", "response") if name in rows.columns)


def _summarize_point(
    cells: Cells, index: int, ordered: FloatArray, quantiles: Sequence[float], confidence: float
) -> PointSummary:
    n = int(cells.counts[index])
    mean = cells.origin + float(cells.means[index])
    interval = None
    if n > 1 and cells.within_ss[index] > cells.rounding_ss:
        variance = float(cells.within_ss[index]) / (n - 1)
        half = float(stdtrit(n - 1, 0.5 + confidence / 2)) * math.sqrt(variance / n)
        interval = Interval(mean, mean - half, mean + half)
    codes = zip(cells.factors, cells.codes[index], strict=True)
    return PointSummary(
        levels=tuple(factor.levels[int(code)] for factor, code in codes),
        n=n,
        mean=mean,
        mean_interval=interval,
        quantiles=tuple(_find_quantile(ordered, quantile, confidence) for quantile in quantiles),
    )


def _find_quantile(ordered: FloatArray, quantile: float, confidence: float) -> PointQuantile:
    value = float(np.quantile(ordered, quantile))
    low, high = find_ranks(quantile, ordered.size, confidence)
    if low < 1 or high > ordered.size:
        return PointQuantile(quantile, value, None)
    return PointQuantile(quantile, value, Interval(value, float(ordered[low - 1]), float(ordered[high - 1])))
