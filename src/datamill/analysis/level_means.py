"""Effect of each factor's levels, per package: the curves of the paper's Figure 6."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from datamill.analysis.contrast import (
    Contrast,
    PooledError,
    WithinBlocks,
    bound_contrast,
    bound_percent,
    estimate_contrast,
    has_replicates,
    use_own_errors,
    use_pooled_errors,
)
from datamill.analysis.model_data.cells import Cells
from datamill.analysis.records import Interval
from datamill.analysis.satterthwaite import combine_freedom


@dataclass(frozen=True, slots=True)
class LevelMean:
    """Mean of one group (a package, or all) at one level of a factor.

    `value` is the mean over the other factors' combinations and `departure` its deviation from the
    group's own mean, both in the response's unit; `percent` is the departure in percent of that
    mean (None when it may be zero).
    """

    group: str
    factor: str
    level: str
    n: int
    value: Interval
    departure: Interval
    percent: Interval | None


def estimate_level_means(
    cells: Cells,
    *,
    factor: int,
    group_factor: int | None,
    confidence: float = 0.95,
    fallback: tuple[PooledError, ...] = (),
    blocks: WithinBlocks | None = None,
) -> tuple[LevelMean, ...]:
    """Mean at each level of a factor, for each level of `group_factor` (or for all together).

    Within a group only those combinations of the other factors count that have data at every level, each
    with the same weight. Variances are each cell's own (Welch–Satterthwaite), or those of `fallback` (one
    for each group, or for each level where all are together) where some cell has a single observation;
    with `blocks` departures are those within them. Groups without such a combination, or without any
    estimate of error, are absent.
    """
    groups = ("all",) if group_factor is None else cells.factors[group_factor].levels
    results: list[LevelMean] = []
    for code, name in enumerate(groups):
        member = np.ones(cells.counts.size, dtype=bool)
        if group_factor is not None:
            member = cells.codes[:, group_factor] == code
        member &= is_complete(cells, member, factor)
        if not member.any():
            continue
        whole = member / member.sum()
        if has_replicates(cells, whole):
            errors = use_own_errors(cells, blocks)
        elif fallback:
            by_level = group_factor is None and len(fallback) == len(cells.factors[factor].levels)
            group = np.zeros(cells.counts.size, dtype=np.int64)
            errors = (
                use_pooled_errors(cells.codes[:, factor], fallback)
                if by_level
                else use_pooled_errors(group, (fallback[code],))
            )
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
                    departure=bound_contrast(estimate_contrast(cells, weights - whole, errors), confidence),
                    percent=bound_percent(cells, weights - whole, whole, errors, confidence),
                )
            )
    return tuple(results)


def include_spread_of_blocks(
    cells: Cells,
    means: Sequence[LevelMean],
    *,
    factor: int,
    group_factor: int | None,
    blocks: Sequence[int],
    confidence: float,
) -> tuple[LevelMean, ...]:
    """Return a factor's means with intervals that other days and machines than these would also keep to.

    `blocks` are indices of factors of the cells. Every block contributes the variance of its own means over
    their number, with one degree of freedom less than there are: rather too much, since each of these has
    part of the spread within. Departures, which are within blocks, stay as they are.
    """
    results = []
    for mean in means:
        member = np.ones(cells.counts.size, dtype=bool)
        if group_factor is not None:
            member = cells.codes[:, group_factor] == cells.factors[group_factor].levels.index(mean.group)
        member &= is_complete(cells, member, factor)
        member &= cells.codes[:, factor] == cells.factors[factor].levels.index(mean.level)
        parts, freedom = [], []
        for block in blocks:
            codes = cells.codes[member, block]
            seen = np.unique(codes)
            if seen.size > 1:
                own = [float(np.mean(cells.means[member][codes == code])) for code in seen]
                parts.append(float(np.var(own, ddof=1)) / seen.size)
                freedom.append(float(seen.size - 1))
        value = mean.value
        if sum(parts) > 0:
            wide = Contrast(value.estimate, sum(parts), combine_freedom(parts, freedom))
            bounded = bound_contrast(wide, confidence)
            value = Interval(value.estimate, min(value.low, bounded.low), max(value.high, bounded.high))
        results.append(replace(mean, value=value))
    return tuple(results)


def is_complete(cells: Cells, member: NDArray[np.bool_], factor: int) -> NDArray[np.bool_]:
    """Cells whose combination of the other factors has data at every level of this one."""
    others = np.delete(cells.codes, factor, axis=1)
    levels = len(cells.factors[factor].levels)
    if others.shape[1] == 0:
        return member if int(member.sum()) == levels else np.zeros_like(member)
    _, inverse, counts = np.unique(others[member], axis=0, return_inverse=True, return_counts=True)
    complete = np.zeros_like(member)
    complete[np.flatnonzero(member)] = (counts == levels)[inverse.reshape(-1)]
    return complete
