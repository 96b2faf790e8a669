"""The observations behind a change between levels."""

from __future__ import annotations

import numpy as np

from datamill.analysis.levels.level_changes import LevelChange
from datamill.analysis.levels.level_means import is_complete
from datamill.analysis.model_data.cells import Cells, FloatArray, gather_cells

#: The factor whose levels have changes each.
_PACKAGE = "package"


def split_observations(cells: Cells, change: LevelChange) -> dict[str, FloatArray]:
    """Return the observations that the means of a change are of: by level, ordered by size, in their unit."""
    names = [factor.name for factor in cells.factors]
    kept = [names.index(change.factor), *(names.index(name) for name in change.over)]
    factors = [cells.factors[index] for index in kept]
    # Without what the means are not over, such as blocks that were taken out.
    points = gather_cells(factors, cells.codes[cells.of_row][:, kept], cells.values + cells.origin)
    member = np.ones(points.counts.size, dtype=bool)
    if change.group != "all" and _PACKAGE in change.over:
        # A group is a level of the package; nothing else is told apart here.
        index = 1 + change.over.index(_PACKAGE)
        member = points.codes[:, index] == factors[index].levels.index(change.group)
    chosen = is_complete(points, member, 0)[points.of_row]
    codes = points.codes[points.of_row[chosen]][:, [0]]
    merged = gather_cells(factors[:1], codes, points.values[chosen] + points.origin)
    return {
        merged.factors[0].levels[int(code)]: np.sort(merged.values[merged.of_row == cell]) + merged.origin
        for cell, code in enumerate(merged.codes[:, 0])
    }
