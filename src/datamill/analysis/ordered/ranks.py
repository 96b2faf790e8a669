"""Ranks, and pairs that are out of order."""

from __future__ import annotations

import numpy as np

from datamill.analysis.model_data.cells import FloatArray


def rank_values(values: FloatArray) -> FloatArray:
    """Ranks from 1 of values (n); those that tie get the mean of the ranks that they share."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: FloatArray = (last - (counts - 1) / 2)[place.reshape(-1)]
    return ranks


def count_inversions(values: FloatArray) -> int:
    """Number of pairs of values (n) of which the earlier is the larger; ties are in order.

    Pairs are told apart by the highest bit in which their places in the order differ: bit by bit, values are
    dealt stably into groups that agree in all higher ones, in time in proportion to n log n.
    """
    _, place = np.unique(values, return_inverse=True)
    place = place.reshape(-1)
    at = np.arange(place.size)
    start, end = np.zeros_like(at), np.full_like(at, place.size)
    found = 0
    for bit in reversed(range(int(place.max(initial=0)).bit_length())):
        high = (place >> bit) & 1
        ones = np.cumsum(high)
        # Of the same group, and earlier.
        before = (ones - high) - (ones - high)[start]
        found += int(before[high == 0].sum())
        split = end - (ones[end - 1] - (ones - high)[start])
        moved = np.where(high == 1, split + before, at - before)
        dealt = np.empty_like(place), np.empty_like(start), np.empty_like(end)
        for column, items in zip(
            dealt, (place, np.where(high == 1, split, start), np.where(high == 1, end, split)), strict=True
        ):
            column[moved] = items
        place, start, end = dealt
    return found
