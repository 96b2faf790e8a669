"""Covering arrays: few points in which all combinations of levels of any t factors occur."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence

from datamill.design.coverage import rank_by_seed
from datamill.experiment.errors import InputError

#: Combinations that are kept track of.
_MOST_COMBINATIONS = 2_000_000
#: A place in a row that any level may take.
_FREE = -1

Row = tuple[int, ...]


@functools.lru_cache(maxsize=8)
def build_covering_array(sizes: tuple[int, ...], strength: int, seed: int) -> tuple[Row, ...]:
    """Return points (as indices of levels) in which every combination of levels of any t factors occurs.

    IPOG (Lei et al. 2007): all combinations of the t largest factors first, then one factor after the other,
    by horizontal growth (the level that covers most) and vertical growth (rows for what is left). What may be
    any level is drawn from the seed.

    Args:
        sizes: number of levels of each factor.
        strength: t; from 2. With no more than t factors the array is the full factorial.
        seed: of the experiment.

    Raises:
        InputError: there are more than two million combinations to cover.
    """
    order = sorted(range(len(sizes)), key=lambda factor: -sizes[factor])
    ordered = [sizes[factor] for factor in order]
    strength = min(strength, len(sizes))
    _refuse_too_many(ordered, strength)
    rows = [list(row) for row in itertools.product(*(range(size) for size in ordered[:strength]))]
    for factor in range(strength, len(ordered)):
        _add_factor(rows, ordered[: factor + 1], strength)
    place = {factor: at for at, factor in enumerate(order)}
    filled = []
    for number, row in enumerate(rows):
        for at, level in enumerate(row):
            if level == _FREE:
                drawn = rank_by_seed(seed, "free", str(number), str(at))
                row[at] = int.from_bytes(drawn[:8], "big") % ordered[at]
        filled.append(tuple(row[place[factor]] for factor in range(len(sizes))))
    # Levels that were free may have made two rows alike: a point is listed once.
    return tuple(dict.fromkeys(filled))


def _refuse_too_many(sizes: Sequence[int], strength: int) -> None:
    count = 0
    for factors in itertools.combinations(sizes, strength):
        count += math.prod(factors)
        if count > _MOST_COMBINATIONS:
            raise InputError(
                f"there are more than {_MOST_COMBINATIONS:,} combinations of {strength} factors to cover",
                remedy="Lower strength, or name fewer factors or levels.",
            )


def _add_factor(rows: list[list[int]], sizes: Sequence[int], strength: int) -> None:
    """Give every row a level of one more factor, the last of `sizes`, and add rows for what remains."""
    last = len(sizes) - 1
    groups = list(itertools.combinations(range(last), strength - 1))
    missing: list[set[tuple[int, ...]]] = [
        set(itertools.product(*(range(sizes[at]) for at in group), range(sizes[last]))) for group in groups
    ]
    for number, row in enumerate(rows):
        places = [tuple(row[at] for at in group) for group in groups]
        gains = [
            sum(
                (*place, level) in left
                for place, left in zip(places, missing, strict=True)
                if _FREE not in place
            )
            for level in range(sizes[last])
        ]
        most = max(gains)
        best = [level for level, gain in enumerate(gains) if gain == most]
        level = best[number % len(best)] if most else _FREE
        row.append(level)
        if level != _FREE:
            for place, left in zip(places, missing, strict=True):
                left.discard((*place, level))
    for group, left in zip(groups, missing, strict=True):
        for combination in sorted(left):
            _place_combination(rows, (*group, last), combination, len(sizes))


def _place_combination(
    rows: list[list[int]], factors: tuple[int, ...], levels: tuple[int, ...], width: int
) -> None:
    """Put a combination into a row that leaves room for it, or into one of its own."""
    wanted = list(zip(factors, levels, strict=True))
    if any(all(row[at] == level for at, level in wanted) for row in rows):
        return
    for row in rows:
        if all(row[at] in (_FREE, level) for at, level in wanted):
            break
    else:
        row = [_FREE] * width
        rows.append(row)
    for at, level in wanted:
        row[at] = level
