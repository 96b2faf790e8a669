"""Effect of each factor's levels, per package: the curves of the paper's Figure 6."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from datamill.analysis.contrasts.contrast import (
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
from datamill.analysis.contrasts.satterthwaite import combine_freedom
from datamill.analysis.interval import Interval
from datamill.analysis.model_data.cells import Cells


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

    `blocks` are indices of factors of the cells. Trials of one block are no independent observations of a
    mean, however many there are: see `bound_over_blocks`. Departures, which are within blocks, stay as they
    are.
    """
    results = []
    for mean in means:
        member = np.ones(cells.counts.size, dtype=bool)
        if group_factor is not None:
            member = cells.codes[:, group_factor] == cells.factors[group_factor].levels.index(mean.group)
        complete = is_complete(cells, member, factor)
        # Blocks that lack a level are no reason to take their trials for independent.
        member = complete if complete.any() else member
        member &= cells.codes[:, factor] == cells.factors[factor].levels.index(mean.level)
        results.append(replace(mean, value=bound_over_blocks(cells, mean.value, member, blocks, confidence)))
    return tuple(results)


def bound_over_blocks(
    cells: Cells, mean: Interval, member: NDArray[np.bool_], blocks: Sequence[int], confidence: float
) -> Interval:
    """Widen the interval of a mean of cells (those of `member`, K) by how much blocks differ.

    Every block factor contributes the variance of its blocks' own means over their number, with one degree of
    freedom less than there are: rather too much, since each of these has part of the spread within. Blocks
    that each belong to one level of another factor, such as boots of a machine, are compared within it. Never
    narrower than it was.
    """
    codes = cells.codes[member]
    fixed = [index for index in range(codes.shape[1]) if index not in blocks]
    parts, freedom = [], []
    for block in blocks:
        around = [index for index in fixed if _encloses(codes[:, index], codes[:, block])]
        _, strata = np.unique(codes[:, around], axis=0, return_inverse=True)
        strata = strata.reshape(-1)
        for stratum in range(int(strata.max()) + 1):
            inside = strata == stratum
            seen = np.unique(codes[inside, block])
            if seen.size > 1:
                values = cells.means[member][inside]
                own = [float(np.mean(values[codes[inside, block] == code])) for code in seen]
                parts.append(float(np.var(own, ddof=1)) / seen.size / (strata.max() + 1) ** 2)
                freedom.append(float(seen.size - 1))
    if sum(parts) <= 0:
        return mean
    wide = bound_contrast(Contrast(mean.estimate, sum(parts), combine_freedom(parts, freedom)), confidence)
    return Interval(mean.estimate, min(mean.low, wide.low), max(mean.high, wide.high))


def _encloses(outer: NDArray[np.integer[Any]], block: NDArray[np.integer[Any]]) -> bool:
    """Whether each block has one level only of another factor that varies."""
    pairs = np.unique(np.stack([block, outer], axis=1), axis=0)
    return len(pairs) == np.unique(block).size and np.unique(outer).size > 1


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
