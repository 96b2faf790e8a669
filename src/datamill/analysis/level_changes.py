"""By how much a response changes between the levels of a factor."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from datamill.analysis.comparison import compare_means
from datamill.analysis.contrast import (
    CellErrors,
    PooledError,
    WithinBlocks,
    estimate_contrast,
    has_replicates,
    use_own_errors,
    use_pooled_errors,
)
from datamill.analysis.level_means import is_complete
from datamill.analysis.model_data.cells import Cells, FloatArray
from datamill.analysis.records import PairComparison
from datamill.experiment.records import Direction

#: Levels of which all pairs are looked at; of more, the pairs with the lowest or the highest mean.
_MOST_PAIRED = 30


@dataclass(frozen=True, slots=True)
class LevelChange:
    """The largest change between two levels of a factor, for one group (a package, or all).

    `pair` has the better level as its package and the other one as its baseline. No two levels differ by more
    than `at_most`, in the response's unit, with the stated confidence; `at_most_percent` is the same in
    percent of the other level's mean (None where that may be zero).
    """

    group: str
    factor: str
    n: int
    pair: PairComparison
    at_most: float
    at_most_percent: float | None


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
    (Bonferroni), since the largest is chosen after looking. Groups without such a combination, or without
    any estimate of error, are absent.
    """
    groups = ("all",) if group_factor is None else cells.factors[group_factor].levels
    results = []
    for code, name in enumerate(groups):
        member = np.ones(cells.counts.size, dtype=bool)
        if group_factor is not None:
            member = cells.codes[:, group_factor] == code
        member &= is_complete(cells, member, factor)
        errors = _choose_errors(cells, member, fallback[code : code + 1], blocks)
        if errors is not None:
            results.append(_find_largest(cells, name, factor, member, errors, direction, confidence, alpha))
    return tuple(results)


def _choose_errors(
    cells: Cells, member: NDArray[np.bool_], fallback: tuple[PooledError, ...], blocks: WithinBlocks | None
) -> CellErrors | None:
    if not member.any():
        return None
    if has_replicates(cells, member / member.sum()):
        return use_own_errors(cells, blocks)
    return use_pooled_errors(np.zeros(cells.counts.size, dtype=np.int64), fallback) if fallback else None


def _find_largest(
    cells: Cells,
    group: str,
    factor: int,
    member: NDArray[np.bool_],
    errors: CellErrors,
    direction: Direction,
    confidence: float,
    alpha: float,
) -> LevelChange:
    labels = cells.factors[factor].levels
    weights: dict[str, FloatArray] = {}
    for code, label in enumerate(labels):
        at_level = member & (cells.codes[:, factor] == code)
        weights[label] = at_level / at_level.sum()
    means = {label: estimate_contrast(cells, weight, errors).estimate for label, weight in weights.items()}
    ranked = sorted(labels, key=lambda label: -means[label] if direction == "higher" else means[label])
    found = [
        compare_means(
            cells,
            weights,
            better,
            worse,
            comparisons=len(labels) * (len(labels) - 1) // 2,
            errors=errors,
            direction=direction,
            confidence=confidence,
            alpha=alpha,
        )
        for better, worse in _pair(ranked)
    ]
    largest = max(found, key=lambda pair: abs(pair.difference.estimate))
    percents = [_reach_percent(pair) for pair in found]
    return LevelChange(
        group=group,
        factor=cells.factors[factor].name,
        n=int(cells.counts[member].sum()),
        pair=largest,
        at_most=max(max(abs(pair.difference.low), abs(pair.difference.high)) for pair in found),
        at_most_percent=None if None in percents else max(item for item in percents if item is not None),
    )


def _pair(ranked: list[str]) -> list[tuple[str, str]]:
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
