"""Exact distribution of a sum of ranks when labels are exchanged at random, with or without ties."""

from __future__ import annotations

import numpy as np

from datamill.analysis.model_data.cells import FloatArray


def count_rank_sums(ranks: FloatArray, n: int) -> FloatArray:
    """Number of choices of n of the ranks for each sum: entry s is for a sum of s / 2 (midranks are halves).

    The shift algorithm of Streitberg and Röhmel (1986). Numbers are doubles, exact to 2⁵³.
    """
    doubled = np.sort(np.rint(2 * ranks).astype(np.int64))
    largest = int(np.sum(doubled[doubled.size - n :]))
    table = np.zeros((n + 1, largest + 1))
    table[0, 0] = 1.0
    for rank in doubled:
        # From a copy, since source and target overlap.
        table[1:, rank:] += table[:-1, : largest + 1 - rank].copy()
    return np.asarray(table[n])


def find_tails(ranks: FloatArray, n: int, observed: float) -> tuple[float, float]:
    """Probabilities that the ranks of n random ones sum to at most, and to at least, `observed`."""
    counts = count_rank_sums(ranks, n)
    total = float(np.sum(counts))
    place = round(2 * observed)
    return float(np.sum(counts[: place + 1])) / total, float(np.sum(counts[place:])) / total
