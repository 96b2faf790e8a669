"""Order statistics of all differences between two groups, without listing them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from datamill.analysis.model_data.cells import FloatArray

#: So many differences are listed and partitioned; more are narrowed down to these first.
_MOST_LISTED = 4_000_000


def select_differences(first: FloatArray, second: FloatArray, ranks: Sequence[int]) -> tuple[float, ...]:
    """Select the smallest, second smallest, … of the m·n differences second − first; ranks count from 1.

    Memory is bounded for any m and n; time grows with (m + n) log(m·n).
    """
    pairs = first.size * second.size
    if pairs <= _MOST_LISTED:
        differences = (second[:, None] - first[None, :]).ravel()
        places = sorted({rank - 1 for rank in ranks})
        differences.partition(places)
        return tuple(float(differences[rank - 1]) for rank in ranks)
    low, high = np.sort(first), np.sort(second)
    return tuple(_select_one(low, high, rank) for rank in ranks)


def _select_one(first: FloatArray, second: FloatArray, rank: int) -> float:
    """Halve the range of values until few differences are left in it."""
    outside, inside = float(second[0] - first[-1]), float(second[-1] - first[0])
    below, up_to = 0, first.size * second.size
    start = np.zeros(second.size, dtype=np.int64)
    # For each of the second group: of the first, those from `start` on have a difference ≤ outside.
    end = start
    start = np.full(second.size, first.size, dtype=np.int64)
    while up_to - below > _MOST_LISTED:
        middle = outside + (inside - outside) / 2
        if middle in (outside, inside):
            return _find_nearest(first, second, inside)
        at = np.searchsorted(first, second - middle, side="left")
        count = int(np.sum(first.size - at))
        if count >= rank:
            inside, up_to, end = middle, count, at
        else:
            outside, below, start = middle, count, at
    lengths = start - end
    owner = np.repeat(np.arange(second.size), lengths)
    position = np.arange(owner.size) - np.repeat(np.cumsum(lengths) - lengths, lengths) + end[owner]
    differences = second[owner] - first[position]
    place = rank - below - 1
    return float(np.partition(differences, place)[place])


def _find_nearest(first: FloatArray, second: FloatArray, value: float) -> float:
    """The difference nearest to a value: many tied ones are found but for their rounding."""
    at = np.searchsorted(first, second - value)
    near = [second - first[np.clip(at - back, 0, first.size - 1)] for back in (0, 1)]
    differences = np.concatenate(near)
    return float(differences[np.argmin(np.abs(differences - value))])
