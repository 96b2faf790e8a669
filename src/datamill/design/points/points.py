"""Which combinations of levels are measured: all of them, or the few that a design chooses."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from datamill.design.design import DesignFactor
from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Experiment
from datamill.experiment.messages.numbers import format_fixed

if TYPE_CHECKING:
    from datamill.design.points.fractional import Fraction

# Constructions are imported where one is asked for: most designs are full, and need no linear algebra.

#: Resolution that screening wants: main effects free of two-factor interactions.
_SCREENING_RESOLUTION = 4
_ROMAN = ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X")


@dataclass(frozen=True, slots=True)
class ChosenPoints:
    """The design points, and what was given up for their number.

    `construction` says in words how they were found; `resolution` (0: full, or none), `generators`, `aliases`
    (sentences) and `efficiency` (D-efficiency, 0 to 1) are as far as they make sense.
    """

    points: tuple[Mapping[str, str], ...]
    kind: str = "full factorial"
    construction: str = ""
    resolution: int = 0
    generators: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    efficiency: float | None = None


@dataclass(frozen=True, slots=True)
class _Rows:
    """Points as indices of levels of the factors that vary, without the package."""

    rows: tuple[tuple[int, ...], ...]
    kind: str
    construction: str
    resolution: int = 0
    generators: tuple[str, ...] = ()
    efficiency: float | None = None


def choose_points(experiment: Experiment, factors: Sequence[DesignFactor]) -> ChosenPoints:
    """Return the design points that the experiment's `design` asks for.

    With several packages each of them is measured at every chosen point, so that like is compared with like.

    Raises:
        InputError: when the design cannot be made of these factors; with the remedy.
    """
    crossed = [factor for factor in factors if factor.role == "factor"]
    varied = _list_varied(crossed)
    if experiment.design.kind == "full":
        return ChosenPoints(_combine(crossed, varied, None))
    chosen = _choose_rows(experiment, varied, _count_packages(crossed))
    sizes = tuple(len(factor.levels) for factor in varied)
    aliases: tuple[str, ...] = ()
    if len(chosen.rows) < math.prod(sizes):
        aliases = _describe_aliases(chosen.rows, sizes, tuple(factor.name for factor in varied))
    return ChosenPoints(
        points=_combine(crossed, varied, chosen.rows),
        kind=chosen.kind,
        construction=chosen.construction,
        resolution=chosen.resolution,
        generators=chosen.generators,
        aliases=aliases,
        efficiency=chosen.efficiency,
    )


def count_points(experiment: Experiment, factors: Sequence[DesignFactor]) -> int:
    """Return how many design points there are; all combinations are counted without listing them.

    Raises:
        InputError: when the design cannot be made of these factors.
    """
    if experiment.design.kind == "full":
        return math.prod(len(factor.levels) for factor in factors if factor.role == "factor")
    crossed = [factor for factor in factors if factor.role == "factor"]
    packages = _count_packages(crossed)
    return len(_choose_rows(experiment, _list_varied(crossed), packages).rows) * packages


def name_resolution(resolution: int) -> str:
    """Return a resolution in Roman numerals, as the literature writes it."""
    return _ROMAN[resolution] if resolution < len(_ROMAN) else str(resolution)


@functools.lru_cache(maxsize=8)
def _describe_aliases(
    rows: tuple[tuple[int, ...], ...], sizes: tuple[int, ...], names: tuple[str, ...]
) -> tuple[str, ...]:
    from datamill.design.points.aliases import find_aliases, is_comparable, phrase_aliases

    if not is_comparable(len(rows), sizes):
        return (
            "What cannot be told apart was not worked out: there are too many points, factors or levels.",
        )
    return phrase_aliases(find_aliases(rows, sizes, names))


def _list_varied(crossed: Sequence[DesignFactor]) -> list[DesignFactor]:
    return [factor for factor in crossed if factor.name != "package" and len(factor.levels) > 1]


def _count_packages(crossed: Sequence[DesignFactor]) -> int:
    return len(crossed[0].levels) if _has_package(crossed) else 1


def _has_package(crossed: Sequence[DesignFactor]) -> bool:
    return bool(crossed) and crossed[0].name == "package"


def _combine(
    crossed: Sequence[DesignFactor], varied: Sequence[DesignFactor], rows: Sequence[tuple[int, ...]] | None
) -> tuple[Mapping[str, str], ...]:
    """Points with all crossed factors, the last changing fastest; each package at every row."""
    names = [factor.name for factor in crossed]
    if rows is None:
        combinations = itertools.product(*(factor.levels for factor in crossed))
        return tuple(dict(zip(names, combination, strict=True)) for combination in combinations)
    packages = crossed[0].levels if _has_package(crossed) else ("",)
    points = []
    for package in packages:
        for row in rows:
            levels = {factor.name: factor.levels[at] for factor, at in zip(varied, row, strict=True)}
            points.append(
                {
                    factor.name: package
                    if factor.name == "package"
                    else levels.get(factor.name, factor.levels[0])
                    for factor in crossed
                }
            )
    return tuple(points)


def _choose_rows(experiment: Experiment, varied: Sequence[DesignFactor], packages: int) -> _Rows:
    choice = experiment.design
    if not varied:
        raise InputError(
            f'design = "{choice.kind}" chooses among combinations of levels, and there is no factor with two',
            where="[experiment] design",
            remedy="Name factors with two levels under [factors], or leave design out.",
        )
    sizes = tuple(len(factor.levels) for factor in varied)
    if choice.kind in ("screening", "fractional"):
        _refuse_several_levels(experiment, varied)
    if choice.kind == "screening":
        return _choose_screening(varied)
    if choice.kind == "fractional":
        from datamill.design.points.fractional import find_fraction

        return _take_fraction(find_fraction(len(varied), choice.resolution), varied, "fractional factorial")
    if choice.kind == "covering":
        from datamill.design.points.covering import build_covering_array

        rows = build_covering_array(sizes, choice.strength, experiment.seed)
        strength = min(choice.strength, len(varied))
        return _Rows(
            rows,
            "covering array",
            f"strength {strength}: every combination of levels of any {strength} factors occurs; made to "
            "find combinations that fail or stand out, not to estimate effects",
        )
    from datamill.design.points.d_optimal import find_optimal_design

    try:
        found = find_optimal_design(
            sizes, choice.max_points // packages, experiment.interaction_order, experiment.seed
        )
    except InputError as error:
        each = f" for each of {packages} packages" if packages > 1 else ""
        raise error.moved(error.where, also=each) from None
    order = min(experiment.interaction_order, len(varied))
    terms = "main effects" if order == 1 else f"main effects and interactions of up to {order} factors"
    shared = f", in the {choice.max_points} points of {packages} packages" if packages > 1 else ""
    return _Rows(
        found.rows,
        "D-optimal",
        f"for {terms} ({found.parameters} parameters{shared}), by coordinate exchange; D-efficiency "
        f"{format_fixed(100 * found.efficiency, 1)}%",
        efficiency=found.efficiency,
    )


def _refuse_several_levels(experiment: Experiment, varied: Sequence[DesignFactor]) -> None:
    for factor in varied:
        if len(factor.levels) != 2:
            choice = next((item for item in experiment.choices if item.name == factor.name), None)
            raise InputError(
                f'factor "{factor.name}" has {len(factor.levels)} levels, and design = '
                f'"{experiment.design.kind}" is made of two of each factor',
                where=choice.where if choice is not None else "",
                remedy='Name two of them, fix it under [nuisance], or write design = "d-optimal" or '
                '"covering".',
            )


def _choose_screening(varied: Sequence[DesignFactor]) -> _Rows:
    """The smaller one of the regular fraction of resolution IV and the folded-over Plackett-Burman design."""
    from datamill.design.points.fractional import find_fraction
    from datamill.design.points.plackett_burman import build_folded_plackett_burman

    fraction = find_fraction(len(varied), _SCREENING_RESOLUTION)
    if not _is_smaller_folded(len(varied), fraction.points):
        return _take_fraction(fraction, varied, "screening")
    signs = build_folded_plackett_burman(len(varied))
    rows = tuple(tuple(int(sign > 0) for sign in row) for row in signs)
    return _Rows(
        rows,
        "screening",
        f"Plackett-Burman design of {len(rows) // 2} points, folded over",
        resolution=_SCREENING_RESOLUTION,
    )


def _is_smaller_folded(count: int, points: int) -> bool:
    from datamill.design.points.plackett_burman import build_folded_plackett_burman

    try:
        return len(build_folded_plackett_burman(count)) < points
    except InputError:
        return False


def _take_fraction(fraction: Fraction, varied: Sequence[DesignFactor], kind: str) -> _Rows:
    names = [factor.name for factor in varied]
    # The basic factors of a fraction come first; so do those of the experiment.
    rows = tuple(tuple(int(sign > 0) for sign in row) for row in fraction.list_signs())
    generators = []
    for name, column in zip(names[fraction.basic :], fraction.columns[fraction.basic :], strict=True):
        generators.append(
            f"{name} = {' x '.join(names[i] for i in range(fraction.basic) if column >> i & 1)}"
        )
    reduced = len(names) - fraction.basic
    text = "all combinations"
    if reduced:
        text = f"2^({len(names)}-{reduced}) fraction of resolution {name_resolution(fraction.resolution)}"
    return _Rows(rows, kind, text, fraction.resolution, tuple(generators))
