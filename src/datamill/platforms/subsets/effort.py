"""How many subsets a search would have to look at, and which searches would not end."""

from __future__ import annotations

from math import comb

from datamill.experiment.errors import InputError
from datamill.experiment.messages.numbers import format_exponent
from datamill.platforms.scores.score_matrix import IntArray

#: Most subsets of a set of rows, about an hour, where no bound excludes any: sizes come near the rows.
MOST_SUBSETS = 10**12
#: Most subsets where bounds exclude nearly all.
MOST_BOUNDED = 10**15


def count_subsets(predictors: int, largest: int) -> int:
    """Number of subsets of 1 to `largest` of so many predictors."""
    return sum(comb(predictors, size) for size in range(1, min(largest, predictors) + 1))


def check_effort(predictors: int, largest: int, rows: IntArray, *, bounded: bool = False) -> None:
    """Refuse a search that would take days.

    `rows` (S) are numbers of rows; subsets have at most n - 2 predictors, more fit exactly. Bounds exclude
    most subsets where there are more rows than predictors and an intercept, or where the caller says so with
    `bounded`. Raises InputError with the largest size that can be searched.
    """
    for count in sorted(set(rows.tolist())):
        most = MOST_BOUNDED if bounded or count > predictors + 1 else MOST_SUBSETS
        size = min(largest, predictors, count - 2)
        subsets = count_subsets(predictors, size)
        if subsets <= most:
            continue
        allowed = max(k for k in range(size) if count_subsets(predictors, k) <= most)
        raise InputError(
            f"{predictors} predictors have {format_exponent(subsets, 1)} subsets of up to {size}, more"
            f" than the {format_exponent(most, 0)} that can be searched",
            where="the largest size",
            remedy=f"Limit it to {allowed}, or leave predictors out.",
        )
