"""Groups of observations: the levels of one factor, within each combination of the others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from datamill.analysis.groups.group_comparison import Group, Stratum
from datamill.analysis.model_data.cells import Cells, FloatArray, IntArray
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument


def find_factor(cells: Cells, name: str, blocks: Sequence[str] = ()) -> int:
    """Index of the factor that forms the groups: the named one, else the first that is no block.

    Raises:
        InputError: there is no such factor, or it has data at one level only.
    """
    names = [factor.name for factor in cells.factors]
    usual = next((factor for factor in names if factor not in blocks), "")
    if not name and not usual:
        raise InputError("no factor forms the groups", remedy=f"Name one with {argument('factors')}.")
    if name and name not in names:
        raise InputError(f'there is no factor "{name}"', remedy=f"The factors are: {', '.join(names)}.")
    index = names.index(name or usual)
    if len(cells.factors[index].levels) < 2:
        raise InputError(
            f'factor {names[index]} forms one group only: "{cells.factors[index].levels[0]}"',
            remedy="Name a factor with two levels or more.",
        )
    return index


def split_groups(cells: Cells, factor: int) -> tuple[Stratum, ...]:
    """Groups by the levels of a factor, within each combination of levels of the other factors with data.

    Groups without observations are left out.
    """
    others = [index for index in range(len(cells.factors)) if index != factor]
    rest: IntArray = cells.codes[:, others]
    places, of_cell = np.unique(rest, axis=0, return_inverse=True) if others else (rest[:1], None)
    of_cell = np.zeros(cells.counts.size, dtype=np.int64) if of_cell is None else of_cell.reshape(-1)
    by_cell = _list_values(cells)
    strata = []
    for place, codes in enumerate(places):
        groups = []
        for level, label in enumerate(cells.factors[factor].levels):
            chosen = np.flatnonzero((of_cell == place) & (cells.codes[:, factor] == level))
            if chosen.size:
                groups.append(Group(label, by_cell[int(chosen[0])], cells.origin))
        levels = tuple(
            (cells.factors[index].name, cells.factors[index].levels[int(code)])
            for index, code in zip(others, codes, strict=True)
        )
        strata.append(Stratum(levels, tuple(groups)))
    return tuple(strata)


def _list_values(cells: Cells) -> list[FloatArray]:
    """Deviations of each cell, in the order of its rows."""
    order = np.argsort(cells.of_row, kind="stable")
    return np.split(cells.values[order], np.cumsum(cells.counts)[:-1])


def name_levels(levels: Sequence[tuple[str, str]]) -> str:
    """`machine = m1, aslr = on`."""
    return ", ".join(f"{factor} = {level}" for factor, level in levels)
