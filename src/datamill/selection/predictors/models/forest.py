"""A random forest."""

from __future__ import annotations

import msgspec

from datamill.selection.predictors.case import Case
from datamill.selection.predictors.models.scaling import Scaling


class Tree(msgspec.Struct, frozen=True, array_like=True):
    """Nodes from the root on; one whose `features` is -1 is a leaf with a share of changes as `values`.

    Another goes `left` where the scaled feature is at most `values`, else `right`.
    """

    features: tuple[int, ...]
    values: tuple[float, ...]
    left: tuple[int, ...]
    right: tuple[int, ...]

    def score(self, row: tuple[float, ...]) -> float:
        """Return the share of changes in the leaf of a case."""
        at = 0
        while (feature := self.features[at]) >= 0:
            at = self.left[at] if row[feature] <= self.values[at] else self.right[at]
        return self.values[at]


class Forest(msgspec.Struct, frozen=True, tag="forest"):
    """Trees whose shares of changes are averaged (Breiman 2001)."""

    scaling: Scaling
    trees: tuple[Tree, ...]
    warnings: tuple[str, ...] = ()

    def score(self, case: Case) -> float:
        """Return the mean share of changes over the trees."""
        if not self.trees:
            return 0.0
        row = self.scaling.scale(case)
        return sum(tree.score(row) for tree in self.trees) / len(self.trees)

    def decides(self, case: Case) -> bool:
        """Whether most trees speak for a change."""
        return self.score(case) >= 0.5
