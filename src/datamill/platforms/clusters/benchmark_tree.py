"""Benchmarks joined by how they go together over machines (thesis 2015, Figure 7.5)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamill.late import hierarchy
from datamill.platforms.scores.score_matrix import FloatArray, IntArray

#: Distances that differ by less are the same: what rounding adds to a correlation.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class BenchmarkTree:
    """Complete-linkage tree over benchmarks.

    `columns` (p) are the benchmarks in it, as columns of the suite: those that differ between machines.
    `distances` (p × p) are 1 - r, with Pearson's correlation of seconds over machines. `merges` (p - 1 × 2)
    joins two at a time, numbered as scipy does: below p a place in `columns`, from p on the merge number that
    much later; `heights` (p - 1) are the distances at which they join. `order` has the leaves as drawn.
    """

    columns: IntArray
    distances: FloatArray
    merges: IntArray
    heights: FloatArray
    order: IntArray


def build_tree(suite: FloatArray) -> BenchmarkTree:
    """Join the benchmarks of a suite (machines × benchmarks, without gaps)."""
    middle = suite - suite.mean(axis=0)
    varies = np.sum(middle**2, axis=0) > 1e-14 * np.sum(suite**2, axis=0)
    columns = np.flatnonzero(varies)
    if len(columns) < 2:
        nothing = np.zeros(0, dtype=np.int64)
        return BenchmarkTree(
            columns,
            np.zeros((len(columns),) * 2),
            nothing.reshape(0, 2),
            np.zeros(0),
            np.arange(len(columns)),
        )
    unit = middle[:, columns] / np.sqrt(np.sum(middle[:, columns] ** 2, axis=0))
    distances = np.maximum(1 - unit.T @ unit, 0.0)
    distances = (distances + distances.T) / 2
    np.fill_diagonal(distances, 0.0)
    pairs = distances[np.triu_indices(len(columns), 1)]
    joined = hierarchy.linkage(pairs, method="complete")
    return BenchmarkTree(
        columns=columns,
        distances=distances,
        merges=joined[:, :2].astype(np.int64),
        heights=joined[:, 2],
        order=np.asarray(hierarchy.leaves_list(joined), dtype=np.int64),
    )


def cut_tree(tree: BenchmarkTree, clusters: int) -> tuple[IntArray, ...]:
    """The tree's benchmarks in at most this number of clusters, as places in `columns`, by smallest place."""
    count = len(tree.columns)
    groups: dict[int, list[int]] = {place: [place] for place in range(count)}
    for step in range(max(0, count - max(1, clusters))):
        first, second = (int(part) for part in tree.merges[step])
        groups[count + step] = groups.pop(first) + groups.pop(second)
    found = sorted(sorted(places) for places in groups.values())
    return tuple(np.array(places, dtype=np.int64) for places in found)


def choose_representatives(tree: BenchmarkTree, clusters: int) -> IntArray:
    """One benchmark of each cluster, as columns of the suite.

    The thesis does not say how they are chosen. Here it is the one that is nearest to the others of its
    cluster (smallest mean distance); of equals, as two in a cluster of two always are, the one that is
    nearest to the whole suite.
    """
    chosen = []
    for places in cut_tree(tree, clusters):
        inside = tree.distances[np.ix_(places, places)].mean(axis=1)
        nearest = places[inside <= inside.min() + _ROUNDING]
        outside = tree.distances[nearest].mean(axis=1)
        chosen.append(int(nearest[np.argmin(outside)]))
    return tree.columns[chosen]
