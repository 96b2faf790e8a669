"""By how much a response changes between the levels of a factor."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from datamill.analysis.contrasts.contrast import (
    CellErrors,
    PooledError,
    WithinBlocks,
    estimate_contrast,
    has_replicates,
    use_own_errors,
    use_pooled_errors,
)
from datamill.analysis.levels.comparison import PairComparison
from datamill.analysis.levels.level_means import LevelMean, is_complete
from datamill.analysis.levels.packages import compare_means
from datamill.analysis.model_data.cells import Cells, FloatArray
from datamill.experiment.experiment import Direction

#: Levels of which all pairs are looked at; of more, the pairs with the lowest or the highest mean.
_MOST_PAIRED = 30


@dataclass(frozen=True, slots=True)
class LevelChange:
    """The largest change between two levels of a factor, for one group (a package, or all).

    `pair` has the better level as its package and the other one as its baseline. No two levels differ by more
    than `at_most`, in the response's unit, with the stated confidence; `at_most_percent` is the same in
    percent of the other level's mean (None where that may be zero). `steps` has every level of the factor
    (there are `levels`) against one and the same: the baseline of the group whose levels differ most. The
    means are over those combinations of the factors `over` (names) that have data at every level; `n` counts
    their observations.
    """

    group: str
    factor: str
    n: int
    pair: PairComparison
    at_most: float
    at_most_percent: float | None
    levels: int = 2
    steps: tuple[PairComparison, ...] = ()
    over: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LevelChanges:
    """Means by level of factors, and the largest change of each; `direction` says which way is better."""

    means: tuple[LevelMean, ...]
    changes: tuple[LevelChange, ...]
    direction: Direction | None

    def rank(self, factor: str | None = None) -> tuple[LevelChange, ...]:
        """Return the changes, or those of one factor, the largest first."""
        return rank_changes([item for item in self.changes if factor is None or item.factor == factor])


@dataclass(frozen=True, slots=True, eq=False)
class _Group:
    """One group's levels, and how two of them are compared."""

    name: str
    n: int
    ranked: tuple[str, ...]
    compare: Callable[[str, str], PairComparison]


def find_largest_changes(
    cells: Cells,
    *,
    factor: int,
    group_factor: int | None,
    direction: Direction,
    confidence: float,
    alpha: float,
    fallback: tuple[PooledError, ...] = (),
    blocks: WithinBlocks | None = None,
) -> tuple[LevelChange, ...]:
    """For each level of `group_factor` (or all together) the pair of levels that differ most.

    Means are over those combinations of the other factors that have data at every level, each with the same
    weight, with the errors of `estimate_level_means`. Intervals and p-values hold for all pairs together
    (Bonferroni), since the largest is chosen after looking. `fallback` has an error for each group, or for
    each level of the factor where all groups are together. Groups without such a combination, or without
    any estimate of error, are absent.
    """
    names = ("all",) if group_factor is None else cells.factors[group_factor].levels
    groups = []
    for code, name in enumerate(names):
        member = np.ones(cells.counts.size, dtype=bool)
        if group_factor is not None:
            member = cells.codes[:, group_factor] == code
        member &= is_complete(cells, member, factor)
        by_level = group_factor is None and len(fallback) == len(cells.factors[factor].levels)
        own = fallback if by_level else fallback[code : code + 1]
        errors = choose_errors(cells, member, own, factor if by_level else None, blocks)
        if errors is not None:
            groups.append(_rank_levels(cells, name, factor, member, errors, direction, confidence, alpha))
    over = tuple(item.name for index, item in enumerate(cells.factors) if index != factor)
    results = [_find_largest(group, cells.factors[factor].name, over) for group in groups]
    if not results:
        return ()
    reference = rank_changes(results)[0].pair.baseline
    return tuple(
        replace(result, steps=_compare_with(group, reference))
        for group, result in zip(groups, results, strict=True)
    )


def rank_changes(changes: Sequence[LevelChange]) -> tuple[LevelChange, ...]:
    """Return changes of one response, the largest first, whatever its unit is.

    They are ranked by the logarithm of the ratio if all have one, else all by the difference.
    """
    ratios = [item.pair.ratio.estimate for item in changes if item.pair.ratio is not None]
    if len(ratios) == len(changes) and all(ratio > 0 for ratio in ratios):
        sizes = [abs(math.log(ratio)) for ratio in ratios]
    else:
        sizes = [abs(item.pair.difference.estimate) for item in changes]
    order = sorted(range(len(changes)), key=lambda index: -sizes[index])
    return tuple(changes[index] for index in order)


def choose_errors(
    cells: Cells,
    member: NDArray[np.bool_],
    fallback: tuple[PooledError, ...],
    by: int | None,
    blocks: WithinBlocks | None,
) -> CellErrors | None:
    """Each cell's own variance, else those of `fallback`, of which each level of factor `by` has its own."""
    if not member.any():
        return None
    if has_replicates(cells, member / member.sum()):
        return use_own_errors(cells, blocks)
    one = np.zeros(cells.counts.size, dtype=np.int64)
    return use_pooled_errors(one if by is None else cells.codes[:, by], fallback) if fallback else None


def _rank_levels(
    cells: Cells,
    group: str,
    factor: int,
    member: NDArray[np.bool_],
    errors: CellErrors,
    direction: Direction,
    confidence: float,
    alpha: float,
) -> _Group:
    labels = cells.factors[factor].levels
    weights: dict[str, FloatArray] = {}
    for code, label in enumerate(labels):
        at_level = member & (cells.codes[:, factor] == code)
        weights[label] = at_level / at_level.sum()
    means = {label: estimate_contrast(cells, weight, errors).estimate for label, weight in weights.items()}
    ranked = sorted(labels, key=lambda label: -means[label] if direction == "higher" else means[label])
    compare = partial(
        compare_means,
        cells,
        weights,
        comparisons=len(labels) * (len(labels) - 1) // 2,
        errors=errors,
        direction=direction,
        confidence=confidence,
        alpha=alpha,
    )
    return _Group(group, int(cells.counts[member].sum()), tuple(ranked), compare)


def _find_largest(group: _Group, factor: str, over: tuple[str, ...]) -> LevelChange:
    found = [group.compare(better, worse) for better, worse in _pair(group.ranked)]
    percents = [_reach_percent(pair) for pair in found]
    return LevelChange(
        group=group.name,
        factor=factor,
        n=group.n,
        pair=max(found, key=lambda pair: abs(pair.difference.estimate)),
        at_most=max(max(abs(pair.difference.low), abs(pair.difference.high)) for pair in found),
        at_most_percent=None if None in percents else max(item for item in percents if item is not None),
        levels=len(group.ranked),
        over=over,
    )


def _compare_with(group: _Group, reference: str) -> tuple[PairComparison, ...]:
    return tuple(group.compare(level, reference) for level in group.ranked if level != reference)


def _pair(ranked: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of levels, the better one first."""
    if len(ranked) <= _MOST_PAIRED:
        return list(combinations(ranked, 2))
    first, *between, last = ranked
    return [(first, last), *((first, level) for level in between), *((level, last) for level in between)]


def _reach_percent(pair: PairComparison) -> float | None:
    ratio = pair.ratio
    if ratio is None or ratio.low is None or ratio.high is None:
        return None
    return 100 * max(abs(ratio.low - 1), abs(ratio.high - 1))
