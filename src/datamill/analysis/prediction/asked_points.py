"""Levels that are asked for: which factors become slopes, which combinations are meant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import TypeAlias

import numpy as np

from datamill.analysis.model_data.question import ModelData
from datamill.analysis.prediction.numeric_levels import NumericLevels
from datamill.analysis.prediction.prediction import Scale
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.experiment.messages.suggestions import suggest_name

#: Combinations that one answer lists.
MOST_POINTS = 200

#: Levels asked for, by factor.
Point: TypeAlias = Mapping[str, Sequence[str]]


def list_sloped(
    points: Sequence[Point],
    scales: Mapping[str, Scale],
    factors: Mapping[str, Sequence[str]],
    numeric: Mapping[str, NumericLevels],
) -> dict[str, NumericLevels]:
    """The factors that become slopes: some asked level was not measured, or a scale is given."""
    for name in (*scales, *(name for point in points for name in point)):
        if name not in factors:
            raise InputError(
                f'"{name}" is not a factor of the model with several levels',
                remedy=f"{suggest_name(name, factors)} The factors are: {', '.join(factors)}."
                if factors
                else "The model has no factors: name the columns that explain the response.",
            )
    for name in scales:
        if name not in numeric:
            raise InputError(
                f"{name} has no scale: its levels are not numbers",
                remedy=f"Its levels are: {', '.join(factors[name])}.",
            )
    sloped: dict[str, NumericLevels] = {}
    for name, labels in factors.items():
        wanted = [level for point in points for level in point.get(name, ())]
        unmeasured = [level for level in wanted if level not in labels]
        if not unmeasured and name not in scales:
            continue
        if name not in numeric:
            raise InputError(
                f'no trial has {name} "{unmeasured[0]}", and between levels that are not numbers there is '
                "nothing to predict",
                remedy=f"Its levels are: {', '.join(labels)}.",
            )
        for level in unmeasured:
            numeric[name].read(level)
        sloped[name] = numeric[name]
    return sloped


def list_combinations(
    points: Sequence[Point],
    factors: Mapping[str, Sequence[str]],
) -> list[dict[str, str]]:
    """Every combination of the levels asked for, each once; what a point does not name is taken whole."""
    found: dict[tuple[str, ...], dict[str, str]] = {}
    for point in points:
        choices = [tuple(point.get(name, labels)) for name, labels in factors.items()]
        if np.prod([float(len(choice)) for choice in choices]) > MOST_POINTS:
            free = [name for name in factors if name not in point]
            raise InputError(
                f"more than {MOST_POINTS} combinations of levels are asked for",
                remedy=f"Name levels of more factors: {', '.join(free)}.",
            )
        for combination in product(*choices):
            found.setdefault(combination, dict(zip(factors, combination, strict=True)))
    return list(found.values())


def refuse_outside(
    asked: Sequence[Mapping[str, str]],
    sloped: Mapping[str, NumericLevels],
    exact: ModelData,
    numeric: Mapping[str, NumericLevels],
    *,
    extrapolate: bool,
) -> None:
    """Refuse levels beyond those that were measured, unless one wants to `extrapolate`.

    Raises:
        InputError: there is one; names what was measured.
    """
    if extrapolate:
        return
    for point in asked:
        for name in list_outside(point, sloped, exact):
            levels = numeric[name]
            raise InputError(
                f"{name}={point[name]} lies beyond what was measured, {levels.show(levels.low)} to "
                f"{levels.show(levels.high)}"
                + (", with these levels of the other factors" if _is_within(levels, point[name]) else "")
                + ": nothing in the data says how the response goes on there",
                remedy=f"Ask between these, measure there, or extrapolate with {argument('extrapolate')}.",
            )


def _is_within(levels: NumericLevels, level: str) -> bool:
    return levels.low <= levels.read(level) <= levels.high


def list_outside(
    point: Mapping[str, str], sloped: Mapping[str, NumericLevels], exact: ModelData
) -> tuple[str, ...]:
    """The slopes whose level lies outside those measured together with the exact levels of the point."""
    cells = exact.observations.cells
    member = np.ones(cells.counts.size, dtype=bool)
    for index, factor in enumerate(cells.factors):
        if factor.name in point and factor.name not in sloped:
            member &= cells.codes[:, index] == factor.levels.index(point[factor.name])
    outside = []
    for index, factor in enumerate(cells.factors):
        levels = sloped.get(factor.name)
        if levels is None:
            continue
        seen = [levels.values[factor.levels[code]] for code in np.unique(cells.codes[member, index])]
        value = levels.read(point[factor.name])
        if not seen or not min(seen) <= value <= max(seen):
            outside.append(factor.name)
    return tuple(outside)
