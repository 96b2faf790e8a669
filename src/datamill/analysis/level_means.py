"""Effect of each factor's levels, per package: the curves of the paper's Figure 6."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as t_distribution

from datamill.analysis.cells import Cells, FloatArray
from datamill.analysis.contrast import (
    CellErrors,
    PooledError,
    bound_contrast,
    estimate_contrast,
    has_replicates,
    use_own_errors,
    use_pooled_errors,
)
from datamill.analysis.fieller import bound_ratio
from datamill.analysis.records import Interval


@dataclass(frozen=True, slots=True)
class LevelMean:
    """Mean of one group (a package, or all) at one level of a factor.

    `value` is the mean over the other factors' combinations, in the response's unit; `percent`
    the deviation from the group's own mean, in percent of it (None when that mean may be zero).
    """

    group: str
    factor: str
    level: str
    n: int
    value: Interval
    percent: Interval | None


@dataclass(frozen=True, slots=True)
class LevelDeviation:
    """The largest deviation of a level from its group's mean, in percent of that mean.

    No level departs by more than `at_most_percent`, with the stated confidence.
    """

    group: str
    factor: str
    level: str
    n: int
    percent: Interval
    at_most_percent: float


def estimate_level_means(
    cells: Cells,
    *,
    factor: int,
    group_factor: int | None,
    confidence: float = 0.95,
    fallback: tuple[PooledError, ...] = (),
) -> tuple[LevelMean, ...]:
    """Mean at each level of a factor, for each level of `group_factor` (or for all together).

    Within a group only those combinations of the other factors count that have data at every
    level, each with the same weight. Variances are each cell's own (Welch–Satterthwaite), or
    those of `fallback` (one for each group) where some cell has a single observation. Groups
    without such a combination, or without any estimate of error, are absent.
    """
    groups = ("all",) if group_factor is None else cells.factors[group_factor].levels
    results: list[LevelMean] = []
    for code, name in enumerate(groups):
        member = np.ones(cells.counts.size, dtype=bool)
        if group_factor is not None:
            member = cells.codes[:, group_factor] == code
        member &= _is_complete(cells, member, factor)
        if not member.any():
            continue
        whole = member / member.sum()
        if has_replicates(cells, whole):
            errors = use_own_errors(cells)
        elif fallback:
            group = np.zeros(cells.counts.size, dtype=np.int64)
            errors = use_pooled_errors(group, (fallback[code],))
        else:
            continue
        for level_code, level in enumerate(cells.factors[factor].levels):
            at_level = member & (cells.codes[:, factor] == level_code)
            weights = at_level / at_level.sum()
            mean = estimate_contrast(cells, weights, errors)
            results.append(
                LevelMean(
                    group=name,
                    factor=cells.factors[factor].name,
                    level=level,
                    n=int(cells.counts[at_level].sum()),
                    value=bound_contrast(mean, confidence),
                    percent=_deviate_percent(cells, weights, whole, confidence, errors),
                )
            )
    return tuple(results)


def _is_complete(cells: Cells, member: NDArray[np.bool_], factor: int) -> NDArray[np.bool_]:
    """Cells whose combination of the other factors has data at every level of this one."""
    others = np.delete(cells.codes, factor, axis=1)
    levels = len(cells.factors[factor].levels)
    if others.shape[1] == 0:
        return member if int(member.sum()) == levels else np.zeros_like(member)
    _, inverse, counts = np.unique(others[member], axis=0, return_inverse=True, return_counts=True)
    complete = np.zeros_like(member)
    complete[np.flatnonzero(member)] = (counts == levels)[inverse.reshape(-1)]
    return complete


def _deviate_percent(
    cells: Cells, weights: FloatArray, whole: FloatArray, confidence: float, errors: CellErrors
) -> Interval | None:
    base = estimate_contrast(cells, whole, errors)
    if base.estimate <= 0:
        return None
    deviation = estimate_contrast(cells, weights - whole, errors)
    plus = estimate_contrast(cells, weights, errors)
    # Var(level mean) = Var(deviation) + Var(base) + 2 Cov gives the covariance that Fieller needs.
    covariance = (plus.variance - deviation.variance - base.variance) / 2
    ratio = bound_ratio(
        deviation.estimate,
        base.estimate,
        numerator_variance=deviation.variance,
        denominator_variance=base.variance,
        covariance=covariance,
        critical=float(t_distribution.isf((1 - confidence) / 2, deviation.df)),
    )
    if ratio is None or ratio.low is None or ratio.high is None:
        return None
    return Interval(100 * ratio.estimate, 100 * ratio.low, 100 * ratio.high)


def find_largest_deviations(
    cells: Cells,
    *,
    factor: int,
    group_factor: int | None,
    confidence: float,
    fallback: tuple[PooledError, ...] = (),
) -> tuple[LevelDeviation, ...]:
    """For each group the level that departs most from the group's mean, in percent of that mean.

    The intervals hold for all levels of the factor together (Bonferroni), since the largest is
    chosen after looking.
    """
    levels = len(cells.factors[factor].levels)
    # Two levels deviate by the same amount in opposite directions: there is nothing to choose.
    together = 1 if levels == 2 else levels
    means = estimate_level_means(
        cells,
        factor=factor,
        group_factor=group_factor,
        confidence=1 - (1 - confidence) / together,
        fallback=fallback,
    )
    results = []
    for group in dict.fromkeys(mean.group for mean in means):
        of_group = [mean for mean in means if mean.group == group]
        percents = [mean.percent for mean in of_group if mean.percent is not None]
        if len(percents) < len(of_group):
            continue
        at = max(range(len(percents)), key=lambda i: (round(abs(percents[i].estimate), 12), i))
        results.append(
            LevelDeviation(
                group=group,
                factor=cells.factors[factor].name,
                level=of_group[at].level,
                n=sum(mean.n for mean in of_group),
                percent=percents[at],
                at_most_percent=max(max(abs(item.low), abs(item.high)) for item in percents),
            )
        )
    return tuple(results)
