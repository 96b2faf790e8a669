"""Which trials of a tidy table measured the same build, and where that makes them no replicates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from datamill.analysis.model_data.cells import CellArray, CodeArray, IntArray


def number_rows(identity: pl.DataFrame) -> IntArray:
    """The number of each row's combination of values, in the order of appearance."""
    # No name of a table's own column may meet that of the number.
    plain = identity.rename({name: f"{at}" for at, name in enumerate(identity.columns)})
    first = plain.unique(maintain_order=True).with_row_index("number")
    joined = plain.join(first, on=plain.columns, how="left", nulls_equal=True, maintain_order="left")
    return joined["number"].to_numpy().astype(np.int64)


def number_builds(valid: pl.DataFrame) -> IntArray | None:
    """The number of each row's build, in the order of appearance; None where nothing tells builds apart.

    Trials with one `build_id` measured the same binaries; where that is unknown column `build` tells, which
    each package counts for itself, as each experiment does.
    """
    known = [name for name in ("build_id", "build") if name in valid.columns]
    of_build = next((name for name in known if not valid[name].null_count()), "")
    if not of_build:
        return None
    told_apart = [name for name in ("experiment", "package", of_build) if name in valid.columns]
    return number_rows(valid.select(told_apart))


def group_by_builds(
    trials: pl.DataFrame, factors: Sequence[str], codes: Sequence[CodeArray]
) -> CellArray | None:
    """The number of each trial's build at its combination of levels; None where trials are the replicates.

    Where a design point has several builds, executions of one build are no replicates: they have in common
    what chance in compilation made of it (EPEW 2006, section 3.1). Where every point has one build, or
    every build one execution, trials stay what they are. `trials` has a row for each, `factors` are all that
    tell design points apart, and `codes` the levels of those that a model is about.
    """
    builds = number_builds(trials)
    if builds is None:
        return None
    columns = [name for name in ("experiment", "point") if name in trials.columns]
    names: list[str] = [*columns, *(factors if "point" not in columns else ())]
    points = number_rows(trials.select(names)) if names else np.zeros(trials.height, dtype=np.int64)
    pairs = np.unique(points * (builds.max() + 1) + builds)
    several = np.bincount(pairs // (builds.max() + 1)).max() > 1
    if not several or len(pairs) == trials.height:
        return None
    levels = {f"{place}": column.astype(np.int64) for place, column in enumerate(codes)}
    return number_rows(pl.DataFrame({**levels, "build": builds})).astype(np.uint32)


def find_shared_builds(of_row: CellArray, builds: IntArray | None) -> IntArray | None:
    """The number of each observation's build, where builds have observations in several cells, one in each.

    `of_row` (n) is the cell and `builds` (n) the build of each observation. None where that is not so: then
    observations of different cells are independent, or those of one cell are not of different builds.
    """
    if builds is None:
        return None
    cells = int(of_row.max()) + 1
    pairs = np.unique(builds * cells + of_row.astype(np.int64))
    if len(pairs) < builds.size or np.bincount(pairs % cells).max() < 2:
        return None
    return np.unique(builds, return_inverse=True)[1] if np.bincount(pairs // cells).max() > 1 else None
